package pprofui

import (
	"regexp"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/internal/brief"
)

// shortenGenerics takes the type arguments out of the names of functions, as the runtime
// does in stack traces: the compiler's own, of shapes, are longer than any box.
func shortenGenerics(p *profile.Profile) {
	for _, f := range p.Function {
		f.Name, f.SystemName = brief.Generic(f.Name), brief.Generic(f.SystemName)
	}
}

var (
	displays = regexp.MustCompile(`"Display":\[(?:"(?:[^"\\]|\\.)*",?)*\]`)
	scraps   = regexp.MustCompile(`,"\.{0,2}\](?:[^"\\]|\\.)*"`)
)

// dropScraps takes names such as ".]" out of a flame graph, which the driver makes of
// [...] for narrow boxes, since it cuts at points.
func dropScraps(page []byte) []byte {
	return displays.ReplaceAllFunc(page, func(list []byte) []byte {
		return scraps.ReplaceAll(list, nil)
	})
}
