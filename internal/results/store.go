package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// DirEnv is the environment variable that says in which folder runs are kept.
const DirEnv = "MVCCBENCH_DIR"

// ErrNoRun is wrapped by the errors of a [Store] that has no run of that name.
var ErrNoRun = errors.New("no run of that name is saved")

// A Store keeps runs by name, each in a file of a folder. Programs may use the
// same folder at the same time: a run is there as a whole or not at all.
type Store struct{ dir string }

// OpenStore returns the store in the folder that the environment variable [DirEnv]
// names or, if it is not set, in mvccbench/runs of the user's configuration. The
// folder is made when the first run is saved.
func OpenStore() (*Store, error) {
	if dir := os.Getenv(DirEnv); dir != "" {
		return &Store{dir}, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return nil, fmt.Errorf("where to keep runs is not known; set %s to a folder: %w", DirEnv, err)
	}
	return &Store{filepath.Join(dir, "mvccbench", "runs")}, nil
}

// Dir returns the folder.
func (s *Store) Dir() string { return s.dir }

const extension = ".json"

// names is what the name of a run looks like: it is a file's name on every system,
// and cannot be taken for a flag or for a path.
var names = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?$`)

// CheckName returns an error, which says what is allowed, if a run cannot have that
// name.
func CheckName(name string) error {
	if !names.MatchString(name) {
		return fmt.Errorf("expected a name of 1 to 64 letters, digits, dots, dashes and underscores that begins with a letter or digit and does not end with a dot, not %q", name)
	}
	return nil
}

// Path returns the file of the run called name, whether there is one or not. The
// name must be good.
func (s *Store) Path(name string) string { return filepath.Join(s.dir, name+extension) }

// Has reports whether there is a run called name.
func (s *Store) Has(name string) bool {
	if CheckName(name) != nil {
		return false
	}
	_, err := os.Stat(s.Path(name))
	return err == nil
}

// Ready makes the folder and makes sure that a run could be saved in it.
func (s *Store) Ready() error {
	f, err := s.temp()
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func (s *Store) temp() (*os.File, error) {
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return nil, err
	}
	return os.CreateTemp(s.dir, ".saving-*")
}

// Save keeps r under a name. It replaces a run of the same name, at once: whoever
// reads it meanwhile finds the old one or the new one.
func (s *Store) Save(name string, r *Run) (err error) {
	if err := CheckName(name); err != nil {
		return err
	}
	f, err := s.temp()
	if err != nil {
		return fmt.Errorf("saving run %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("saving run %s: %w", name, err)
			os.Remove(f.Name()) // what is left is of no use to anybody
		}
	}()
	err = errors.Join(Write(f, r), f.Sync(), f.Chmod(0o644), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), s.Path(name))
}

// Load returns the run called name.
func (s *Store) Load(name string) (*Run, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	r, err := ReadFile(s.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s (in %s)", ErrNoRun, name, s.dir)
	}
	return r, err
}

// Remove deletes the run called name.
func (s *Store) Remove(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	err := os.Remove(s.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s (in %s)", ErrNoRun, name, s.dir)
	}
	return err
}

// A Saved is what a [Store] knows of a run.
type Saved struct {
	Name string
	Run  *Run
	Err  error // why it cannot be read; Run is nil then
}

// List returns all runs, by name. Those that cannot be read are among them.
func (s *Store) List() ([]Saved, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Saved
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), extension)
		if !ok || CheckName(name) != nil || e.IsDir() {
			continue
		}
		r, err := ReadFile(s.Path(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		list = append(list, Saved{name, r, err})
	}
	return list, nil
}
