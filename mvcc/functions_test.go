package mvcc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/internal/debug/goid"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/seam/door"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A town is a database with all functions that a program can give it. One of them does something
// else, once: that with the name armed.
type town struct {
	*testing.T
	manual  bool // see Options.ManualReclaim
	db      *mvcc.DB
	mine    *mvcc.Map[int, int] // by an order of its own
	ix      *mvcc.Index[int, int, int]
	leases  *mvcc.Map[int, time.Time]
	rooms   *mvcc.Map[int, time.Time] // expire as well
	other   *mvcc.Map[int, int]       // goes on
	numbers *mvcc.Sequence[int]
	j       *durable.Journal
	told    chan uint64 // by a watch of other

	armed   atomic.Pointer[string]
	act     func()
	entered chan struct{}
	by      goid.ID // the goroutine that has the library call it
}

// at is called by the function with a name, and does its act if it is armed; with a ! in front of
// the name, on any goroutine but that of the call.
func (f *town) at(name string) {
	armed := f.armed.Load()
	if armed == nil || *armed != name && !(*armed == "!"+name && goid.Get() != f.by) {
		return
	}
	if f.armed.CompareAndSwap(armed, nil) {
		close(f.entered)
		f.act()
	}
}

func (f *town) codec(name string) durable.Codec {
	c := durable.Gob
	c.NewEncoder = func(w io.Writer) interface{ Encode(any) error } {
		return coder{f, name, durable.Gob.NewEncoder(w).Encode}
	}
	c.NewDecoder = func(r io.Reader) interface{ Decode(any) error } {
		return coder{f, name, durable.Gob.NewDecoder(r).Decode}
	}
	return c
}

type coder struct {
	f    *town
	name string
	code func(v any) error
}

func (c coder) Encode(v any) error { c.f.at(c.name); return c.refuse(v) }
func (c coder) Decode(v any) error { c.f.at(c.name); return c.code(v) }

// poison is a value that the codec refuses. No text of a time has ten digits in a row.
const poison = 1_666_999_666

func (c coder) refuse(v any) error {
	if strings.Contains(fmt.Sprint(v), fmt.Sprint(poison)) {
		return errors.New("poison")
	}
	return c.code(v)
}

// Handle is for the logger.
func (f *town) Handle(context.Context, slog.Record) error { f.at("Logger"); return nil }
func (f *town) Enabled(context.Context, slog.Level) bool  { return true }
func (f *town) WithAttrs([]slog.Attr) slog.Handler        { return f }
func (f *town) WithGroup(string) slog.Handler             { return f }

func (f *town) compare(name string) func(a, b int) int {
	return func(a, b int) int { f.at(name); return a - b }
}

func (f *town) update(what func(tx mvcc.DBTx)) error {
	return f.db.Update(bg, nil, func(tx mvcc.DBTx) error { what(tx); return nil })
}

var bg = context.Background()

func newTown(t *testing.T, manual bool) *town {
	f := &town{T: t, manual: manual, entered: make(chan struct{}), told: make(chan uint64, 1000)}
	f.db = mvcc.NewDB(&mvcc.Options{ManualReclaim: manual, ReclaimInterval: time.Millisecond, Logger: slog.New(f), PinWarnAge: time.Nanosecond,
		Observe: func(mvcc.Attempt) { f.at("Observe") },
		Around: func(ctx context.Context, _, _ string) (context.Context, func()) {
			f.at("Around")
			return ctx, func() { f.at("the end of Around") }
		}})
	f.mine = mvcc.NewOrderedTableFunc[int, int](f.db, "mine", f.compare("compare"), nil)
	var err error
	f.ix, err = mvcc.NewOrderedIndexFunc(f.mine, "ix", f.compare("compare of an index"),
		func(_, v int) []int { f.at("keys"); return []int{v} }, nil)
	require.NoError(t, err)
	f.other = mvcc.NewTable[int, int](f.db, "other", nil)
	f.numbers = mvcc.NewSequence(mvcc.NewTable[int, uint64](f.db, "numbers", nil), 1, 1)
	f.leases = mvcc.NewTable[int, time.Time](f.db, "leases", nil)
	f.leases.OnExpire(func(tx mvcc.DBTx, k int, _ time.Time) error {
		f.at("OnExpire")
		f.mine.In(tx).Merge(k, func(n int, _ bool) int { f.at("Merge in OnExpire"); return n + 1 })
		tx.OnCommit(func(uint64) { f.at("OnCommit in OnExpire") })
		return nil
	})
	f.leases.Expire(func(_ int, v time.Time) time.Time { f.at("Expire"); return v })
	f.rooms = mvcc.NewTable[int, time.Time](f.db, "rooms", nil)
	f.rooms.Expire(func(_ int, v time.Time) time.Time { return v })
	for i := range 100 {
		f.mine.Store(i, i)
	}
	f.j, err = durable.Open(bg, f.db, t.TempDir(), &durable.Options{Codec: f.codec("codec of a journal"), OnError: func(error) { f.at("OnError") }})
	require.NoError(t, err)
	go func(w func(func(mvcc.Commit[int, int], error) bool)) {
		for c, err := range w {
			if err == nil {
				f.told <- c.Epoch
			}
		}
	}(f.other.Watch(t.Context(), nil))
	return f
}

