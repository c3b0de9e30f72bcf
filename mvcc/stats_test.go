package mvcc

import (
	"cmp"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// The figures do not drift when many goroutines write and prune the same keys.
func TestStatsDoNotDrift(t *testing.T) {
	for _, opts := range []*Options{nil, brisk(), {ReclaimWorkers: 3, ReclaimQueue: 4,
		ReclaimInterval: time.Millisecond}, {ReclaimWorkers: -1}} {
		m := newMap[int, int](t, opts)
		c := stage.NewWorkers(t)
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
		g, s := measure(t, m), m.Stats()
		require.Equal(t, g.entries, s.Entries)
		require.Equal(t, g.versions, s.Versions, "%+v, %+v", s, coreOf(m).gc.Stats())
		require.Equal(t, m.Len(), s.Keys)
		require.Zero(t, s.Aside)
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
		for range 5 { // until the memory of earlier tests is free
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

// Epochs that were passed over, or drawn for something else than a commit, count as none: not by
// SkipTo, as after a restart with a journal, nor by the end of a table, a new index, or a commit
// that a function of the user has left.
func TestCommitsAreCommits(t *testing.T) {
	db := newDB(t, still())
	bad := false
	m := NewOrderedTableFunc[int, int](db, "m", func(a, b int) int {
		if bad {
			panic("bad")
		}
		return cmp.Compare(a, b)
	}, nil)
	for i := range 3 {
		m.Store(i, i)
	}
	require.EqualValues(t, 3, db.Stats().Commits)
	door{db}.SkipTo(1<<20, false)
	require.EqualValues(t, 3, db.Stats().Commits)
	require.Zero(t, db.Stats().Pruned)
	NewTable[int, int](db, "short", nil).Close()
	require.EqualValues(t, 3, db.Stats().Commits)
	_, err := NewIndex(NewTable[int, int](db, "empty", nil), "i", func(int, int) []int { return nil }, nil)
	require.NoError(t, err)
	require.EqualValues(t, 3, db.Stats().Commits)
	require.PanicsWithValue(t, "bad", func() {
		_ = m.Update(bg, nil, func(tx Tx[int, int]) error {
			for range tx.Ascend(From(0).Before(2)) {
			}
			tx.Set(0, 1)
			tx.Set(1, 1)
			bad = true
			return nil
		})
	})
	bad = false
	require.EqualValues(t, 3, db.Stats().Commits)
	m.Store(0, 5)
	require.EqualValues(t, 4, db.Stats().Commits)
}
