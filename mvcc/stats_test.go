package mvcc

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/stage"
)

// counted checks that the gauges say what there is, when nothing is going on.
func counted[K comparable, V any](t *testing.T, m *Map[K, V]) {
	t.Helper()
	reclaim(t, m, 4) // so that what is open is old
	g := measure(t, m)
	s := m.Stats()
	require.Equal(t, g.entries, s.Entries, "entries")
	require.Equal(t, g.versions, s.Versions, "versions: %+v, %+v", s, coreOf(m).gc.Stats())
	v := m.Snapshot()
	defer v.Close()
	require.Equal(t, v.Len(), s.Keys, "keys")
	require.Equal(t, g.versions-g.entries, s.Aside, "old versions that are kept")
}

// Keys, entries and versions are counted exactly, by every way to write.
func TestStatsCount(t *testing.T) {
	m := newMap[int, int](t, &Options{ManualReclaim: true, ReclaimQueue: 7})
	r := rand.New(rand.NewPCG(1, 2))
	var open []Snapshot[int, int]
	for range stage.Sizes(20_000, 3_000) {
		key := r.IntN(50)
		switch r.IntN(12) {
		case 0:
			m.Delete(key)
		case 1:
			m.LoadOrStore(key, 1)
		case 2:
			m.Swap(key, 2)
		case 3:
			CompareAndSwap(m, key, 1, 2)
		case 4, 5:
			require.NoError(t, m.Update(bg, levels[r.IntN(2)], func(tx Tx[int, int]) error {
				for range r.IntN(6) {
					if r.IntN(2) == 0 {
						tx.Get(r.IntN(50))
					}
					if r.IntN(2) == 0 {
						tx.Set(r.IntN(50), 3)
					} else {
						tx.Delete(r.IntN(50))
					}
				}
				return nil
			}))
		case 6:
			tx := m.Begin(levels[r.IntN(2)])
			tx.Get(key)
			tx.Set(key, 4)
			tx.Delete(r.IntN(50))
			m.Store(key, 5)
			require.ErrorIs(t, tx.Commit(), ErrConflict)
		case 7:
			open = append(open, m.Snapshot())
		case 8:
			if n := len(open); n > 0 {
				i := r.IntN(n)
				open[i].Close()
				open[i] = open[n-1]
				open = open[:n-1]
			}
		default:
			m.Store(key, 6)
		}
		if r.IntN(100) == 0 {
			counted(t, m)
		}
	}
	for _, s := range open {
		s.Close()
	}
	counted(t, m)
	require.Zero(t, m.Stats().Aside)
}

// The figures do not drift when many goroutines write and prune the same keys.
func TestStatsDoNotDrift(t *testing.T) {
	for _, opts := range []*Options{nil, brisk(), {ReclaimWorkers: 3, ReclaimQueue: 4,
		ReclaimInterval: time.Millisecond}, {ReclaimWorkers: -1}} {
		m := newMap[int, int](t, opts)
		c := stage.NewCrew(t)
		c.Run(4, func(who int) error {
			r := rand.New(rand.NewPCG(uint64(who), 3))
			for range stage.Sizes(20_000, 2_000) {
				key := r.IntN(8)
				switch r.IntN(8) {
				case 0:
					m.Delete(key)
				case 1:
					s := m.Snapshot()
					s.Get(key)
					s.Close()
				case 2:
					if err := m.Update(bg, nil, func(tx Tx[int, int]) error {
						tx.Set(key, 1)
						tx.Set(r.IntN(16), 1)
						return nil
					}); err != nil {
						return err
					}
				default:
					m.Store(key, 2)
				}
			}
			return nil
		})
		c.Wait(t)
		// Reclaim may find a key in the hands of a worker.
		stage.Eventually(t, func() bool {
			require.NoError(t, m.Reclaim(bg))
			s := m.Stats()
			return s.Versions == s.Entries && s.Entries == s.Keys
		}, "%+v", m.Stats())
		counted(t, m)
	}
}

// The gauges agree with each other, and with the heap within a quarter: for keys alone,
// with keys that wait to be pruned, with a reader for which as many versions are kept,
// with very many snapshots, and when all is over.
func TestStatsBytes(t *testing.T) {
	if stage.Race {
		t.Skip("nothing runs beside it")
	}
	for _, n := range []int{50_000, 130_000, 200_000}[:stage.Sizes(3, 1)] {
		m := newMap[int, int](t, &Options{ManualReclaim: true})
		before := heap()
		for range 5 { // until what tests before have left is gone
			runtime.Gosched()
			before = min(before, heap())
		}
		check := func(what string) {
			t.Helper()
			var s Stats
			stage.Eventually(t, func() bool {
				got := heap() - before
				s = m.Stats()
				return float64(got) < 1.25*float64(s.Bytes) && float64(got) > 0.75*float64(s.Bytes)
			}, "%s: %d bytes, %+v", what, heap()-before, &s)
			g := measureAsIs(m)
			require.Equal(t, g.entries, s.Entries)
			require.InEpsilon(t, g.versions, s.Versions, 0.25)
			require.GreaterOrEqual(t, s.Versions, s.Entries)
			require.LessOrEqual(t, s.Aside, s.Versions-s.Entries)
			t.Logf("%s: %d keys, %d bytes, estimated %d", what, n, heap()-before, s.Bytes)
		}
		store := func(rounds int) {
			for range rounds {
				for i := range n {
					m.Store(i, 0)
				}
			}
		}
		store(1)
		check("keys")
		store(1)
		check("overwritten")
		store(1)
		check("overwritten again")
		reclaim(t, m, 4)
		check("reclaimed")
		r := m.Snapshot()
		store(1)
		check("with a reader")
		reclaim(t, m, 4)
		require.Equal(t, n, m.Stats().Aside)
		check("with an old reader")
		store(1)
		check("with an old reader, overwritten")
		r.Close()
		reclaim(t, m, 4)
		check("all is over")
		var open []Snapshot[int, int]
		for range n {
			open = append(open, m.Snapshot())
		}
		before += 16 * int64(cap(open))
		check("snapshots")
		for _, s := range open {
			s.Close()
		}
		before -= 16 * int64(cap(open))
		open = nil
		reclaim(t, m, 4)
		check("all is over")
	}
}
