package mvcc

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// A merger sets the value of v to its result for the value of base, or for none.
type merger interface{ mergeInto(v, base *chain.Node) }

// A merging is a transaction's change of a value that the transaction need not have read: fn is
// applied to the result of the key's earlier mergings. A merging is immutable.
type merging[K comparable, V any] struct {
	fn     func(old V, ok bool) V
	before *merging[K, V]
}

func (m *merging[K, V]) mergeInto(v, base *chain.Node) {
	chain.VersionOf[K, V](v).Value = m.apply(chain.Present[K, V](base))
}

// apply returns the result for a value, or for no value.
func (m *merging[K, V]) apply(value V, ok bool) V {
	var few [8]*merging[K, V]
	all := few[:0]
	for ; m != nil; m = m.before {
		all = append(all, m)
	}
	for i := len(all) - 1; i >= 0; i-- {
		value, ok = all[i].fn(value, ok), true
	}
	return value
}

// Merge makes the result of fn the value of key when the transaction commits. fn is given the
// newest value at that moment, whatever the transaction has read. So two transactions that merge a
// key, say add to a counter, do not conflict over it at either level, and lose no write of others.
//
// Several Merges of a key are applied in their order. A Merge after a Set or Delete changes that
// write at once. Reads after a Merge return its result for the value at the read epoch, and join
// the read set.
//
// fn may be called several times, and must return the same for the same value. It must not change
// the old value. append to a slice writes behind its end, and loses an element that another call
// appends: append(slices.Clip(old), x) does not. Others that write the same keys wait for fn: it
// should be quick, and must not use the map or the transaction. Merge allocates a version and a
// note, and panics as Set does.
func (tx Tx[K, V]) Merge(key K, fn func(old V, ok bool) V) {
	tx.check()
	if fn == nil {
		panic("mvcc: Merge: fn is nil")
	}
	if s := tx.st.strict(); s != nil {
		tx.merge(key, func(old V, ok bool) V { return mergeTwice(s, fn, old, ok) })
		return
	}
	tx.merge(key, fn)
}

func (tx Tx[K, V]) merge(key K, fn func(old V, ok bool) V) {
	st := tx.st
	if !st.plain {
		checkKey(st.engine(), useTx, key)
	}
	if st.indexed() {
		value := fn(getIn[K, V](DBTx(tx), key, false))
		tx.check()
		setIn(DBTx(tx), key, value, 0)
		return
	}
	switch own, merge := st.toMerge(unsafe.Pointer(&key)); {
	case own != nil:
		value := fn(chain.Present[K, V](own))
		tx.check() // fn must not have ended tx: its state may serve another
		setIn(DBTx(tx), key, value, 0)
	case merge != nil:
		st.mergeMore(tx.gen, chain.Bare[K, V](key), &merging[K, V]{fn, merge.(*merging[K, V])}, true)
	default:
		st.mergeMore(tx.gen, chain.Bare[K, V](key), &merging[K, V]{fn: fn}, false)
	}
}

// merged returns a version of own's key, with the result of merge for the value at the epoch at.
func (tx DBTx) merged(own *chain.Node, merge merger, at epoch.Epoch) *chain.Node {
	m := partOf(tx.st).m
	_, _, v := m.index.Seek(own.Key())
	v = m.Visible(v, at)
	tx.check() // it may have been evicted, and the value dropped
	made := m.types.clone(own)
	merge.mergeInto(made, v)
	return made
}
