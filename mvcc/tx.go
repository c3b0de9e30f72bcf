package mvcc

import (
	"iter"
	"runtime"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/chain"
	"github.com/mvccmap/mvccmap/internal/index"
)

// A Tx is a transaction that may read and write. It reads as of the moment it
// began, and its own writes. Its writes are buffered: nothing of them is visible
// to others before [Tx.Commit], and then all of it at once.
//
// A Tx is a small value, to be passed by value; all copies are the same
// transaction. It must be used by one goroutine at a time. The zero Tx is not
// usable; get one from [Map.Update] or [Map.Begin]. After it has ended, Commit
// returns [ErrTxDone], Rollback does nothing and every other method panics with
// ErrTxDone, however late the call, and whatever has become of the memory.
//
// At level serializable every key that Get or Has looked at, present or not, joins the read
// set, and so do, for All, the whole map or table, and for Ascend, Descend, Min and Max the
// part of a range that they went through. Reads of the transaction's own writes do not.
type Tx[K comparable, V any] struct {
	st  *txn
	gen epoch.Gen
}

// Begin begins a transaction. The caller ends it with Commit or Rollback; the
// idiom is a deferred Rollback, which does nothing after Commit. [Map.Update]
// does all this, and tries again after a conflict. A Tx that becomes
// unreachable is rolled back by the garbage collector some time later, and
// counted in Stats.Leaked. Begin waits for no transaction, and takes a mutex and allocates only
// when more transactions are open than lately.
func (m *Map[K, V]) Begin(opts *TxOptions) Tx[K, V] {
	return Tx[K, V](m.engine().beginTx(opts))
}

func (tx Tx[K, V]) check() { DBTx(tx).check() }

// Epoch returns the transaction's read epoch: the commit epoch of the newest
// transaction it may see.
func (tx Tx[K, V]) Epoch() uint64 { return DBTx(tx).Epoch() }

// Get returns the value of key, and whether there is one: the transaction's own
// write, or else the value as of its read epoch, see also [Tx.Merge]. It does not depend on
// any goroutine going on: a writer that is about to commit has a moment to do so, and must draw
// its epoch again if it does not.
// It allocates only to make room in the read set, which is reused by later
// transactions. It panics with a runtime error if key cannot be hashed.
func (tx Tx[K, V]) Get(key K) (value V, ok bool) { return getIn[K, V](DBTx(tx), key, false) }

// GetForUpdate is Get for a key on which depends what the transaction writes. At level
// snapshot the key joins the read set, as every key does at level serializable: the commit
// fails if it has been overwritten or deleted meanwhile, or was absent and is there. So a
// transaction of that level is free of write skew as far as it reads in this way. At level serializable it is
// the same as Get. It takes no lock.
func (tx Tx[K, V]) GetForUpdate(key K) (value V, ok bool) {
	return getIn[K, V](DBTx(tx), key, true)
}

// Has reports whether key has a value. It is a read like Get.
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
	h, p, v := index.Lookup(st.index, key)
	value, ok = chain.Present[K, V](st.read(tx.gen, unsafe.Pointer(&key), h, p, v, update))
	if st.head.Gen() != tx.gen {
		tx.refuse()
	}
	runtime.KeepAlive(st)
	if merge != nil {
		return merge.(*merging[K, V]).apply(value, ok), true
	}
	return value, ok
}

// Set writes value to key. The value is stored, not copied: what it points to is
// shared with every reader, and must not be changed any more. Set allocates one
// version, and panics with [ErrBadKey] if key is not equal to itself.
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
	how, v := st.toWrite(unsafe.Pointer(&key))
	if how == inPlace {
		own := chain.VersionOf[K, V](v)
		own.Key, own.Value = key, value
		chain.SetWord(&v.State, tomb)
		st.wrote()
		return
	}
	var h uint64
	var p index.Place
	if how == toBeFound { // before the version is made: so the memory of the key is waited for meanwhile
		h, p, _ = index.Lookup(st.index, key)
	}
	v = chain.New(key, value)
	chain.SetWord(&v.State, tomb)
	switch how {
	case toBeFound:
		st.writeAt(tx.gen, v, h, p)
	case inIndexes:
		tx.write(v)
	default:
		st.write(v)
	}
}

// Put is [Tx.Set], under the name that it has in [ReadWriter]. It returns nil: whether a unique
// index allows the record turns out when the transaction commits, and is the error of that.
func (tx Tx[K, V]) Put(key K, value V) error {
	tx.Set(key, value)
	return nil
}

