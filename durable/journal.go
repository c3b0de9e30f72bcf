package durable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/internal/debug/goid"
	"github.com/mvccmap/mvccmap/internal/seam"
	"github.com/mvccmap/mvccmap/internal/seam/disk"
	"github.com/mvccmap/mvccmap/internal/seam/door"
	"github.com/mvccmap/mvccmap/mvcc"
)

// ErrClosed is the error of [Journal.Sync] after [Journal.Close].
var ErrClosed = errors.New("durable: the journal is closed")

// Options configures a journal. A nil *Options, and every field that is zero, means the default.
type Options struct {
	// Codec is the one with which the files are written, and were written before. Default: [Gob].
	Codec Codec
	// Every is how long a commit may stay in the memory of the machine until it is written to
	// the disk, without a call of [Journal.Sync]: it is lost if the machine fails. If the
	// process is killed, the commits of the last milliseconds are lost in any case; after a gap
	// or a failure, all since the last group are, until there is a new backup.
	// Default: a second. Negative: only Sync and Close write to the disk.
	Every time.Duration
	// Compact is how long a journal gets, in bytes, before a new backup takes its place; or as
	// long as the last backup, if that is more. Default: 64 MB.
	Compact int64
	// Buffer is how many changes may wait for the disk. When there are more the journal takes a
	// new backup instead. Default: 2^20.
	Buffer int
	// Version is the program's own version of the contents of the tables, see [SaveOptions],
	// and Versions are others that it takes too. Open refuses files of any other one, with a
	// [*VersionError].
	Version  int
	Versions []int
	// Rename and Migrate are for tables that have another name than in the files, or other types,
	// see [LoadOptions] and the package. The next Open finds them as they are now.
	Rename  map[string]string
	Migrate []Migration
	// KeepBefore is how long the folder "before" stays, with the files of a program with other
	// types, names of tables or Version, see the package. It takes the disk space of that. It is
	// removed when a journal is opened, or has taken a backup, after this time. Default: a week.
	// Negative: nothing is kept.
	KeepBefore time.Duration
	// AnyShape says that the types of keys and values may be others than in the files, see
	// [LoadOptions]. Otherwise Open refuses a table of which it would lose something, with a
	// [*SchemaError], and all files stay as they are.
	AnyShape bool
	// Resume are the positions that followers of the database have got to, see [mvcc.DB.Follow]:
	// one for each, from whatever the follower has kept it in. Open keeps the state of each that it
	// meets, so that Follow goes on from there, see [mvcc.FollowOptions]; versions overwritten
	// since stay in memory until Follow has begun. It meets all since the last backup, whether the
	// journal was closed or not, but for those in a group of commits in which a table was closed,
	// and those that got lost because they were not on disk, or are of another history, since
	// somebody has put back older files. Where it does not Follow begins anew.
	Resume []mvcc.Position
	// Progress is called while Open or [LoadFolder] reads the files, ten times a second at most and
	// once all is read: with the records so far, and the bytes of the total that the files have. Open
	// waits for it. Default: the Logger of the database, or [slog.Default] if there is none, is
	// told every five seconds, at level Info.
	Progress func(records int, read, total int64)
	// OnError is called, in a goroutine of its own and once at a time, if something could not be
	// written; the journal takes a new backup then, after a second, and after up to ten if that
	// fails too. It is called as well with a [*CodecError] for a record that the codec
	// refuses: for the first ten of a group of commits, or of a backup, and once for the rest. The
	// journal waits for it, so Close panics in it, and Sync where it would wait; it may end its
	// goroutine. Default:
	// [mvcc.Options.Logger] of the database is told, at level Error, or [slog.Default] if there is
	// none.
	OnError func(error)

	_ struct{}
}

const (
	defaultEvery   = time.Second
	defaultCompact = 64 << 20
	defaultBuffer  = 1 << 20
	defaultKeep    = 7 * 24 * time.Hour
)

