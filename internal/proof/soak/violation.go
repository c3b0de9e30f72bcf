package soak

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/mvccmap/mvccmap/internal/proof/history"
)

// A Violation is something that must not have happened.
type Violation struct {
	Round   Round
	Summary string // one line
	Detail  string // the event, for people

	// Folder is where it was saved, or empty; SaveErr says why it was not.
	Folder  string
	SaveErr error

	history *history.History // nil if the check has none
}

// Names of the files in a violation's folder.
const (
	HistoryFile = "history.jsonl" // for CheckFile, if the check has a history
	ReportFile  = "report.txt"    // the parameters, and the fault
)

// Error names the check and its finding.
func (v *Violation) Error() string {
	return fmt.Sprintf("%s (seed %d): %s", v.Round.Kind, v.Round.Seed, v.Summary)
}

// save writes everything into a new folder below dir.
func (v *Violation) save(dir string) {
	folder, err := newFolder(dir, fmt.Sprintf("%s-%d", v.Round.Kind, v.Round.Seed))
	if err == nil {
		v.Folder = folder
		err = writeFile(filepath.Join(folder, ReportFile), func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%v\n%s\n\n%s\n\nparameters: %+v\n%s %s/%s, %d processors\n", v.Round,
				v.Summary, v.Detail, parameters(v.Round), runtime.Version(), runtime.GOOS, runtime.GOARCH,
				runtime.NumCPU())
			return err
		})
		if v.history != nil {
			err = errors.Join(err, writeFile(filepath.Join(folder, HistoryFile), v.history.Write))
		}
	}
	v.SaveErr = err
}

// parameters are a Round without its short form.
type parameters Round

// newFolder creates a folder called name, or name-2 and so on if that exists.
func newFolder(dir, name string) (string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	for n := 2; ; n++ {
		err := os.Mkdir(path, 0o777)
		if err == nil || !errors.Is(err, os.ErrExist) {
			return path, err
		}
		path = filepath.Join(dir, fmt.Sprintf("%s-%d", name, n))
	}
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
