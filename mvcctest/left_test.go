package mvcctest

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Open transactions at the end fail the test, and the failure says where they began.
func TestLeft(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		do   func(f *fake, r *Harness)
	}{
		"snapshot": {"a snapshot is open; it began\n", func(f *fake, r *Harness) {
			m := mvcc.New[int, int](r.Options())
			f.Cleanup(m.Close)
			s := m.Snapshot()
			f.Cleanup(func() { _, _ = s.Get(1) }) // it is used until then
		}},
		"snapshot of a database": {"a snapshot is open; it began\n", func(f *fake, r *Harness) {
			db, users, _ := shop(r.Options())
			f.Cleanup(db.Close)
			s := db.Snapshot()
			f.Cleanup(func() { users.At(s).Get(1) })
		}},
		"transaction": {"a transaction is open; it began\n", func(f *fake, r *Harness) {
			db, users, _ := shop(r.Options())
			f.Cleanup(db.Close)
			tx := users.Begin(nil)
			f.Cleanup(func() { tx.Get(1) })
		}},
		"several": {"3 times: a transaction is open; it began\n", func(f *fake, r *Harness) {
			db, _, _ := shop(r.Options())
			f.Cleanup(db.Close)
			for range 3 {
				tx := db.Begin(nil)
				f.Cleanup(func() { tx.Epoch() })
			}
		}},
		"watch": {"a watch has not ended; it began\n", func(f *fake, r *Harness) {
			db, users, _ := shop(r.Options())
			f.Cleanup(db.Close)
			watch := users.Watch(bg, nil)
			f.Cleanup(func() { runtime.KeepAlive(watch) })
		}},
		"watch of a database": {"a watch has not ended; it began\n", func(f *fake, r *Harness) {
			db, _, _ := shop(r.Options())
			f.Cleanup(db.Close)
			watch := db.Watch(bg, nil)
			f.Cleanup(func() { runtime.KeepAlive(watch) })
		}},
		"map": {"a map was not closed; it was made\n", func(_ *fake, r *Harness) {
			m := mvcc.New[int, int](r.Options())
			m.Store(1, 1)
			m.Store(1, 2) // so that it has a goroutine
		}},
		"ordered map": {"a map was not closed; it was made\n", func(_ *fake, r *Harness) {
			mvcc.NewOrdered[int, int](r.Options())
		}},
		"database": {"a database was not closed; it was made\n", func(_ *fake, r *Harness) {
			db, users, _ := shop(r.Options())
			users.Close() // is not the database
			runtime.KeepAlive(db)
		}},
		"dropped": {"a snapshot was dropped, and not ended; it began\n", func(f *fake, r *Harness) {
			m := mvcc.New[int, int](r.Options())
			f.Cleanup(m.Close)
			m.Snapshot()
			for m.Stats().Leaked == 0 {
				runtime.GC()
				runtime.Gosched()
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{}
			c.do(f, New(f, nil))
			requireFailure(t, f.end(), c.text)
			require.Contains(t, f.failures[0], "mvcctest.TestLeft")
		})
	}
}

// Transactions that have ended by the end are not left, however they have.
func TestNothingLeft(t *testing.T) {
	f := &fake{}
	r := New(f, nil)
	db, users, _ := shop(r.Options())
	f.Cleanup(db.Close)
	s := users.Snapshot()
	f.Cleanup(s.Close)
	tx := users.Begin(nil)
	f.Cleanup(tx.Rollback)
	require.NoError(t, users.Begin(nil).Commit())
	ctx, cancel := context.WithCancel(bg)
	users.Watch(ctx, nil)
	f.Cleanup(cancel)
	changed := s.Changed(bg, 1) // may be left
	users.Close()
	require.Empty(t, f.end())
	runtime.KeepAlive(changed)
	require.Empty(t, f.end(), "it ends twice")
}

