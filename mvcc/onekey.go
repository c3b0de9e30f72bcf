package mvcc

import "github.com/mvccmap/mvccmap/internal/hooks"

// The one-key operations have the names and the meaning of those of [sync.Map].
// They are linearizable, among themselves and with serializable transactions,
// and take no slot: they hold back no reclamation.

// Load returns the newest committed value of key, and whether there is one. It
// waits for no particular goroutine, giving a writer that is about to commit a
// moment at most, and allocates nothing. It panics with a runtime error if key
// cannot be hashed.
func (m *Map[K, V]) Load(key K) (value V, ok bool) {
	if m.badKey(key) {
		return value, false
	}
	if e := m.lookup(key); e != nil {
		return m.newest(e).present()
	}
	return value, false
}

// Store sets the value of key, in a transaction of its own that never conflicts.
// The value is stored, not copied: what it points to is shared with every
// reader. Store waits for no particular goroutine; a key that is new to the map
// waits for a bucket of the index, and for a resize of it. It allocates one
// version, for a new key also its entries. It panics with [ErrBadKey] if key is
// not equal to itself.
func (m *Map[K, V]) Store(key K, value V) {
	m.checkKey(key)
	m.write(key, &version[V]{value: value}, always)
}

// Swap sets the value of key and returns the value it replaced, if there was
// one. Its cost is that of Store.
func (m *Map[K, V]) Swap(key K, value V) (previous V, loaded bool) {
	m.checkKey(key)
	base, _ := m.write(key, &version[V]{value: value}, always)
	return base.present()
}

// LoadOrStore returns the value of key if there is one. Otherwise it stores the
// given value and returns that. loaded tells which. Its cost is that of Load, or
// that of Store.
func (m *Map[K, V]) LoadOrStore(key K, value V) (actual V, loaded bool) {
	m.checkKey(key)
	if e := m.lookup(key); e != nil {
		if actual, loaded = m.newest(e).present(); loaded {
			return actual, true
		}
	}
	if base, written := m.write(key, &version[V]{value: value}, ifAbsent); !written {
		return base.value, true
	}
	return value, false
}

// LoadAndDelete deletes key and returns the value it had, if there was one. If
// there was none nothing is written. Otherwise its cost is that of Store.
func (m *Map[K, V]) LoadAndDelete(key K) (value V, loaded bool) {
	if m.badKey(key) {
		return value, false
	}
	e := m.lookup(key)
	if e == nil {
		return value, false
	}
	if _, ok := m.newest(e).present(); !ok {
		return value, false
	}
	v := new(version[V])
	setWord(&v.state, tombBit)
	base, _ := m.write(key, v, ifPresent)
	return base.present()
}

// Delete deletes key. If it is absent nothing is written. Its cost is that of
// LoadAndDelete.
func (m *Map[K, V]) Delete(key K) { m.LoadAndDelete(key) }

// Range calls f for each key and value of a snapshot of the map, in no
// particular order, until f returns false. Unlike that of [sync.Map] it is
// consistent: f sees the map as it was at one moment. f may use the map in any
// way; the snapshot is closed also if f panics. With Options.MaxTxAge, Range panics
// with [ErrTxTooOld] if it takes longer than that.
func (m *Map[K, V]) Range(f func(key K, value V) bool) {
	s := m.Snapshot()
	defer s.Close()
	s.All()(f)
}

// CompareAndSwap sets the value of key to new if it is old, and reports whether
// it did. An absent key has no value: it is never swapped. It allocates one
// version; otherwise its cost is that of Store. It panics with a runtime error
// if V is an interface type and the values cannot be compared, and then nothing
// has happened.
func CompareAndSwap[K, V comparable](m *Map[K, V], key K, old, new V) (swapped bool) {
	if m.badKey(key) {
		return false
	}
	e := m.lookup(key)
	if e == nil {
		return false
	}
	if value, ok := m.newest(e).present(); !ok || value != old {
		return false
	}
	v := &version[V]{value: new}
	if m.favour.Any() {
		m.giveWay(key)
	}
	for {
		h, base, ok := m.settle(e)
		if !ok {
			if e = m.lookup(key); e == nil {
				return false
			}
			continue
		}
		if value, ok := base.present(); !ok || value != old {
			return false
		}
		setWord(&v.state, announcedWord(0, 0, 0))
		if m.push(e, h, base, v) {
			m.publish(e, v)
			return true
		}
	}
}

// A condition says on what a one-key write depends.
type condition uint8

const (
	always condition = iota
	ifAbsent
	ifPresent
)

// write installs v, whose state is that of a tombstone or zero, as the newest
// version of key and commits it, if cond holds. It returns the version that was
// the newest one before, or nil, and whether it wrote: nothing comes between the
// two, since v is installed by a CAS of the head below which base was found.
func (m *Map[K, V]) write(key K, v *version[V], cond condition) (base *version[V], written bool) {
	return m.writeTo(m.lookup(key), key, v, cond)
}

// writeTo is write for a caller that has looked key up, and found e.
func (m *Map[K, V]) writeTo(e *entry[K, V], key K, v *version[V], cond condition) (base *version[V], written bool) {
	if m.favour.Any() {
		m.giveWay(key)
	}
	setWord(&v.state, announcedWord(v.state.Load(), 0, 0))
	for {
		if e == nil {
			if cond == ifPresent {
				return nil, false
			}
			e = m.makeEntry(key)
		}
		h, base, ok := m.settle(e)
		if !ok {
			e = m.lookup(key)
			continue
		}
		if cond != always {
			if _, present := base.present(); present != (cond == ifPresent) {
				return base, false
			}
		}
		if m.push(e, h, base, v) {
			m.publish(e, v)
			if n := growth(base, v); n != 0 {
				m.counters.keys.Add(int64(n))
			}
			return base, true
		}
	}
}

// publish commits the announced one-key version v on e.
func (m *Map[K, V]) publish(e *entry[K, V], v *version[V]) {
	if hooks.Enabled {
		hooks.At(hooks.StoreInstalled)
	}
	// The word is announced with floor 0 and no check: nobody revokes it, so
	// whoever draws for it commits it.
	w := v.state.Load()
	if !committed(w) {
		m.mark(e.key, &v.state)
		if hooks.Enabled {
			hooks.At(hooks.Marked)
		}
		d := decidedWord(w, m.slots.Next())
		if hooks.Enabled {
			hooks.At(hooks.StoreDrawn)
		}
		// Linearization point, unless a helper's CAS was.
		if !advance(&v.state, w, d) {
			m.counters.wasted.Add(1)
		}
	}
	m.installed(e, v)
	if at := epochOf(v.state.Load()); m.gc.Due(at) {
		m.gc.RefreshPast(at, 0)
	}
}
