package mvcc

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/engine/index"
	"github.com/mvccmap/mvccmap/internal/seam"
)

// aging returns options with which transactions older than a minute are evicted,
// by the background work, in a bubble.
func aging() *Options {
	return &Options{MaxTxAge: time.Minute, ReclaimInterval: time.Second}
}

// old lets the transactions of a map with the options of aging grow too old. It
// overwrites a key: nothing grows old in a map to which nothing is written.
func old(m *Map[string, int]) {
	m.Store("tick", 1)
	m.Store("tick", 2)
	time.Sleep(time.Minute + 2*time.Second)
	synctest.Wait()
}

// A transaction that is too old is evicted: the versions that it kept go, and it fails when it is
// used next, whatever it does.
func TestEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[string, int](aging())
		defer m.Close()
		m.Store("k", 1)
		s := m.Snapshot()
		txs := make([]Tx[string, int], 7)
		for i := range txs {
			txs[i] = m.Begin(levels[i%2])
			requireValue(t, 1)(txs[i].Get("k"))
			txs[i].Set("new", i)
		}
		m.Store("k", 2)
		time.Sleep(30 * time.Second)
		young := m.Snapshot()
		m.Store("k", 3)
		time.Sleep(29 * time.Second)
		synctest.Wait()
		requireValue(t, 1)(s.Get("k")) // not yet
		require.Zero(t, m.Stats().Evicted)
		require.Len(t, chainOf(m, "k"), 3)
		time.Sleep(3 * time.Second)
		synctest.Wait()

		require.EqualValues(t, 1+len(txs), m.Stats().Evicted)
		require.Equal(t, 1, m.Stats().LiveTx)
		require.Len(t, chainOf(m, "k"), 2, "only the young one keeps a version")
		requireValue(t, 2)(young.Get("k"))

		tooOld := func(f func()) { t.Helper(); require.PanicsWithError(t, ErrTxTooOld.Error(), f) }
		tooOld(func() { s.Get("k") })
		tooOld(func() { s.Get("absent") })
		tooOld(func() { s.Epoch() })
		tooOld(func() { s.Len() })
		tooOld(func() { txs[0].Get("k") })
		tooOld(func() { txs[0].Get("new") }) // its own write
		tooOld(func() { txs[0].Set("k", 1) })
		tooOld(func() { txs[1].Delete("k") })
		tooOld(func() { txs[1].Epoch() })
		tooOld(func() {
			for range txs[2].All() {
			}
		})
		require.Equal(t, ErrTxTooOld, txs[0].Err())
		for _, tx := range txs[:4] {
			require.Equal(t, ErrTxTooOld, tx.Commit())
			require.Equal(t, ErrTxDone, tx.Commit())
			require.Equal(t, ErrTxDone, tx.Err())
		}
		for _, tx := range txs[4:] {
			tx.Rollback()
			tx.Rollback()
			require.PanicsWithError(t, ErrTxDone.Error(), func() { tx.Get("k") })
		}
		s.Close()
		s.Close()
		require.PanicsWithError(t, ErrTxDone.Error(), func() { s.Get("k") })
		require.EqualValues(t, 1+len(txs), m.Stats().Evicted)
		requireAbsent[int](t)(m.Load("new"))

		// Their slots go, and others have slots of their own.
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 1, coreOf(m).Slots.Owned())
		for range txs {
			tx := m.Begin(nil)
			defer tx.Rollback()
			requireValue(t, 3)(tx.Get("k"))
		}
		require.Equal(t, 1+len(txs), coreOf(m).Slots.Owned())
		require.Equal(t, 1+len(txs), m.Stats().LiveTx)
		young.Close()
	})
}

// View and Update return the error, once, and no other panic is theirs.
func TestEvictionOfViewAndUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, other := New[string, int](aging()), New[string, int](aging())
		defer m.Close()
		defer other.Close()
		m.Store("k", 1)
		mine := errors.New("mine")
		theirs := other.Snapshot()
		old(other)
		type (
			snap = Snapshot[string, int]
			txn  = Tx[string, int]
		)
		n := 0
		for name, c := range map[string]struct {
			view   func(s snap) error // or
			update func(tx txn) error
			err    error
			panics error
		}{
			"it reads": {err: ErrTxTooOld,
				view: func(s snap) error { old(m); s.Get("k"); n++; return nil }},
			"it loops": {err: ErrTxTooOld, view: func(s snap) error { return loopOld(m, s) }},
			"it closes": {err: ErrTxTooOld,
				view: func(s snap) error { defer s.Close(); old(m); s.Get("k"); return nil }},
			"it writes": {err: ErrTxTooOld,
				update: func(tx txn) error { old(m); tx.Set("k", 2); n++; return nil }},
			"it ends": {err: ErrTxTooOld,
				update: func(tx txn) error { defer tx.Rollback(); old(m); tx.Get("k"); return nil }},
			"it commits": {err: ErrTxTooOld,
				update: func(tx txn) error { tx.Get("k"); tx.Set("k", 2); old(m); return nil }},
			// A function that does not touch the transaction any more is not disturbed.
			"view returns":   {view: func(snap) error { old(m); return nil }},
			"view fails":     {err: mine, view: func(snap) error { old(m); return mine }},
			"update fails":   {err: mine, update: func(txn) error { old(m); return mine }},
			"not evicted":    {panics: ErrTxTooOld, view: func(snap) error { panic(ErrTxTooOld) }},
			"view panics":    {panics: mine, view: func(snap) error { old(m); panic(mine) }},
			"update panics":  {panics: mine, update: func(txn) error { old(m); panic(mine) }},
			"of another map": {panics: ErrTxTooOld, view: func(snap) error { theirs.Get("k"); return nil }},
			"of both": {panics: ErrTxTooOld,
				update: func(txn) error { old(m); theirs.Get("k"); return nil }},
		} {
			calls := 0
			do := func() error {
				if c.view != nil {
					return m.View(func(s snap) error { calls++; return c.view(s) })
				}
				return m.Update(bg, nil, func(tx txn) error { calls++; return c.update(tx) })
			}
			if c.panics != nil {
				p, _ := panicOf(func() { _ = do() }).(error)
				require.ErrorIs(t, p, c.panics, name)
			} else {
				require.Equal(t, c.err, do(), name)
			}
			require.Equal(t, 1, calls, name)
		}
		require.Zero(t, n, "the function runs up to the read or write")
		theirs.Close()
		requireValue(t, 1)(m.Load("k"))
		checkQuiet(t, m)
	})
}

