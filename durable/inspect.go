package durable

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mvccmap/mvccmap/internal/seam/backupfile"
	"github.com/mvccmap/mvccmap/mvcc"
)

// An Info describes the folder of a journal, see [Inspect].
type Info struct {
	// DB, Codec and Version are those of the backup, see [Backup]; empty if there is none.
	DB      string
	Codec   string
	Version int
	// Tables are the tables that exist at the end, in the order in which they came.
	Tables []TableInfo
	// Epoch is that of the last commit that Open would load.
	Epoch uint64
	// Lives are the lives of the database since the backup, in their order, with the epoch at which
	// each begins: the first one begins at the epoch of the backup.
	Lives []mvcc.Position
	// Acknowledged is the epoch in the file "acknowledged": all up to this epoch was on disk; 0 if
	// the file does not say. Closed says that the journal was closed after that.
	Acknowledged uint64
	Closed       bool
	// Incomplete is how many bytes at the end Open would leave out: those of a group that is being
	// written, or that a crash has torn.
	Incomplete int64
	// Err is the error of Open for these files: nil, or that of a damaged one, a
	// [*DamageError], or of a missing one, an [io/fs.ErrNotExist]. Both name the file.
	Err error
	// Files are the backups and journals, by their numbers.
	Files []FileInfo
	// Unfinished are the names of files that were not brought to their end: a backup that is being
	// taken, or the remains of one after a crash.
	Unfinished []string
	// Before describes the folder "before", or is nil if there is none.
	Before *Info

	_ struct{}
}

// A TableInfo describes a table of a journal.
type TableInfo struct {
	backupfile.TableHeader     // Records counts those of the backup, Refused all
	Changes                int // how many records, and deletions, the groups after the backup have
}

// A FileInfo is a backup or a journal.
type FileInfo struct {
	Name   string
	Number uint64
	Backup bool
	Bytes  int64
	// Epoch is that of the state that is in a backup, or that a journal begins with.
	Epoch uint64
	// Used says that Open reads the file. Other files are there until they are removed, see J2: of
	// these only the fields above are set, without Epoch.
	Used bool
	// Groups are the groups of a journal, as far as they follow each other and the files before.
	Groups []GroupInfo
	// Rest is how many bytes come after the last group and mark that can be read.
	Rest int64

	_ struct{}
}

// A GroupInfo is a group of commits: those with epochs above Since, up to Epoch. The first group of
// a journal has no commits, and names the tables.
type GroupInfo struct {
	Offset, Bytes int64
	Since, Epoch  uint64
	Records       int // and deletions
}

// Inspect describes the folder of a journal. It needs neither the types nor the codec, takes no
// lock, writes nothing, and may be called while a process writes the journal: it reads the files as
// they are at one moment, so a group that is half-written then is not damage. It reads all that
// Open would, with their checksums, and does not decode records. It blocks for as long as the disk
// takes. It allocates some 50 bytes for each group, beside the headers.
//
// The error is one of the system, for instance if there is no such folder. Damage is in [Info.Err].
// A folder without any files of a journal has an Info without Files, and no error.
func Inspect(dir string) (Info, error) {
	info, err := inspect(dir)
	if err != nil {
		return info, fmt.Errorf("durable: %w", err)
	}
	name := filepath.Join(dir, beforeName)
	if is, err := os.Stat(name); err == nil && !is.IsDir() {
		return info, nil
	}
	before, err := inspect(name)
	switch {
	case err == nil:
		info.Before = &before
	case !errors.Is(err, fs.ErrNotExist): // it goes when the journal is closed
		return info, fmt.Errorf("durable: %w", err)
	}
	return info, nil
}

// An inspector reads files as Open does, and keeps their headers.
type inspector struct {
	filesLoader
	stats  Stats
	info   *Info
	folder *folder
	at     *FileInfo // the file being read
	life   string    // in which tables have the IDs that are in info
}

func inspect(dir string) (info Info, err error) {
	f, err := openFolder(dir)
	if err != nil {
		return info, err
	}
	defer f.close()
	info.Acknowledged, info.Closed, info.Unfinished = f.must.epoch, f.must.closed, f.left
	info.Files = f.infos
	in := &inspector{info: &info, folder: f}
	in.filesLoader = filesLoader{dir: dir, must: f.must, stats: &in.stats, open: in.begin,
		backup: in.whole, group: in.next}
	_, _, err = in.all(f.listing)
	in.leave()
	if info.Err = f.foreign; info.Err == nil {
		info.Err = err
	}
	info.Epoch, info.Lives, info.Incomplete = in.after.Epoch, in.lives, in.stats.Dropped
	for i := range info.Files {
		if file := &info.Files[i]; file.Used && !file.Backup {
			file.Epoch = in.begun(file)
		}
	}
	return info, nil
}

