package mvcc

import (
	"iter"
	"runtime"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/chain"
	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/index"
)

// A Snapshot reads a map as of one moment. Its reads wait for no particular
// goroutine, never conflict and never fail, except by Options.MaxTxAge; what commits after
// the snapshot was taken is not seen.
//
// A Snapshot is a small value, to be passed by value. It may be used by several
// goroutines at once. The zero Snapshot panics in every method but Close, which does
// nothing; get one from [Map.View] or [Map.Snapshot].
//
// As long as it is open, a snapshot keeps one version of each key from being
// dropped, no more: the versions that are written and overwritten meanwhile are
// reclaimed as usual.
type Snapshot[K comparable, V any] struct {
	st  *txn
	gen epoch.Gen
}

// Snapshot opens a snapshot of the map as it is now: everything that committed
// before the call is seen. The caller must close it; View does so by itself.
// A snapshot that becomes unreachable is closed by the garbage collector some
// time later, and counted in Stats.Leaked. It waits for no transaction, and
// takes a mutex and allocates only when more of both are open than lately.
func (m *Map[K, V]) Snapshot() Snapshot[K, V] {
	return Snapshot[K, V](m.engine().snapshot(forProgram))
}

// SnapshotAt opens a snapshot of the map as it was at an epoch, say one that [Tx.OnCommit] or
// Snapshot.Epoch has told of: everything that had committed at that epoch or before is seen,
// and nothing else. It returns an error that wraps [ErrEpochGone] if that state may not be
// complete any more, or the epoch has not come yet. With Options.Retain that is not the case
// before that time has passed. Without it, this happens sooner or later after the next commit: it
// depends on the background work. That an open snapshot has the same epoch makes no
// difference. The caller closes it, as that of [Map.Snapshot].
func (m *Map[K, V]) SnapshotAt(at uint64) (Snapshot[K, V], error) {
	s, err := m.engine().snapshotAt(at)
	return Snapshot[K, V](s), err
}

// Close closes the snapshot. It may be called any number of times, by any
// goroutine, also late: only the first call has an effect. It never waits.
func (s Snapshot[K, V]) Close() { moment(s).Close() }

// Epoch returns the snapshot's read epoch: the commit epoch of the newest
// transaction it may see. It panics with [ErrTxDone] if the snapshot is closed.
func (s Snapshot[K, V]) Epoch() uint64 { return moment(s).Epoch() }

// check panics if the snapshot is closed. Called after a read it makes sure that
// the read was made while the snapshot was open.
func (s Snapshot[K, V]) check() { moment(s).check() }

// Get returns the value of key as of the snapshot, and whether there was one. It
// waits for no particular goroutine, giving a writer that is about to commit a
// moment at most, and allocates nothing. It panics with [ErrTxDone] if
// the snapshot is closed, even if another goroutine closes it during the call,
// and with a runtime error if key cannot be hashed.
func (s Snapshot[K, V]) Get(key K) (value V, ok bool) {
	if s.st == nil {
		panic(errZeroSnapshot)
	}
	// Whether epoch and version were this snapshot's is checked at the end; a
	// walk as of a stranger's epoch does no harm.
	at := s.st.head.Epoch()
	_, _, v := index.Lookup(s.st.index, key)
	if v.Plain(at) {
		value, ok = chain.ValueOf[K, V](v), true
	} else {
		v = s.st.visible(v, at)
		value, ok = chain.Present[K, V](v)
	}
	s.st.checkRead(s.gen, unsafe.Pointer(&key), v)
	hooks.At(hooks.GetWalked)
	if s.st.head.Gen() != s.gen { // check, which is not inlined
		moment(s).refuse()
	}
	runtime.KeepAlive(s.st)
	return value, ok
}

// All returns an iterator over all keys and values as of the snapshot, in no
// particular order. It takes no lock: the loop may take its time, stop early,
// and use the map in any way; nothing needs closing. A pass visits every key
// of the index; each step costs about as much as a Get. A step panics with
// [ErrTxDone] if the snapshot is closed.
func (s Snapshot[K, V]) All() iter.Seq2[K, V] {
	return records[K, V](looping{s: moment(s)})
}

// Has reports whether key has a value. It is a read like Get.
func (s Snapshot[K, V]) Has(key K) bool {
	_, ok := s.Get(key)
	return ok
}

// Keys returns an iterator over the keys of [Snapshot.All].
func (s Snapshot[K, V]) Keys() iter.Seq[K] { return keys(s.All()) }

// Values returns an iterator over the values of [Snapshot.All].
func (s Snapshot[K, V]) Values() iter.Seq[V] { return values(s.All()) }

// Try calls fn, which reads from the snapshot, and returns its error. If the snapshot was evicted,
// being older than Options.MaxTxAge, Try returns [ErrTxTooOld]: fn does not go on after the read
// that found it. It returns [ErrTxDone] if the snapshot is closed. So a program that reads page by
// page from a snapshot that may be evicted need not recover. In goroutines that fn starts the panic
// is theirs.
func (s Snapshot[K, V]) Try(fn func() error) (err error) { return moment(s).Try(fn) }

// Len returns the number of keys as of the snapshot. It is exact, and visits
// every entry of the index. It panics with [ErrTxDone] if the snapshot is closed.
func (s Snapshot[K, V]) Len() int { return moment(s).len() }
