package epoch

import (
	"slices"
	"sync"
)

// poolLocal is how many idle objects one shard keeps, and poolBatch how many move at a time between
// a shard and the common stack. A goroutine rarely has more than a handful of transactions open; 16
// pointers are two cache lines.
const (
	poolLocal = 16
	poolBatch = poolLocal / 2
)

// A Pool is a free list of *T, sharded so that Get and Put touch no memory that another P writes.
// Unlike [sync.Pool] it drops objects only in Trim: the objects own slots, which cost something to
// make.
//
// The zero value is an empty pool. It must not be copied after first use. All
// methods are safe for concurrent use.
//
// With runtime.procPin (the default) a shard belongs to a P, and is read and
// written without atomics while the goroutine is pinned to it. Built with the
// tag nolinkname, or with the race detector, a shard is guarded by a mutex.
type Pool[T any] struct {
	shards poolShards[T]
}

// commons has the objects that do not fit into the shards.
type commons[T any] struct {
	mu     sync.Mutex
	common []*T // guarded by mu
	low    int  // the fewest there were since the last Trim; guarded by mu
}

// takeBatch moves up to len(batch) objects to batch, and returns how many. c.mu is held.
func (c *commons[T]) takeBatch(batch []*T) int {
	n := copy(batch, c.common[max(0, len(c.common)-len(batch)):])
	rest := len(c.common) - n
	clear(c.common[rest:])
	c.common = c.common[:rest]
	c.low = min(c.low, rest)
	return n
}

// trimKeep is how many idle objects Trim leaves alone.
const trimKeep = 64

// Trim drops half of the objects that nobody has needed since the last Trim, calls release for each
// of them, and reports whether there are more. Called from time to time, Trim frees memory after
// very many objects were in use at once.
func (p *Pool[T]) Trim(release func(*T)) (more bool) {
	dropped, more := p.shards.commons.dropUnneeded()
	for _, x := range dropped {
		release(x)
	}
	return more
}

func (c *commons[T]) dropUnneeded() (dropped []*T, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if drop := (min(c.low, len(c.common)) - trimKeep + 1) / 2; drop > 0 {
		rest := len(c.common) - drop
		dropped = slices.Clone(c.common[rest:])
		clear(c.common[rest:])
		c.common = c.common[:rest]
		if cap(c.common) > 4*max(rest, trimKeep) {
			c.common = slices.Clip(slices.Clone(c.common))
		}
	}
	c.low = len(c.common)
	return dropped, c.low > trimKeep
}

// stack is a bounded stack of idle objects.
type stack[T any] struct {
	n     int
	items [poolLocal]*T
}

func (s *stack[T]) pop() *T {
	if s.n == 0 {
		return nil
	}
	s.n--
	x := s.items[s.n]
	s.items[s.n] = nil // else an abandoned object would stay reachable
	return x
}

func (s *stack[T]) push(x *T) bool {
	if s.n == len(s.items) {
		return false
	}
	s.items[s.n] = x
	s.n++
	return true
}
