package epoch

// poolLocal is how many idle objects one shard keeps, poolBatch how many move
// at a time between a shard and the common stack. A goroutine rarely has more
// than a handful of transactions open; 32 pointers are four cache lines.
const (
	poolLocal = 32
	poolBatch = poolLocal / 2
)

// A Pool is a free list of *T, sharded so that taking and giving back an object
// touches no memory that another P writes. Unlike [sync.Pool] it never drops
// what it was given: the objects own slots, which cannot be had again for free.
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
