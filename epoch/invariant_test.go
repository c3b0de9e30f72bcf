package epoch_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
)

// A chain stands for the versions of one key, of which every commit wrote one.
// So a reader at epoch S needs exactly the version S, and a reclaimer may drop
// each version below its bound that is no live read epoch.
//
// The check is sound: a version that is dropped stays so, and a reader looks
// between its Begin and its End, while its epoch is live. Any hit is a breach of
// the invariant that a live read epoch is listed or at least the bound.
type chain struct {
	dropped []atomic.Bool // by commit epoch
	kept    []uint64      // of those below the last bound; the reclaimer's
	bound   uint64        // the reclaimer's
}

func newChain(epochs int) *chain {
	return &chain{dropped: make([]atomic.Bool, epochs+1), bound: epoch.First}
}

// reclaim makes one view and drops what it allows to drop.
func (c *chain) reclaim(s *epoch.Slots, buf []uint64) []uint64 {
	m := s.Announce()
	live := s.Live(m, buf[:0])
	for e := c.bound; e < m; e++ {
		c.kept = append(c.kept, e)
	}
	c.bound = m
	c.kept = slices.DeleteFunc(c.kept, func(e uint64) bool {
		if _, needed := slices.BinarySearch(live, e); needed {
			return false
		}
		c.dropped[e].Store(true)
		return true
	})
	return live
}

// stressLive runs readers, a writer and a reclaimer side by side and returns how
// many reads found their version dropped.
func stressLive(t *testing.T, begins int, seed uint64) (breaches uint64) {
	const readers = 4
	epochs := begins
	s := epoch.NewSlots()
	c := newChain(epochs)
	var hits atomic.Uint64
	var work, reclaimer sync.WaitGroup
	for i := range readers {
		work.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			slot := s.Acquire()
			for range begins / readers {
				at := s.Begin(slot)
				if c.dropped[at].Load() {
					hits.Add(1)
				}
				for range r.IntN(4) {
					runtime.Gosched()
				}
				if c.dropped[at].Load() {
					hits.Add(1)
				}
				slot.End(slot.Gen())
			}
		})
	}
	work.Go(func() {
		for range epochs - epoch.First {
			if s.Next()%8 == 0 {
				runtime.Gosched()
			}
		}
	})
	var done atomic.Bool
	reclaimer.Go(func() {
		var buf []uint64
		for !done.Load() {
			buf = c.reclaim(s, buf)
			runtime.Gosched()
		}
		c.reclaim(s, buf)
	})
	work.Wait()
	done.Store(true)
	reclaimer.Wait()

	// All readers have ended: all but the newest version have gone.
	require.Empty(t, c.kept)
	require.Equal(t, s.Now(), c.bound)
	return hits.Load()
}

func TestLiveStress(t *testing.T) {
	begins := 200_000
	if testing.Short() || raceEnabled {
		begins = 40_000
	}
	const seed = 1
	require.Zero(t, stressLive(t, begins, seed), "seed %d", seed)
}
