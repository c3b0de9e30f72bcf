//go:build !nolinkname && !race

package epoch

import (
	"runtime"
	"sync"
	"sync/atomic"
	_ "unsafe" // for go:linkname
)

// procPin keeps the goroutine on its P and returns the P's index. Between
// procPin and procUnpin nothing may block, and it should last for tens of
// nanoseconds: a stop-the-world waits for it.
//
//go:linkname procPin runtime.procPin
//go:noescape
func procPin() int

//go:linkname procUnpin runtime.procUnpin
//go:noescape
func procUnpin()

type poolShards[T any] struct {
	// locals has one stack for each P; it is replaced, never changed, when
	// GOMAXPROCS has grown. The stack of a P is touched only while pinned to
	// it, so it needs no atomics.
	locals atomic.Pointer[[]*padded[T]]

	mu     sync.Mutex
	common []*T // guarded by mu
}

type padded[T any] struct {
	stack[T]
	_ [cacheLine]byte
}

// Get returns an idle object, or nil if there is none at hand. It does not
// allocate. It takes a mutex only when the shard of the current P is empty.
func (p *Pool[T]) Get() *T {
	pid := procPin()
	if ls := p.shards.locals.Load(); ls != nil && pid < len(*ls) {
		if x := (*ls)[pid].pop(); x != nil {
			procUnpin()
			return x
		}
	}
	procUnpin()
	return p.refill()
}

// Put gives x back. It takes a mutex only when the shard of the current P is
// full.
func (p *Pool[T]) Put(x *T) {
	pid := procPin()
	if ls := p.shards.locals.Load(); ls != nil && pid < len(*ls) && (*ls)[pid].push(x) {
		procUnpin()
		return
	}
	procUnpin()
	p.spill(x)
}

// refill takes one object off the common stack, and moves up to a batch more to
// the shard of the current P.
func (p *Pool[T]) refill() *T {
	var batch [poolBatch]*T
	n := p.takeCommon(&batch)
	if n == 0 {
		return nil
	}
	first := batch[0]
	rest := batch[1:n]
	pid := procPin() // perhaps another P by now
	if ls := p.shards.locals.Load(); pid < len(*ls) {
		for len(rest) > 0 && (*ls)[pid].push(rest[0]) {
			rest = rest[1:]
		}
	}
	procUnpin()
	p.giveCommon(rest...)
	return first
}

// spill moves half of the shard of the current P, and x, to the common stack.
func (p *Pool[T]) spill(x *T) {
	var batch [poolBatch + 1]*T
	n := 0
	pid := procPin()
	if ls := p.shards.locals.Load(); ls != nil && pid < len(*ls) {
		for l := (*ls)[pid]; n < poolBatch && l.n > poolBatch; n++ {
			batch[n] = l.pop()
		}
	}
	procUnpin()
	batch[n] = x
	p.giveCommon(batch[:n+1]...)
}

func (p *Pool[T]) takeCommon(batch *[poolBatch]*T) int {
	p.shards.mu.Lock()
	defer p.shards.mu.Unlock()
	p.grow()
	c := p.shards.common
	n := copy(batch[:], c[max(0, len(c)-poolBatch):])
	clear(c[len(c)-n:])
	p.shards.common = c[:len(c)-n]
	return n
}

func (p *Pool[T]) giveCommon(xs ...*T) {
	if len(xs) == 0 {
		return
	}
	p.shards.mu.Lock()
	defer p.shards.mu.Unlock()
	p.grow()
	p.shards.common = append(p.shards.common, xs...)
}

// grow makes a shard for each P there is now. p.shards.mu is held. Existing
// shards stay: their Ps may be using them.
func (p *Pool[T]) grow() {
	var old []*padded[T]
	if ls := p.shards.locals.Load(); ls != nil {
		old = *ls
	}
	procs := runtime.GOMAXPROCS(0)
	if procs <= len(old) {
		return
	}
	ls := make([]*padded[T], procs)
	for i := copy(ls, old); i < procs; i++ {
		ls[i] = new(padded[T])
	}
	p.shards.locals.Store(&ls)
}