// goesOn makes calls that do not wait for a function of another table that blocks, and work after
// one that has failed: all but the part that waits, "the journal" or "reclaiming".
func (f *town) goesOn(waits string) {
	epoch := uint64(0)
	f.other.Store(1, 1)
	require.NoError(f, f.update(func(tx mvcc.DBTx) {
		n, _ := f.other.In(tx).Get(1)
		f.other.In(tx).Set(1, n+1)
		tx.OnCommit(func(e uint64) { epoch = e })
	}))
	for <-f.told != epoch {
	}
	s, err := f.db.SnapshotAt(f.db.Epoch())
	require.NoError(f, err)
	ctx, cancel := context.WithCancel(bg)
	changed := f.other.At(s).Changed(ctx, 1)
	later := f.db.Watch(ctx, nil)
	f.other.Store(1, 3)
	<-changed
	for c, err := range later {
		require.NoError(f, err)
		require.Len(f, f.other.Changes(c), 1)
		break
	}
	cancel()
	s.Close()
	require.Contains(f, f.db.Tables(), "other")
	door.Of(f.db).Describe()
	f.db.Stats()
	made := mvcc.NewTable[int, int](f.db, "made", nil)
	made.Store(1, 1)
	made.Close()
	if waits != "the journal" {
		require.NoError(f, f.j.Sync(bg))
	}
	f.rooms.Store(1, time.Unix(1, 0))
	if waits != "reclaiming" {
		stage.Eventually(f, func() bool { return f.manual || f.rooms.Len() == 0 }, "nothing expires")
	}
}

// callsBack makes calls that wait for the callers of functions: each does its work, or panics and
// says why.
func (f *town) callsBack() {
	for name, call := range map[string]func(){
		"others":     func() { f.goesOn("the journal") },
		"Reclaim":    func() { _ = f.db.Reclaim(bg) },
		"Load":       func() { _, _ = durable.Load(bg, f.db, bytes.NewReader(f.saved()), durable.Gob, nil) },
		"Next":       func() { _, _ = f.numbers.Next() },
		"Sync":       func() { _ = f.j.Sync(bg) },
		"Close":      f.db.Close,
		"j.Close":    func() { _ = f.j.Close() },
		"HoldExpiry": func() { door.Of(f.db).HoldExpiry()() },
	} {
		func() {
			defer func() {
				if p := recover(); p != nil && !strings.Contains(fmt.Sprint(p), "it would wait for itself") {
					f.Errorf("%s: %v", name, p)
				}
			}()
			call()
		}()
	}
}

// saved is a backup of another database, with a table of an older type.
func (f *town) saved() []byte {
	db := mvcc.NewDB(nil)
	defer db.Close()
	mvcc.NewTable[int, string](db, "mine", nil).Store(1, "1")
	var to bytes.Buffer
	_, err := durable.Save(bg, db, &to, durable.Gob, nil)
	require.NoError(f, err)
	return to.Bytes()
}

// A called is a function, and how the library is brought to call it.
type called struct {
	name string
	call func(f *town)
	// The outcome of call: the same panic, or a Goexit, unless these say that it returns, or that
	// the program ends.
	panics, exits string
	waits         string // while it blocks
}

const (
	returns = "returns"
	ends    = "the program ends"
)

