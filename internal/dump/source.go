package dump

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mvccmap/mvccmap/internal/backupfile"
	"github.com/mvccmap/mvccmap/internal/disk"
	"github.com/mvccmap/mvccmap/journal"
)

// A source is a backup, or the folder of a journal, open to be read.
type source struct {
	path string
	ctx  context.Context
	// info is what is in the folder, nil for a backup.
	info  *journal.Info
	files map[string]*os.File // by their names
	// parts are the backup, and the groups that lead on from it.
	parts []part
	size  int64 // of a backup
}

// A part is a backup, or a group of a journal.
type part struct {
	file   string // its name
	offset int64
	bytes  int64
	from   io.ReaderAt
}

// open opens a backup or a journal. An error of it is one of the argument.
func open(ctx context.Context, path string) (*source, error) {
	is, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, usagef("%s: %w; expected a backup, or the folder of a journal", path, cause(err))
	case is.IsDir():
		return openFolder(ctx, path)
	case !is.Mode().IsRegular():
		return nil, usagef("%s is not a file; expected a backup, or the folder of a journal", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, usagef("%s: %w", path, cause(err))
	}
	s := &source{path: path, ctx: ctx, files: map[string]*os.File{path: f}, size: is.Size()}
	s.parts = []part{{file: filepath.Base(path), bytes: is.Size(), from: f}}
	var magic disk.Magic
	n, _ := f.ReadAt(magic[:], 0)
	switch begins := magic[:n]; {
	case bytes.Equal(begins, []byte("mvccmark")), bytes.Equal(begins, []byte("mvccackn")):
		s.close()
		return nil, usagef("%s is a part of a journal; expected its folder, %s", path, filepath.Dir(path))
	case !disk.BeginsBackup(begins):
		s.close()
		return nil, usagef("%s is no backup: it does not begin as one; "+
			"expected a backup, or the folder of a journal", path)
	}
	return s, nil
}

// cause is an error of the system without the path.
func cause(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// openFolder opens the files, and then looks what is in them: those that a compaction removes
// meanwhile can still be read. If it has removed one just in between it begins again.
func openFolder(ctx context.Context, dir string) (*source, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := &source{path: dir, ctx: ctx, files: map[string]*os.File{}}
		err := s.openFiles()
		if err == nil {
			var info journal.Info
			if info, err = journal.Inspect(dir); err == nil {
				s.info = &info
				if info.Files == nil && info.Err == nil {
					err = usagef("%s has no journal in it; expected a backup, or the folder of a journal", dir)
				} else if s.collect() {
					return s, nil
				}
			}
		}
		s.close()
		if err != nil {
			return nil, err
		}
	}
}

func (s *source) openFiles() error {
	entries, err := os.ReadDir(s.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		named := strings.HasPrefix(name, "backup-") || strings.HasPrefix(name, "journal-")
		if !named || !e.Type().IsRegular() {
			continue
		}
		f, err := os.Open(filepath.Join(s.path, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		s.files[name] = f
	}
	return nil
}

// collect lists the parts. It returns false if a file was not there yet when the files were opened.
func (s *source) collect() bool {
	last := -1
	for i, file := range s.info.Files {
		if file.Used && s.files[file.Name] == nil {
			return false
		}
		if file.Backup && file.Used {
			last = i
		}
	}
	if last < 0 {
		return true
	}
	b := s.info.Files[last]
	if s.info.DB == "" { // its header cannot be read
		return true
	}
	s.parts = []part{{file: b.Name, bytes: b.Bytes, from: s.files[b.Name]}}
	for _, file := range s.info.Files[last+1:] {
		for _, g := range file.Groups {
			s.parts = append(s.parts, part{file.Name, g.Offset, g.Bytes, s.files[file.Name]})
		}
	}
	return true
}

func (s *source) close() {
	for _, f := range s.files {
		_ = f.Close()
	}
}

// reader opens a part.
func (s *source) reader(i int) (*backupfile.Reader, error) {
	p := s.parts[i]
	size := 1 << 16
	if p.bytes < int64(size) {
		size = int(max(p.bytes, 16))
	}
	b, err := backupfile.NewReader(newBuffered(io.NewSectionReader(p.from, p.offset, p.bytes), size))
	return b, s.at(i, err)
}

// at names the place of an error in a part.
func (s *source) at(i int, err error) error {
	var damage *disk.DamageError
	if !errors.As(err, &damage) {
		return err
	}
	file := filepath.Join(s.path, s.parts[i].file)
	if s.info == nil {
		file = s.path
	}
	return damagef("%s is damaged at offset %d: %s", file, s.parts[i].offset+damage.Offset,
		damage.Reason)
}

// whole returns an error if something is damaged or missing. Of a backup it reads all.
func (s *source) whole() error {
	if s.info != nil {
		if s.info.Err != nil {
			return damaged(s.info.Err)
		}
		return nil
	}
	b, err := s.reader(0)
	if err != nil {
		return err
	}
	for {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if _, err = b.Next(); err != nil {
			break
		}
	}
	if errors.Is(err, io.EOF) {
		err = b.End()
	}
	return s.at(0, err)
}

// damageError is damage, or something that is missing.
type damageError struct{ error }

func (e damageError) Unwrap() error { return e.error }

func damaged(err error) error { return damageError{err} }

func damagef(format string, args ...any) error { return damaged(fmt.Errorf(format, args...)) }
