// Package runs shows kept runs of mvccbench in the browser: their results, comparisons and
// profiles, and the differences of two profiles as flame graphs.
package runs

import (
	"cmp"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/report"
	"github.com/mvccmap/mvccmap/internal/bench/results"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// maxRuns is how many runs a list shows, the newest.
const maxRuns = 200

// pages shows the runs of a shelf.
type pages struct {
	title string
	shelf *results.Shelf
	reads chan struct{} // holds one value per request that the shelf works for

	mu    sync.Mutex
	known map[string]knownRun // by name
}

// A knownRun has the list's entry of a file, as long as the file is the same.
type knownRun struct {
	modified time.Time
	size     int64
	run      results.Saved // without the Run
}

// Handler returns the pages below /debug/pprof/runs/, for the configuration of a
// service with that title. Names are never taken for paths.
func Handler(title string, shelf *results.Shelf) http.Handler {
	p := &pages{
		title: title, shelf: shelf, reads: make(chan struct{}, 2), known: map[string]knownRun{},
	}
	const at = "/debug/pprof/runs"
	mux := http.NewServeMux()
	for pattern, h := range map[string]web.Handler{
		"/{$}":     p.index,
		"/compare": p.compare,
		"/": func(_ http.ResponseWriter, r *http.Request) error {
			return web.NotFound("nothing at %s", r.URL.Path)
		},
		"/{run}": func(w http.ResponseWriter, r *http.Request) error {
			return web.Redirect(w, web.Path(r.PathValue("run"), ""))
		},
		"/{run}/{$}": p.run,
		"/{run}/{file}": func(w http.ResponseWriter, r *http.Request) error {
			return web.Redirect(w, web.Path(r.PathValue("file"), "flamegraph"))
		},
		"/{run}/{file}/{$}":                            web.To("../"),
		"/{run}/{file}/{view}":                         p.profile,
		"/{run}/{file}/minus/{base}/{basefile}/{view}": p.profile,
		"/{run}/{file}/minus/{base}/{basefile}/{$}":    toComparison,
	} {
		mux.Handle(at+pattern, h)
	}
	return mux
}

// toComparison leads from pprof's pages of a difference back to the comparison.
func toComparison(w http.ResponseWriter, r *http.Request) error {
	both := url.Values{"old": {r.PathValue("base")}, "new": {r.PathValue("run")}}
	return web.Redirect(w, "../../../../../compare?"+both.Encode())
}

func (p *pages) frame(page, base string) web.Frame {
	return web.Frame{Title: p.title, Page: page, Base: base, Here: "runs", Saved: true}
}

// ask calls f, which uses the shelf, for at most two requests at a time. It returns the error of f
// with the status to answer with.
func (p *pages) ask(r *http.Request, f func() error) error {
	select {
	case p.reads <- struct{}{}:
		defer func() { <-p.reads }()
	case <-r.Context().Done():
		return r.Context().Err()
	}
	err := f()
	if _, refused := errors.AsType[*web.Refusal](err); err == nil || refused {
		return err
	}
	if errors.Is(err, results.ErrNoRun) || errors.Is(err, results.ErrNoProfile) {
		return web.NotFound("%v", err)
	}
	return web.Refuse(http.StatusUnprocessableEntity, "%v", err)
}

// list returns the entries of the newest runs, and the number of older ones. Files that have not
// changed are not read again.
func (p *pages) list() (list []results.Saved, hidden int, err error) {
	files, err := p.shelf.Files()
	if err != nil {
		return nil, 0, err
	}
	slices.SortStableFunc(files, func(a, b results.File) int {
		return b.Info.ModTime().Compare(a.Info.ModTime())
	})
	hidden = max(len(files)-maxRuns, 0)
	files = files[:len(files)-hidden]
	p.mu.Lock()
	before := p.known
	p.mu.Unlock()
	known := map[string]knownRun{}
	list = []results.Saved{}
	for _, f := range files {
		k, ok := before[f.Name]
		if !ok || !k.modified.Equal(f.Info.ModTime()) || k.size != f.Info.Size() {
			saved, err := f.Get()
			if errors.Is(err, results.ErrNoRun) {
				continue // removed meanwhile
			}
			saved.Run = nil
			k = knownRun{f.Info.ModTime(), f.Info.Size(), saved}
		}
		known[f.Name] = k
		list = append(list, k.run)
	}
	p.mu.Lock()
	p.known = known
	p.mu.Unlock()
	slices.SortStableFunc(list, func(a, b results.Saved) int {
		return cmp.Or(b.Started.Compare(a.Started), strings.Compare(a.Name, b.Name))
	})
	return list, hidden, nil
}

// index lists the runs.
func (p *pages) index(w http.ResponseWriter, r *http.Request) error {
	var list []results.Saved
	var hidden int
	var failed error
	err := p.ask(r, func() error {
		list, hidden, failed = p.list()
		return nil
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	var readable []string // newest first
	for _, run := range list {
		if run.Err == "" {
			readable = append(readable, run.Name)
		}
	}
	return web.Page(w, http.StatusOK, "runs.html", p.frame("Runs", "../"),
		web.Data{"Runs": list, "Readable": readable, "Hidden": hidden})
}

// run shows one run.
func (p *pages) run(w http.ResponseWriter, r *http.Request) error {
	var saved results.Saved
	err := p.ask(r, func() (err error) {
		saved, err = p.shelf.Get(r.PathValue("run"))
		return err
	})
	if err != nil {
		return err
	}
	frame := p.frame("Run "+saved.Name, "../../")
	top, err := web.Part("top", frame, web.Data{})
	if err != nil {
		return err
	}
	more, err := web.Part("run.html", frame, web.Data{"Rows": rowsOf(saved.Profiles)})
	if err != nil {
		return err
	}
	text, err := report.Page{Saved: saved, Title: frame.Page + " · " + frame.Title,
		Top: template.HTML(top), More: template.HTML(more)}.HTML()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", report.Policy+
		"; form-action 'none'; frame-ancestors 'none'; base-uri 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(text)
	return nil
}

// rowsOf puts profiles of the same thing into one row.
func rowsOf(list []results.SavedProfile) (rows [][]results.SavedProfile) {
	for _, p := range list {
		if n := len(rows); n > 0 && rows[n-1][0].Of == p.Of {
			rows[n-1] = append(rows[n-1], p)
		} else {
			rows = append(rows, []results.SavedProfile{p})
		}
	}
	return rows
}

// alpha is the level of significance in the browser, the default of the command.
const alpha = 0.05

// compared returns the changes from one run to another. If only one of them was instrumented they
// are compared all the same: the page shows a warning.
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

// compare shows the changes from one run to another.
func (p *pages) compare(w http.ResponseWriter, r *http.Request) error {
	before, after := r.FormValue("old"), r.FormValue("new")
	var old, now results.Saved
	var c *results.Comparison
	var why error
	err := p.ask(r, func() (err error) {
		if old, err = p.shelf.Get(before); err != nil {
			return err
		}
		if now, err = p.shelf.Get(after); err != nil {
			return err
		}
		if before == after {
			why = errors.New("a run does not differ from itself: choose two")
			return nil
		}
		c, why = compared(old, now)
		return nil
	})
	if err != nil {
		return err
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
