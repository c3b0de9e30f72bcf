package durable

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/mvccmap/mvccmap/internal/seam/disk"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A found describes the folder that Open has found.
type found struct {
	from, last uint64   // the number of the backup, 0 if there is none, and the highest one
	state      Backup   // after the files loaded
	journals   []uint64 // that lead on from the backup, and other files with such numbers
	// backup and log are how many bytes the backup and the journals have.
	backup, log int64
	// same says that the tables have the names, types and version of the files. So
	// nothing has to be written before commits can follow.
	same bool
}

// load gives the tables the state of the folder, and keeps the states that were asked for. names
// lists the files of the folder.
func (j *Journal) load(ctx context.Context) (f found, names string, err error) {
	in, err := openFolder(j.dir)
	if err != nil {
		return f, "", err
	}
	defer in.close()
	if names = fmt.Sprint(in.listing); in.foreign != nil {
		return f, names, in.foreign
	}
	j.stats = Stats{}
	// A higher clock is that of the loaded state, or means nothing.
	j.door.SkipTo(min(in.must.clock, disk.HighestSkip), false)
	j.progress.expect(in.infos)
	defer j.lines()()
	l := j.loader(ctx, in)
	if f.from, f.last, err = l.all(in.listing); err != nil || f.from == 0 {
		return f, names, err
	}
	if err := l.after.missing(); err != nil {
		return f, names, fmt.Errorf("%s: %w", filepath.Join(j.dir, backupName(f.from)), err)
	}
	j.progress.done()
	f.state = l.after
	j.keepEnd(l.must, l.position())
	for _, info := range in.infos {
		switch {
		case !info.Used:
		case info.Backup:
			f.backup = info.Bytes
		default:
			f.journals, f.log = append(f.journals, info.Number), f.log+info.Bytes
		}
	}
	s := j.db.Snapshot()
	defer s.Close()
	f.same = f.state.Version == j.opts.Version && f.state.matches(s, j.door.Tables(s)) && l.begins
	return f, names, nil
}

// loader returns a filesLoader into the database.
func (j *Journal) loader(ctx context.Context, in *folder) *filesLoader {
	return &filesLoader{dir: j.dir, must: in.must, stats: &j.stats,
		open: func(path string) (io.ReadSeekCloser, error) { // no further than it went when all were opened
			file, err := in.file(filepath.Base(path))
			if err != nil {
				return nil, missing(path)
			}
			return file, nil
		},
		backup: func(path string) (Backup, error) {
			b, err := loadFile(ctx, j.db, path, j.codec, j.loads())
			j.progress.readAll(b, err)
			return b, err
		},
		group: func(in *bufio.Reader, after Backup) (Backup, error) {
			b, err := loadCommits(ctx, j.db, in, j.codec, after, j.loads())
			j.progress.readAll(b, err)
			return b, err
		}}
}

// all loads the last backup, if there is one, and the journals that lead on from it. It returns the
// numbers of that backup and of the last journal, 0 for one that is not there.
func (l *filesLoader) all(files listing) (from, last uint64, err error) {
	if n := len(files.backups); n > 0 {
		if from = files.backups[n-1]; !slices.Contains(files.journals, from) {
			return 0, 0, missing(filepath.Join(l.dir, journalName(from)))
		}
		path := filepath.Join(l.dir, backupName(from))
		if l.after, err = l.backup(path); err != nil {
			return 0, 0, fmt.Errorf("%s: %w", path, filed(path, err))
		}
		l.lives = append(l.lives, l.position())
		if l.begins, err = l.hasBegins(path); err != nil {
			return 0, 0, err
		}
	} else if len(files.journals) > 0 {
		l.stop(missing(filepath.Join(l.dir, backupName(files.journals[0]))))
	}
	for last = from; len(files.journals) > 0; files.journals = files.journals[1:] {
		n := files.journals[0]
		if n < from {
			continue
		}
		if n > last+1 && last >= from && !l.over {
			l.stop(missing(filepath.Join(l.dir, journalName(last+1))))
		}
		last = n
		if err := l.journal(n); err != nil {
			return 0, 0, err
		}
	}
	return from, last, l.complete(last)
}

// loads returns the options with which backups and groups are loaded.
func (j *Journal) loads() *LoadOptions {
	return &LoadOptions{Version: j.opts.Version, Versions: j.opts.Versions,
		Rename: j.opts.Rename, Migrate: j.opts.Migrate, AnyShape: j.opts.AnyShape,
		Progress: j.progress.reading, more: true, resume: j.opts.Resume}
}

// filed notes in a [*VersionError] the path of its file, and returns err.
func filed(path string, err error) error {
	if v := new(VersionError); errors.As(err, &v) {
		v.File = path
	}
	return err
}

