package runs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/internal/results"
)

// A run is what a list says of a run.
type run struct {
	Name      string    `json:"name"`
	Started   time.Time `json:"started"`
	Workloads []string  `json:"workloads"`
	Engines   []string  `json:"engines"`
	Samples   int       `json:"samples"`
	Outcome   string    `json:"outcome"`         // such as "complete"
	Marks     []string  `json:"marks,omitempty"` // what must be said beside its figures
	Machine   string    `json:"machine"`
	Profiles  []runFile `json:"profiles,omitempty"`
	Err       string    `json:"error,omitempty"` // why it cannot be read; the rest is missing then
}

// A runFile is a profile of a run.
type runFile struct {
	File string `json:"file"`
	Kind string `json:"kind"` // such as "cpu"; profiles of equal kind can be compared
	Of   string `json:"of"`   // what was profiled; profiles of the same thing follow each other
	Size int64  `json:"bytes"`
}

// details are all that is shown of one run.
type details struct {
	run
	Notes   []string `json:"notes"` // on what, when and how it was measured
	Results table    `json:"results"`
	Caption string   `json:"caption,omitempty"` // of the results
}

// A table has as many cells in each row as it has columns.
type table struct {
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

func detailsOf(saved results.Saved) details {
	d := details{run: runOf(saved), Notes: results.Describe(saved.Run.Header)}
	if cells := saved.Run.Cells(); len(cells) > 0 {
		rows := results.MedianRows(cells, results.MedianColumns(cells))
		d.Results = table{Columns: rows[0], Rows: rows[1:]}
		d.Caption = results.MediansCaption + "."
	}
	return d
}

func runOf(saved results.Saved) run {
	if saved.Err != nil {
		return run{Name: saved.Name, Err: saved.Err.Error()}
	}
	h, outcome := saved.Run.Header, saved.Run.Outcome
	r := run{
		Name:    saved.Name,
		Started: h.Started,
		Samples: len(saved.Run.Samples),
		Outcome: outcome.Kind,
		Machine: fmt.Sprintf("%s, GOMAXPROCS %d, %s/%s, %s",
			h.CPU, h.GOMAXPROCS, h.GOOS, h.GOARCH, h.Go),
		Profiles: filesOf(saved),
	}
	r.Workloads, r.Engines = saved.Run.Measured()
	if h.Instrumented != "" {
		r.Marks = append(r.Marks, "instrumented: "+h.Instrumented)
	}
	if outcome.Kind != results.Complete {
		r.Marks = append(r.Marks, outcome.String())
	}
	return r
}

// filesOf returns the profiles of a run: of the whole, then of each combination in
// the order in which it was measured, then others.
func filesOf(saved results.Saved) []runFile {
	order := []string{results.WholeRun}
	titles := map[string]string{results.WholeRun: "The whole run"}
	for _, c := range saved.Run.Cells() {
		name := c.Samples[0].FileName()
		order = append(order, name)
		titles[name] = c.Samples[0].Name(1)
	}
	var list []runFile
	rank := map[string]int{}
	for _, p := range saved.Profiles {
		of, kind := strings.TrimSuffix(p.File, results.ProfileExtension), ""
		if i := strings.LastIndexByte(of, '.'); i >= 0 {
			of, kind = of[:i], of[i+1:]
		}
		if rank[p.File] = slices.Index(order, of); rank[p.File] < 0 {
			rank[p.File] = len(order)
		}
		list = append(list, runFile{p.File, kind, cmp.Or(titles[of], of), p.Size})
	}
	kinds := []string{"cpu", "allocs", "block", "mutex"}
	slices.SortStableFunc(list, func(a, b runFile) int {
		return cmp.Or(rank[a.File]-rank[b.File], strings.Compare(a.Of, b.Of),
			slices.Index(kinds, a.Kind)-slices.Index(kinds, b.Kind))
	})
	return list
}

// A profileRow has the profiles of one thing that was measured.
type profileRow struct {
	Of    string
	Files []runFile
}

// rowsOf puts profiles of the same thing into one row.
func rowsOf(list []runFile) []profileRow {
	var rows []profileRow
	for _, p := range list {
		if n := len(rows); n == 0 || rows[n-1].Of != p.Of {
			rows = append(rows, profileRow{Of: p.Of})
		}
		last := &rows[len(rows)-1]
		last.Files = append(last.Files, p)
	}
	return rows
}
