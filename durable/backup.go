package durable

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/internal/seam"
	"github.com/mvccmap/mvccmap/internal/seam/backupfile"
	"github.com/mvccmap/mvccmap/internal/seam/disk"
	"github.com/mvccmap/mvccmap/internal/seam/door"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A backup is a stream of frames, see package disk, which begins with [disk.BackupMagic]. The first
// frame has the header, a [backupfile.Header]; a longer header goes on in the next frame. For each
// table follow the output of the codec, in frames of kind frameData, and one of kind frameTable
// with the number of records, then, unless neither exists, the number of refused records and the
// commitCounts. At last comes one of kind frameEnd with the number of all records. A frame of kind
// frameAnew begins another encoder, see recordSaver. Numbers are in the form of
// [binary.AppendUvarint]. If the codec writes lines the frames are lines too, see
// [disk.NewLineWriter].
const (
	frameHeader = disk.BackupHeader
	frameData   = disk.BackupData
	frameAnew   = disk.BackupAnew
	frameTable  = disk.BackupTable
	frameEnd    = disk.BackupEnd
)

// A Backup describes a backup.
type Backup struct {
	// DB is the life of the database, see [mvcc.Position].
	DB string
	// Epoch is the epoch of the saved snapshot. Since, if not 0, is the epoch of the older snapshot
	// to which the backup has the differences.
	Epoch, Since uint64
	// Version is [SaveOptions.Version], and Codec [Codec.Name].
	Version int
	Codec   string
	// Records is how many records and deletions there are, and Bytes the length.
	Records int
	Bytes   int64

	savedTables []backupfile.TableHeader
	ids         map[string]int // of the tables that were loaded, also by the backups before
	idsOf       string         // the life in which the tables have these ids
	idsAt       uint64         // Epoch, before the journal has set that of another life
	// alone says that from the load of the first backup to the epoch now nobody else has drawn one.
	alone bool
	now   uint64
	// misfits are the tables that were passed over, by their names.
	misfits map[string]misfit
	// migrated are the names of the tables that were loaded as other tables. moved has notes on
	// these tables, for the loading of differences.
	migrated []string
	moved    *migrating
	// mistakes are the Migrations that have applied to nothing yet.
	mistakes []mistaken
}

// identify notes which tables there are, also in the backup before, if it is not nil.
func (b *Backup) identify(before *Backup) {
	b.ids, b.idsOf, b.idsAt = map[string]int{}, b.DB, b.Epoch
	if before != nil && !b.anotherLife(before) {
		maps.Copy(b.ids, before.ids)
	}
	for _, table := range b.savedTables {
		if !table.Closed {
			b.ids[table.Name] = table.ID
		} else if b.ids[table.Name] == table.ID {
			delete(b.ids, table.Name)
		}
	}
}

// anotherLife reports whether tables have other IDs than in the backup before.
func (b *Backup) anotherLife(before *Backup) bool {
	return before.ids != nil && before.idsOf != b.DB
}

// SaveOptions configures a backup.
type SaveOptions struct {
	// Of is the snapshot to be saved, which stays open. Default: one that Save takes.
	Of mvcc.DBSnapshot
	// Since is an older snapshot, which was saved before, and is still open: only later writes are
	// saved, see [LoadOptions.Then].
	Since mvcc.DBSnapshot
	// Version is the version of the data, which [Load] compares.
	Version int
	// Progress is called from time to time, with the records and bytes so far.
	Progress func(records int, bytes int64)
	// Refused is called for each record that cannot be saved, and is left out. After [Load] its
	// key is absent: so a transaction may come back without it. Only if not even the deletion of
	// the key can be saved does an older value stay, of the backup before. A codec that panics or
	// calls [runtime.Goexit] refuses the record. Default: the first such record ends the call with
	// the [*CodecError], or the panic.
	Refused func(*CodecError)

	coroutine *coroutine // the one that saves, or nil
	_         struct{}
}

// Save writes a backup of the tables to w: all that a snapshot sees, also of tables that were
// closed since, while readers and writers go on. It has checksums, so that [Load] finds any
// damage. Save ends with the error of w, or of ctx, with a [*CodecError], see
// [SaveOptions].Refused, or with [mvcc.ErrTxTooOld] if a given snapshot was evicted: then the backup is
// of no use.
//
// Each key that is not an integer is encoded once more and decoded, to see whether it comes back,
// and so no two become one. It waits for the codec, writes up to 64 KB at a time, and keeps one
// record in memory. Versions overwritten meanwhile stay as long.
func Save(
	ctx context.Context, db *mvcc.DB, w io.Writer, codec Codec, opts *SaveOptions,
) (Backup, error) {
	s := newSaving(ctx, db, w, codec, opts)
	o := s.opts
	s.of = o.Of
	if s.of == (mvcc.DBSnapshot{}) {
		s.of = s.db.SparedSnapshot()
		defer s.of.Close()
	}
	err := s.of.Try(func() error {
		s.checkOwn("Of", s.of)
		s.Epoch = s.of.Epoch()
		if o.Since == (mvcc.DBSnapshot{}) {
			return runSaving(s, s.db.Tables(s.of))
		}
		s.since = o.Since
		return o.Since.Try(func() error {
			s.checkOwn("Since", o.Since)
			s.Since = o.Since.Epoch()
			for _, t := range s.db.ClosedTables(o.Since, s.Epoch) {
				table := described(t)
				table.Closed = true
				s.closed = append(s.closed, table)
			}
			return runSaving(s, s.db.Tables(s.of))
		})
	})
	if err == nil && (s.Since == 0 || s.Since < s.Epoch) { // else it has no records
		s.db.BackupTaken()
	}
	return s.Backup, err
}

