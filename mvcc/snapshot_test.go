package mvcc

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/stage"
)

func TestSnapshotStaysAsItWas(t *testing.T) {
	m := newMap[int, int](t, still())
	want := map[int]int{}
	for i := range 100 {
		m.Store(i, i)
		want[i] = i
	}
	s := m.Snapshot()
	for i := range 200 {
		m.Store(i, -i)
		if i%2 == 0 {
			m.Delete(i)
		}
		if i%3 == 0 {
			prune(m)
		}
	}
	require.Empty(t, cmp.Diff(want, maps.Collect(s.All())))
	require.Equal(t, 100, s.Len())
	for i := range 200 {
		got, ok := s.Get(i)
		require.Equal(t, i < 100, ok)
		require.Equal(t, want[i], got)
	}
	s.Close()
	checkQuiet(t, m)
}

func TestClosedSnapshot(t *testing.T) {
	for _, reused := range []bool{false, true} {
		m := newMap[int, int](t, nil)
		m.Store(1, 1)
		s := m.Snapshot()
		copied, all := s, s.All()
		s.Close()
		if reused {
			other := m.Snapshot()
			for other.st != s.st {
				defer other.Close()
				other = m.Snapshot()
			}
			defer func() {
				requireValue(t, 1)(other.Get(1))
				other.Close()
			}()
		}
		for _, s := range []Snapshot[int, int]{s, copied} {
			s.Close()
			requireTxDone(t, func() { s.Get(1) })
			requireTxDone(t, func() { s.Get(2) })
			requireTxDone(t, func() { s.Len() })
			requireTxDone(t, func() { s.Epoch() })
			requireTxDone(t, func() { all(func(int, int) bool { return true }) })
		}
	}
}

// A loop over a snapshot that is closed meanwhile panics at its next step, and
// never ends as if there were no more keys.
func TestSnapshotClosedWithinAll(t *testing.T) {
	m := newMap[int, int](t, nil)
	for i := range 10 {
		m.Store(i, i)
	}
	s := m.Snapshot()
	n := 0
	requireTxDone(t, func() {
		for range s.All() {
			if n++; n == 5 {
				s.Close()
			}
		}
	})
	require.Equal(t, 5, n)
	last := m.Snapshot()
	n = 0
	requireTxDone(t, func() {
		for range last.All() {
			if n++; n == 10 {
				last.Close() // the loop has met every key, but does not know
			}
		}
	})
	early := m.Snapshot()
	require.Nil(t, panicOf(func() {
		for range early.All() {
			early.Close()
			break // no further step
		}
	}))
	checkQuiet(t, m)
}

// Goroutines read through one snapshot while another closes it: each read
// returns what was there, or panics.
func TestSnapshotClosedByAnotherGoroutine(t *testing.T) {
	const n = 64
	m := newMap[int, int](t, brisk())
	for round := range stage.Sizes(60, 20) {
		for i := range n {
			m.Store(i, round)
		}
		s := m.Snapshot()
		c := stage.NewCrew(t)
		c.Run(3, func(who int) (err error) {
			for i := 0; ; i++ {
				done := panicOf(func() {
					if who == 0 {
						met := 0
						for _, value := range s.All() {
							if err == nil {
								err = expect("value in All", round, value)
							}
							met++
						}
						if err == nil {
							err = expect("keys met", n, met)
						}
						return
					}
					value, ok := s.Get(i % n)
					if err = expect("present", true, ok); err == nil {
						err = expect("value", round, value)
					}
				})
				if done != nil {
					return expect[any]("panic", ErrTxDone, done)
				}
				if err != nil {
					return err
				}
			}
		})
		c.Run(1, func(int) error { // it deletes all, closes and takes the slot again
			for i := range n {
				m.Delete(i)
			}
			s.Close()
			for range 4 {
				tx := m.Begin(nil)
				tx.Get(1)
				tx.Rollback()
			}
			return nil
		})
		c.Wait(t)
	}
	checkQuiet(t, m)
}

func TestRange(t *testing.T) {
	m := newMap[int, int](t, nil)
	for i := range 50 {
		m.Store(i, i)
	}
	got := map[int]int{}
	m.Range(func(key, value int) bool {
		got[key] = value
		for i := range 50 { // the loop may use the map, and does not see it
			m.Store(i, -1)
			m.Delete(i)
			m.Store(i+100, 1)
		}
		return true
	})
	require.Len(t, got, 50)
	for i := range 50 {
		require.Equal(t, i, got[i])
	}
	n := 0
	m.Range(func(int, int) bool { n++; return n < 7 })
	require.Equal(t, 7, n)
	checkQuiet(t, m)
}

// The slot of an old transaction is not begun in again, nor is its state used: scans
// pass over that slot.
func TestStateOfOldTransactionIsNotUsedAgain(t *testing.T) {
	m := newMap[int, int](t, &Options{ManualReclaim: true})
	for i := range 10 {
		m.Store(1, i)
		s := m.Snapshot()
		m.Store(1, -1)
		reclaim(t, m, 4)
		require.Equal(t, 1, m.Stats().Aside, "the snapshot is an old one")
		st := s.st
		s.Close()
		m.Store(1, i)
		next := m.Snapshot()
		require.NotSame(t, st, next.st)
		m.Store(1, -1)
		require.NoError(t, m.Reclaim(bg))
		requireValue(t, i)(next.Get(1))
		next.Close()
		require.NoError(t, m.Reclaim(bg))
		require.Equal(t, 1, m.Stats().Versions)
	}
}
