//go:build nolinkname || race

package epoch

import (
	"math/rand/v2"
	"runtime"
	"sync"
)

// poolShards is the fallback for builds without runtime.procPin, and for the
// race detector, which knows nothing of pinning. A sync.Pool hands out shard
// numbers, so that goroutines on one P mostly meet on one shard; a number lost
// to the garbage collector costs nothing.
type poolShards[T any] struct {
	once   sync.Once
	tokens sync.Pool
	locals []locked[T]

	commons[T]
}

type locked[T any] struct {
	mu sync.Mutex
	stack[T]
	_ [cacheLine]byte
}

func (p *Pool[T]) shard() *locked[T] {
	p.shards.once.Do(func() {
		p.shards.locals = make([]locked[T], 4*runtime.GOMAXPROCS(0))
		p.shards.tokens.New = func() any { return new(rand.IntN(len(p.shards.locals))) }
	})
	t := p.shards.tokens.Get().(*int)
	l := &p.shards.locals[*t]
	p.shards.tokens.Put(t)
	return l
}

// Get returns an idle object, or nil if there is none at hand. It does not
// allocate, and holds a shard's mutex for a few instructions.
func (p *Pool[T]) Get() *T {
	l := p.shard()
	l.mu.Lock()
	x := l.pop()
	l.mu.Unlock()
	if x != nil {
		return x
	}
	p.shards.mu.Lock()
	defer p.shards.mu.Unlock()
	var one [1]*T
	p.shards.takeBatch(one[:])
	return one[0]
}

// Put gives x back. It holds a shard's mutex for a few instructions.
func (p *Pool[T]) Put(x *T) {
	l := p.shard()
	l.mu.Lock()
	ok := l.push(x)
	l.mu.Unlock()
	if ok {
		return
	}
	p.shards.mu.Lock()
	defer p.shards.mu.Unlock()
	p.shards.common = append(p.shards.common, x)
}
