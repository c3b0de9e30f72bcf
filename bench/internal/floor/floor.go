// Package floor is a multi-version map with everything taken away that a map
// needs to be of use: the keys are fixed when it is made, a transaction reads
// any number of keys or writes one, there are no conflicts, no errors, no
// deletion and no checks of misuse. What is left is what the protocol itself
// costs on a given machine: the atomic operations, the lookup and the
// allocation of a version. It is the yardstick that the real map is measured
// against, so that a target such as "1.3 times the floor" means the same on
// every machine.
//
// A reader publishes its read epoch in a slot it owns, checks the reclaimer's
// bound and then sees, of each key, the newest version that is not later. A
// writer links a pending version at the head of the key's chain and then gives
// it the next epoch; whoever meets a pending version decides it in the same
// way, so nobody waits.
package floor

import (
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// pending marks a version that is linked but has no epoch yet.
	pending = 1
	// firstEpoch is the epoch of the versions a map is made with.
	firstEpoch = 2
	// pruneEvery is the number of versions added to a chain between two
	// prunings of it; a power of two.
	pruneEvery = 32
	// spare is the number of transactions that each P starts with.
	spare = 16
)

// version is one value of a key.
type version struct {
	epoch atomic.Uint64 // pending, then the commit epoch, for good
	older atomic.Pointer[version]
	value uint64
}

// entry is a key's record. It fills a cache line: entries are written by
// different goroutines.
type entry struct {
	newest atomic.Pointer[version]
	added  atomic.Uint32
	_      [48]byte
}

// slot publishes the read epoch of a live transaction; 0 when there is none. It
// fills two cache lines, because the hardware fetches them in pairs.
type slot struct {
	epoch atomic.Uint64
	_     [120]byte
}

// Tx is a read-only transaction. It belongs to the map's pool: it is got from
// [Map.Begin] and not touched after [Map.End].
type Tx struct {
	slot  *slot
	epoch uint64
}

// view is what pruning goes by: the bound, and the live read epochs below it in
// ascending order.
type view struct {
	bound uint64
	live  []uint64
}

// Map holds a fixed set of keys. All methods may be called by any number of
// goroutines.
type Map struct {
	clock atomic.Uint64
	_     [120]byte
	bound atomic.Uint64
	_     [120]byte
	pool  pool
	index map[string]*entry // never written after New

	mu    sync.Mutex
	slots []*slot // guarded by mu; all slots ever made
}

// New returns a map that holds keys with the given values. There will be no
// others.
func New(keys []string, values []uint64) *Map {
	m := &Map{index: make(map[string]*entry, len(keys))}
	m.clock.Store(firstEpoch)
	for i, k := range keys {
		v := &version{value: values[i]}
		v.epoch.Store(firstEpoch)
		e := new(entry)
		e.newest.Store(v)
		m.index[k] = e
	}
	m.pool.init(m.newTx)
	return m
}

func (m *Map) newTx() *Tx {
	tx := &Tx{slot: new(slot)}
	m.mu.Lock()
	m.slots = append(m.slots, tx.slot)
	m.mu.Unlock()
	return tx
}

// Begin starts a read-only transaction, which sees what was committed before.
// It costs one atomic store and touches nothing that another goroutine writes
// in its own Begin.
func (m *Map) Begin() *Tx {
	tx := m.pool.get()
	if tx == nil {
		tx = m.newTx()
	}
	for {
		e := m.clock.Load()
		tx.slot.epoch.Store(e)
		// A refresh that has not seen the slot has stored its bound before.
		if m.bound.Load() <= e {
			tx.epoch = e
			return tx
		}
	}
}

// End finishes tx.
func (m *Map) End(tx *Tx) {
	tx.slot.epoch.Store(0)
	m.pool.put(tx)
}

// decide returns the epoch of v, giving it one if it is pending.
func (m *Map) decide(v *version) uint64 {
	e := v.epoch.Load()
	if e == pending {
		v.epoch.CompareAndSwap(pending, m.clock.Add(1))
		e = v.epoch.Load()
	}
	return e
}

// Get returns the value of key as of tx, and whether the map has the key.
func (m *Map) Get(tx *Tx, key string) (uint64, bool) {
	en := m.index[key]
	if en == nil {
		return 0, false
	}
	v := en.newest.Load()
	for m.decide(v) > tx.epoch {
		v = v.older.Load()
	}
	return v.value, true
}

// Put gives key a new value in a transaction of its own, and reports whether
// the map has the key. It allocates the version.
func (m *Map) Put(key string, value uint64) bool {
	en := m.index[key]
	if en == nil {
		return false
	}
	n := &version{value: value}
	n.epoch.Store(pending)
	for !m.install(en, n, en.newest.Load()) {
	}
	m.finish(en, n)
	return true
}

// Add adds delta to the value of key in a transaction of its own. It returns
// the sum, the number of attempts that lost to another writer, and whether the
// map has the key. After each lost attempt it asks again, unless that is nil,
// whether to make another; the answer no leaves the value as it is, and ok false.
func (m *Map) Add(key string, delta uint64, again func(lost int) bool) (sum uint64, lost int, ok bool) {
	en := m.index[key]
	if en == nil {
		return 0, 0, false
	}
	n := new(version)
	n.epoch.Store(pending)
	for {
		h := en.newest.Load()
		n.value = h.value + delta
		if m.install(en, n, h) {
			break
		}
		lost++
		if again != nil && !again(lost) {
			return 0, lost, false
		}
	}
	sum = n.value
	m.finish(en, n)
	return sum, lost, true
}

// install links n over head, which it decides first: chains are descending.
func (m *Map) install(en *entry, n, head *version) bool {
	m.decide(head)
	n.older.Store(head)
	return en.newest.CompareAndSwap(head, n)
}

func (m *Map) finish(en *entry, n *version) {
	n.epoch.CompareAndSwap(pending, m.clock.Add(1))
	if en.added.Add(1)%pruneEvery == 0 {
		m.prune(en)
	}
}

// refresh announces a bound and then collects the live read epochs below it.
func (m *Map) refresh() view {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := view{bound: m.clock.Load()}
	m.bound.Store(w.bound) // before the scan: Begin relies on it
	for _, s := range m.slots {
		if e := s.epoch.Load(); e != 0 && e < w.bound {
			w.live = append(w.live, e)
		}
	}
	slices.Sort(w.live)
	w.live = slices.Compact(w.live)
	return w
}

// prune unlinks the versions of en that nobody can see: it keeps those above
// the bound, the newest at or below it, and the newest at or below each live
// read epoch. Several goroutines may prune one chain: each cuts only what nobody
// could see when its view was taken, and so what nobody can see later.
func (m *Map) prune(en *entry) {
	w := m.refresh()
	kept := en.newest.Load()
	for m.decide(kept) > w.bound {
		if kept = kept.older.Load(); kept == nil {
			return
		}
	}
	for _, e := range slices.Backward(w.live) {
		next := kept
		for next != nil && next.epoch.Load() > e {
			next = next.older.Load()
		}
		if next != kept {
			kept.older.Store(next)
		}
		if next == nil {
			return
		}
		kept = next
	}
	kept.older.Store(nil)
}

// Versions returns the length of the chain of key.
func (m *Map) Versions(key string) int {
	n := 0
	for v := m.index[key].newest.Load(); v != nil; v = v.older.Load() {
		n++
	}
	return n
}