// newSaving checks the common arguments of Save and saveCommits.
func newSaving(
	ctx context.Context, db *mvcc.DB, w io.Writer, codec Codec, opts *SaveOptions,
) *saving {
	codec.check("Save")
	checkContext("Save", ctx)
	if w == nil {
		panic("durable: Save: w is nil")
	}
	life := db.Position(0).Life // panics for a nil or zero DB
	s := &saving{db: door.Of(db), ctx: ctx, codec: codec, to: disk.NewWriter(w, disk.BackupMagic)}
	if codec.Lines {
		s.to = disk.NewLineWriter(w)
	}
	if opts != nil {
		s.opts = *opts
	}
	s.Backup = Backup{DB: life, Version: s.opts.Version, Codec: codec.Name}
	return s
}

// checkOwn panics if a snapshot is not one of the database.
func (s *saving) checkOwn(field string, of mvcc.DBSnapshot) {
	if !s.db.Owns(of) {
		panic("durable: Save: SaveOptions." + field + " is a snapshot of another database")
	}
}

// A saving is a backup that is being written.
type saving struct {
	Backup
	db      door.DB
	ctx     context.Context
	codec   Codec
	opts    SaveOptions
	of      mvcc.DBSnapshot
	since   mvcc.DBSnapshot
	after   *Backup
	closed  []backupfile.TableHeader
	changes map[seam.Table][]changesAt // by table; if not nil it is these that are saved
	to      *disk.Writer
	data    []byte // of the table, not written yet
}

// changesAt are the changes of a commit in a table.
type changesAt struct {
	epoch   uint64
	changes any // []Change[K, V]
	n       int
}

func runSaving(s *saving, tables []seam.Table) error {
	defer func() { s.Bytes = s.to.Written() }()
	slices.SortFunc(tables, func(a, b seam.Table) int {
		return cmp.Or(strings.Compare(a.Name(), b.Name()), cmp.Compare(a.ID(), b.ID()))
	})
	for _, table := range tables {
		header := described(table)
		if s.after == nil || s.after.ids[table.Name()] != table.ID() {
			header = backupfile.Describe(table, s.codec.Name)
		} // else the backup before has its shapes
		s.savedTables = append(s.savedTables, header)
	}
	s.savedTables = append(s.savedTables, s.closed...)
	s.identify(s.after)
	header, err := backupfile.Header{DB: s.DB, Epoch: s.Epoch, Since: s.Since, Version: s.Version,
		Codec: s.Codec, Tables: s.savedTables}.Text()
	if err != nil {
		return err
	}
	for more := true; more; {
		n := min(len(header), disk.MaxPayload)
		if err := s.to.Frame(frameHeader, header[:n]); err != nil {
			return err
		}
		header, more = header[n:], n == disk.MaxPayload
	}
	for i, table := range tables {
		if err := s.to.Table(s.savedTables[i].Name); err != nil {
			return err
		}
		saved, refused, counts, err := s.save(table)
		if errors.As(err, new(*CodecError)) {
			return err
		}
		if err == nil {
			err = s.to.Frame(frameTable, counts)
		}
		if err != nil {
			return fmt.Errorf("durable: Save: table %q: %w", s.savedTables[i].Name, err)
		}
		s.savedTables[i].Records, s.savedTables[i].Refused = saved, refused
	}
	return s.to.Frame(frameEnd, binary.AppendUvarint(nil, uint64(s.Records)))
}

// Write takes the output of the encoder.
func (s *saving) Write(p []byte) (int, error) {
	s.data = append(s.data, p...)
	return len(p), nil
}

// flush writes frames of data, as long as at least least bytes, and at least one byte, are left.
func (s *saving) flush(least int) error {
	done := 0
	for rest := s.data; len(rest) >= max(least, 1); rest = s.data[done:] {
		n := s.to.Part(rest)
		if err := s.to.Frame(frameData, rest[:n]); err != nil {
			return err
		}
		if done += n; s.opts.Progress != nil {
			s.opts.Progress(s.Records, s.to.Written())
		}
	}
	const large = 16 * disk.MaxPayload
	if rest := s.data[done:]; cap(s.data) > large {
		s.data = bytes.Clone(rest) // the memory of a large record is not kept
	} else {
		s.data = append(s.data[:0], rest...)
	}
	return nil
}

// described returns the header of a table, without its shapes.
func described(t seam.Table) backupfile.TableHeader {
	key, value := t.Types()
	return backupfile.TableHeader{Name: t.Name(), Key: key.String(), Value: value.String(), ID: t.ID()}
}
