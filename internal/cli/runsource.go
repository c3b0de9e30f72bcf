package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/internal/results"
	"github.com/mvccmap/mvccmap/profiling"
)

// savedRuns shows the runs of a store in the browser.
type savedRuns struct {
	store *results.Store

	mu    sync.Mutex
	known map[string]knownRun // by name
}

// A knownRun is what was found in a file, as long as that is the same.
type knownRun struct {
	modified time.Time
	size     int64
	run      profiling.SavedRun
}

// runSource returns the saved runs for [profiling.Config]; nil if it is not known
// where they are.
func runSource() profiling.Runs {
	store, err := results.OpenStore()
	if err != nil {
		return nil
	}
	return &savedRuns{store: store, known: map[string]knownRun{}}
}

// missing is an error about something that is not there.
type missing struct{ error }

func (missing) Is(target error) bool { return target == profiling.ErrNoRun }

// checked returns err as one of package profiling.
func checked(err error) error {
	if errors.Is(err, results.ErrNoRun) || errors.Is(err, results.ErrNoProfile) {
		return missing{err}
	}
	return err
}

// maxReadRuns bounds the runs that are read for a list: the newest.
const maxReadRuns = 500

// ListRuns implements [profiling.Runs]. Files that have not changed are not read
// again.
func (s *savedRuns) ListRuns() ([]profiling.SavedRun, error) {
	names, err := s.store.Names()
	if err != nil {
		return nil, err
	}
	type file struct {
		name string
		info os.FileInfo
	}
	var files []file
	for _, name := range names {
		if info, err := os.Stat(s.store.Path(name)); err == nil {
			files = append(files, file{name, info})
		}
	}
	slices.SortStableFunc(files, func(a, b file) int { return b.info.ModTime().Compare(a.info.ModTime()) })
	s.mu.Lock()
	before := s.known
	s.mu.Unlock()
	known := map[string]knownRun{}
	var list []profiling.SavedRun
	for i, f := range files {
		if i >= maxReadRuns {
			list = append(list, profiling.SavedRun{Name: f.name, Err: fmt.Sprintf("not read: only the newest %d are", maxReadRuns)})
			continue
		}
		k, ok := before[f.name]
		if !ok || !k.modified.Equal(f.info.ModTime()) || k.size != f.info.Size() {
			saved := s.store.Get(f.name)
			if errors.Is(saved.Err, results.ErrNoRun) {
				continue // removed meanwhile
			}
			k = knownRun{f.info.ModTime(), f.info.Size(), listed(saved)}
		}
		known[f.name] = k
		list = append(list, k.run)
	}
	s.mu.Lock()
	s.known = known
	s.mu.Unlock()
	return list, nil
}

// listed returns what a list says of a run.
func listed(saved results.Saved) profiling.SavedRun {
	if saved.Err != nil {
		return profiling.SavedRun{Name: saved.Name, Err: saved.Err.Error()}
	}
	r := saved.Run
	h := r.Header
	run := profiling.SavedRun{
		Name:     saved.Name,
		Started:  h.Started,
		Samples:  len(r.Samples),
		Outcome:  r.Outcome.Kind,
		Machine:  fmt.Sprintf("%s, GOMAXPROCS %d, %s/%s, %s", h.CPU, h.GOMAXPROCS, h.GOOS, h.GOARCH, h.Go),
		Profiles: profilesOf(saved),
	}
	run.Workloads, run.Engines = r.Measured()
	if h.Instrumented != "" {
		run.Marks = append(run.Marks, "instrumented: "+h.Instrumented)
	}
	if r.Outcome.Kind != results.Complete {
		run.Marks = append(run.Marks, r.Outcome.String())
	}
	return run
}