func (o *Options) withDefaults(call string) (all Options) {
	if o != nil {
		all = *o
	}
	if c := all.Codec; c.Name == "" && c.NewEncoder == nil && c.NewDecoder == nil && !c.Lines {
		all.Codec = Gob
	}
	all.Codec.check(call)
	all.Every = cmp.Or(all.Every, defaultEvery)
	all.Compact = cmp.Or(all.Compact, defaultCompact)
	all.Buffer = cmp.Or(all.Buffer, defaultBuffer)
	all.KeepBefore = cmp.Or(all.KeepBefore, defaultKeep)
	if all.Compact < 0 {
		panic(fmt.Sprintf("durable: %s: Options.Compact is %d, want 0 or more", call, all.Compact))
	}
	if all.Buffer < 0 {
		panic(fmt.Sprintf("durable: %s: Options.Buffer is %d, want 0 or more", call, all.Buffer))
	}
	for i, m := range all.Migrate {
		if m == (Migration{}) {
			panic(fmt.Sprintf("durable: %s: Options.Migrate[%d] is zero, want what Migrate, "+
				"MigrateTo or RenameFields returns", call, i))
		}
	}
	return all
}

// A Journal keeps a database on disk. Its methods may be called by several goroutines.
type Journal struct {
	db    *mvcc.DB
	door  door.DB
	dir   string
	codec Codec
	opts  Options
	lock  *os.File
	// bounds is the file of the last acknowledgement, see bound. Of the goroutine, until that ends.
	bounds       *os.File
	acknowledged bound
	// create creates a file for a journal, and sync brings one to the disk. Tests have their own.
	create func(path string) (file, error)
	sync   func(path string) error
	retry  time.Duration // after a failure
	found  found         // by Open; of the goroutine

	progress progress // of Open or Load

	ctx    context.Context // ends with the journal
	cancel context.CancelFunc
	ended  chan struct{} // the goroutine has
	gone   chan struct{} // so has the lock
	// toClose has the database look for commits that come when the goroutine has ended.
	toClose func(end func())
	hurry   atomic.Bool // a Sync waits for the disk
	writing coroutine   // writes the files
	within  goid.Set    // the goroutines of the journal, see outside

	mu      sync.Mutex
	files   map[string]expected // by their names
	stats   Stats
	err     error                 // why nothing can be written at the moment
	since   time.Time             // when the first commit came that is not on disk
	waiting map[chan error]uint64 // for an epoch to be on disk
	asked   bool                  // the writer will be told of progress
	closed  bool
	refused map[recordKey]*CodecError // records that could not be saved, as far as known
}

// A file takes the bytes of a journal.
type file interface {
	io.WriteCloser
	Sync() error
}

// Stats says how a journal is doing. Some of it is in [mvcc.DB.Stats] too, and on the pages.
type Stats struct {
	// Epoch is the one up to which all commits are on disk; [mvcc.DB.Epoch] is that of the
	// database.
	Epoch uint64
	// Behind is for how long something has waited to be on disk, zero if nothing has.
	Behind time.Duration
	// Groups and Bytes count the writes to journals since Open, and Syncs how often these
	// were forced to the disk.
	Groups, Syncs, Bytes uint64
	// Backups counts those that were taken since Open, its own included; LastBackup is when
	// the last one was complete.
	Backups    uint64
	LastBackup time.Time
	// Gaps counts how often the disk was so slow that a backup had to be taken, see
	// Options.Buffer; and Failures how often something could not be written.
	Gaps, Failures uint64
	// Refused counts the records that were not saved because the codec has refused them.
	Refused uint64
	// Loaded is how many groups Open has found after the backup, and Dropped how many bytes came
	// after them that were not complete.
	Loaded  uint64
	Dropped int64
}

