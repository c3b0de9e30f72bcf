package durable

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// A folder is the files of a journal as they were at one moment. Those that are needed are open.
type folder struct {
	listing
	must    bound
	foreign error               // why must cannot be read
	infos   []FileInfo          // by number; a backup before its journal
	opened  map[string]*os.File // by their names
}

// meanwhile is called once the names are known, and once the files are open. Tests change the
// folder then.
var meanwhile = func(open bool) {}

// openFolder opens the files. It reads the bound first: the files read later lead to it. A file
// that has gone meanwhile is not needed if the folder has other files now.
func openFolder(dir string) (*folder, error) {
	for was := ""; ; {
		f := &folder{opened: map[string]*os.File{}}
		f.must, f.foreign = readBound(dir)
		var err error
		if f.listing, err = list(dir); err != nil {
			return nil, err
		}
		meanwhile(false)
		if err = f.open(dir); err == nil {
			return f, nil
		}
		f.close()
		is := fmt.Sprint(f.listing)
		if !errors.Is(err, fs.ErrNotExist) || is == was {
			return nil, err
		}
		was = is
	}
}

func (f *folder) open(dir string) error {
	for _, n := range f.backups {
		f.infos = append(f.infos, FileInfo{Name: backupName(n), Number: n, Backup: true})
	}
	for _, n := range f.journals {
		f.infos = append(f.infos, FileInfo{Name: journalName(n), Number: n})
	}
	slices.SortFunc(f.infos, func(a, b FileInfo) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Name, b.Name))
	})
	for i := range f.infos {
		info := &f.infos[i]
		path := filepath.Join(dir, info.Name)
		is, err := os.Stat(path)
		n := len(f.backups) // all is read from the last one on
		if info.Used = n == 0 || info.Number >= f.backups[n-1]; info.Used {
			var file *os.File
			if file, err = os.Open(path); err == nil {
				f.opened[info.Name] = file
				is, err = file.Stat()
			}
		}
		if err != nil {
			return err
		}
		info.Bytes = is.Size()
	}
	meanwhile(true)
	return nil
}

func (f *folder) close() {
	for _, file := range f.opened {
		_ = file.Close()
	}
}

// An inspected file is read as far as it went when it was opened.
type inspected struct {
	*io.SectionReader
	info *FileInfo
}

func (inspected) Close() error { return nil }

// file returns a file, from its beginning.
func (f *folder) file(name string) (inspected, error) {
	i := slices.IndexFunc(f.infos, func(info FileInfo) bool { return info.Name == name })
	if i < 0 {
		return inspected{}, fs.ErrNotExist
	}
	return inspected{io.NewSectionReader(f.opened[name], 0, f.infos[i].Bytes), &f.infos[i]}, nil
}
