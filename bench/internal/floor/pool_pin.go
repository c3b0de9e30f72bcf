//go:build !nolinkname && !race

package floor

import (
	"runtime"
	"sync"
	_ "unsafe" // for go:linkname
)

// procPin keeps the goroutine on its P until procUnpin and returns the P's
// index.
//
//go:linkname procPin runtime.procPin
//go:noescape
func procPin() int

//go:linkname procUnpin runtime.procUnpin
//go:noescape
func procUnpin()

// pool keeps idle transactions, a stack for each P. A P's stack is touched only
// while pinned to it, which takes the place of a lock.
type pool struct {
	perP []stack

	mu   sync.Mutex
	rest []*Tx // guarded by mu; given back on a P that perP has no stack for
}

type stack struct {
	free []*Tx
	_    [104]byte
}

func (p *pool) init(newTx func() *Tx) {
	p.perP = make([]stack, max(runtime.GOMAXPROCS(0), runtime.NumCPU()))
	for i := range p.perP {
		p.perP[i].free = make([]*Tx, 0, 4*spare)
		for range spare {
			p.perP[i].free = append(p.perP[i].free, newTx())
		}
	}
}

// get returns an idle transaction, or nil if there is none at hand.
func (p *pool) get() *Tx {
	if i := procPin(); i < len(p.perP) {
		s := &p.perP[i]
		if n := len(s.free); n > 0 {
			tx := s.free[n-1]
			s.free = s.free[:n-1]
			procUnpin()
			return tx
		}
	}
	procUnpin()
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.rest)
	if n == 0 {
		return nil
	}
	tx := p.rest[n-1]
	p.rest = p.rest[:n-1]
	return tx
}

func (p *pool) put(tx *Tx) {
	if i := procPin(); i < len(p.perP) {
		s := &p.perP[i]
		if len(s.free) < cap(s.free) { // pinned: append must not allocate
			s.free = append(s.free, tx)
			procUnpin()
			return
		}
	}
	procUnpin()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = append(p.rest, tx)
}
