package journey

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/epoch"
)

// Cleaning says which goroutines drop versions, when and by which min visible epoch.
type Cleaning struct {
	// Workers are goroutines that prune keys when committers ask for it. Without any,
	// each committer prunes the keys that it has written.
	Workers int
	// Committers ask for a key with more than Threshold versions or, with Spaced, with a multiple
	// of Threshold.
	Threshold int
	Spaced    bool
	// Every is how often a goroutine computes the min visible epoch. With 0 it is computed by each
	// committer that prunes or asks for pruning.
	Every time.Duration
	Guard Guard
}

// cleaner does it.
type cleaner struct {
	Cleaning
	tracker  Tracker
	clock    Clock
	cached   atomic.Uint64
	requests chan request
	stop     chan struct{}
	done     sync.WaitGroup
}

// request asks for a key to be pruned, by a min visible epoch.
type request struct {
	cell  *cell
	least epoch.Epoch
}

// requestQueue is how many requests may wait; beyond that committers wait.
const requestQueue = 1 << 14

func startCleaner(how Cleaning, t Tracker, clock Clock, start func(func())) *cleaner {
	c := &cleaner{Cleaning: how, tracker: t, clock: clock, stop: make(chan struct{})}
	c.cached.Store(uint64(epoch.First))
	if how.Workers > 0 {
		c.requests = make(chan request, requestQueue)
	}
	for range how.Workers {
		c.begin(start, c.serveRequests)
	}
	if how.Every > 0 {
		c.begin(start, c.runTicks)
	}
	return c
}

func (c *cleaner) begin(start func(func()), f func()) {
	c.done.Add(1)
	start(func() {
		defer c.done.Done()
		f()
	})
}

func (c *cleaner) serveRequests() {
	for r := range c.requests {
		r.cell.prune(r.least, c.Guard)
	}
}

func (c *cleaner) runTicks() {
	t := time.NewTicker(c.Every)
	defer t.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-t.C:
			c.cached.Store(uint64(c.tracker.MinVisible(c.clock)))
		}
	}
}

// minVisible returns an epoch below which there is no reader.
func (c *cleaner) minVisible() epoch.Epoch {
	if c.Every > 0 {
		return epoch.Epoch(c.cached.Load())
	}
	return c.tracker.MinVisible(c.clock)
}

// written is called by a committer, for a key that has a new version.
func (c *cleaner) written(at *cell) {
	if c.Workers == 0 {
		at.prune(c.minVisible(), c.Guard)
		return
	}
	depth := at.chain.depth()
	if c.Spaced && depth%c.Threshold == 0 || !c.Spaced && depth > c.Threshold {
		c.requests <- request{at, c.minVisible()}
	}
}

func (c *cleaner) close() {
	close(c.stop)
	if c.requests != nil {
		close(c.requests)
	}
	c.done.Wait()
}
