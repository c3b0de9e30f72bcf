package profiling

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"time"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/pprofui"
	"github.com/mvccmap/mvccmap/profiling/internal/slow"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// allSlow is what stands for the number of an operation where the slow ones are summed up.
const allSlow = "all"

// A tailRow sums up the slow operations of one name on the page.
type tailRow struct {
	*slow.Tail
	Says  []pprofui.Link // one without Ref is only text
	Parts []slowPart
	View  string // the reference to its flame graph
}

// tailRowOf describes a sum for the page.
func tailRowOf(t *slow.Tail) tailRow {
	refs := lineRefs{}
	byKind := map[contention.Kind]time.Duration{}
	for _, p := range t.Parts {
		refs.add(p.Site)
		for _, c := range p.Because {
			refs.add(c.Site)
		}
		byKind[barOf(p.Kind)] += p.Total
	}
	row := tailRow{Tail: t, Says: linkLines(t.String(), refs)}
	row.Parts = drawn([]slowPart{
		{Name: "not on a processor, most likely", Class: "k3", Of: byKind[slow.Off]},
		{Name: "running", Class: "k0", Of: byKind[slow.Running]},
		{Name: "helping the collector", Class: "k5", Of: byKind[slow.Assist]},
		{Name: "waiting for a processor", Class: "k4", Of: byKind[contention.Scheduler]},
		{Name: "waiting", Class: "k1", Of: byKind[contention.Other]},
		{Name: "in system calls", Class: "k2", Of: byKind[contention.Syscall]},
		{Name: "not in the trace", Class: "none", Of: byKind[slow.NotKnown]},
	}, t.Took)
	only := url.Values{"tf": {"operation=^" + regexp.QuoteMeta(t.Op) + "$"}}
	row.View = allSlow + "/flamegraph?" + only.Encode()
	return row
}

// lineRefs has where lines of code in a sentence lead.
type lineRefs map[string]string

func (refs lineRefs) add(at contention.Frame) {
	line := fmt.Sprintf("%s:%d", path.Base(at.File), at.Line)
	refs[line] = allSlow + "/" + web.SourceRef(at.Func, at.Line)
}

// barOf returns the kind that a bar shows time of this kind as: most waits are alike there.
func barOf(k contention.Kind) contention.Kind {
	switch k {
	case slow.Off, slow.Running, slow.Assist, slow.NotKnown, contention.Scheduler, contention.Syscall:
		return k
	}
	return contention.Other
}

// tailView shows what the slow operations did on a page of pprof.
func (s *Service) tailView(w http.ResponseWriter, r *http.Request) error {
	st := s.slow.State()
	n := 0
	for _, t := range st.Tails {
		n += t.Count
	}
	if n == 0 {
		return web.NotFound("no slow operations are summed up")
	}
	page := pprofui.Page{
		Frame: s.frame("Slow operations, all", "slow", ""),
		About: fmt.Sprintf("what slow operations did, %d of them, %s", n,
			cmp.Or(st.Rule, "of a recording that has ended")),
		Links:      []pprofui.Link{{Ref: "../", Text: "slow operations"}},
		Difference: true, // there is no file to download
	}
	return pprofui.Show(w, r, r.PathValue("view"), page, func() (p, base *profile.Profile, err error) {
		return slow.TailProfile(st.Tails, time.Now()), nil, nil
	})
}
