package mvcc

import "github.com/mvccmap/mvccmap/epoch"

// A merging is what a transaction makes of a value that it need not have read: fn, applied
// to what the ones before have made of it. It is immutable.
type merging[V any] struct {
	fn     func(old V, ok bool) V
	before *merging[V]
}

// apply returns what becomes of a value, or of no value.
func (m *merging[V]) apply(value V, ok bool) V {
	var few [8]*merging[V]
	all := few[:0]
	for ; m != nil; m = m.before {
		all = append(all, m)
	}
	for i := len(all) - 1; i >= 0; i-- {
		value, ok = all[i].fn(value, ok), true
	}
	return value
}

// Merge makes what fn returns the value of key, when the transaction commits: fn is given
// the newest value at that moment, and whether there is one, whatever the transaction has
// read. So transactions that merge, say, add to a counter, do not conflict over that key,
// at either level, and no write of others is lost.
//
// Several Merges of a key are applied in their order, one after a Set or Delete to what
// that has written, at once. [Tx.Get] and [Tx.All] after a Merge return what it makes of
// the value at the read epoch, all of them each time; that is a read of the key like any
// other.
//
// fn may be called several times, and must return the same for the same value. It runs
// while others that write the same keys are kept waiting for a moment: it should be quick,
// and must not use the map or the transaction. If it panics, so does Commit, or Update: the
// transaction is rolled back. Merge allocates a version and what it notes. It panics with
// [ErrBadKey] if key is not equal to itself.
func (tx Tx[K, V]) Merge(key K, fn func(old V, ok bool) V) {
	tx.check()
	if fn == nil {
		panic("mvcc: Merge: fn is nil")
	}
	if tx.st.m.strict {
		s := tx.st.m.shared.strict
		tx.merge(key, func(old V, ok bool) V { return mergeTwice(s, fn, old, ok) })
		return
	}
	tx.merge(key, fn)
}

func (tx Tx[K, V]) merge(key K, fn func(old V, ok bool) V) {
	st := tx.st
	st.m.checkKey(useTx, key)
	if s := st.schemaFor(); s != nil {
		value := fn(tx.get(key, false))
		tx.check()
		tx.put(s, key, value, true)
		return
	}
	st.enter()
	i := st.find(key)
	if i >= 0 && st.writes[i].merge == nil {
		st.leave() // fn may panic
		value, ok := present[K, V](st.writes[i].v)
		value = fn(value, ok)
		tx.check() // fn must not have ended it: the state may be that of another one
		st.enter()
		st.put(key, value, 0)
	} else {
		st.merge(i, key, fn)
	}
	st.leave()
}

// merge buffers a merge of key, which has write i, a merge, or none if i is negative.
func (st *txState[K, V]) merge(i int, key K, fn func(V, bool) V) {
	if i >= 0 {
		st.save(i)
		w := &st.writes[i]
		w.merge = &merging[V]{fn, w.merge}
		return
	}
	h, p := st.locate(key)
	st.note(bareNode[K, V](key), h, p)
	st.writes[len(st.writes)-1].merge = &merging[V]{fn: fn}
}

// merged returns what write w, a merge of the transaction, makes of the value at epoch at.
func (tx Tx[K, V]) merged(w write[K, V], at epoch.Epoch) V {
	_, _, v := tx.st.index.seek(w.v.key())
	value, ok := present[K, V](tx.st.m.visible(v, at))
	tx.check() // it may have been evicted, and the value dropped
	return w.merge.apply(value, ok)
}