// keepEnd keeps the loaded state for positions after the last commit. No other commit had been made
// up to the clock of the bound.
func (j *Journal) keepEnd(was bound, loaded mvcc.Position) {
	if was.epoch != loaded.Epoch || was.life != loaded.Life {
		return
	}
	for _, at := range j.opts.Resume {
		if at.Life == was.life && was.epoch < at.Epoch && at.Epoch <= was.clock {
			j.door.KeepState(at)
		}
	}
}

func missing(path string) error { return fmt.Errorf("%s is missing: %w", path, os.ErrNotExist) }

// hasBegins reports whether the journals of a backup begin with a record of their number.
func (l *filesLoader) hasBegins(path string) (bool, error) {
	f, err := l.open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var magic disk.Magic
	_, err = io.ReadFull(f, magic[:])
	return magic != disk.BackupMagicBefore, err
}

// A filesLoader loads journals, one after the other, as far as they go.
type filesLoader struct {
	dir   string
	must  bound
	stats *Stats
	open  func(path string) (io.ReadSeekCloser, error)
	// backup loads a backup, and group loads a group of differences to the loaded state.
	backup func(path string) (Backup, error)
	group  func(in *bufio.Reader, after Backup) (Backup, error)

	begins bool            // they must begin with a record: the backup is not of an old version
	begun  bool            // the first journal was looked at
	after  Backup          // where the loaded state leads to
	lives  []mvcc.Position // of the database, in their order, and where each begins
	// also are other positions of the state that was loaded: of lives that have committed nothing
	// since.
	also []mvcc.Position
	over bool  // the rest does not go on from the loaded state
	why  error // with the file
	at   int64 // in the journal
}

// position returns the position of the loaded state.
func (l *filesLoader) position() mvcc.Position {
	return mvcc.Position{Life: l.after.DB, Epoch: l.after.Epoch}
}

// stop ends the loading: the rest is not to be loaded, and must not have been on disk.
func (l *filesLoader) stop(why error) { l.over, l.why = true, why }

// lost returns the error that commits up to an epoch were on disk, and are not there.
func (l *filesLoader) lost(e uint64, why error) error {
	return fmt.Errorf("what was on disk up to epoch %d is lost after epoch %d: %w", e, l.after.Epoch, why)
}

// complete returns an error if fewer commits were loaded than must have been on disk. last is the
// number of the last journal.
func (l *filesLoader) complete(last uint64) error {
	if l.must.epoch <= l.after.Epoch {
		return nil
	}
	path := filepath.Join(l.dir, journalName(l.must.number))
	switch {
	case l.must.number > last:
		l.why = missing(path)
	case !l.over:
		l.why = fmt.Errorf("%s: %w", path, &DamageError{Offset: l.at,
			Reason: "it ends where more should follow"})
	}
	return l.lost(l.must.epoch, l.why)
}

// errMissing says that a group does not follow the group before. errForeign says that a file in the
// place of a journal is no journal.
var (
	errMissing = errors.New("what should come before it is missing")
	errForeign = errors.New("it is another file")
)

// journal loads a journal, as far as it goes on from the loaded state. It is an error if something
// in the rest, a beginning or a mark, says that more was on disk.
func (l *filesLoader) journal(n uint64) error {
	path := filepath.Join(l.dir, journalName(n))
	f, err := l.open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	life, err := l.enter(in, n, path)
	if err != nil {
		return err
	}
	for !l.over {
		if _, err := in.Peek(1); err == io.EOF {
			return nil
		}
		length, err := l.item(in)
		switch {
		case err == nil:
			l.at += length
		case damage(err, l.at) != nil:
			l.stop(fmt.Errorf("%s, at offset %d: %w", path, l.at, damage(err, l.at)))
		default:
			return fmt.Errorf("%s, at offset %d: %w", path, l.at, filed(path, err))
		}
	}
	if _, err := f.Seek(l.at, io.SeekStart); err != nil {
		return err
	}
	rest, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if e := lastMark(rest, life); e > l.after.Epoch {
		return l.lost(e, l.why)
	}
	l.stats.Dropped += int64(len(rest))
	return nil
}

// enter reads the beginning of a journal. It sets l.over if the journal does not go on from the
// loaded state. It returns the life whose marks count in the rest.
func (l *filesLoader) enter(in *bufio.Reader, n uint64, path string) (life string, err error) {
	first := l.begins && !l.begun
	l.at, l.begun = 0, true
	b, length, err := l.begin(in, n, first)
	switch {
	case err == nil && length > 0:
		if b.at.Life != "" && b.at.Life != l.after.DB {
			l.lives, l.also = append(l.lives, b.at), append(l.also, l.position())
			l.after.DB = b.at.Life
		}
		// Whatever came after the loaded state, the process that has begun this one lacked it too.
		l.after.Epoch, l.at, l.over = b.at.Epoch, length, false
		return l.after.DB, nil
	case err == nil: // of a version that wrote no such record
		return l.after.DB, nil
	}
	why := fmt.Errorf("%s: %w", path, damaged(err))
	if first || errors.Is(err, errForeign) {
		return "", why
	}
	if !l.over {
		l.stop(why)
	}
	if b.number == n && b.said && b.after != (mvcc.Position{}) {
		return "", l.lost(b.after.Epoch, l.why)
	}
	return cmp.Or(b.at.Life, l.after.DB), nil
}