// Open gives the tables the state at the last write of the journal in the folder dir, see
// [Load], and keeps all later commits in it. If there is none it makes one,
// and the tables stay as they are. All tables that are in the journal must have been made, and
// should not be written to until Open returns. opts may be nil. Nothing is kept of a table that is
// closed. Until Open returns nothing expires.
//
// It costs reading the files. Then a new file of some kilobytes is begun. Only if
// types, names of tables or Options.Version are others than in the files, or something else was
// written to the tables meanwhile, Open takes a backup first. If that, or the new file, cannot be
// written, as on a full disk, it returns all the same: the files stay as they were, OnError is
// told, Sync returns why, and the commits are written when they can be. [LoadFolder] reads
// the files without that.
//
// A journal is for one process at a time: a second one gets an error where the system has locks
// for files (not on Windows). If Open fails nothing in the files is lost; the tables may have a
// part of it. Damage of a record on disk is a [*DamageError], and a missing file
// an [io/fs.ErrNotExist]; both name the file.
//
// A journal costs as much as a watch, see [mvcc.Map.Watch], and has a goroutine. While it takes a
// backup it keeps the commits of that time in memory.
func Open(ctx context.Context, db *mvcc.DB, dir string, opts *Options) (*Journal, error) {
	return open(ctx, db, dir, opts, createFile, time.Second)
}

// newJournal returns a journal that is not open. It panics if an argument of a call has no meaning.
func newJournal(
	call string, ctx context.Context, db *mvcc.DB, dir string, opts *Options,
) *Journal {
	checkContext(call, ctx)
	_ = db.Epoch() // panics for a nil or zero DB
	all := opts.withDefaults(call)
	codec := all.Codec
	codec.Lines = false // so that frames differ from the remains of a crash
	return &Journal{db: db, door: door.Of(db), dir: dir, codec: codec, opts: all, sync: syncFile,
		progress: progress{report: all.Progress},
		waiting:  map[chan error]uint64{}, files: map[string]expected{},
		refused: map[recordKey]*CodecError{},
		ended:   make(chan struct{}), gone: make(chan struct{})}
}

func open(
	ctx context.Context, db *mvcc.DB, dir string, opts *Options,
	create func(string) (file, error), retry time.Duration,
) (*Journal, error) {
	j := newJournal("Open", ctx, db, dir, opts)
	j.codec, j.create, j.retry = j.inside(j.codec), create, retry
	if err := disk.MakeFolder(dir); err != nil {
		return nil, fmt.Errorf("durable: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, fmt.Errorf("durable: %w", err)
	}
	j.lock = lock
	loaded := false
	defer func() {
		if !loaded { // the codec has panicked, or ended the goroutine
			_ = j.lock.Close()
		}
	}()
	defer j.door.HoldExpiry()() // until deletions get into the journal
	j.found, _, err = j.load(ctx)
	loaded = true
	if err == nil {
		j.bounds, err = openBound(dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("durable: %w", err), j.unlock())
	}
	j.ctx, j.cancel = context.WithCancel(seam.Called(context.Background()))
	begun := make(chan error, 1)
	stop := context.AfterFunc(ctx, j.cancel)
	j.writing.start(func() { j.within.Run(func() { j.run(begun) }) })
	context.AfterFunc(j.ctx, j.writing.Resume)
	err = <-begun
	if !stop() && err == nil { // ctx has ended
		err = ctx.Err()
	}
	if err != nil {
		j.cancel()
		<-j.ended
		return nil, errors.Join(fmt.Errorf("durable: %w", err), j.unlock())
	}
	j.toClose = j.door.SetJournal(func() seam.JournalState {
		s := j.Stats()
		return seam.JournalState{Epoch: s.Epoch, Behind: s.Behind, Failures: s.Failures,
			Refused: s.Refused}
	})
	return j, nil
}

// Sync returns nil when all that was committed before the call is on disk: it waits for that, or
// until ctx ends. If something cannot be written, or somebody has removed a file that is needed, it
// returns why, until a new backup has been taken; the commits stay in the tables.
//
// If the tables have records that the codec refuses, all others are on disk, and it returns an
// error that wraps the [*CodecError] of one of them: until they were overwritten or deleted,
// or their table closed.
func (j *Journal) Sync(ctx context.Context) error {
	checkContext("Sync", ctx)
	epoch := j.db.Epoch()
	j.mu.Lock()
	switch {
	case j.closed:
		j.mu.Unlock()
		return ErrClosed
	case j.err != nil:
		defer j.mu.Unlock()
		return j.err
	}
	on := epoch <= j.stats.Epoch
	j.mu.Unlock()
	if on && j.present() == nil {
		return j.refusal()
	}
	j.outside("Sync")
	done := make(chan error, 1)
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return ErrClosed
	}
	j.waiting[done] = epoch
	ask := !j.asked
	j.asked = true
	j.mu.Unlock()
	if !j.hurry.Swap(true) {
		j.writing.Resume()
	}
	if ask {
		j.door.RequestProgress()
	}
	select {
	case err := <-done:
		if err == nil {
			err = j.refusal()
		}
		return err
	case <-ctx.Done():
		j.mu.Lock()
		delete(j.waiting, done)
		j.mu.Unlock()
		return ctx.Err()
	}
}

