//go:build mvcccheck

package mvcc

import (
	"fmt"
	"maps"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/engine/hasher"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// The sleeper within a bucket's lock. Ordinary builds pin the one that holds it to its processor;
// here it is held for as long as others need for all that they can do. A call that waits for it
// would hang. Nothing is said about times.

// A bucketSleeper is a way to take the lock of bucket 0, and where it may be held.
type bucketSleeper struct {
	name   string
	do     func(m *Map[int, int])
	points []hooks.Point
	shares bool        // bucket 1 becomes one with it: inserts into that wait too
	effect map[int]int // the keys that it sets
}

var bucketSleepers = []bucketSleeper{
	{
		name:   "insert",
		do:     func(m *Map[int, int]) { m.Store(20, 1) },
		points: []hooks.Point{hooks.InsertLocked, hooks.CellTagged},
		effect: map[int]int{20: 1},
	},
	{
		name:   "remove",
		do:     func(m *Map[int, int]) { prune(m) },
		points: []hooks.Point{hooks.RemoveLocked, hooks.RemoveEmptied},
	},
	{
		name:   "move to a larger table",
		do:     func(m *Map[int, int]) { moveFirst(m, 2*sleeperBuckets) },
		points: []hooks.Point{hooks.CellFilled, hooks.CellsMoved},
	},
	{
		name:   "move to a smaller table",
		do:     func(m *Map[int, int]) { moveFirst(m, sleeperBuckets/2) },
		points: []hooks.Point{hooks.CellFilled, hooks.CellsMoved},
		shares: true,
	},
}

// sleeperBuckets is how many buckets there are: so many that no resize begins by itself.
const sleeperBuckets = 16

// sleeperHash puts keys below 50 into bucket 0, those below 100 into bucket 1, and all
// others into the middle one.
func sleeperHash(key int) uint64 {
	switch {
	case key < 50:
		return uint64(key)
	case key < 100:
		return 1<<60 | uint64(key)
	}
	return 1<<63 | uint64(key)
}

// moveFirst moves bucket 0 to a table of n.
func moveFirst(m *Map[int, int], n int) {
	m.index.ResizeTo(n)
	m.index.MoveFirst()
}

// Somebody is held within each step of an insert, of a removal and of a move. In the same
// bucket lookups, scans, overwrites, deletes, snapshots and transactions over the keys
// that are there go on; in others keys are inserted too. Who inserts a key into the same
// bucket waits, and goes on with the sleeper.
func TestSleeperWithinBucket(t *testing.T) {
	for _, s := range bucketSleepers {
		for _, p := range s.points {
			t.Run(s.name+"/"+p.String(), func(t *testing.T) { s.hold(t, p) })
		}
	}
}

func (s *bucketSleeper) hold(t *testing.T, p hooks.Point) {
	m := newMap[int, int](t, still())
	x := m.index
	x.Unattended(index.MinBuckets)
	x.Remake(sleeperBuckets)
	x.Hash = hasher.Given(sleeperHash)
	want := map[int]int{}
	for _, key := range []int{0, 1, 2, 3, 4, 5, 6, 7, 60, 100, 101} { // bucket 0 has an overflow
		m.Store(key, 0)
		want[key] = 0
	}
	m.Delete(7)
	delete(want, 7)
	before, old := m.Snapshot(), maps.Clone(want)

	w := stage.New(t).Actor("sleeper", func() { s.do(m) }).To(p)
	if p == hooks.CellFilled {
		w.To(p).To(p) // two are marked, the third is there twice
	}
	waiting := map[int]chan struct{}{21: make(chan struct{})}
	if s.shares {
		waiting[61] = make(chan struct{})
	}
	for key, inserted := range waiting {
		go func() { m.Store(key, 1); close(inserted) }()
	}
	for round := 1; round <= 10; round++ {
		goOnBeside(t, m, want, round)
		if !s.shares {
			m.Store(70+round, round)
			want[70+round] = round
		}
		require.Equal(t, old, maps.Collect(before.All()))
		for key, inserted := range waiting {
			runtime.Gosched()
			select {
			case <-inserted:
				require.Fail(t, fmt.Sprintf("key %d is inserted", key))
			default:
			}
		}
	}
	require.True(t, w.Held)
	w.Finish()
	for key, inserted := range waiting {
		stage.Await(t, inserted, "the insert of %d waits for ever", key)
		want[key] = 1
	}
	maps.Copy(want, s.effect)
	require.Equal(t, old, maps.Collect(before.All()))
	before.Close()
	require.Equal(t, want, contents(t, m))
	prune(m)
	require.Equal(t, want, contents(t, m))
	require.Len(t, heads(m), len(want))
	checkQuiet(t, m)
}

// goOnBeside does all that does not wait for the sleeper, and notes the values it sets in want.
func goOnBeside(t *testing.T, m *Map[int, int], want map[int]int, round int) {
	t.Helper()
	see := func(r Reader[int, int]) error {
		require.Equal(t, want, maps.Collect(r.All()))
		for key, value := range want {
			requireValue(t, value)(r.Get(key))
		}
		for _, key := range []int{7, 20, 21, 22} {
			requireAbsent[int](t)(r.Get(key))
		}
		return nil
	}
	for key, value := range want {
		requireValue(t, value)(m.Load(key))
		m.Store(key, round)
		require.True(t, CompareAndSwap(m, key, round, -round))
		m.Delete(key) // its tombstone keeps the cell
		requireAbsent[int](t)(m.Load(key))
		_, loaded := m.LoadOrStore(key, -round)
		require.False(t, loaded)
		want[key] = -round
	}
	for _, key := range []int{7, 21, 22} {
		requireAbsent[int](t)(m.Load(key))
		m.Delete(key)
	}
	m.Store(200+round, round) // a new key, in another bucket
	want[200+round] = round
	require.NoError(t, m.View(func(s Snapshot[int, int]) error { return see(s) }))
	for _, opts := range levels {
		mustUpdate(t, m, opts, func(tx Tx[int, int]) {
			for key := range want {
				tx.Set(key, round)
			}
		})
		for key := range want {
			want[key] = round
		}
		require.NoError(t, m.Update(bg, opts, func(tx Tx[int, int]) error {
			tx.Set(0, round)
			tx.Set(100, round)
			return see(tx)
		}))
	}
}