// begun returns the epoch that a journal begins with, 0 if it does not say.
func (in *inspector) begun(info *FileInfo) uint64 {
	f, err := in.folder.file(info.Name)
	if err != nil {
		return 0
	}
	b, _, err := readBegin(f)
	if err != nil && len(info.Groups) > 0 { // of a version that wrote no such record
		return info.Groups[0].Since
	}
	return b.at.Epoch
}

// begin opens a file, from its beginning.
func (in *inspector) begin(path string) (io.ReadSeekCloser, error) {
	in.leave()
	f, err := in.folder.file(filepath.Base(path))
	if err != nil {
		return nil, missing(path)
	}
	in.at = f.info
	return f, nil
}

// leave notes how far the file could be read.
func (in *inspector) leave() {
	if in.at != nil && !in.at.Backup {
		in.at.Rest = in.at.Bytes - in.filesLoader.at
	}
	in.at = nil
}

// whole reads a backup.
func (in *inspector) whole(path string) (Backup, error) {
	f, err := in.begin(path)
	if err != nil {
		return Backup{}, err
	}
	b, err := backupfile.NewReader(bufio.NewReaderSize(f, 1<<16))
	if err != nil {
		return Backup{}, damaged(err)
	}
	in.at.Epoch = b.Epoch
	in.info.DB, in.info.Codec, in.info.Version, in.life = b.DB, b.Codec, b.Version, b.DB
	if b.Since != 0 {
		return Backup{}, fmt.Errorf("the backup has only the differences to another one, "+
			"of epoch %d", b.Since)
	}
	if err = b.Skip(); err == nil {
		err = b.End()
	}
	if err != nil {
		return Backup{}, damaged(err)
	}
	for _, table := range b.Tables {
		in.info.Tables = append(in.info.Tables, TableInfo{TableHeader: table})
	}
	return backupOf(b), nil
}

func backupOf(b *backupfile.Reader) Backup {
	return Backup{DB: b.DB, Epoch: b.Epoch, Since: b.Since, Version: b.Version, Codec: b.Codec,
		Records: b.Records, Bytes: b.Bytes}
}

// next reads a group.
func (in *inspector) next(r *bufio.Reader, after Backup) (Backup, error) {
	b, err := backupfile.NewReader(r)
	if err != nil {
		return Backup{}, err
	}
	switch {
	case after.Codec != "" && b.Codec != after.Codec:
		return backupOf(b), fmt.Errorf("the codec of a group is %q, and that of the backup %q", b.Codec,
			after.Codec)
	case after.Codec != "" && b.Version != after.Version:
		return backupOf(b), fmt.Errorf("the version of a group is %d, and that of the backup %d",
			b.Version, after.Version)
	case b.Since != after.Epoch || b.DB != after.DB || b.Since == 0:
		return backupOf(b), errors.New("a group does not follow the one before")
	}
	if err := b.Skip(); err != nil {
		return backupOf(b), err
	}
	in.at.Groups = append(in.at.Groups, GroupInfo{Offset: in.filesLoader.at, Bytes: b.Bytes,
		Since: b.Since, Epoch: b.Epoch, Records: b.Records})
	if in.life != b.DB {
		in.life = b.DB
		in.rename(b.Tables)
	}
	in.change(b.Tables)
	return backupOf(b), nil
}

// rename notes the IDs that tables have in another life, whose first group names all of them.
func (in *inspector) rename(tables []backupfile.TableHeader) {
	for _, table := range tables {
		for i := range in.info.Tables {
			if is := &in.info.Tables[i]; is.Name == table.Name {
				is.ID = table.ID
			}
		}
	}
}

// change notes the tables of a group.
func (in *inspector) change(tables []backupfile.TableHeader) {
	list := in.info.Tables
	for _, table := range tables {
		i := slices.IndexFunc(list, func(t TableInfo) bool { return t.Name == table.Name })
		switch {
		case table.Closed:
			if i >= 0 && list[i].ID == table.ID {
				list = slices.Delete(list, i, i+1)
			}
			continue
		case i < 0:
			list = append(list, TableInfo{})
			i = len(list) - 1
			fallthrough
		case list[i].ID != table.ID: // the one before was closed
			list[i] = TableInfo{TableHeader: table}
			list[i].Records, list[i].Refused = 0, 0
		}
		list[i].Changes += table.Records
		list[i].Refused += table.Refused
	}
	in.info.Tables = list
}