// loopOld loops over a snapshot that grows too old in the first step.
func loopOld(m *Map[string, int], s Snapshot[string, int]) error {
	for range s.All() {
		old(m)
	}
	return errors.New("the loop ends")
}

// Reclaim stops when its context ends, and goes on the next time.
func TestReclaimStops(t *testing.T) {
	m := newMap[int, int](t, &Options{ManualReclaim: true})
	const n = 5000
	overwrite(m, n, 0, 2*n, func() {})
	depth := m.Stats().QueueDepth
	require.GreaterOrEqual(t, depth, n/index.BucketCells)
	require.LessOrEqual(t, depth, n)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	require.ErrorIs(t, m.Reclaim(ctx), context.Canceled)
	require.GreaterOrEqual(t, m.Stats().QueueDepth, depth)
	require.NoError(t, m.Reclaim(bg))
	require.Zero(t, m.Stats().QueueDepth)
	require.Equal(t, n, m.Stats().Versions)
}

// A transaction or snapshot that the library opens for one call is not evicted, nor warned of,
// however long the functions take that it calls.
func TestSpared(t *testing.T) {
	const keys = 20
	var slow atomic.Bool
	takesLong := func() {
		if slow.Load() {
			time.Sleep(5 * time.Second)
		}
	}
	compare := func(a, b int) int { takesLong(); return cmp.Compare(a, b) }
	type table = Map[int, int]
	for name, call := range map[string]func(db *DB, m *table, ix *Index[int, int, int]) error{
		"Load": func(db *DB, m *table, _ *Index[int, int, int]) error {
			_, _, err := door{db}.Load(bg, func(tx DBTx) { m.In(tx).Set(1, -1) })
			return err
		},
		"Save": func(db *DB, m *table, _ *Index[int, int, int]) error {
			s := door{db}.SparedSnapshot()
			defer s.Close()
			door{db}.Scan(seamOf(coreOf(m)), s, DBSnapshot{}, func(*seam.Version, bool) bool {
				takesLong()
				return true
			})
			return nil
		},
		"DeleteRange": func(_ *DB, m *table, _ *Index[int, int, int]) error { m.DeleteRange(From(5)); return nil },
		"NewIndex": func(_ *DB, m *table, _ *Index[int, int, int]) error {
			_, err := NewIndex(m, "another", func(k, _ int) []int { takesLong(); return []int{k} }, nil)
			return err
		},
		"Store": func(_ *DB, m *table, _ *Index[int, int, int]) error { m.Store(1, -1); return nil },
		"Sequence": func(_ *DB, m *table, _ *Index[int, int, int]) error {
			numbers := NewOrderedFunc[int, uint64](compare, &Options{MaxTxAge: time.Second})
			defer numbers.Close()
			numbers.Store(2, 2)
			_, err := NewSequence(numbers, 1, 1).Next()
			return err
		},
		"Expire": func(db *DB, m *table, _ *Index[int, int, int]) error {
			m.Expire(func(k, _ int) time.Time {
				if takesLong(); k == 1 {
					return time.Unix(1, 0)
				}
				return time.Time{}
			})
			slow.Store(true)
			return db.Reclaim(bg)
		},
		"History": func(_ *DB, m *table, _ *Index[int, int, int]) error { History(m, 1); return nil },
		"CountRange": func(_ *DB, m *table, _ *Index[int, int, int]) error {
			CountRange(m, From(3))
			return nil
		},
		"Count": func(_ *DB, m *table, ix *Index[int, int, int]) error { ix.Count(m, From(3)); return nil },
		"First": func(_ *DB, m *table, ix *Index[int, int, int]) error { ix.First(m, 3); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow.Store(false)
				var log recorder
				db := NewDB(&Options{MaxTxAge: time.Second, PinWarnAge: time.Second,
					Logger: slog.New(&log), ReclaimInterval: time.Hour})
				defer db.Close()
				m := NewOrderedTableFunc[int, int](db, "m", compare, nil)
				ix, err := NewOrderedIndexFunc(m, "ix", compare,
					func(_, v int) []int { takesLong(); return []int{v} }, nil)
				require.NoError(t, err)
				var ended atomic.Bool
				var rounds sync.WaitGroup
				rounds.Go(func() { // ticks would wait for Reclaim, by a mutex
					for !ended.Load() {
						time.Sleep(100 * time.Millisecond)
						coreOf(m).shared.gc.Readers(1)
					}
				})
				for i := range keys {
					m.Store(i, i)
				}
				slow.Store(!slices.Contains([]string{"Expire"}, name))
				start := time.Now()
				require.NoError(t, call(db, m, ix))
				require.GreaterOrEqual(t, time.Since(start), 5*time.Second)
				require.Zero(t, db.Stats().Evicted)
				require.Empty(t, log.told())
				slow.Store(false)
				ended.Store(true)
				rounds.Wait()
			})
		})
	}
}
