package mvcc

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sort"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// With Retain each state of that time can be read, however often its keys were written
// and deleted since, and wherever the background work is; afterwards it is gone, and so is
// its memory.
func TestSnapshotAt(t *testing.T) {
	for name, opts := range map[string]*Options{
		"ticker": {}, "by hand": {ManualReclaim: true}, "committers": {ReclaimWorkers: -1,
			ReclaimQueue: 1, PruneThreshold: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts.Retain = time.Minute
				m := New[int, int](opts)
				defer m.Close()
				pass := func(d time.Duration) {
					for range 10 {
						time.Sleep(d / 10)
						if opts.ManualReclaim {
							require.NoError(t, m.Reclaim(bg))
						}
						synctest.Wait()
					}
				}
				states := map[uint64]map[int]int{m.Epoch(): {}}
				first := m.Epoch()
				random := rand.New(rand.NewPCG(1, 1))
				write := func(n int) {
					for range n {
						key := random.IntN(20)
						if random.IntN(3) == 0 {
							m.Delete(key)
						} else {
							m.Store(key, random.Int())
						}
						states[m.Epoch()] = contents(t, m)
					}
				}
				check := func() {
					for at, want := range states {
						s, err := m.SnapshotAt(at)
						require.NoError(t, err)
						require.Equal(t, at, s.Epoch())
						require.Equal(t, want, maps.Collect(s.All()), "as of %d", at)
						s.Close()
					}
				}
				write(200)
				check()
				middle := m.Epoch()
				pass(30 * time.Second)
				write(200)
				pass(29 * time.Second)
				check()
				long, err := m.SnapshotAt(first + 100)
				require.NoError(t, err)
				last := m.Epoch()
				pass(20 * time.Second)
				_, err = m.SnapshotAt(first) // which nobody has read since it was the newest
				require.ErrorIs(t, err, ErrEpochGone)
				for at := range states {
					if at < middle { // which was the newest a minute ago
						delete(states, at)
					}
				}
				check()
				held, err := m.SnapshotAt(last - 50)
				require.NoError(t, err)
				then := states[held.Epoch()]
				pass(2 * time.Minute)
				_, err = m.SnapshotAt(held.Epoch())
				require.ErrorIs(t, err, ErrEpochGone, "that it is open makes no difference")
				for key := range 20 {
					value, ok := held.Get(key)
					was, had := then[key]
					require.Equal(t, had, ok)
					require.Equal(t, was, value)
				}
				held.Close()
				long.Close()
				pass(2 * time.Minute)
				require.NoError(t, m.Reclaim(bg))
				for _, h := range heads(m) {
					require.Len(t, chainOf(m, chain.KeyOf[int](h.head)), 1)
				}
				require.Equal(t, len(contents(t, m)), int(m.Stats().Entries))
				require.Equal(t, contents(t, m), states[last])
				checkQuiet(t, m)
			})
		})
	}
}

// Without Retain an epoch is to be had until it is known that nobody reads it.
func TestSnapshotAtWithoutRetain(t *testing.T) {
	m := newMap[string, int](t, still())
	m.Store("k", 1)
	at := m.Epoch()
	m.Store("k", 2)
	s, err := m.SnapshotAt(at)
	require.NoError(t, err)
	requireValue(t, 1)(s.Get("k"))
	prune(m)
	requireValue(t, 1)(s.Get("k"))
	s.Close()
	m.Store("k", 3)
	prune(m)
	for _, gone := range []uint64{0, at, m.Epoch() - 1} {
		_, err = m.SnapshotAt(gone)
		require.ErrorIs(t, err, ErrEpochGone)
		require.Contains(t, err.Error(), fmt.Sprintf("epoch %d is before %d", gone, m.Epoch()))
	}
	_, err = m.SnapshotAt(m.Epoch() + 1)
	require.ErrorIs(t, err, ErrEpochGone)
	require.Contains(t, err.Error(), "has not come yet")
	s, err = m.SnapshotAt(m.Epoch())
	require.NoError(t, err)
	requireValue(t, 3)(s.Get("k"))
	s.Close()
	checkQuiet(t, m)
}

// Snapshots of the past grow old beside those of the present: the epochs of the old ones
// are no longer in the order of their age, and nothing is lost that any of them sees.
func TestSnapshotsOfThePastGrowOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[int, int](&Options{ManualReclaim: true, Retain: time.Hour})
		defer m.Close()
		const n = 200
		first := m.Epoch()
		for i := range n {
			m.Store(i%3, i)
		}
		var open []Snapshot[int, int]
		backs := []uint64{10, 150, 0, 80, 150, 190}
		random := rand.New(rand.NewPCG(1, 2))
		for range 40 {
			backs = append(backs, random.Uint64N(190))
		}
		for _, back := range backs {
			s, err := m.SnapshotAt(first + n - back)
			require.NoError(t, err)
			open = append(open, s)
			reclaim(t, m, 4) // it is old by then
		}
		time.Sleep(2 * time.Hour)
		m.Store(0, -1)
		reclaim(t, m, 1)
		time.Sleep(2 * time.Hour)
		reclaim(t, m, 4)
		require.Equal(t, first+n-190, m.Stats().OldestPin)
		for _, s := range open {
			for key := range 3 {
				want, ok := 0, false
				for i := range n {
					if i%3 == key && first+1+uint64(i) <= s.Epoch() {
						want, ok = i, true
					}
				}
				value, there := s.Get(key)
				require.Equal(t, ok, there)
				require.Equal(t, want, value, "key %d as of %d", key, s.Epoch())
			}
		}
		for _, s := range open {
			s.Close()
		}
		reclaim(t, m, 4)
		require.Len(t, chainOf(m, 0), 1)
		checkQuiet(t, m)
	})
}

