package mvcc

import "unsafe"

// An inner is a table of an index: what an index needs of a map, and no more, for of a Map all is
// compiled that it has.
type inner[K comparable, V any] struct {
	at    *engine // nil if there is no such table
	plain bool    // k == k for every key
}

// newInner adds a table to the database of e.
func newInner[K comparable, V any](e *engine, name string, by *order) inner[K, V] {
	at := e.addInner(name, by, innerTypeOf[K, V]())
	return inner[K, V]{at, at.plain()}
}

// get returns the value of key, as is seen through the slot of a snapshot, or in a transaction.
func (t inner[K, V]) get(in moment, tx bool, key K) (value V, ok bool) {
	if tx {
		return getIn[K, V](t.at.inside(DBTx(in)), key, false)
	}
	s := t.at.through(in)
	_, _, head := lookup(s.st.index, key)
	return present[K, V](s.seenOf(head, unsafe.Pointer(&key)))
}

// set and remove are writes in a transaction.
func (t inner[K, V]) set(tx DBTx, key K, value V) {
	setIn(t.at.inside(tx), key, value, 0)
}

func (t inner[K, V]) remove(tx DBTx, key K) {
	var zero V
	setIn(t.at.inside(tx), key, zero, tombBit)
}
