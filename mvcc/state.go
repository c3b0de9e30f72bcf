package mvcc

import (
	"path"
	"runtime"
	"strings"
	"sync"
	stdatomic "sync/atomic"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/invariant"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// A txState is the state behind a [Tx] or a [Snapshot]. It is pooled, and owns a slot; the
// generation in the slot tells which handle it serves.
type txState struct {
	own part // the part in the map that began the transaction

	idle invariant.Ghost // 1 while the state is in the pool
	slot *epoch.Slot
	m    *core // the map, or the root of a database
	// others are the parts in other maps. They stay when the transaction ends, see dropParts.
	others stdatomic.Pointer[part]

	// The work of a Tx; nil in a state that has only served snapshots. It belongs to the one
	// goroutine that uses the Tx.
	*txWork
}

// A statePool has the idle states of a map.
type statePool = epoch.Pool[txState]

// begin takes an idle state, publishes its read epoch, and returns the generation of
// the transaction, which may write at the level.
func (m *core) begin(level Level, also uint64) (st *txState, gen epoch.Gen) {
	st, gen = m.open(epoch.MayWrite | also)
	st.level = level
	return st, gen
}

// open is begin for a transaction of a kind: see [epoch.Slots.Begin]. Those of the library itself
// are spared, see [forCall].
func (m *core) open(kind uint64) (st *txState, gen epoch.Gen) {
	if m.strict {
		m.besideOpen(kind)
	}
	for {
		st, gen = m.take()
		if m.Slots.Begin(st.slot, kind) != 0 {
			if kind&epoch.MayWrite != 0 && st.txWork == nil {
				st.txWork = newWork(st)
			}
			return st, gen
		}
		m.give(st, gen)
	}
}

// take takes an idle state, or makes one, and returns the generation of the next transaction in it.
// A caller cannot ask for this after Begin: the transaction may be evicted before Begin returns.
func (m *core) take() (st *txState, gen epoch.Gen) {
	if st = m.idle(); st == nil {
		st = m.newState()
	}
	st.checkTaken()
	return st, st.gen()
}

// idle takes an idle state, if there is one.
func (m *core) idle() *txState {
	if hooks.Enabled && hooks.Scheduled() {
		return m.scheduledIdle()
	}
	return m.pool.Load().Get()
}

// trace notes where the transaction gen began, if that is asked for.
func (st *txState) trace(gen epoch.Gen) {
	if st.m.tracePins {
		st.slot.Trace(gen, 1)
	}
}

// isInner reports whether a file belongs to this package: a call there does not show where a
// transaction began. (Directories are those of the build: with -trimpath, import paths.)
func isInner(file string) bool {
	return path.Dir(file) == sources() && !strings.HasSuffix(file, "_test.go")
}

var sources = sync.OnceValue(func() string {
	_, file, _, _ := runtime.Caller(0)
	return path.Dir(file)
})

// enter is called first, and leave last, by a method that uses the reads and writes of a Tx. By a
// plain flag they notice most uses of a Tx by two goroutines at once. A method that calls a
// function of the user between enter and leave defers leave.
func (st *txState) enter() {
	if st.busy {
		panic(errConcurrentUse)
	}
	st.busy = true
}

func (st *txState) leave() { st.busy = false }

// enterAgain is enter for a method that has called leave and goes on. It panics if the transaction
// gen has ended since, so that nothing of gen gets into the state's next transaction.
func (st *txState) enterAgain(gen epoch.Gen) {
	if st.gen() != gen {
		refuse(&st.own.txn, gen)
	}
	st.enter()
}

// scheduledIdle returns an idle state of the map for a goroutine that is scheduled, which has idle
// states of several maps; nil if there is none.
func (m *core) scheduledIdle() (st *txState) {
	var others []any
	for x := hooks.TakeIdle(); x != nil; x = hooks.TakeIdle() {
		if own, ok := x.(*txState); ok && own.m == m {
			st = own
			break
		}
		others = append(others, x)
	}
	for _, x := range others {
		hooks.GiveIdle(x)
	}
	return st
}

// give puts the state of the transaction gen, which has ended, back into the pool. If gen had an
// old epoch, its slot belongs to the reclaimer now, and give forgets the state.
func (m *core) give(st *txState, gen epoch.Gen) {
	if !st.slot.Keep(gen) || !st.slot.Settled() {
		return // an unsettled slot must not serve another transaction, see abandon
	}
	pool := m.pool.Load() // before dropParts: if a table is closed then, this pool is garbage
	if st.others.Load() != nil {
		st.dropParts()
	}
	st.checkGiven()
	if hooks.Scheduled() {
		hooks.GiveIdle(st)
		return
	}
	pool.Put(st)
}

func (m *core) newState() *txState {
	st := &txState{slot: m.Slots.Acquire(), m: m}
	st.own.init(st, m)
	// A handle that is dropped without being ended makes its state unreachable: idle states are
	// held by the pool, busy ones only by their handles. The cleanup ends the slot then. It is
	// attached once for each state, so begin costs nothing more.
	if s := m.shared.strict; s != nil {
		runtime.AddCleanup(st, abandonStrictly, strictSlot{st.slot, s})
	} else {
		runtime.AddCleanup(st, abandon, st.slot)
	}
	m.gc.Wake() // so that its age is known, and that it is let go when it is idle
	return st
}

// abandon takes back the slot of a state that has become unreachable.
//
// If a commit was left in the middle, which unwind prevents, its versions refer to the slot's
// record. The record is aborted, unless it is decided, and stays so for ever, since
// [epoch.Slots.Release] keeps the number of such a slot.
func abandon(slot *epoch.Slot) {
	if !slot.Settled() {
		chain.AbortRecord(slot.Record())
	}
	epoch.Abandon(slot)
}

func (st *txState) gen() epoch.Gen     { return st.slot.Gen() }
func (st *txState) epoch() epoch.Epoch { return st.slot.Epoch() }

// end ends the transaction gen, and reports whether this call ended it. If so the caller owns the
// state, and gives the state back with recycle or give.
func (st *txState) end(gen epoch.Gen) bool {
	st.slot.CheckBegun(gen)
	return st.slot.End(gen)
}

// over says why the handle of gen cannot be used: it has ended, or was evicted.
func (st *txState) over(gen epoch.Gen) error {
	if st.slot.Evicted(gen) {
		return ErrTxTooOld
	}
	return ErrTxDone
}

// refuse panics for a method of a handle that cannot return an error. A call of it is cheap enough
// for its callers to be inlined where reads are.
//
//go:noinline
func (s moment) refuse() {
	if s.st == nil {
		panic(errZeroSnapshot)
	}
	refuse(s.st, s.gen)
}

//go:noinline
func (tx DBTx) refuse() {
	if tx.st == nil {
		panic(errZeroTx)
	}
	refuse(tx.st, tx.gen)
}

func refuse(t *txn, gen epoch.Gen) {
	if slot := stateOf(t).slot; slot.Evicted(gen) {
		panic(tooOld{slot, gen})
	}
	panic(ErrTxDone)
}

// A tooOld is an [ErrTxTooOld] that says which transaction was evicted.
type tooOld struct {
	slot *epoch.Slot
	gen  epoch.Gen
}

func (tooOld) Error() string { return ErrTxTooOld.Error() }
func (tooOld) Unwrap() error { return ErrTxTooOld }

// tooOld is deferred around a function that uses the transaction gen. If gen was evicted, and the
// function panics because it has used gen since, tooOld ends the panic and sets err. Any other
// panic goes on, even a panic because of another evicted handle.
func (st *txState) tooOld(gen epoch.Gen, err *error) {
	if st.m.strict {
		st.m.shared.hub.stir() // it may have committed
	}
	if !st.slot.WasEvicted(gen) {
		return
	}
	switch p := recover(); p {
	case nil:
	case tooOld{st.slot, gen}:
		*err = ErrTxTooOld
	default:
		panic(p)
	}
}

// guarded calls fn and returns fn's error, or ErrTxTooOld if a read in fn finds the transaction gen
// evicted. If gen has ended already, guarded returns an error and does not call fn.
func (st *txState) guarded(gen epoch.Gen, fn func() error) (err error) {
	if fn == nil {
		panic("mvcc: Try: fn is nil")
	}
	if st.gen() != gen {
		return st.over(gen)
	}
	defer st.tooOld(gen, &err)
	return fn()
}

// finish ends the transaction gen, if it has not ended, and recycles the state.
func (st *txState) finish(gen epoch.Gen) {
	if st.end(gen) {
		st.recycle(gen)
	}
}

// recycle forgets the work of the transaction, keeping room for the next one, and puts the state
// back into the pool. The transaction gen has ended, by a call of the caller.
//
// Few records are filled in and forgotten field by field: while the garbage collector
// marks, a pointer that is written by itself costs a fraction of one in a struct that is
// copied or cleared.
func (st *txState) recycle(gen epoch.Gen) {
	st.forget()
	st.own.forget()
	if len(st.parts) > 1 {
		st.leaveParts()
	}
	st.m.give(st, gen)
}
