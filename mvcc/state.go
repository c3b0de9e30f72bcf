package mvcc

import (
	"cmp"
	"runtime"
	"slices"
	"unsafe"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// A txState is what a [Tx] or a [Snapshot] refers to. It is pooled, and owns a slot;
// the generation in the slot tells which handle it serves.
type txState[K comparable, V any] struct {
	idle invariant.Ghost // 1 while the state is in the pool

	slot  *epoch.Slot
	index *xsync.Map[K, *entry[K, V]] // that of m: a read is there one load sooner
	m     *Map[K, V]

	// What a Tx needs beside; nil in a state that has only served snapshots. It
	// belongs to the one goroutine that uses the Tx.
	*txWork[K, V]
}

// A txWork is what a transaction has read and is to write.
type txWork[K comparable, V any] struct {
	level   Level
	busy    bool // a method is under way, see enter
	hasRead bool // a read of the map, not of an own write
	scanned bool // all keys were read
	revoked int  // how many epochs readers took away from the commit under way
	dirtied int  // how often others marked its watch

	reads  []readRecord[K, V]
	absent []K // keys read that had no entry
	// From this many reads, or keys that were absent, on they are looked through
	// for what is there twice, see compact.
	full, fullAbsent int
	writes           []write[K, V]
	// byKey finds an own write by its key, once there are more than
	// linearWrites of them.
	byKey map[K]int
	// word is the record of the commit under way, watch what validates it if it is
	// pushed, conflict why it failed, and grows by how much it makes the number of keys grow.
	word     *atomic.Uint64
	watch    *watch
	conflict conflict[K]
	grows    int
}

// A readRecord says that seen, which may be nil, was the version of e at the read
// epoch.
type readRecord[K comparable, V any] struct {
	e    *entry[K, V]
	seen *version[V]
}

// A write is one buffered write. Its version is private until it is installed.
type write[K comparable, V any] struct {
	key K
	e   *entry[K, V] // nil if there was none when the key was written
	v   *version[V]
	// If all that was read is written, the commit sets read where that is so, and
	// seen to what was read.
	read bool
	seen *version[V]
}

// linearWrites is up to how many own writes are searched one by one: comparing
// so few keys is cheaper than hashing one.
const linearWrites = 8

// keptCapacity is how many records a pooled state keeps room for; up to
// fewRecords it does not ask.
const (
	keptCapacity = 1024
	fewRecords   = 4
)

// begin takes an idle state, publishes its read epoch, and returns the generation of
// the transaction, which may write at the level.
func (m *Map[K, V]) begin(level Level) (st *txState[K, V], gen uint64) {
	st, gen = m.open(epoch.MayWrite)
	if st.txWork == nil {
		st.txWork = &txWork[K, V]{full: compactReads, fullAbsent: compactReads}
	}
	st.level = level
	return st, gen
}

// open is begin for a transaction that only reads, if writer is 0.
func (m *Map[K, V]) open(writer uint64) (st *txState[K, V], gen uint64) {
	for {
		st = m.idle()
		if st == nil {
			st = m.newState()
		}
		if invariant.Enabled {
			st.checkTaken()
		}
		gen = st.gen() // now: the transaction may be evicted before Begin returns
		if m.slots.Begin(st.slot, writer) != 0 {
			return st, gen
		}
		m.give(st, gen)
	}
}

// trace notes where the transaction gen began, if that is asked for: in the caller of
// the caller.
func (st *txState[K, V]) trace(gen uint64) {
	if st.m.tracePins {
		st.slot.Trace(gen, 2)
	}
}

// enter is called at the begin of a method that uses what the transaction has read
// and is to write, and leave at its end. A transaction is for one goroutine at a time:
// this notices most of the time if it is not, at the price of a plain flag. It is not
// left by a panic; only a fault in the method itself could cause one.
func (st *txState[K, V]) enter() {
	if st.busy {
		panic(errConcurrentUse)
	}
	st.busy = true
}

func (st *txState[K, V]) leave() { st.busy = false }

// idle takes an idle state out of the pool, or returns nil.
func (m *Map[K, V]) idle() *txState[K, V] {
	if hooks.Enabled && hooks.Scheduled() {
		st, _ := hooks.Take().(*txState[K, V])
		return st
	}
	return m.pool.Get()
}

// give puts the state of the transaction gen, which has ended, back into the pool. If
// the transaction was an old one the slot is the reclaimer's, and the state is
// forgotten.
func (m *Map[K, V]) give(st *txState[K, V], gen uint64) {
	if !st.slot.Keep(gen) {
		return
	}
	if invariant.Enabled {
		st.checkGiven()
	}
	if hooks.Enabled && hooks.Scheduled() {
		hooks.Give(st)
		return
	}
	m.pool.Put(st)
}

func (m *Map[K, V]) newState() *txState[K, V] {
	st := &txState[K, V]{slot: m.slots.Acquire(), index: m.index, m: m}
	// A handle that is dropped without being ended makes its state
	// unreachable: idle states are held by the pool, busy ones only by their
	// handles. The slot is ended then. Attached once for each state, so that
	// begin costs nothing more.
	runtime.AddCleanup(st, abandon, st.slot)
	m.gc.Wake() // so that its age is known, and that it is let go when it is idle
	return st
}

// abandon takes back the slot of a state that has become unreachable.
func abandon(slot *epoch.Slot) { epoch.Abandon(slot) }

func (st *txState[K, V]) gen() uint64   { return st.slot.Gen() }
func (st *txState[K, V]) epoch() uint64 { return st.slot.Epoch() }

// end ends the transaction gen and reports whether this call did it. The caller
// then owns the state, and gives it back with recycle.
func (st *txState[K, V]) end(gen uint64) bool {
	if invariant.Enabled {
		st.slot.CheckBegun(gen)
	}
	return st.slot.End(gen)
}

// over says why the handle of gen cannot be used: it has ended, or was evicted.
func (st *txState[K, V]) over(gen uint64) error {
	if st.slot.Evicted(gen) {
		return ErrTxTooOld
	}
	return ErrTxDone
}

// refuse panics for a method of the handle of gen that cannot return an error. It takes
// little to call, so that its callers are inlined where reads are.
func refuse(slot *epoch.Slot, gen uint64) {
	if slot.Evicted(gen) {
		panic(tooOld{slot, gen})
	}
	panic(ErrTxDone)
}

// A tooOld is an [ErrTxTooOld] that says whose.
type tooOld struct {
	slot *epoch.Slot
	gen  uint64
}

func (tooOld) Error() string { return ErrTxTooOld.Error() }
func (tooOld) Unwrap() error { return ErrTxTooOld }

// tooOld is deferred around a function that uses the transaction gen. If that was
// evicted, and the function panics because it has used it since, it ends the panic and
// sets err. Any other panic goes on, also that of another handle.
func (st *txState[K, V]) tooOld(gen uint64, err *error) {
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

// finish ends the transaction gen, if it has not ended, and recycles the state.
func (st *txState[K, V]) finish(gen uint64) bool {
	if !st.end(gen) {
		return false
	}
	st.recycle(gen)
	return true
}

// recycle forgets what the transaction did, keeping room for the next one, and
// puts the state back into the pool. The transaction gen has ended, by a call of the
// caller.
func (st *txState[K, V]) recycle(gen uint64) {
	if len(st.writes) > 0 {
		st.writes = emptied(st.writes)
		st.word, st.byKey = nil, nil
	}
	if st.hasRead {
		st.hasRead, st.scanned = false, false
		st.reads = emptied(st.reads)
		if len(st.absent) > 0 {
			st.absent = emptied(st.absent)
		}
		st.full, st.fullAbsent = compactReads, compactReads
	}
	st.revoked, st.dirtied = 0, 0
	st.busy = false
	st.m.give(st, gen)
}

// emptied returns s with length 0, and nothing reachable through it.
func emptied[T any](s []T) []T {
	if len(s) <= fewRecords {
		// One by one: for so few, clear spends its time on setting out.
		var zero T
		for i := range s {
			s[i] = zero
		}
		return s[:0]
	}
	if cap(s) > keptCapacity {
		return nil
	}
	clear(s)
	return s[:0]
}

// find returns the index of the own write of key, or -1.
func (st *txState[K, V]) find(key K) int {
	if st.byKey != nil {
		if i, ok := st.byKey[key]; ok {
			return i
		}
		return -1
	}
	for i := range st.writes {
		if st.writes[i].key == key {
			return i
		}
	}
	return -1
}

// put buffers a write. The key is looked up here, so hashed here: a key that
// cannot be hashed panics now, when nothing is held.
func (st *txState[K, V]) put(key K, value V, tomb uint64) {
	if i := st.find(key); i >= 0 {
		if st.scanned { // a loop may still have the old version before it
			st.writes[i].v = new(version[V])
		}
		v := st.writes[i].v
		v.value = value
		setWord(&v.state, tomb)
		return
	}
	e := st.known(key)
	if e == nil {
		e, _ = st.index.Load(key)
	}
	v := &version[V]{value: value}
	setWord(&v.state, tomb)
	st.writes = append(st.writes, write[K, V]{key: key, e: e, v: v})
	if st.byKey != nil {
		st.byKey[key] = len(st.writes) - 1
	} else if len(st.writes) > linearWrites {
		st.byKey = make(map[K]int, 4*linearWrites)
		for i := range st.writes {
			st.byKey[st.writes[i].key] = i
		}
	}
}

// known returns the entry of key if key is one of the first few that were read:
// comparing so few is cheaper than hashing one.
func (st *txState[K, V]) known(key K) *entry[K, V] {
	for i := range min(len(st.reads), fewRecords) {
		if e := st.reads[i].e; e.key == key {
			return e
		}
	}
	return nil
}

// get reads key from the map, not from the own writes, and records the read.
func (st *txState[K, V]) get(key K) *version[V] {
	if hooks.Enabled && hooks.Scheduled() {
		hooks.Index(hooks.Read, key)
	}
	e, _ := st.index.Load(key)
	var v *version[V]
	if e != nil {
		v = st.m.visible(e, st.epoch())
		if invariant.Enabled {
			st.checkGet(e, v)
		}
	}
	st.hasRead = true
	if st.level == LevelSerializable && !st.scanned {
		if e == nil {
			st.absent = append(st.absent, key)
			if len(st.absent) >= st.fullAbsent {
				st.compactAbsent()
			}
		} else if n := len(st.reads); n == 0 || st.reads[n-1].e != e {
			st.reads = append(st.reads, readRecord[K, V]{e, v})
			if len(st.reads) >= st.full {
				st.compact()
			}
		}
	}
	return v
}

// compactReads is how many reads a transaction records before it looks for keys that
// were read more than once. If most are different it looks again when there are
// compactFactor times as many: so the read set follows the keys that are read, and
// not how often, at a cost that is logarithmic for each read.
const (
	compactReads  = 1024
	compactFactor = 4
)

// compact drops the records of keys that were read before.
func (st *txState[K, V]) compact() {
	addr := func(r readRecord[K, V]) uintptr { return uintptr(unsafe.Pointer(r.e)) }
	slices.SortFunc(st.reads, func(a, b readRecord[K, V]) int {
		return cmp.Compare(addr(a), addr(b))
	})
	// Of one key all reads saw the same.
	st.reads = slices.CompactFunc(st.reads, func(a, b readRecord[K, V]) bool { return a.e == b.e })
	st.full = max(compactReads, compactFactor*len(st.reads))
}

// compactAbsent is compact for the keys that had no entry.
func (st *txState[K, V]) compactAbsent() {
	seen := make(map[K]struct{}, len(st.absent)/compactFactor)
	st.absent = slices.DeleteFunc(st.absent, func(key K) bool {
		n := len(seen)
		seen[key] = struct{}{}
		return len(seen) == n
	})
	st.fullAbsent = max(compactReads, compactFactor*len(st.absent))
}
