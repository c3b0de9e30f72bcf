package results

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Errors that those of a [Shelf] wrap.
var (
	ErrNoRun     = errors.New("there is no run of that name")
	ErrNoProfile = errors.New("the run has no profile of that name")
)

// A Shelf has kept runs: files of records in JSON, and all such files in folders. It looks for them
// anew each time. The name of a run is that of its file, without the ending.
type Shelf struct{ paths []string }

// OpenShelf returns a shelf of files, and of folders.
func OpenShelf(paths ...string) (*Shelf, error) {
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
	}
	return &Shelf{paths}, nil
}

const extension = ".json"

// names is the form of the name of a run: nothing that a page would take for something else.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// A File is a run on a [Shelf].
type File struct {
	Name string
	Path string
	Info fs.FileInfo

	err error // why it cannot be shown
}

// Files returns the files that are there, by name. A file that cannot be shown, such as the second
// of a name, has its path in place of a name.
func (s *Shelf) Files() (list []File, err error) {
	taken := map[string]bool{}
	add := func(path string) {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			return
		}
		f := File{strings.TrimSuffix(filepath.Base(path), extension), path, info, err}
		switch {
		case err != nil:
		case !names.MatchString(f.Name):
			f.err = errors.New("expected a name of up to 64 letters, digits, dots, dashes and underscores, " +
				"which begins with a letter or digit")
		case taken[f.Name]:
			f.err = errors.New("expected another name: there is a run of this one")
		}
		if taken[f.Name] = true; f.err != nil {
			f.Name = path
		}
		list = append(list, f)
	}
	for _, path := range s.paths {
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() {
			add(path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.IsDir() && strings.HasSuffix(e.Name(), extension) {
				add(filepath.Join(path, e.Name()))
			}
		}
	}
	slices.SortFunc(list, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// maxRecord bounds the files that are read as records; the largest run so far, with its histograms
// and profiles, takes some megabytes.
const maxRecord = 256 << 20

// maxProfile bounds the profiles that are read, compressed.
const maxProfile = 16 << 20

// read returns the record in a file, unless it is too large or something that could not be read to
// its end, such as a pipe.
func (f File) read() (*Run, error) {
	switch {
	case f.err != nil:
		return nil, f.err
	case !f.Info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", f.Path)
	case f.Info.Size() > maxRecord:
		return nil, fmt.Errorf("%s is larger than %d MB", f.Path, maxRecord>>20)
	}
	in, err := os.Open(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoRun // removed meanwhile
	} else if err != nil {
		return nil, err
	}
	defer in.Close()
	r, err := Read(io.LimitReader(in, maxRecord))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return r, nil
}

// A Saved has the known facts of a run on a [Shelf].
type Saved struct {
	Name      string         `json:"name"`
	Started   time.Time      `json:"started"`
	Workloads []string       `json:"workloads"`
	Engines   []string       `json:"engines"`
	Samples   int            `json:"samples"`
	Outcome   string         `json:"outcome"`         // such as "complete"
	Marks     []string       `json:"marks,omitempty"` // remarks beside its figures
	Machine   string         `json:"machine"`
	Profiles  []SavedProfile `json:"profiles,omitempty"`
	Err       string         `json:"error,omitempty"` // why it cannot be read, without the rest

	Run *Run `json:"-"`
}

// A SavedProfile is a profile that is kept with a run.
type SavedProfile struct {
	File string `json:"file"` // its name
	Kind string `json:"kind"` // such as "cpu"; profiles of equal kind can be compared
	Of   string `json:"of"`   // profiles; those of the same combination follow each other
	Size int    `json:"bytes"`
}

// Get returns the run called name. The error wraps [ErrNoRun] if there is none.
func (s *Shelf) Get(name string) (Saved, error) {
	files, err := s.Files()
	if err != nil {
		return Saved{}, err
	}
	i := slices.IndexFunc(files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return Saved{}, fmt.Errorf("%w: %q", ErrNoRun, name)
	}
	return files[i].Get()
}

// Get is [Shelf.Get] of a file.
func (f File) Get() (Saved, error) {
	r, err := f.read()
	if err != nil {
		return Saved{Name: f.Name, Err: err.Error()}, err
	}
	return Summary(f.Name, r), nil
}

// Profile returns a profile of the run called name.
func (s *Shelf) Profile(name, file string) ([]byte, error) {
	saved, err := s.Get(name)
	if err != nil {
		return nil, err
	}
	data, ok := saved.Run.Profiles[file]
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: run %q, profile %q", ErrNoProfile, name, file)
	case len(data) > maxProfile:
		return nil, fmt.Errorf("profile %s of run %s is larger than %d MB", file, name, maxProfile>>20)
	}
	return data, nil
}

// Summary returns the line of a list for a run with that name.
func Summary(name string, r *Run) Saved {
	h := &r.Header
	s := Saved{
		Name: name, Started: h.Started, Samples: len(r.Samples), Outcome: r.Outcome.Kind,
		Marks: r.Marks(), Profiles: r.profiles(),
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

// ProfileExtension ends the names of all profiles.
const ProfileExtension = ".pb.gz"

// WholeRun is the name of the profile of all combinations together.
const WholeRun = "whole-run"

// profileNames is the form of the name of a profile: never a path, and nothing that a shell would
// take for something else.
var profileNames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._=+-]{0,200}\.pb\.gz$`)

// profiles lists the profiles of r: of the whole run, then of each combination in the order in which
// it was measured, then others.
func (r *Run) profiles() (list []SavedProfile) {
	order := []string{WholeRun}
	titles := map[string]string{WholeRun: "The whole run"}
	for _, c := range r.Cells() {
		name := c.Samples[0].FileName()
		order = append(order, name)
		titles[name] = c.Samples[0].Name(1)
	}
	rank := map[string]int{}
	for file, data := range r.Profiles {
		f := SavedProfile{File: file, Of: strings.TrimSuffix(file, ProfileExtension), Size: len(data)}
		if i := strings.LastIndexByte(f.Of, '.'); i >= 0 {
			f.Of, f.Kind = f.Of[:i], f.Of[i+1:]
		}
		if rank[file] = slices.Index(order, f.Of); rank[file] < 0 {
			rank[file] = len(order)
		}
		f.Of = cmp.Or(titles[f.Of], f.Of)
		list = append(list, f)
	}
	kinds := []string{"cpu", "allocs", "block", "mutex"}
	slices.SortFunc(list, func(a, b SavedProfile) int {
		return cmp.Or(rank[a.File]-rank[b.File], strings.Compare(a.Of, b.Of),
			slices.Index(kinds, a.Kind)-slices.Index(kinds, b.Kind), strings.Compare(a.File, b.File))
	})
	return list
}
