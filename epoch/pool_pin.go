//go:build !nolinkname && !race

package epoch

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	proc "github.com/mvccmap/mvccmap/internal/debug/pin"
)

type poolShards[T any] struct {
	// base is an array of procs stacks, one for each P there may be when the pool is first used. It
	// is set once, after procs. Only a goroutine pinned to a P touches the P's stack, so it needs
	// no atomics. Ps added later, when GOMAXPROCS is raised, use the common stack.
	base  atomic.Pointer[padded[T]]
	procs int

	commons[T]
}

type padded[T any] struct {
	stack[T]
	_ [cacheLine]byte
}

// stackOf returns the stack of P pid, or nil if it has none.
func (p *Pool[T]) stackOf(pid int) *stack[T] {
	base := p.shards.base.Load()
	if base == nil || uint(pid) >= uint(p.shards.procs) {
		return nil
	}
	return (*stack[T])(unsafe.Add(unsafe.Pointer(base), uintptr(pid)*unsafe.Sizeof(*base)))
}

// Get returns an idle object, or nil if there is none at hand. It does not
// allocate. It takes a mutex only when the shard of the current P is empty.
func (p *Pool[T]) Get() *T {
	if s := p.stackOf(proc.Pin()); s != nil {
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
	if s := p.stackOf(proc.Pin()); s != nil && s.push(x) {
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
	if s := p.stackOf(proc.Pin()); s != nil { // perhaps on another P by now
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
	if s := p.stackOf(proc.Pin()); s != nil {
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
	p.makeShards()
	return p.shards.takeBatch(batch[:])
}

func (p *Pool[T]) giveCommon(xs ...*T) {
	if len(xs) == 0 {
		return
	}
	p.shards.mu.Lock()
	defer p.shards.mu.Unlock()
	p.makeShards()
	p.shards.common = append(p.shards.common, xs...)
}

// makeShards makes the shards, if there are none. p.shards.mu is held.
func (p *Pool[T]) makeShards() {
	if p.shards.base.Load() == nil {
		p.shards.procs = max(runtime.GOMAXPROCS(0), runtime.NumCPU())
		p.shards.base.Store(&make([]padded[T], p.shards.procs)[0])
	}
}
