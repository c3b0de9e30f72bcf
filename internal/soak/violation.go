package soak

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// A Violation is something that must not have happened.
type Violation struct {
	Round   Round
	Summary string // one line
	Detail  string // what happened, for people

	// Folder is where it was saved, or empty; SaveErr says why it was not.
	Folder  string
	SaveErr error

	files []file
}

// A file is part of what is saved of a violation.
type file struct {
	name  string
	write func(io.Writer) error
}

// Names of the files in a violation's folder.
const (
	HistoryFile = "history.jsonl" // what was recorded, if the check has a history
	ReportFile  = "report.txt"    // what is wrong with it
	RoundFile   = "round.json"    // the parameters
	PictureFile = "picture.html"  // one-key operations, drawn
)

// Error names the check and what it found.
func (v *Violation) Error() string {
	return fmt.Sprintf("%s (seed %d): %s", v.Round.Kind, v.Round.Seed, v.Summary)
}

// save writes everything into a new folder below dir.
func (v *Violation) save(dir string) {
	files := append([]file{
		{ReportFile, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%v\n%s\n\n%s\n", v.Round, v.Summary, v.Detail)
			return err
		}},
		{RoundFile, v.writeRound},
	}, v.files...)
	folder, err := newFolder(dir, fmt.Sprintf("%s-%d", v.Round.Kind, v.Round.Seed))
	if err != nil {
		v.SaveErr = err
		return
	}
	v.Folder = folder
	var errs []error
	for _, f := range files {
		errs = append(errs, writeFile(filepath.Join(folder, f.name), f.write))
	}
	v.SaveErr = errors.Join(errs...)
}

func (v *Violation) writeRound(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Round
		Go   string `json:"go"`
		OS   string `json:"os"`
		CPUs int    `json:"cpus"`
	}{v.Round, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, runtime.NumCPU()})
}

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

// writeFile creates a file. It removes the file again if nothing was written.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = write(f)
	n, e := f.Seek(0, io.SeekCurrent)
	err = errors.Join(err, e, f.Close())
	if err == nil && n == 0 {
		err = os.Remove(path)
	}
	return err
}
