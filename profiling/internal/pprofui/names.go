package pprofui

import (
	"regexp"
	"strings"

	"github.com/google/pprof/profile"
)

// shortenGenerics takes the type arguments out of the names of functions, as the runtime
// does in stack traces: the compiler's own, of shapes, are longer than any box.
func shortenGenerics(p *profile.Profile) {
	for _, f := range p.Function {
		f.Name, f.SystemName = ShortName(f.Name), ShortName(f.SystemName)
	}
}

// ShortName returns the name of a function with [...] in place of type arguments. A bracket
// that no name stands before, as in [idle], is not that of arguments.
func ShortName(name string) string {
	var short strings.Builder
	depth := 0
	for i, c := range name {
		switch {
		case c == '[' && (depth > 0 || i > 0 && name[i-1] != ' '):
			if depth++; depth == 1 {
				short.WriteString("[...]")
			}
		case c == ']' && depth > 0:
			depth--
		case depth == 0:
			short.WriteRune(c)
		}
	}
	if depth > 0 {
		return name
	}
	return short.String()
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
