package journey

import (
	"sync"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/epoch"
)

// A cell is a key's place in the map.
type cell struct {
	id uint64 // latches are taken in this order

	latch sync.Mutex
	// busy says that a committer holds the latch: it may have drawn an epoch and not
	// installed its version yet.
	busy  atomic.Bool
	chain chain

	// ends is the lowest epoch at which a version ends that the last pruning left; none
	// if it left none, or before the first pruning. Guarded by latch.
	ends epoch.Epoch
}

// read returns what is to be seen at e.
func (c *cell) read(e epoch.Epoch) (value uint64, ok bool) {
	if c.busy.Load() { // a committer that draws an epoch up to e was busy before the clock had e
		c.latch.Lock()
		c.latch.Unlock() //lint:ignore SA2001 to wait for it is all
	}
	v := c.chain.at(e)
	if v == nil {
		return 0, false
	}
	return v.value, true
}

// lock takes the latch to commit, unlock gives it back.
func (c *cell) lock() {
	c.latch.Lock()
	c.busy.Store(true)
}

func (c *cell) unlock() {
	c.busy.Store(false)
	c.latch.Unlock()
}

// A Guard keeps a chain from being walked when there is nothing to drop.
type Guard string

// The guards.
const (
	NoGuard    Guard = ""
	RightGuard Guard = "right" // nothing that was left ends below what is read now
	// WrongGuard takes the mark of a key that has never been pruned, the highest
	// epoch, for an epoch. So the key never is pruned.
	WrongGuard Guard = "wrong"
)

// prune drops the versions that no reader at epoch least or above sees.
func (c *cell) prune(least epoch.Epoch, guard Guard) {
	c.latch.Lock()
	defer c.latch.Unlock()
	switch guard {
	case RightGuard:
		if c.ends != none && least < c.ends {
			return
		}
	case WrongGuard:
		if least < c.ends {
			return
		}
	}
	c.ends = c.chain.prune(least)
}