// Delete deletes key. It is a write like Set, and no read; if key is absent, Delete makes sure
// that it still is when the transaction commits. It allocates one version. A key that is not
// equal to itself is always absent: nothing happens.
func (tx Tx[K, V]) Delete(key K) {
	tx.check()
	if !tx.st.plain && isBad(tx.st.engine(), useTx, key) {
		return
	}
	var zero V
	setIn(DBTx(tx), key, zero, chain.TombBit)
}

// All returns an iterator over all keys and values, in no particular order: the
// transaction's own writes made before the loop began, and for every other key
// the value as of the read epoch. The loop may write to the transaction; that
// changes nothing of what it visits. At level serializable the whole map joins
// the read set, so that a commit elsewhere, of any key of this map or table, is a conflict if
// the transaction writes at all; read with [Map.View] where that is not meant. All
// takes no lock, and allocates a list of the own writes.
func (tx Tx[K, V]) All() iter.Seq2[K, V] {
	return records[K, V](looping{s: moment(tx), tx: true})
}

// Keys returns an iterator over the keys of [Tx.All].
func (tx Tx[K, V]) Keys() iter.Seq[K] { return keys(tx.All()) }

// Values returns an iterator over the values of [Tx.All].
func (tx Tx[K, V]) Values() iter.Seq[V] { return values(tx.All()) }

// Len returns how many keys have a value, the transaction's own writes included. At level serializable
// the number joins the read set: the commit conflicts if others have changed it, and not if they have
// written keys that are there, or have deleted as many as they have inserted. It looks at each key, the
// first time, and so does the commit; then it costs a lookup for each own write.
func (tx Tx[K, V]) Len() int { return DBTx(tx).countKeys() }

// OnCommit has f called once the transaction has committed, before Commit or [Map.Update] returns,
// in the same goroutine. It is for what should happen once, and only if the transaction commits,
// though its function may run several times. f is given the commit epoch, or the read epoch of a
// transaction that has written nothing. Several are called in their order. The transaction has
// ended by then; f may use the map in any way. If f panics, or calls runtime.Goexit, the commit
// stands, and those after it are called too. Then the panic goes on; other panics of theirs are
// lost.
func (tx Tx[K, V]) OnCommit(f func(epoch uint64)) { DBTx(tx).OnCommit(f) }

// Commit makes the transaction's writes visible, all at once, and ends it. If it
// returns nil, every transaction that begins afterwards sees them. If it returns
// a *[ConflictError], which wraps [ErrConflict], nobody ever sees any of them.
// It returns [ErrTxDone], and does nothing, if the transaction had ended before,
// and [ErrTxTooOld] if it was evicted before its reads had been validated; that
// is like a Rollback.
//
// A transaction that wrote nothing, or has read nothing, never conflicts.
//
// Commit gives way, once, to others that have their turn on a key that it writes, see
// [Map.Update]. Transactions that are about to commit and whose keys meet decide for each
// other; one that stands still is aborted, and installs again. After five such attempts, or
// one that writes more than 256 keys, Commit waits for its own turn, behind those that asked
// before. Beyond that it waits for no particular goroutine, but where it inserts new keys: see
// [Map.Store]. With Options.MaxTxAge it may become too old meanwhile. The cost grows with the
// number of keys written and, at level serializable, read; a transaction that scanned a map or
// a range, and writes, scans that again.
func (tx Tx[K, V]) Commit() error { return DBTx(tx).Commit() }

// Rollback ends the transaction and forgets its writes. After Commit, or a
// Rollback before, it does nothing; so it may always be deferred. It never
// waits.
func (tx Tx[K, V]) Rollback() { DBTx(tx).Rollback() }

// Try is [Snapshot.Try] for a transaction begun by hand, which may have been evicted.
func (tx Tx[K, V]) Try(fn func() error) (err error) { return DBTx(tx).Try(fn) }

// Err returns [ErrTxDone] if the transaction has ended, and [ErrTxTooOld] if it was evicted. It
// returns a *[ConflictError] if the transaction writes, is serializable, and a value that it got
// has been overwritten. Otherwise it returns nil. An error means that Commit will fail. Nil
// promises nothing: only Commit looks at what was absent, at what All and loops over ranges met
// and, at level snapshot, at what is to be written. A long transaction may ask now and then, and
// save itself the rest. The cost is one look at each key that Get has found.
func (tx Tx[K, V]) Err() error { return DBTx(tx).Err() }