// profilesOf returns the profiles of a run: of the whole, then of each combination
// in the order in which it was measured, then others.
func profilesOf(saved results.Saved) []profiling.RunProfile {
	order := []string{results.WholeRun}
	titles := map[string]string{results.WholeRun: "The whole run"}
	for _, c := range saved.Run.Cells() {
		name := c.Samples[0].FileName()
		order = append(order, name)
		titles[name] = c.Samples[0].Name(1)
	}
	var list []profiling.RunProfile
	rank := map[string]int{}
	for _, p := range saved.Profiles {
		stem := strings.TrimSuffix(p.File, results.ProfileExtension)
		of, kind := stem, ""
		if i := strings.LastIndexByte(stem, '.'); i >= 0 {
			of, kind = stem[:i], stem[i+1:]
		}
		rank[p.File] = slices.Index(order, of)
		if rank[p.File] < 0 {
			rank[p.File] = len(order)
		}
		if title := titles[of]; title != "" {
			of = title
		}
		list = append(list, profiling.RunProfile{File: p.File, Kind: kind, Of: of, Size: p.Size})
	}
	kinds := []string{"cpu", "allocs", "block", "mutex"}
	slices.SortStableFunc(list, func(a, b profiling.RunProfile) int {
		if c := rank[a.File] - rank[b.File]; c != 0 {
			return c
		}
		if c := strings.Compare(a.Of, b.Of); c != 0 {
			return c
		}
		return slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind)
	})
	return list
}

// get returns a run that can be read.
func (s *savedRuns) get(name string) (results.Saved, error) {
	if err := results.CheckName(name); err != nil {
		return results.Saved{}, missing{err}
	}
	saved := s.store.Get(name)
	return saved, checked(saved.Err)
}

// Run implements [profiling.Runs].
func (s *savedRuns) Run(name string) (*profiling.RunDetails, error) {
	saved, err := s.get(name)
	if err != nil {
		return nil, err
	}
	d := &profiling.RunDetails{SavedRun: listed(saved), Notes: results.Describe(saved.Run.Header)}
	if cells := saved.Run.Cells(); len(cells) > 0 {
		rows := results.MedianRows(cells, results.MedianColumns(cells))
		d.Results = profiling.Table{Columns: rows[0], Rows: rows[1:]}
		d.Caption = results.MediansCaption + "."
	}
	return d, nil
}

// browserAlpha is the level of significance of comparisons in the browser, the
// default of the command.
const browserAlpha = 0.05

// CompareRuns implements [profiling.Runs]. Runs of which only one was instrumented
// are compared, with a warning: who looks at the page sees it.
func (s *savedRuns) CompareRuns(before, after string) (*profiling.RunComparison, error) {
	var sides [2]*results.Source
	for i, name := range []string{before, after} {
		saved, err := s.get(name)
		if err == nil {
			sides[i], err = saved.Run.Source(name)
		}
		if err != nil {
			return nil, err
		}
	}
	c, err := results.Compare(sides[0], sides[1], results.Options{Alpha: browserAlpha, Force: true})
	if err != nil {
		return nil, err
	}
	out := &profiling.RunComparison{
		Old: c.Old, New: c.New, Warnings: c.Warnings, OnlyOld: c.OnlyOld, OnlyNew: c.OnlyNew,
		Method: fmt.Sprintf("medians with 95 %% confidence intervals; a change is significant if p ≤ %v in the Mann-Whitney U test", browserAlpha),
	}
	if n, of := c.Decidable(); n < of {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d of %d comparisons have too few samples for any difference to be significant; %d on each side are enough", of-n, of, results.SamplesFor(browserAlpha)))
	}
	for _, t := range c.Tables {
		if t.Zero() {
			out.Zero = append(out.Zero, t.Unit)
			continue
		}
		table := profiling.ComparisonTable{Unit: t.Unit, Better: t.Better}
		for _, r := range t.Rows {
			table.Rows = append(table.Rows, profiling.ComparisonRow{
				Name: r.Name,
				Old:  results.Scaled(t.Unit, r.Old.Center), OldRange: r.Old.Range,
				New: results.Scaled(t.Unit, r.New.Center), NewRange: r.New.Range,
				Change: r.Change(), Test: r.Chances(), Verdict: r.Verdict,
			})
		}
		if g := t.Geomean; g != nil {
			table.Rows = append(table.Rows, profiling.ComparisonRow{
				Name: g.Name, Old: results.Scaled(t.Unit, g.Old.Center), New: results.Scaled(t.Unit, g.New.Center), Change: g.Percent(),
			})
		}
		out.Tables = append(out.Tables, table)
	}
	return out, nil
}

// RunProfile implements [profiling.Runs].
func (s *savedRuns) RunProfile(run, file string) ([]byte, error) {
	if err := results.CheckName(run); err != nil {
		return nil, missing{err}
	}
	if err := results.CheckProfileName(file); err != nil {
		return nil, missing{err}
	}
	b, err := s.store.Profile(run, file)
	return b, checked(err)
}
