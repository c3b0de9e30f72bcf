package runs

import (
	"errors"
	"net/http"
	"slices"

	"github.com/mvccmap/mvccmap/internal/results"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// alpha is the level of significance in the browser, the default of the command.
const alpha = 0.05

// compared says what has changed from one run to another. If only one of them was
// instrumented they are compared all the same: the page shows a warning.
func compared(old, now results.Saved) (*results.Comparison, error) {
	before, err := old.Run.Source(old.Name)
	if err != nil {
		return nil, err
	}
	after, err := now.Run.Source(now.Name)
	if err != nil {
		return nil, err
	}
	return results.Compare(before, after, results.Options{Alpha: alpha, Force: true})
}

// compare shows what has changed from one run to another.
func (p *pages) compare(w http.ResponseWriter, r *http.Request) error {
	before, after := r.FormValue("old"), r.FormValue("new")
	var old, now results.Saved
	var c *results.Comparison
	var why error
	err := p.ask(r, func() (err error) {
		if old, err = p.get(before); err != nil {
			return err
		}
		if now, err = p.get(after); err != nil {
			return err
		}
		if before == after {
			why = errors.New("a run does not differ from itself: choose two")
			return nil
		}
		c, why = compared(old, now)
		return nil
	})
	switch {
	case err != nil:
		return err
	case why != nil && asksJSON(r):
		return web.Refuse(http.StatusUnprocessableEntity, "%v", why)
	case asksJSON(r):
		return web.JSON(w, c)
	}
	status := http.StatusOK
	if why != nil {
		c, status = new(results.Comparison), http.StatusUnprocessableEntity
	}
	var both []results.SavedProfile
	for _, f := range now.Profiles {
		same := func(g results.SavedProfile) bool { return f.File == g.File }
		if before != after && slices.ContainsFunc(old.Profiles, same) {
			both = append(both, f)
		}
	}
	frame := p.frame(before+" and "+after, "../")
	return web.Page(w, status, "compare.html", frame, web.Data{
		"Old": old, "New": now, "Changes": c, "Why": why, "Pairs": rowsOf(both),
	})
}
