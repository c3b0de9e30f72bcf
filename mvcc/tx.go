package mvcc

import (
	"iter"
	"runtime"
	"slices"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// A Tx is a transaction that may read and write. It reads as of the moment it began, and its own
// writes, which nobody else sees before [Tx.Commit]. All copies are the same transaction, which one
// goroutine at a time may use: if two meet there is a panic. The zero Tx is not usable.
//
// At level serializable the commit of a transaction that writes conflicts if others have changed
// its read set: every key that Get or Has looked at, present or not; for All, the whole map or
// table; for Ascend, Descend, Min and Max, the part of a range that they went through; for Len, the
// number. Reads of own writes do not join it.
type Tx[K comparable, V any] struct {
	st  *txn
	gen epoch.Gen
}

// Begin begins a transaction, which the caller ends with Commit or Rollback, which may be deferred.
// It waits for no transaction, and allocates only when more are open than lately.
func (m *Map[K, V]) Begin(opts *TxOptions) Tx[K, V] {
	return Tx[K, V](m.engine().beginTx(opts))
}

func (tx Tx[K, V]) check() { DBTx(tx).check() }

// Epoch returns the read epoch, see [Snapshot.Epoch].
func (tx Tx[K, V]) Epoch() uint64 { return DBTx(tx).Epoch() }

// Get returns the value of key, and whether there is one: the transaction's own write, or else the
// value as of its read epoch. It waits as [Map.Load] does. It allocates only to make room in the
// read set, which later transactions use again.
func (tx Tx[K, V]) Get(key K) (value V, ok bool) { return getIn[K, V](DBTx(tx), key, false) }

// GetForUpdate is Get for a key on which the writes of the transaction depend: the key joins the
// read set at level snapshot too, and the commit fails if the key has changed. So a transaction of
// that level is free of write skew as far as it reads with GetForUpdate. It takes no lock.
func (tx Tx[K, V]) GetForUpdate(key K) (value V, ok bool) {
	return getIn[K, V](DBTx(tx), key, true)
}

// Has reports whether key has a value, as a read like Get.
func (tx Tx[K, V]) Has(key K) bool {
	_, ok := getIn[K, V](DBTx(tx), key, false)
	return ok
}

// getIn is [Tx.Get], or [Tx.GetForUpdate].
func getIn[K comparable, V any](tx DBTx, key K, update bool) (value V, ok bool) {
	st := tx.st
	if st == nil || st.head.Gen() != tx.gen { // check, which is not inlined
		tx.refuse()
	}
	if !st.plain && isBad(st.engine(), useTx, key) {
		return value, false
	}
	var merge merger
	if st.hasWritten {
		var own *chain.Node
		if own, merge = st.toRead(unsafe.Pointer(&key)); own != nil {
			return chain.Present[K, V](own)
		}
	}
	h, p, head := index.Lookup(st.index, key)
	v := st.read(tx.gen, unsafe.Pointer(&key), h, p, head, update)
	value, ok = chain.Present[K, V](v)
	if st.head.Gen() != tx.gen {
		tx.refuse()
	}
	runtime.KeepAlive(st)
	if merge != nil {
		return merge.(*merging[K, V]).apply(value, ok), true
	}
	return value, ok
}

// Set writes value to key. It allocates one version, and panics as [Map.Store] does.
func (tx Tx[K, V]) Set(key K, value V) {
	if tx.st == nil || tx.st.head.Gen() != tx.gen { // check, which is not inlined
		DBTx(tx).refuse()
	}
	if !tx.st.plain {
		checkKey(tx.st.engine(), useTx, key)
	}
	setIn(DBTx(tx), key, value, 0)
}

// setIn buffers a write.
func setIn[K comparable, V any](tx DBTx, key K, value V, tomb chain.Word) {
	st := tx.st
	how := toBeFound
	var v *chain.Node
	if st.hasWritten || st.hasNoted {
		v = chain.New(key, value)
		chain.SetWord(&v.State, tomb)
		how = st.set(tx.gen, v)
	}
	if how == toBeFound {
		h, p, _ := index.Lookup(st.index, key) // begins to load the memory of the key
		if v == nil {                          // the load goes on meanwhile
			v = chain.New(key, value)
			chain.SetWord(&v.State, tomb)
		}
		how = st.setAt(tx.gen, v, h, p)
	}
	if how == inIndexes {
		tx.write(v)
	}
}

// Put is [Tx.Set], and returns nil: the commit returns the error of a unique index.
func (tx Tx[K, V]) Put(key K, value V) error {
	tx.Set(key, value)
	return nil
}

// Delete deletes key. It is a write, and no read: key is absent when the transaction commits. It
// allocates one version.
func (tx Tx[K, V]) Delete(key K) {
	tx.check()
	if !tx.st.plain && isBad(tx.st.engine(), useTx, key) {
		return
	}
	var zero V
	setIn(DBTx(tx), key, zero, chain.TombBit)
}

// All is [Snapshot.All] as of the read epoch, with the transaction's own writes made before the
// loop began; the loop may write more. It allocates a list of the own writes.
func (tx Tx[K, V]) All() iter.Seq2[K, V] {
	return records[K, V](looping{s: moment(tx), tx: true})
}

// Keys is [Tx.All] without values.
func (tx Tx[K, V]) Keys() iter.Seq[K] { return keys(tx.All()) }

// Len returns how many keys have a value, own writes included. The first call looks at each key,
// and so does the commit; a later call costs a lookup for each own write.
func (tx Tx[K, V]) Len() int { return DBTx(tx).countKeys() }

// OnCommit has f called once the transaction has committed, before Commit or [Map.Update] returns,
// in the same goroutine. f is given the commit epoch, or the read epoch of a transaction that has
// written nothing. Several functions are called in their order. f may use the map in any way, but
// not the transaction. If f panics, or calls runtime.Goexit, the commit stands, and the others are
// called too, before the first panic goes on.
func (tx Tx[K, V]) OnCommit(f func(epoch uint64)) { DBTx(tx).OnCommit(f) }

// Commit makes the transaction's writes visible, all at once, and ends it. If it returns nil, every
// transaction that begins afterwards sees them. If it returns a [*ConflictError], or [ErrTxTooOld]
// because it was evicted before its reads had been validated, nobody ever does. [ErrTxDone]: it had
// ended before. A transaction that wrote nothing, or has read nothing, never conflicts.
//
// Commit gives way, once, to others that have their turn on a key that it writes, see [Map.Update].
// Of commits under way that share keys, one that stands still is aborted, and installs again. After
// five such attempts, or with more than 256 keys, Commit waits for its own turn. Beyond that it
// waits as [Map.Store] does. The cost grows with the number of keys written and, at level
// serializable, read; a transaction that scanned a map or a range, and writes, scans it again.
func (tx Tx[K, V]) Commit() error { return DBTx(tx).Commit() }

// Rollback ends the transaction and forgets its writes. It never waits.
func (tx Tx[K, V]) Rollback() { DBTx(tx).Rollback() }

// Err returns [ErrTxDone] if the transaction has ended, [ErrTxTooOld] if it was evicted, and a
// [*ConflictError] if it writes, is serializable, and a value that it got has been overwritten:
// then Commit will fail. Nil promises nothing: only Commit looks at the rest of the read set and,
// at level snapshot, at the keys to be written. Err looks once at each key that Get has found.
func (tx Tx[K, V]) Err() error { return DBTx(tx).Err() }

// An undone is the former content of write i, for the way back to a savepoint.
type undone struct {
	i   int
	was write
}

// Savepoint calls fn and returns its error unchanged. If that is not nil, or fn panics or calls
// runtime.Goexit, the writes of the call, in all tables, and its functions for [Tx.OnCommit] are
// undone. Its reads stay in the read set. Savepoints nest; a loop over All or a range that begins
// in a savepoint must end in it. If fn ends the transaction and returns nil, Savepoint returns
// [ErrTxDone], or [ErrTxTooOld] if it was evicted. It costs one note for each key that is written
// again.
func (tx Tx[K, V]) Savepoint(fn func() error) (err error) { return DBTx(tx).Savepoint(fn) }

// Savepoint is [Tx.Savepoint] over all tables.
func (tx DBTx) Savepoint(fn func() error) (err error) {
	tx.check()
	if fn == nil {
		panic("mvcc: Savepoint: fn is nil")
	}
	st := stateOf(tx.st)
	st.enter()
	outer, after := st.since, len(st.after)
	st.beginSavepoint()
	st.leave()
	keep := false
	defer func() {
		if st.gen() != tx.gen { // else the state may serve another transaction
			if keep {
				err = st.over(tx.gen)
			}
			return
		}
		st.enter()
		if !keep {
			clear(st.after[after:])
			st.after = st.after[:after]
		}
		st.endSavepoint(outer, keep)
		st.leave()
	}()
	err = fn()
	keep = err == nil
	return err
}

// save notes write i, which is about to be changed, for the innermost savepoint.
func (st *txState) save(i int) {
	if w := &st.writes[i]; w.saved < st.since {
		rare := st.rare()
		rare.undo = append(rare.undo, undone{i, *w})
		w.saved = st.since
	}
}

// A mark has the numbers of writes and notes when a savepoint began, and the records that were in
// the way of unique indexes then.
type mark struct {
	writes, undo int
	extra        map[extraKey][]any
}

// beginSavepoint makes the next savepoint the innermost one that is open.
func (st *txState) beginSavepoint() {
	rare := st.rare()
	rare.saves++
	rare.since = rare.saves
	rare.marks = append(rare.marks, mark{len(st.writes), len(st.undo), rare.extra.share()})
}

// endSavepoint ends the innermost savepoint; outer is the number of the one around it, or 0. Unless
// keep is set it undoes the writes since the savepoint began.
func (st *txState) endSavepoint(outer uint32, keep bool) {
	was := st.marks[len(st.marks)-1]
	st.marks = st.marks[:len(st.marks)-1]
	if !keep {
		st.restore(was)
	}
	if st.since = outer; outer == 0 {
		clear(st.undo)
		st.undo = st.undo[:0]
	}
}

// restore puts the writes, and the notes, back into their state at a mark.
func (st *txState) restore(was mark) {
	n := was.writes
	if len(st.loops) > 0 {
		st.copyOwn()
	}
	st.extra.restore(was.extra)
	for i := len(st.undo) - 1; i >= was.undo; i-- {
		st.writes[st.undo[i].i] = st.undo[i].was
	}
	clear(st.undo[was.undo:])
	st.undo = st.undo[:was.undo]
	for _, p := range st.parts {
		p.hasWritten = p.hasWritten && n > 0
		p.gaps, p.revived, p.lookedAt = nil, nil, min(p.lookedAt, n)
		if p.ordered > n {
			p.inOrder = slices.DeleteFunc(p.inOrder, func(i int32) bool { return int(i) >= n })
			p.ordered = n
		}
	}
	if st.byHash != nil {
		for i := len(st.writes) - 1; i >= n; i-- {
			st.unlist(i)
		}
	}
	for i := n; i < len(st.writes); i++ {
		st.writes[i] = write{}
	}
	st.writes = st.writes[:n]
	if n <= linearWrites {
		st.byHash = nil
	}
}
