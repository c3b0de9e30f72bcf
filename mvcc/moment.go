package mvcc

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// A moment is a [Snapshot] without the types of its map, or a [DBSnapshot] without its tables.
type moment struct {
	st  *txn
	gen epoch.Gen
}

// snapshotFor opens a snapshot of a kind: [Map.Snapshot] of one forProgram.
func (m *core) snapshotFor(kind uint64) moment {
	st, gen := m.open(kind)
	st.trace(gen)
	return moment{&st.own.txn, gen}
}

// snapshotAt is [Map.SnapshotAt].
func (m *core) snapshotAt(at uint64) (moment, error) {
	if now := m.Slots.Now(); epoch.Epoch(at) > now {
		return moment{}, fmt.Errorf("%w: epoch %d has not come yet, the newest is %d",
			ErrEpochGone, at, now)
	}
	if m.shared.past.hasSkipped(epoch.Epoch(at)) {
		return moment{}, fmt.Errorf("%w: epoch %d was passed over, when something was loaded or by SkipTo",
			ErrEpochGone, at)
	}
	return m.openAt(at, forProgram)
}

// openAt is snapshotAt for an epoch that has come, and was not passed over.
func (m *core) openAt(at, kind uint64) (moment, error) {
	st, gen := m.take()
	if !m.Slots.BeginAt(st.slot, epoch.Epoch(at), kind) {
		m.give(st, gen)
		return moment{}, fmt.Errorf("%w: epoch %d is before %d, the oldest that is complete",
			ErrEpochGone, at, m.Slots.Bound())
	}
	st.trace(gen)
	return moment{&st.own.txn, gen}, nil
}

// check panics if the snapshot is closed.
func (s moment) check() {
	if s.st == nil || s.st.head.Gen() != s.gen {
		s.refuse()
	}
}

// seenOf returns the version that the snapshot sees of key, whose chain begins with head.
//
//go:noinline
func (s moment) seenOf(head *chain.Node, key unsafe.Pointer) *chain.Node {
	v := head
	if at := s.st.head.Epoch(); !v.Plain(at) {
		v = s.st.visible(v, at)
	}
	s.st.checkRead(s.gen, key, v)
	s.check()
	runtime.KeepAlive(s.st)
	return v
}

// Close is [Snapshot.Close].
//
//go:noinline
func (s moment) Close() {
	if s.st == nil {
		return
	}
	st := stateOf(s.st)
	if st.end(s.gen) {
		st.m.give(st, s.gen) // a snapshot leaves nothing behind in its state
	}
}

// Epoch is [Snapshot.Epoch].
//
//go:noinline
func (s moment) Epoch() uint64 {
	s.check()
	e := stateOf(s.st).epoch()
	s.check()
	runtime.KeepAlive(s.st)
	return uint64(e)
}

// Try is [Snapshot.Try].
//
//go:noinline
func (s moment) Try(fn func() error) error {
	if s.st == nil {
		panic(errZeroSnapshot)
	}
	return stateOf(s.st).guarded(s.gen, fn)
}

// view is [Map.View].
func (m *core) view(fn func(s moment) error) error {
	if m.guarded {
		return m.viewGuarded(fn)
	}
	st, gen := m.open(forProgram)
	s := moment{&st.own.txn, gen}
	defer s.Close()
	return fn(s)
}

// viewGuarded is view for a map whose snapshots may be evicted, or are traced, or that is strict.
func (m *core) viewGuarded(fn func(s moment) error) (err error) {
	s := m.snapshotFor(forProgram)
	defer s.Close()
	defer stateOf(s.st).tooOld(s.gen, &err)
	return m.seen(s, fn)
}

// seen calls fn for View and the like.
func (m *core) seen(s moment, fn func(s moment) error) (err error) {
	if !m.strict {
		return fn(s)
	}
	of := scope{what: "the function of a View", beside: "snapshot", writes: true}
	m.shared.strict.run(of, func() { err = fn(s) })
	return err
}
