package mvcc

import "iter"

// A Reader is a [Map], [Tx] or [Snapshot], for functions that read. On a Map each call reads the
// newest values; on a Tx or Snapshot all calls read one moment. As an interface a Tx or Snapshot
// costs an allocation of 16 bytes; as a type parameter, R mvcc.Reader[string, int], none.
type Reader[K comparable, V any] interface {
	// Get returns the value of key, if there is one.
	Get(key K) (value V, ok bool)
	// Has reports whether key has a value.
	Has(key K) bool
	// All iterates over all keys and values, of one moment.
	All() iter.Seq2[K, V]
	// Epoch returns the read epoch, for a Map the newest epoch.
	Epoch() uint64
}

// A ReadWriter is a [Map] or [Tx], for functions that write, see [Reader]. On a Map each call is a
// transaction of its own.
type ReadWriter[K comparable, V any] interface {
	Reader[K, V]
	// Set sets the value of key.
	Set(key K, value V)
	// Put is Set with an error, see [Map.Put] and [Tx.Put].
	Put(key K, value V) error
	// Delete deletes key.
	Delete(key K)
	// Merge is as [Tx.Merge] and [Map.Merge].
	Merge(key K, fn func(old V, ok bool) V)
}

var (
	_ Reader[int, int]     = Snapshot[int, int]{}
	_ ReadWriter[int, int] = Tx[int, int]{}
	_ ReadWriter[int, int] = (*Map[int, int])(nil)
)

// Get is [Map.Load], for [Reader].
func (m *Map[K, V]) Get(key K) (value V, ok bool) { return m.Load(key) }

// Has reports whether key has a value, as a read like Load.
func (m *Map[K, V]) Has(key K) bool {
	_, ok := m.Load(key)
	return ok
}

// Set is [Map.Store], for [ReadWriter].
func (m *Map[K, V]) Set(key K, value V) { m.Store(key, value) }

// Merge is [Map.Compute] for a value that is always written.
func (m *Map[K, V]) Merge(key K, fn func(old V, ok bool) V) {
	if fn == nil {
		panic("mvcc: Merge: fn is nil")
	}
	if s := m.strictly(); s != nil {
		m.compute(key, func(old V, loaded bool) (V, ComputeOp) {
			return mergeTwice(s, fn, old, loaded), UpdateOp
		})
		return
	}
	m.compute(key, func(old V, loaded bool) (V, ComputeOp) { return fn(old, loaded), UpdateOp })
}

// Epoch returns the newest epoch drawn: later snapshots read as of this epoch or a higher one. As
// long as it equals the epoch of a snapshot, nothing has been committed since the snapshot.
func (m *Map[K, V]) Epoch() uint64 {
	return m.engine().epoch()
}

// All is [Snapshot.All]. Each loop opens a snapshot of its own, which Options.MaxTxAge may end.
func (m *Map[K, V]) All() iter.Seq2[K, V] {
	return records[K, V](looping{of: m.engine()})
}

// Keys is [Map.All] without values.
func (m *Map[K, V]) Keys() iter.Seq[K] { return keys(m.All()) }

// Len returns the number of keys, except for commits under way: it reads a striped counter.
func (m *Map[K, V]) Len() int { return m.engine().len() }

//go:noinline
func keys[K, V any](all iter.Seq2[K, V]) iter.Seq[K] {
	return func(yield func(K) bool) {
		all(func(key K, _ V) bool { return yield(key) })
	}
}
