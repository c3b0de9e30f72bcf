package dump

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/internal/seam/backupfile"
	"github.com/mvccmap/mvccmap/internal/seam/disk"
)

// A source is a backup, or the folder of a journal, open to be read.
type source struct {
	path   string
	ctx    context.Context
	info   *durable.Info      // the contents of the folder, nil for a backup
	backup *backupfile.Reader // a backup that was read, nil if its header cannot be
	damage error              // the damage, or the file that is missing
	files  []*os.File
	parts  []part // the backup, and the groups that lead on from it
}

// A part is a backup, or a group of a journal.
type part struct {
	file          string // its path
	offset, bytes int64
	from          io.ReaderAt
}

// open opens a backup or a journal, and reads all of it.
func open(ctx context.Context, path string) (*source, error) {
	is, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w; expected a backup, or the folder of a journal", err)
	case is.IsDir():
		return openFolder(ctx, path)
	case !is.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file; expected a backup, or the folder of a journal", path)
	}
	s := &source{path: path, ctx: ctx}
	f, err := s.openFile(path)
	if err != nil {
		return nil, err
	}
	var magic disk.Magic
	if n, _ := f.ReadAt(magic[:], 0); !disk.BeginsBackup(magic[:n]) {
		s.close()
		return nil, fmt.Errorf("%s is no backup: it does not begin as one; expected a backup, or the "+
			"folder of a journal", path)
	}
	s.parts = []part{{path, 0, is.Size(), f}}
	s.backup, err = s.reader(0)
	for err == nil {
		if err = ctx.Err(); err == nil {
			_, err = s.backup.Next()
		}
	}
	if errors.Is(err, io.EOF) {
		err = s.backup.End()
	}
	s.damage = s.at(0, err)
	return s, nil
}

// openFolder opens the files that are needed. If a compaction has removed one meanwhile, openFolder
// begins again.
func openFolder(ctx context.Context, dir string) (*source, error) {
	for ctx.Err() == nil {
		info, err := durable.Inspect(dir)
		if err == nil && info.Files == nil && info.Err == nil {
			err = fmt.Errorf("%s has no journal in it; expected a backup, or the folder of a journal", dir)
		}
		if err != nil {
			return nil, err
		}
		s := &source{path: dir, ctx: ctx, info: &info, damage: info.Err}
		if err = s.collect(); err == nil {
			return s, nil
		}
		s.close()
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, ctx.Err()
}

// collect opens the files, and lists the parts.
func (s *source) collect() error {
	if s.info.DB == "" { // there is no backup, or its header cannot be read
		return nil
	}
	for _, file := range s.info.Files {
		if !file.Used {
			continue
		}
		path := filepath.Join(s.path, file.Name)
		f, err := s.openFile(path)
		if err != nil {
			return err
		}
		if file.Backup {
			s.parts = append(s.parts, part{path, 0, file.Bytes, f})
		}
		for _, g := range file.Groups {
			s.parts = append(s.parts, part{path, g.Offset, g.Bytes, f})
		}
	}
	return nil
}

func (s *source) openFile(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err == nil {
		s.files = append(s.files, f)
	}
	return f, err
}

func (s *source) close() {
	for _, f := range s.files {
		_ = f.Close()
	}
}

// reader opens a part.
func (s *source) reader(i int) (*backupfile.Reader, error) {
	p := s.parts[i]
	in := io.NewSectionReader(p.from, p.offset, p.bytes)
	b, err := backupfile.NewReader(bufio.NewReaderSize(in, int(min(max(p.bytes, 16), 1<<16))))
	return b, s.at(i, err)
}

// at names the place of an error in a part.
func (s *source) at(i int, err error) error {
	var damage *disk.DamageError
	if !errors.As(err, &damage) {
		return err
	}
	p := s.parts[i]
	return fmt.Errorf("%s is damaged at offset %d: %s", p.file, p.offset+damage.Offset, damage.Reason)
}

// tick returns the error of ctx, now and then.
func (s *source) tick(n int) error {
	if n%256 == 0 {
		return s.ctx.Err()
	}
	return nil
}
