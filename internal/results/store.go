package results

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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

// A Store keeps runs by name, each in a file of a folder, its profiles in a folder
// beside the file. Programs may use the same store at the same time: a run is
// there as a whole or not at all.
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
		return fmt.Errorf("expected a name of 1 to 64 letters, digits, dots, dashes and underscores "+
			"that begins with a letter or digit and does not end with a dot, not %q", name)
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

// Save keeps r under a name, without profiles. Otherwise it is as SaveProfiled.
func (s *Store) Save(name string, r *Run) error { return s.SaveProfiled(name, r, nil) }

// SaveProfiled keeps r under a name, with profiles by the names of their files. It
// replaces a run of the same name, at once: a reader meanwhile finds the old one or
// the new one.
func (s *Store) SaveProfiled(name string, r *Run, profiles map[string][]byte) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if err := s.save(name, r, profiles); err != nil {
		return fmt.Errorf("saving run %s: %w", name, err)
	}
	return nil
}

func (s *Store) save(name string, r *Run, profiles map[string][]byte) (err error) {
	var record bytes.Buffer
	if err := Write(&record, r); err != nil {
		return err
	}
	f, err := s.temp()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name()) // what is left is of no use
		}
	}()
	_, err = f.Write(record.Bytes())
	if err = errors.Join(err, f.Sync(), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	folder := s.profileDir(name, record.Bytes())
	if err = s.saveProfiles(folder, profiles); err != nil {
		return err
	}
	// With this the run is there: its profiles belong to these very bytes.
	if err = os.Rename(f.Name(), s.Path(name)); err != nil {
		os.RemoveAll(folder)
		return err
	}
	return s.removeProfiles(name, folder)
}

// maxRecord bounds the files that are read as records; the largest run so far,
// with its histograms, takes some megabytes.
const maxRecord = 256 << 20

// read returns the bytes of the file of the run called name.
func (s *Store) read(name string) ([]byte, error) {
	b, err := readRegular(s.Path(name), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s (in %s)", ErrNoRun, name, s.dir)
	}
	return b, err
}

// readRegular returns the content of a file, unless it is larger than limit or
// something that could not be read to its end, such as a pipe.
func readRegular(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	tooLarge := fmt.Errorf("%s is larger than %d MB", name, limit>>20)
	if info.Size() > limit {
		return nil, tooLarge
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit { // it has grown
		err = tooLarge
	}
	return b, err
}

// Load returns the run called name.
func (s *Store) Load(name string) (*Run, error) {
	r, _, err := s.load(name)
	return r, err
}

// load returns the run called name and the folder of its profiles, which need not
// be there.
func (s *Store) load(name string) (*Run, string, error) {
	if err := CheckName(name); err != nil {
		return nil, "", err
	}
	b, err := s.read(name)
	if err != nil {
		return nil, "", err
	}
	r, err := Read(bytes.NewReader(b))
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", s.Path(name), err)
	}
	return r, s.profileDir(name, b), nil
}

// Remove deletes the run called name, and its profiles.
func (s *Store) Remove(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	err := os.Remove(s.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s (in %s)", ErrNoRun, name, s.dir)
	}
	return errors.Join(err, s.removeProfiles(name, ""))
}

// Names returns the names of all runs, sorted.
func (s *Store) Names() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), extension); ok &&
			CheckName(name) == nil && !e.IsDir() {
			names = append(names, name)
		}
	}
	return names, nil
}