// functions are all that there are, as docs/guarantees.md has them.
var functions = []called{
	{name: "Update", call: func(f *town) { _ = f.update(func(mvcc.DBTx) { f.at("Update") }) }},
	{name: "View", call: func(f *town) {
		_ = f.db.View(func(mvcc.DBSnapshot) error { f.at("View"); return nil })
	}},
	{name: "Savepoint", call: func(f *town) {
		_ = f.update(func(tx mvcc.DBTx) {
			f.mine.In(tx).Set(1, 7)
			_ = tx.Savepoint(func() error { f.at("Savepoint"); return nil })
		})
	}},
	{name: "loop", call: func(f *town) {
		for range f.mine.All() {
			f.at("loop")
		}
	}},
	{name: "Compute", call: func(f *town) {
		f.mine.Compute(1, func(int, bool) (int, mvcc.ComputeOp) { f.at("Compute"); return 1, mvcc.UpdateOp })
	}},
	{name: "DeleteFunc", call: func(f *town) {
		f.mine.DeleteFunc(func(int, int) bool { f.at("DeleteFunc"); return false })
	}},
	{name: "Merge", call: func(f *town) {
		_ = f.update(func(tx mvcc.DBTx) {
			f.mine.In(tx).Set(200, 1)
			f.leases.In(tx).Merge(1, func(t time.Time, _ bool) time.Time { f.at("Merge"); return t })
		})
	}},
	{name: "OnCommit", call: func(f *town) {
		_ = f.update(func(tx mvcc.DBTx) {
			f.mine.In(tx).Set(1, 7)
			tx.OnCommit(func(uint64) { f.at("OnCommit") })
		})
	}},
	{name: "Observe", call: func(f *town) { _ = f.update(func(mvcc.DBTx) {}) }},
	{name: "Around", call: func(f *town) { _, _ = f.numbers.Next() }},
	{name: "the end of Around", call: func(f *town) { _, _ = f.numbers.Next() }},
	{name: "compare", call: func(f *town) { f.mine.Store(1000, 1) }},
	{name: "compare", call: func(f *town) { // of the background work
		for arm := f.armed.Swap(nil); arm != nil; arm = f.armed.Swap(nil) {
			for i := range 100 {
				f.mine.Store(i, i)
			}
			f.mine.Clear()
			f.armed.Store(arm)
			require.NoError(f, f.j.Sync(bg)) // no watch keeps them
			for range 3 {
				require.NoError(f, f.db.Reclaim(bg))
			}
		}
	}, panics: returns, waits: "reclaiming"},
	{name: "compare", call: func(f *town) { // of a watch
		arm := f.armed.Swap(nil)
		watch := f.mine.Watch(f.Context(), &mvcc.WatchOptions[int, int]{Keys: mvcc.From(5)})
		f.mine.Store(7, 8)
		f.armed.Store(arm)
		for _, err := range watch {
			require.NoError(f, err)
			break
		}
	}},
	{name: "compare of an index", call: func(f *town) { f.mine.Store(1, 8) }},
	{name: "keys", call: func(f *town) { f.mine.Store(1, 8) }},
	{name: "!keys", call: func(f *town) {
		s := f.mine.Snapshot()
		defer s.Close()
		changed := f.ix.Changed(f.Context(), s, 8)
		f.mine.Store(1, 8)
		<-changed
	}, panics: returns, exits: returns},
	{name: "Expire", call: func(f *town) {
		f.leases.Store(1, time.Now().Add(time.Hour))
	}, panics: returns},
	{name: "Expire", call: func(f *town) { // of the background work
		arm := f.armed.Swap(nil)
		f.leases.Store(1, time.Unix(1, 0))
		f.armed.Store(arm)
		require.NoError(f, f.db.Reclaim(bg))
	}, panics: returns},
	{name: "OnExpire", call: (*town).expire, panics: returns, exits: returns},
	{name: "Merge in OnExpire", call: (*town).expire, panics: returns, exits: returns},
	{name: "OnCommit in OnExpire", call: (*town).expire, panics: returns, exits: returns},
	{name: "Match", call: func(f *town) {
		watch := f.mine.Watch(f.Context(), &mvcc.WatchOptions[int, int]{Match: func(int) bool {
			f.at("Match")
			return true
		}})
		f.mine.Store(7, 8)
		for _, err := range watch {
			require.NoError(f, err)
			break
		}
	}},
	{name: "begin of Follow", call: func(f *town) {
		_ = f.db.Follow(bg, nil, func(mvcc.DBSnapshot) error { f.at("begin of Follow"); return io.EOF },
			func(mvcc.DBCommit) error { return nil })
	}},
	{name: "apply of Follow", call: func(f *town) {
		_ = f.db.Follow(bg, nil, func(mvcc.DBSnapshot) error { f.mine.Store(1, 8); return nil },
			func(mvcc.DBCommit) error { f.at("apply of Follow"); return io.EOF })
	}},
	{name: "codec", call: func(f *town) {
		_, _ = durable.Save(bg, f.db, io.Discard, f.codec("codec"), nil)
	}},
	{name: "codec", call: func(f *town) {
		_, _ = durable.Load(bg, f.db, bytes.NewReader(f.saved()), f.codec("codec"),
			&durable.LoadOptions{AnyShape: true})
	}},
	{name: "Migrate", call: func(f *town) {
		migrate := durable.Migrate("mine", func(int, string) (int, error) { f.at("Migrate"); return 1, nil })
		_, _ = durable.Load(bg, f.db, bytes.NewReader(f.saved()), durable.Gob,
			&durable.LoadOptions{Migrate: []durable.Migration{migrate}})
	}},
	{name: "Progress", call: func(f *town) {
		_, _ = durable.Save(bg, f.db, io.Discard, durable.Gob, &durable.SaveOptions{Progress: func(int, int64) {
			f.at("Progress")
		}})
	}},
	{name: "Logger", call: func(f *town) {
		s := f.db.Snapshot()
		defer s.Close()
		for f.armed.Load() != nil {
			require.NoError(f, f.db.Reclaim(bg))
		}
	}, waits: "reclaiming"},
	{name: "codec of a journal", call: func(f *town) {
		f.mine.Store(1, 8)
		_ = f.j.Sync(bg) // the record is refused
		f.mine.Store(1, 9)
	}, panics: returns, exits: returns, waits: "the journal"},
	{name: "OnError", call: func(f *town) {
		f.mine.Store(1, poison)
		_ = f.j.Sync(bg)
		f.mine.Store(1, 8)
	}, panics: ends, exits: returns, waits: "the journal"},
}

