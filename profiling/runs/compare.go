package runs

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/mvccmap/mvccmap/internal/results"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// alpha is the level of significance in the browser, the default of the command.
const alpha = 0.05

// A comparison is a [results.Comparison] in words.
type comparison struct {
	Old      string                              `json:"old"`
	New      string                              `json:"new"`
	Method   string                              `json:"method,omitempty"` // by which statistics
	Warnings []string                            `json:"warnings,omitempty"`
	Tables   []changes                           `json:"tables"`
	Zero     []string                            `json:"zero,omitempty"` // units without any figure
	OnlyOld  []string                            `json:"only_old,omitempty"`
	OnlyNew  []string                            `json:"only_new,omitempty"`
	Sum      struct{ Rows, Improved, Worse int } `json:"-"`
}

// changes are those of the figures of one unit.
type changes struct {
	Unit   string   `json:"unit"`
	Better string   `json:"better,omitempty"` // "lower", "higher", or "" if it is not known
	Rows   []change `json:"rows"`

	Improved, Worse int `json:"-"` // rows
}

// A change is that of one thing that was measured. Figures have their units.
type change struct {
	Name     string `json:"name"`
	Old      string `json:"old"` // the median
	OldRange string `json:"old_range,omitempty"`
	New      string `json:"new"`
	NewRange string `json:"new_range,omitempty"`
	Change   string `json:"change"` // "~" if it is not significant
	Test     string `json:"test,omitempty"`
	Verdict  string `json:"verdict,omitempty"`
}

// compared says what has changed from one run to another. If only one of them was
// instrumented they are compared all the same: the page shows a warning.
func compared(old, now results.Saved) (*comparison, error) {
	before, err := old.Run.Source(old.Name)
	if err != nil {
		return nil, err
	}
	after, err := now.Run.Source(now.Name)
	if err != nil {
		return nil, err
	}
	c, err := results.Compare(before, after, results.Options{Alpha: alpha, Force: true})
	if err != nil {
		return nil, err
	}
	out := &comparison{
		Old: c.Old, New: c.New, Warnings: c.Warnings, OnlyOld: c.OnlyOld, OnlyNew: c.OnlyNew,
		Method: fmt.Sprintf("medians with 95 %% confidence intervals; a change is significant "+
			"if p ≤ %v in the Mann-Whitney U test", alpha),
	}
	if n, of := c.Decidable(); n < of {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d of %d comparisons have too few "+
			"samples for any difference to be significant; %d on each side are enough",
			of-n, of, results.SamplesFor(alpha)))
	}
	for _, t := range c.Tables {
		if t.Zero() {
			out.Zero = append(out.Zero, t.Unit)
			continue
		}
		table := changes{Unit: t.Unit, Better: t.Better}
		for _, r := range t.Rows {
			table.Rows = append(table.Rows, change{
				Name: r.Name,
				Old:  results.Scaled(t.Unit, r.Old.Center), OldRange: r.Old.Range,
				New: results.Scaled(t.Unit, r.New.Center), NewRange: r.New.Range,
				Change: r.Change(), Test: r.Chances(), Verdict: r.Verdict,
			})
			switch r.Verdict {
			case results.Improved:
				table.Improved++
			case results.Worsened:
				table.Worse++
			}
		}
		out.Sum.Rows += len(t.Rows)
		out.Sum.Improved += table.Improved
		out.Sum.Worse += table.Worse
		if g := t.Geomean; g != nil {
			table.Rows = append(table.Rows, change{
				Name: g.Name, Change: g.Percent(),
				Old: results.Scaled(t.Unit, g.Old.Center),
				New: results.Scaled(t.Unit, g.New.Center),
			})
		}
		out.Tables = append(out.Tables, table)
	}
	return out, nil
}

// compare shows what has changed from one run to another.
func (p *pages) compare(w http.ResponseWriter, r *http.Request) error {
	before, after := r.FormValue("old"), r.FormValue("new")
	var old, now results.Saved
	var c *comparison
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
		c, status = &comparison{Old: before, New: after}, http.StatusUnprocessableEntity
	}
	x, y := runOf(old), runOf(now)
	var both []runFile
	for _, f := range y.Profiles {
		same := func(g runFile) bool { return f.File == g.File }
		if before != after && slices.ContainsFunc(x.Profiles, same) {
			both = append(both, f)
		}
	}
	frame := p.frame(before+" and "+after, "../")
	return web.Page(w, status, "compare.html", frame, web.Data{
		"Old": x, "New": y, "Changes": c, "Why": why, "Pairs": rowsOf(both),
	})
}