// Close ends the journal, after a [Journal.Sync], and returns the error of that. A commit during
// the call, or afterwards, may be lost: the first one that is, is an error for
// [mvcc.Options.Logger] and a figure of [mvcc.DB.Stats], and fails a test with package mvcctest.
// The database stays open; close it after the journal, else it stays in memory. Close waits for the
// disk, and for the codec, for as long as they take.
func (j *Journal) Close() error {
	j.outside("Close")
	err := j.Sync(context.Background())
	if errors.Is(err, ErrClosed) {
		err = nil
	}
	j.mu.Lock()
	first := !j.closed
	j.closed = true
	j.mu.Unlock()
	if !first {
		<-j.gone
		return err
	}
	defer close(j.gone)
	j.toClose(func() {
		j.cancel()
		<-j.ended
	})
	if err == nil { // all is on disk; later work of the writer, say a backup, waits no more
		j.mu.Lock()
		j.since = time.Time{}
		j.mu.Unlock()
		err = j.refusal() // a backup may have been completed since
	}
	if err == nil {
		err = j.finish()
	}
	return errors.Join(err, j.unlock())
}

// outside panics if call, which waits for the goroutines of the journal, is made by one of these:
// by a function of the program that it calls. It would wait for itself.
func (j *Journal) outside(call string) {
	if j.within.Has() {
		panic("durable: " + call + " is called by a function that the journal calls: it would wait for " +
			"itself")
	}
}

// inside returns codec, which the journal waits for, in whatever goroutine it is called.
func (j *Journal) inside(codec Codec) Codec {
	of := codec.NewEncoder
	codec.NewEncoder = func(w io.Writer) (e interface{ Encode(v any) error }) {
		j.within.Run(func() { e = of(w) })
		return insideEncoder{j, e}
	}
	return codec
}

type insideEncoder struct {
	j  *Journal
	of interface{ Encode(v any) error }
}

func (e insideEncoder) Encode(v any) (err error) {
	e.j.within.Run(func() { err = e.of.Encode(v) })
	return err
}

// waits notes that something waits to be on disk from now on, unless something does already.
func (j *Journal) waits() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.since.IsZero() {
		j.since = time.Now()
	}
}

// due returns how long until the writes must be on disk, and whether that is now: it is if a
// Sync waits.
func (j *Journal) due() (in time.Duration, now bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	in = j.opts.Every - j.behind()
	return in, len(j.waiting) > 0 || j.opts.Every > 0 && in <= 0
}

// Stats returns how the journal is doing.
func (j *Journal) Stats() Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.stats
	s.Behind = j.behind()
	return s
}

// behind returns for how long something has waited to be on disk. The caller holds the lock.
func (j *Journal) behind() time.Duration {
	if j.since.IsZero() {
		return 0
	}
	return time.Since(j.since)
}
