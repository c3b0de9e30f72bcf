package epoch_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
	kept    []epoch.Epoch // of those below the last bound; the reclaimer's
	bound   epoch.Epoch   // the reclaimer's
}

func newChain(epochs int) *chain {
	return &chain{dropped: make([]atomic.Bool, epochs+1), bound: epoch.First}
}

// reclaim makes one view and drops what it allows to drop.
func (c *chain) reclaim(s *epoch.Slots) {
	m := s.Announce()
	live := live(s, m)
	for e := c.bound; e < m; e++ {
		c.kept = append(c.kept, e)
	}
	c.bound = m
	c.kept = slices.DeleteFunc(c.kept, func(e epoch.Epoch) bool {
		if _, needed := slices.BinarySearch(live, e); needed {
			return false
		}
		c.dropped[e].Store(true)
		return true
	})
}

// stressLive runs readers, a writer and a reclaimer side by side and returns how
// many reads found their version dropped.
func stressLive(t *testing.T, begins int, seed uint64) (breaches uint64) {
	const readers = 4
	epochs := begins
	s := epoch.NewSlots()
	c := newChain(epochs)
	var hits, promoted, made atomic.Uint64
	var work, reclaimer sync.WaitGroup
	for i := range readers {
		work.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			slot := s.Acquire()
			for i := range begins / readers {
				at := s.Begin(slot, 0)
				if at == 0 {
					if !slot.Keep(slot.Gen() - 1) {
						slot = s.Acquire()
					}
					continue
				}
				if c.dropped[at].Load() {
					hits.Add(1)
				}
				for range r.IntN(4) {
					runtime.Gosched()
				}
				if i%2048 == 0 { // until it is promoted
					for end := made.Load() + 4; made.Load() < end; {
						runtime.Gosched()
					}
				}
				if c.dropped[at].Load() {
					hits.Add(1)
				}
				gen := slot.Gen()
				if slot.End(gen); !slot.Keep(gen) {
					slot = s.Acquire()
					promoted.Add(1)
				}
			}
		})
	}
	work.Go(func() {
		for range epochs - int(epoch.First) {
			if s.Next()%8 == 0 {
				runtime.Gosched()
			}
		}
	})
	var done atomic.Bool
	reclaimer.Go(func() {
		for n := 0; !done.Load(); n++ {
			if n%8 == 0 {
				s.Round(time.Duration(n), epoch.Limits{})
				made.Add(1)
			}
			c.reclaim(s)
			runtime.Gosched()
		}
		c.reclaim(s)
		s.Round(1<<62, epoch.Limits{})
		c.reclaim(s)
	})
	work.Wait()
	done.Store(true)
	reclaimer.Wait()

	// All readers have ended: all but the newest version have gone.
	require.Empty(t, c.kept)
	require.Equal(t, s.Now(), c.bound)
	require.LessOrEqual(t, s.Owned(), readers)
	require.NotZero(t, promoted.Load())
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