// A watch whose context has ended is none, even if it has not been taken out yet.
func TestWatchOfEndedContext(t *testing.T) {
	for range 200 {
		f := &fake{}
		o := Options(f, nil)
		ctx, cancel := context.WithCancel(bg)
		f.Cleanup(cancel) // just before the end
		m := mvcc.New[int, int](o)
		f.Cleanup(m.Close)
		m.Watch(ctx, nil)
		require.Empty(t, f.end())
	}
}

// A loop that waits for a watch that was left goes on.
func TestLeftLoopEnds(t *testing.T) {
	f := &fake{}
	m := mvcc.New[int, int](Options(f, nil))
	defer m.Close()
	var got error
	var wg sync.WaitGroup
	watch := m.Watch(bg, nil)
	wg.Go(func() {
		for _, err := range watch {
			got = err
			if err != nil {
				break
			}
		}
	})
	require.Len(t, f.end(), 2)
	wg.Wait()
	require.ErrorIs(t, got, mvcc.ErrGap)
}

// A journal that was not closed is a watch, and says where it was opened.
func TestJournalLeft(t *testing.T) {
	f := &fake{}
	db, users, _ := shop(Options(f, nil))
	f.Cleanup(db.Close)
	j, err := durable.Open(bg, db, t.TempDir(), nil)
	require.NoError(t, err)
	users.Store(1, 1)
	failures := f.end()
	requireFailure(t, failures, "a journal was not closed; it was opened\n\tat ")
	_ = j.Close()
}

// A commit after the journal was closed is kept nowhere.
func TestCommitAfterJournal(t *testing.T) {
	for _, closes := range []bool{false, true} {
		f := &fake{}
		db, users, _ := shop(Options(f, nil))
		f.Cleanup(db.Close)
		j, err := durable.Open(bg, db, t.TempDir(), nil)
		require.NoError(t, err)
		users.Store(1, 1)
		require.NoError(t, j.Close())
		users.Store(2, 2)
		if closes {
			db.Close()
		}
		failures := f.end()
		require.Len(t, failures, 1)
		require.Regexp(t, `a commit after the journal was closed is kept nowhere(?s:.*)left_test\.go`, failures[0])
	}
}

// Maps of several options of one trial, and copies of these, are subjects of it. Other options
// are theirs, but that they are strict.
func TestOptions(t *testing.T) {
	f := &fake{}
	r := New(f, nil)
	o := *r.Options()
	require.True(t, o.Strict)
	require.True(t, o.TracePins)
	o.Strict, o.TracePins, o.Retain = false, false, time.Hour
	first := mvcc.New[int, int](&o)
	second := mvcc.New[int, int](r.Options())
	require.NotSame(t, r.Options(), r.Options())
	first.Merge(1, func(int, bool) int { f.mu.Lock(); defer f.mu.Unlock(); return 1 })
	s, err := first.SnapshotAt(first.Epoch())
	require.NoError(t, err)
	failures := f.end()
	require.Len(t, failures, 3)
	s.Close()
	first.Close()
	second.Close()
}

// A map made when the test has ended is not looked after, and says so.
func TestMadeTooLate(t *testing.T) {
	f := &fake{}
	o := Options(f, nil)
	require.Empty(t, f.end())
	mvcc.New[int, int](o).Close()
	require.Len(t, f.failures, 1)
	require.Contains(t, f.failures[0], "is made after the end of the test")
}

// A senseless call is a panic.
func TestMisuse(t *testing.T) {
	require.PanicsWithValue(t, "mvcctest: New: t is nil, want that of the test", func() {
		Options(nil, nil)
	})
	for _, chance := range []float64{-0.1, 1.1} {
		require.Panics(t, func() { New(&fake{}, &Config{Chance: chance}) })
	}
	require.PanicsWithValue(t, "mvcctest: Config.Chance is 2, want 0 to 1", func() {
		New(&fake{}, &Config{Chance: 2})
	})
	require.PanicsWithValue(t, "mvcctest: Advance: d is -1s, want 0 or more", func() {
		New(&fake{}, nil).Advance(-time.Second)
	})
}
