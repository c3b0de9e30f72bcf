package mvcc

import (
	"iter"
	"runtime"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// A Snapshot reads a map as of one moment. Its reads never conflict and never fail, except by
// Options.MaxTxAge. Several goroutines may use it; a call that another goroutine's Close overtakes
// panics with [ErrTxDone]. The zero Snapshot panics in every method but Close.
type Snapshot[K comparable, V any] struct {
	st  *txn
	gen epoch.Gen
}

// Snapshot opens a snapshot of the map as it is now. The caller closes it. Its cost is that of
// [Map.Begin].
func (m *Map[K, V]) Snapshot() Snapshot[K, V] {
	return Snapshot[K, V](m.engine().snapshot(forProgram))
}

// SnapshotAt opens a snapshot of the map as of an epoch, say one of [Tx.OnCommit]. It returns an
// error that wraps [ErrEpochGone] if that state may not be complete any more, or has not come yet.
// With Options.Retain a state stays for that time; without, until some time after the next commit,
// whatever snapshots are open.
func (m *Map[K, V]) SnapshotAt(at uint64) (Snapshot[K, V], error) {
	s, err := m.engine().snapshotAt(at)
	return Snapshot[K, V](s), err
}

// Close ends the snapshot. It never waits.
func (s Snapshot[K, V]) Close() { moment(s).Close() }

// Epoch returns the read epoch: the commit epoch of the newest transaction it may see.
func (s Snapshot[K, V]) Epoch() uint64 { return moment(s).Epoch() }

// check panics if the snapshot is closed. Called after a read it makes sure that
// the read was made while the snapshot was open.
func (s Snapshot[K, V]) check() { moment(s).check() }

// Get is [Map.Load] as of the snapshot.
func (s Snapshot[K, V]) Get(key K) (value V, ok bool) {
	if s.st == nil {
		panic(errZeroSnapshot)
	}
	// The check at the end says whether epoch and version were this snapshot's; a walk as of
	// another epoch does no harm.
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

// All returns an iterator over all keys and values, in no particular order. It takes no lock: the
// loop may take its time, stop early, and use the map in any way. A pass visits every key of the
// index; each step costs about as much as a Get.
func (s Snapshot[K, V]) All() iter.Seq2[K, V] {
	return records[K, V](looping{s: moment(s)})
}

// Has reports whether key has a value, as a read like Get.
func (s Snapshot[K, V]) Has(key K) bool {
	_, ok := s.Get(key)
	return ok
}

// Keys is [Snapshot.All] without values.
func (s Snapshot[K, V]) Keys() iter.Seq[K] { return keys(s.All()) }

// Try calls fn, which reads from the snapshot, and returns fn's error. It returns [ErrTxTooOld] if
// the snapshot was evicted, and ends fn at the read that finds this; and [ErrTxDone] if the
// snapshot is closed. In a goroutine that fn starts such a read panics.
func (s Snapshot[K, V]) Try(fn func() error) (err error) { return moment(s).Try(fn) }

// Len returns the number of keys, and visits every entry of the index.
func (s Snapshot[K, V]) Len() int { return moment(s).len() }