// beginsJournal reports whether head is the beginning of a journal, or may be the remains of one
// after a crash.
func beginsJournal(head []byte) (begins, torn bool) {
	for _, kind := range []byte{frameBegin, frameBeginBefore} {
		record := append(markMagic[:], kind)
		begins = begins || bytes.HasPrefix(head, record)
		torn = torn || isTorn(head[:min(len(head), len(record))], record)
	}
	return begins, torn
}

// isTorn reports whether head, which is no longer than beginning, may be the remains of beginning
// after a crash: a part of it, or nothing, and then zeros.
func isTorn(head, beginning []byte) bool {
	n := 0
	for n < len(head) && head[n] == beginning[n] {
		n++
	}
	return len(bytes.Trim(head[n:], "\x00")) == 0
}

// begin reads the record that a journal begins with, if there is one, and returns its length. The
// error wraps errMissing if the record is that of another journal, or does not go on from the
// loaded state, and errForeign if the file has no record, not even one that a crash has torn. The
// first journal is of the same life as the backup: J5.
func (l *filesLoader) begin(
	in *bufio.Reader, n uint64, first bool,
) (b beginning, length int64, err error) {
	head, _ := in.Peek(1 << 16)
	begins, torn := beginsJournal(head)
	switch {
	case begins:
		if b, length, err = readBegin(in); err != nil && len(bytes.TrimRight(head, "\x00")) > longestBegin {
			err = fmt.Errorf("%w: %w", errForeign, err) // it was on disk before the rest was written
		}
	case !l.begins:
		return b, 0, nil
	default:
		if err = error(&disk.DamageError{Reason: noBegin}); !torn {
			err = fmt.Errorf("%w: %w", errForeign, err)
		}
	}
	switch {
	case err != nil:
	case b.number != n || first && b.at.Epoch != l.after.Epoch || !first && !l.reached(b.after):
		err = errMissing
	case first && b.at.Life != "" && b.at.Life != l.after.DB: // two folders may have the same epochs
		err = &disk.DamageError{Reason: "it is of another database than " + backupName(n)}
	}
	return b, length, err
}

// reached reports whether the loaded state is that of a position. Version 1 had no lives.
func (l *filesLoader) reached(at mvcc.Position) bool {
	if at.Life == "" {
		return at.Epoch != 0 && at.Epoch == l.after.Epoch
	}
	return at == l.position() || slices.Contains(l.also, at)
}

// item loads a group, or reads a mark, and returns its length. The error wraps errMissing if the
// item does not go on from l.after: J1.
func (l *filesLoader) item(in *bufio.Reader) (length int64, err error) {
	magic, err := in.Peek(len(markMagic))
	switch {
	case bytes.Equal(magic, markMagic[:]):
		e, db, length, err := readMark(in)
		if err == nil && (e > l.after.Epoch || db != l.after.DB) {
			err = errMissing
		}
		return length, err
	case err != nil && err != io.EOF: // a group may be shorter
		return 0, err
	}
	b, err := l.group(in, l.after)
	switch {
	case err == nil:
		l.after = b
		if b.Since < b.Epoch { // else it names the tables
			l.also = nil
			l.stats.Loaded++
		}
	case b.DB != "" && (b.DB != l.after.DB || b.Since != l.after.Epoch):
		err = fmt.Errorf("%w: %w", errMissing, err)
	}
	return b.Bytes, err
}

// damaged returns the damage that err tells of, or else err itself.
func damaged(err error) error {
	if d := damage(err, 0); d != nil {
		return d
	}
	return err
}

// damage returns the *DamageError for err, with an offset in the journal; nil if err does not tell
// of damage.
func damage(err error, at int64) error {
	var of *DamageError
	var in *disk.DamageError
	switch {
	case errors.As(err, new(*MigrationError)): // whatever the function has returned
		return nil
	case errors.As(err, &of):
		return &DamageError{Offset: at + of.Offset, Reason: of.Reason}
	case errors.As(err, &in):
		return &DamageError{Offset: at + in.Offset, Reason: in.Reason}
	case errors.Is(err, errMissing):
		return &DamageError{Offset: at, Reason: errMissing.Error()}
	}
	return nil
}