// A program that reads page by page from a snapshot that may be evicted need not recover.
func TestTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[string, int](aging())
		defer m.Close()
		m.Store("k", 1)
		s := m.Snapshot()
		own := errors.New("own")
		require.NoError(t, s.Try(func() error { requireValue(t, 1)(s.Get("k")); return nil }))
		require.Equal(t, own, s.Try(func() error { return own }))
		old(m)
		require.Equal(t, ErrTxTooOld, s.Try(func() error { s.Get("k"); return own }))
		require.Equal(t, ErrTxTooOld, s.Try(func() error {
			for range s.All() {
				t.Error("it meets a key")
			}
			return own
		}))
		s.Close()
		require.Equal(t, ErrTxDone, s.Try(func() error { return own }))
		checkQuiet(t, m)
	})
}

// Without Retain a snapshot of the past is not to be had if it would lack a table that was closed
// since: so a follower begins anew, and no differences bring its records back.
func TestSnapshotAtClosed(t *testing.T) {
	for _, manual := range []bool{true, false} {
		db := NewDB(&Options{ManualReclaim: manual, ReclaimInterval: time.Hour})
		m := NewTable[int, int](db, "t", nil)
		before := db.Epoch()
		m.Store(1, 1)
		at := db.Epoch()
		m.Close()
		_, err := db.SnapshotAt(at)
		require.ErrorIs(t, err, ErrEpochGone)
		require.ErrorContains(t, err, "was closed at epoch")
		require.Zero(t, db.Stats().LiveTx)
		for _, e := range []uint64{before, db.Epoch()} { // there was nothing in it
			s, err := db.SnapshotAt(e)
			require.NoError(t, err)
			s.Close()
		}
		begun := errors.New("begun")
		require.Equal(t, begun, db.Follow(t.Context(), &FollowOptions{After: db.Position(at)},
			func(DBSnapshot) error { return begun }, func(DBCommit) error { return nil }))
		db.Close()
	}
}

// With Retain a key's history has all that the key was in that time, and when, wherever the
// background work is.
func TestHistoryOfKeys(t *testing.T) {
	for name, opts := range map[string]*Options{
		"ticker": {}, "by hand": {ManualReclaim: true}, "committers": {ReclaimWorkers: -1,
			ReclaimQueue: 1, PruneThreshold: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testHistory(t, opts) })
		})
	}
}

func testHistory(t *testing.T, opts *Options) {
	late := 100 * time.Millisecond
	if opts.ManualReclaim {
		late += time.Second
	}
	opts.Retain = time.Minute
	db := NewDB(opts)
	defer db.Close()
	m := NewTable[int, int](db, "m", nil)
	all := map[int][]Revision[int]{} // the oldest first
	random := rand.New(rand.NewPCG(1, 1))
	write := func() {
		key, value := random.IntN(10), random.Int()
		r := Revision[int]{Value: value, Time: time.Now()}
		if random.IntN(4) == 0 {
			if !m.Has(key) {
				return
			}
			r.Deleted, r.Value = true, 0
			m.Delete(key)
		} else {
			m.Store(key, value)
		}
		r.Epoch = m.Epoch()
		all[key] = append(all[key], r)
	}
	check := func() {
		began := time.Now().Add(-opts.Retain)
		for key := range 11 {
			got, want := History(m, key), all[key]
			need := len(want) - sort.Search(len(want), func(i int) bool { return want[i].Time.After(began) })
			if last := len(want) - need - 1; last >= 0 && !want[last].Deleted {
				need++ // the revision when that time began
			}
			require.GreaterOrEqual(t, len(got), need)
			for i, r := range got {
				want := want[len(want)-1-i]
				if known := want.Time; known.After(began) || !r.Time.IsZero() {
					require.False(t, r.Time.Before(known))
					require.LessOrEqual(t, r.Time.Sub(known), late)
				}
				r.Time = want.Time
				require.Equal(t, want, r)
			}
		}
	}
	for range 300 {
		write()
		time.Sleep(time.Duration(random.Int64N(int64(time.Second))))
		if opts.ManualReclaim {
			require.NoError(t, db.Reclaim(bg))
		}
		synctest.Wait()
		if random.IntN(10) == 0 {
			time.Sleep(late)
			check()
		}
	}
	open := db.Snapshot()
	time.Sleep(2 * opts.Retain)
	require.NoError(t, db.Reclaim(bg))
	check()
	for key := range 10 {
		if got := History(m, key); m.Has(key) {
			require.Len(t, got, 1)
			require.Zero(t, got[0].Time)
		} else {
			require.Empty(t, got)
		}
	}
	open.Close()
	checkQuiet(t, m)
}
