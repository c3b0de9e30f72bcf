//go:build nolinkname || race

package floor

import (
	"math/rand/v2"
	"runtime"
	"sync"
)

// pool keeps idle transactions in a few locked stacks, chosen at random: the
// build without runtime.procPin, or under the race detector, which knows
// nothing of pinning. The figures of such a build are not the floor.
type pool struct {
	stacks []lockedStack
}

type lockedStack struct {
	mu   sync.Mutex
	free []*Tx
	_    [96]byte
}

func (p *pool) init(newTx func() *Tx) {
	p.stacks = make([]lockedStack, 4*runtime.GOMAXPROCS(0))
	for i := range p.stacks {
		for range spare {
			p.stacks[i].free = append(p.stacks[i].free, newTx())
		}
	}
}

func (p *pool) pick() *lockedStack { return &p.stacks[rand.IntN(len(p.stacks))] }

// get returns an idle transaction, or nil if there is none at hand.
func (p *pool) get() *Tx {
	s := p.pick()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.free)
	if n == 0 {
		return nil
	}
	tx := s.free[n-1]
	s.free = s.free[:n-1]
	return tx
}

func (p *pool) put(tx *Tx) {
	s := p.pick()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, tx)
}
