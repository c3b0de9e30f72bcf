package results

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Saved is what a [Store] knows of a run.
type Saved struct {
	Name      string         `json:"name"`
	Started   time.Time      `json:"started"`
	Workloads []string       `json:"workloads"`
	Engines   []string       `json:"engines"`
	Samples   int            `json:"samples"`
	Outcome   string         `json:"outcome"`         // such as "complete"
	Marks     []string       `json:"marks,omitempty"` // what must be said beside its figures
	Machine   string         `json:"machine"`
	Profiles  []SavedProfile `json:"profiles,omitempty"`
	Err       string         `json:"error,omitempty"` // why it cannot be read, without the rest

	Run *Run `json:"-"`
}

// A SavedProfile is a profile that is kept with a run.
type SavedProfile struct {
	File string `json:"file"` // its name
	Kind string `json:"kind"` // such as "cpu"; profiles of equal kind can be compared
	Of   string `json:"of"`   // what was profiled; profiles of the same thing follow each other
	Size int64  `json:"bytes"`
}

// Get returns what there is of the run called name. The error wraps [ErrNoRun] if there is none.
func (s *Store) Get(name string) (Saved, error) {
	r, folder, err := s.load(name)
	var files []SavedProfile
	if err == nil {
		files, err = listProfiles(folder)
	}
	if err != nil {
		return Saved{Name: name, Err: err.Error()}, err
	}
	saved := Summary(name, r)
	saved.Profiles = sorted(files, r.Cells())
	return saved, nil
}

// Summary returns what a list says of a run with that name.
func Summary(name string, r *Run) Saved {
	h := &r.Header
	s := Saved{
		Name: name, Started: h.Started, Samples: len(r.Samples), Outcome: r.Outcome.Kind,
		Marks: r.Marks(),
		Machine: fmt.Sprintf("%s, GOMAXPROCS %d, %s/%s, %s", cmp.Or(h.CPU, "unknown processor"),
			h.GOMAXPROCS, h.GOOS, h.GOARCH, cmp.Or(h.Go, "unknown Go")),
		Run: r,
	}
	for i := range r.Samples {
		s.Workloads = appendNew(s.Workloads, r.Samples[i].Workload)
		s.Engines = appendNew(s.Engines, r.Samples[i].Engine)
	}
	return s
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// List returns all runs, by name, also those that cannot be read.
func (s *Store) List() ([]Saved, error) {
	names, err := s.Names()
	var list []Saved
	for _, name := range names {
		if saved, err := s.Get(name); !errors.Is(err, ErrNoRun) { // not removed meanwhile
			list = append(list, saved)
		}
	}
	return list, err
}

// sorted says what files are profiles of, and sorts them: the whole run, then each combination in
// the order in which it was measured, then others.
func sorted(files []SavedProfile, cells []*Cell) []SavedProfile {
	order := []string{WholeRun}
	titles := map[string]string{WholeRun: "The whole run"}
	for _, c := range cells {
		name := c.Samples[0].FileName()
		order = append(order, name)
		titles[name] = c.Samples[0].Name(1)
	}
	rank := map[string]int{}
	for i := range files {
		f := &files[i]
		of := strings.TrimSuffix(f.File, ProfileExtension)
		if i := strings.LastIndexByte(of, '.'); i >= 0 {
			of, f.Kind = of[:i], of[i+1:]
		}
		if rank[f.File] = slices.Index(order, of); rank[f.File] < 0 {
			rank[f.File] = len(order)
		}
		f.Of = cmp.Or(titles[of], of)
	}
	kinds := []string{"cpu", "allocs", "block", "mutex"}
	slices.SortStableFunc(files, func(a, b SavedProfile) int {
		return cmp.Or(rank[a.File]-rank[b.File], strings.Compare(a.Of, b.Of),
			slices.Index(kinds, a.Kind)-slices.Index(kinds, b.Kind))
	})
	return files
}
