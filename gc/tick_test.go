package gc_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
)

// bubble runs f with a reclaimer in a bubble.
func bubble(t *testing.T, cfg config, f func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, start(t, cfg)) })
}

var orders = [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}, {0, 2, 1}, {2, 0, 1}}

// A version above the bound of the view stays for the next tick.
func TestAboveTheBound(t *testing.T) {
	bubble(t, config{Workers: 1}, func(t *testing.T, f *fixture) {
		k := f.keys(1)[0]
		k.onVisit = func(*gc.View) {
			if k.visited() == 1 {
				f.commit(k)
			}
		}
		f.write(k)
		f.ticks(1)
		require.Len(t, k.chain(), 2, "one above the bound, one at it")
		require.True(t, k.isMarked())
		require.Equal(t, 1, f.Stats().Pending)
		f.ticks(1)
		require.Len(t, k.chain(), 1)
		require.False(t, k.isMarked())
		f.ticks(5)
		require.Equal(t, 2, k.visited())
	})
}

// A committer that finds the key marked relies on a visit that sees its version. So the mark goes
// before the visit looks: a key written meanwhile is handed over anew.
func TestWrittenDuringVisit(t *testing.T) {
	bubble(t, config{Workers: 1}, func(t *testing.T, f *fixture) {
		k := f.keys(1)[0]
		k.onVisit = func(*gc.View) {
			if k.visited() == 1 {
				f.write(k)
			}
		}
		f.write(k)
		f.ticks(1)
		require.Equal(t, 1, f.Stats().Pending, "in the list once")
		f.ticks(1)
		require.Equal(t, 2, k.visited())
		require.Len(t, k.chain(), 1)
	})
}

// A version kept for an old transaction is set aside, and visited when that has ended: not before,
// and not again after.
func TestOldReader(t *testing.T) {
	bubble(t, config{Workers: 1}, func(t *testing.T, f *fixture) {
		k := f.keys(1)[0]
		first := k.chain()[0]
		r := f.begin()
		f.slots.Next()
		f.ticks(3)
		require.Equal(t, []epoch.Epoch{r.at}, f.View().Old())
		second := f.write(k)
		f.ticks(1)
		require.Equal(t, []epoch.Epoch{second, first}, k.chain())
		require.False(t, k.isMarked())
		s := f.Stats()
		require.Equal(t, 1, s.Aside)
		require.Zero(t, s.Pending)
		require.Zero(t, s.Surplus)

		// Written again it is visited, and still set aside once.
		f.write(k)
		third := f.write(k)
		require.Equal(t, 1, f.Stats().Pending)
		f.ticks(1)
		require.Equal(t, []epoch.Epoch{third, first}, k.chain())
		require.Equal(t, 2, k.visited())
		require.Equal(t, 1, f.Stats().Aside)

		// Ticks alone are no reason to look, nor are readers that come, or go.
		f.ticks(10)
		f.begin().end()
		later := f.begin()
		f.slots.Next()
		f.ticks(10)
		later.end()
		f.ticks(10)
		require.Equal(t, 2, k.visited())

		r.end()
		f.ticks(1)
		require.Equal(t, 3, k.visited())
		require.Equal(t, []epoch.Epoch{third}, k.chain())
		require.Zero(t, f.Stats().Aside)
		f.ticks(10)
		require.Equal(t, 3, k.visited())
	})
}

// A version that several epochs need is set aside once. It moves on from the newest
// of them to the next one that is still live; that older ones end is no reason to
// visit it. Nor that one of two transactions of the same epoch does.
func TestVersionNeededByMany(t *testing.T) {
	for _, order := range orders {
		bubble(t, config{Workers: 1}, func(t *testing.T, f *fixture) {
			k := f.keys(1)[0]
			readers := make([]reader, 3)
			twins := make([]reader, 3)
			live := make(map[int]bool)
			for i := range readers {
				readers[i], twins[i] = f.begin(), f.begin()
				f.slots.Next() // a commit of another key
				live[i] = true
			}
			f.ticks(3)
			f.write(k)
			f.ticks(1)
			visits, at := 1, 2
			for n, i := range order {
				require.Len(t, k.chain(), 2)
				require.Equal(t, 1, f.Stats().Aside)
				readers[i].end()
				f.ticks(2)
				require.Equal(t, visits, k.visited())
				twins[i].end()
				delete(live, i)
				if i == at {
					visits++
					for ; !live[at] && at > 0; at-- {
					}
				}
				f.ticks(2)
				require.Equal(t, visits, k.visited(), "after %d of %v", n+1, order)
			}
			require.Len(t, k.chain(), 1)
			require.Zero(t, f.Stats().Aside)
		})
	}
}

// Beside writers that do not rest a tick visits some of the keys, each once before any
// is visited again. When they rest the next tick visits all.
func TestTickBesideWriters(t *testing.T) {
	for _, workers := range []int{1, 3} {
		bubble(t, config{Workers: workers, Queue: 4 * gc.MinVisits}, func(t *testing.T, f *fixture) {
			const n = 3 * gc.MinVisits
			keys := f.keys(n)
			count := func(visits int) (c int) {
				for _, k := range keys {
					if k.visited() == visits {
						c++
					}
				}
				return c
			}
			writeAll := func() {
				for _, k := range keys {
					f.write(k)
				}
			}
			f.ticks(1)
			writeAll()
			for tick := range 3 {
				f.ticks(1)
				require.InDelta(t, (tick+1)*gc.MinVisits, count(1), 300, "after %d ticks", tick+1)
				writeAll() // nobody is visited twice for that
			}
			require.InDelta(t, n, count(1), 300)
			require.LessOrEqual(t, f.Stats().Pending, n, "each key is in the list once")
			f.ticks(2) // no more writes
			settled(t, f, keys)
		})
	}
}

// A tick visits all that is gone, however much it is.
func TestTickVisitsWhatIsGone(t *testing.T) {
	bubble(t, config{Workers: 1, Queue: 8 * gc.MinVisits}, func(t *testing.T, f *fixture) {
		keys := f.keys(3 * gc.MinVisits)
		f.ticks(1)
		for _, k := range keys {
			k.mu.Lock()
			k.deleted = true
			k.mu.Unlock()
			f.write(k)
		}
		f.ticks(1)
		require.Zero(t, f.Stats().Pending)
		for _, k := range keys {
			require.Empty(t, k.chain())
		}
	})
}

// Stats has some of the queue in hand while the ticker finds nothing, and stops.
func TestStatsAgainstRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stop atomic.Bool
		goOn := make(chan struct{})
		cfg := config{Slots: epoch.NewSlots(), Visit: visit, Due: due, Workers: 1}
		cfg.Surplus = func(i gc.Item) int {
			if stop.Swap(false) {
				<-goOn
			}
			return surplus(i)
		}
		f := &fixture{gc.NewReclaimer(cfg), cfg.Slots, gc.DefaultInterval}
		defer f.Close()
		k := f.keys(1)[0]
		f.write(k)
		stop.Store(true)
		done := make(chan struct{})
		go func() { f.Stats(); close(done) }()
		synctest.Wait()
		f.ticks(3)
		require.Zero(t, k.visited())
		close(goOn)
		<-done
		f.ticks(3)
		require.NotZero(t, k.visited())
		require.Len(t, k.chain(), 1)
	})
}
