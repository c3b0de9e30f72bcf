//go:build !nolinkname && !race

package epoch

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	proc "github.com/mvccmap/mvccmap/internal/pin"
)

type poolShards[T any] struct {
	// base is an array of procs stacks, one for each P there may be when the
	// pool is first used. It is set once, after procs. The stack of a P is
	// touched only while pinned to it, so it needs no atomics.
	base  atomic.Pointer[padded[T]]
	procs int
	// more has the stacks of Ps that were added since; it is replaced, never
	// changed. They cost one more indirection.
	more atomic.Pointer[[]*padded[T]]

	commons[T]
}

type padded[T any] struct {
	stack[T]
	_ [cacheLine]byte
}

// at returns the stack of P pid, or nil if it has none yet.
func (p *Pool[T]) at(pid int) *stack[T] {
	if s := p.first(pid); s != nil {
		return s
	}
	return p.beyond(pid)
}

// first is at for the Ps there were when the pool was first used, and otherwise
// nil. It is apart so that it can be inlined.
func (p *Pool[T]) first(pid int) *stack[T] {
	base := p.shards.base.Load()
	if base == nil || uint(pid) >= uint(p.shards.procs) {
		return nil
	}
	return (*stack[T])(unsafe.Add(unsafe.Pointer(base), uintptr(pid)*unsafe.Sizeof(*base)))
}

// beyond is at for the Ps that were added since.
func (p *Pool[T]) beyond(pid int) *stack[T] {
	if more := p.shards.more.Load(); more != nil && uint(pid-p.shards.procs) < uint(len(*more)) {
		return &(*more)[pid-p.shards.procs].stack
	}
	return nil
}

// Get returns an idle object, or nil if there is none at hand. It does not
// allocate. It takes a mutex only when the shard of the current P is empty.
func (p *Pool[T]) Get() *T {
	pid := proc.Pin()
	s := p.first(pid)
	if s == nil {
		s = p.beyond(pid)
	}
	if s != nil {
		if x := s.pop(); x != nil {
			proc.Unpin()
			return x
		}
	}
	proc.Unpin()
	return p.refill()
}

// Put gives x back. It takes a mutex only when the shard of the current P is
// full.
func (p *Pool[T]) Put(x *T) {
	pid := proc.Pin()
	s := p.first(pid)
	if s == nil {
		s = p.beyond(pid)
	}
	if s != nil && s.push(x) {
		proc.Unpin()
		return
	}
	proc.Unpin()
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
	if s := p.at(proc.Pin()); s != nil { // perhaps on another P by now
		for len(rest) > 0 && s.push(rest[0]) {
			rest = rest[1:]
		}
	}
	proc.Unpin()
	p.giveCommon(rest...)
	return first
}

// spill moves half of the shard of the current P, and x, to the common stack.
func (p *Pool[T]) spill(x *T) {
	var batch [poolBatch + 1]*T
	n := 0
	if s := p.at(proc.Pin()); s != nil {
		for n < poolBatch && s.n > poolBatch {
			batch[n] = s.pop()
			n++
		}
	}
	proc.Unpin()
	batch[n] = x
	p.giveCommon(batch[:n+1]...)
}

func (p *Pool[T]) takeCommon(batch *[poolBatch]*T) int {
	p.shards.mu.Lock()
	defer p.shards.mu.Unlock()
	p.grow()
	return p.shards.take(batch[:])
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
	procs := runtime.GOMAXPROCS(0)
	if p.shards.base.Load() == nil {
		p.shards.procs = max(procs, runtime.NumCPU())
		p.shards.base.Store(&make([]padded[T], p.shards.procs)[0])
	}
	var old []*padded[T]
	if more := p.shards.more.Load(); more != nil {
		old = *more
	}
	if procs <= p.shards.procs+len(old) {
		return
	}
	more := make([]*padded[T], procs-p.shards.procs)
	for i := copy(more, old); i < len(more); i++ {
		more[i] = new(padded[T])
	}
	p.shards.more.Store(&more)
}