// expire has a lease expire.
func (f *town) expire() {
	f.leases.Store(1, time.Unix(1, 0))
	for f.armed.Load() != nil { // a tick may be at it
		require.NoError(f, f.db.Reclaim(bg))
	}
}

var errFunction = errors.New("of a function")

// A function of the program that blocks, panics, ends its goroutine or calls back holds up nobody
// but those that docs/guarantees.md names.
func TestFunctions(t *testing.T) {
	for _, c := range functions {
		release := make(chan struct{})
		for how, act := range map[string]func(*town){
			"blocks":     func(*town) { <-release },
			"panics":     func(*town) { panic(errFunction) },
			"exits":      func(*town) { runtime.Goexit() },
			"calls back": (*town).callsBack,
		} {
			want := map[string]string{"panics": c.panics, "exits": c.exits}[how]
			if want == ends {
				continue
			}
			t.Run(strings.TrimPrefix(c.name, "!")+" "+how, func(t *testing.T) {
				f := newTown(t, how != "blocks")
				f.act = func() { act(f) }
				returned, panicked, done := false, any(nil), make(chan struct{})
				go func() {
					defer close(done)
					defer func() { panicked = recover() }()
					f.by = goid.Get()
					f.armed.Store(&c.name)
					c.call(f)
					returned = true
				}()
				stage.Await(t, f.entered, "it is not called")
				rest := make(chan struct{})
				if how == "blocks" {
					go func() {
						defer close(rest)
						f.goesOn(c.waits)
					}()
					stage.Await(t, rest, "others wait for it")
					close(release)
				}
				stage.Await(t, done, "its caller does not end")
				switch {
				case want == returns || how == "blocks" || how == "calls back":
					require.Nil(t, panicked)
					require.True(t, returned)
				case how == "panics":
					require.Equal(t, errFunction, panicked)
				default:
					require.Nil(t, panicked)
					require.False(t, returned)
				}
				if how != "calls back" { // which has closed everything
					f.goesOn("")
				}
				_ = f.j.Close()
				require.NoError(t, f.db.Reclaim(bg))
				require.Zero(t, f.db.Stats().LiveTx)
				f.db.Close()
			})
		}
	}
}
