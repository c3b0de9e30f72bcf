package mvcc

import (
	"time"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/favour"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// The one-key operations have the names and the meaning of those of [sync.Map].
// They are linearizable, among themselves and with serializable transactions,
// and take no slot: they hold back no reclamation.

// Load returns the newest committed value of key, and whether there is one. It waits for no
// particular goroutine, giving a writer that is about to commit a moment at most, and allocates
// nothing. It costs a lookup in a hash table; in an ordered map a search in a tree.
func (m *Map[K, V]) Load(key K) (value V, ok bool) {
	if m.badKey(useRead, key) {
		return value, false
	}
	_, _, v := index.Lookup(m.index, key)
	// Nearly always it is a value that was committed.
	if v != nil && chain.Load(&v.State)&(chain.TagMask|chain.TombBit) == chain.TagCommitted {
		return chain.ValueOf[K, V](v), true
	}
	return chain.Present[K, V](m.at.newest(v))
}

// Store sets the value of key, in a transaction of its own that never conflicts. It waits for no
// particular goroutine, but with a new key may wait for a lock for a moment. It allocates one
// version. It panics with [ErrBadKey] for a key that is not equal to itself.
func (m *Map[K, V]) Store(key K, value V) {
	m.checkKey(useWrite, key)
	h, p, head := index.Lookup(m.index, key)
	m.at.write(p, h, head, chain.New(key, value), nil, nil)
}

// Put is [Map.Store] with an error: a [*UniqueError] if a unique index does not allow the record;
// then nothing is written.
func (m *Map[K, V]) Put(key K, value V) error {
	m.checkKey(useWrite, key)
	h, p, head := index.Lookup(m.index, key)
	v, touches := chain.New(key, value), false
	if m.at.write(p, h, head, v, nil, &touches); !touches {
		return nil
	}
	return m.at.writeIndexed(v, nil)
}

// Swap is [Map.Store], and returns the value before, if there was one.
func (m *Map[K, V]) Swap(key K, value V) (previous V, loaded bool) {
	m.checkKey(useWrite, key)
	h, p, head := index.Lookup(m.index, key)
	base, _ := m.at.write(p, h, head, chain.New(key, value), nil, nil)
	return chain.Present[K, V](base)
}

// LoadOrStore returns the value of key and true, as [Map.Load], if there is one. Else it stores the
// given value, as [Map.Store], and returns it and false.
func (m *Map[K, V]) LoadOrStore(key K, value V) (actual V, loaded bool) {
	m.checkKey(useWrite, key)
	h, p, v := index.Lookup(m.index, key)
	if actual, loaded = chain.Present[K, V](m.at.newest(v)); loaded {
		return actual, true
	}
	if base, written := m.at.write(p, h, v, chain.New(key, value),
		ifAbsent, nil); !written {
		return chain.ValueOf[K, V](base), true
	}
	return value, false
}

// LoadAndDelete deletes key and returns its value, if there was one. It costs a Store, and only a
// Load if key is absent.
func (m *Map[K, V]) LoadAndDelete(key K) (value V, loaded bool) {
	if m.badKey(useWrite, key) {
		return value, false
	}
	h, p, v := index.Lookup(m.index, key)
	if ok := m.at.newest(v).There(); !ok {
		return value, false
	}
	base, _ := m.at.write(p, h, v, tombstoneOf[K, V](key), ifPresent, nil)
	return chain.Present[K, V](base)
}

// Delete is [Map.LoadAndDelete] without the value.
func (m *Map[K, V]) Delete(key K) { m.LoadAndDelete(key) }

// Range calls f for each key and value of [Map.All], of one moment, until f returns false.
func (m *Map[K, V]) Range(f func(key K, value V) bool) {
	m.engine()
	if f == nil {
		panic("mvcc: Range: f is nil")
	}
	m.All()(f)
}

// CompareAndSwap is [Map.Store] of new if key has the value old, and reports whether it had.
// Interfaces that cannot be compared are a runtime error.
func CompareAndSwap[K, V comparable](m *Map[K, V], key K, old, new V) (swapped bool) {
	if m.badKey(useWrite, key) {
		return false
	}
	h, p, head := index.Lookup(m.index, key)
	if value, ok := chain.Present[K, V](m.at.newest(head)); !ok || value != old {
		return false
	}
	v := chain.New(key, new)
	_, swapped = m.at.write(p, h, head, v, func(base *chain.Node) bool {
		value, ok := chain.Present[K, V](base)
		return ok && value == old
	}, nil)
	return swapped
}

// A condition reports whether a one-key write goes on. base is the newest version, or nil. The
// condition may set the value of the version that is to be written.
type condition func(base *chain.Node) bool

func ifPresent(base *chain.Node) bool { return base.There() }

func ifAbsent(base *chain.Node) bool { return !ifPresent(base) }

// write installs v, whose state is that of a tombstone or zero, as the newest version of its key
// and commits v, if cond holds or is nil. p is where the key, whose hash is h, was found with head.
// It returns base, the newest version before, or nil, and whether it wrote. Nothing comes between
// base and v: a CAS of the head below which base was found installs v. If indexes of the table have
// to change, write does all this in a transaction; or, if touches is not nil, it only sets
// *touches.
//
// cond may change the value of v, and whether it is a tombstone. It may be slow: after several lost
// races it gets a turn.
func (m *core) write(
	p index.Place, h uint64, head, v *chain.Node, cond condition, touches *bool,
) (base *chain.Node, written bool) {
	turns, watched := m.favour.Any(), false
	var calls []uintptr // of v, for its note; a function that wraps cond would have each call allocate
	if turns {
		m.giveWay(h)
		p, head = m.index.Again(p, h, v.Key()) // which may have been overwritten while it waited
		if watched = m.watched; watched {
			calls = callersHere()
		}
	}
	chain.SetWord(&v.State, chain.Word(v.State.Load()).Announced(0, 0))
	var claim *favour.Claim
	var began time.Time // when the call of cond began that says how long a turn must be
	// The place and head of the caller's look-up are used: the install fails if the head is no
	// longer the head of the chain.
	for lost := 0; ; p, head = m.index.Again(p, h, v.Key()) {
		base, ok := m.DecidedBase(head)
		if !ok {
			continue
		}
		if cond != nil || watched {
			if lost%bidLosses == bidLosses-1 {
				began = time.Now()
			}
			if watched { // forget the attempt before; cond may panic
				m.forgetStored(v)
			}
			if cond != nil && !cond(base) {
				claim.End()
				return base, false
			}
			if watched {
				m.noteStored(v, calls)
			}
			hooks.At(hooks.Computed)
		}
		s := m.schemaNow() // must follow the load of the head: X2
		if s != nil && s.alters(s, base, v) {
			claim.End()
			if touches == nil {
				m.unnoted(v)
				base, written, err := m.writeIndexed(v, cond)
				if err != nil {
					panic(err)
				}
				return base, written
			}
			m.unnoted(v)
			*touches = true
			return base, false
		}
		if head != nil {
			ok = m.putOnTop(p, head, base, v)
		} else {
			p, ok = m.insert(h, v, s)
		}
		if !ok {
			if lost++; cond != nil && lost%bidLosses == 0 {
				claim.End()
				if lost >= mostLosses {
					panic(errOwnKey)
				}
				claim = m.turn(h, time.Since(began))
			}
			continue
		}
		if claim != nil { // it spares nearly every write a call
			claim.End()
		}
		m.publish(p, h, base, v)
		if turns {
			m.checkCovered(base)
		}
		return base, true
	}
}

// A call that cannot return an error gives up after mostLosses vain attempts, most of them in its
// turn: its function seems to be in its own way.
const mostLosses = 96

// turn waits for a turn on the key with hash h, long enough for a try that takes as long as took.
// If the caller panics, the turn ends with its time.
func (m *core) turn(h uint64, took time.Duration) *favour.Claim {
	if hooks.Scheduled() {
		hooks.GaveUp()
		return nil
	}
	keys := favour.NewKeys(1)
	keys.Add(m.claimHash(h))
	claim := m.favour.Enter(keys, min(tenureFactor*took, maxTenure))
	claim.Wait(background)
	return claim
}

// publish commits the announced one-key version v at p, on top of base, unless a helper has
// committed v. h is the hash of v's key. If a function of the user panics after the commit, the
// steps that must follow the commit are already done.
func (m *core) publish(p index.Place, h uint64, base, v *chain.Node) {
	hooks.At(hooks.StoreInstalled)
	// The word is announced with floor 0 and no check: nobody revokes it, so
	// any goroutine that draws for it commits it.
	w := chain.Load(&v.State)
	if !w.Committed() {
		if m.hasListeners() {
			m.tellGuarded(p, h, base, v)
		}
		hooks.At(hooks.Told)
		d := w.Drawn(m.Slots.Next())
		hooks.At(hooks.StoreDrawn)
		// Linearization point, unless a helper's CAS was.
		if chain.Advance(&v.State, w, d) {
			w = d
		} else {
			m.counters.Wasted.Add(1)
			w = chain.Load(&v.State)
		}
	}
	if base == nil || (chain.Load(&base.State) | w).Tomb() {
		m.countOne(base, v)
	}
	m.tidyKey(p, h, w, v)
	if m.views.Load().Due(w.Epoch()) {
		m.gc.RefreshPast(w.Epoch(), 0)
	}
}

// tellGuarded is tell, which may call a function of the user. If that ends the goroutine, v is
// withdrawn, unless a helper has committed it.
func (m *core) tellGuarded(p index.Place, h uint64, base, v *chain.Node) {
	done := false
	defer func() {
		if done {
			return
		}
		if w := m.AbortLeft(&v.State); w.Committed() {
			m.countOne(base, v)
			quietly(func() { m.index.Ask(p, h, v.Key()) })
		} else {
			quietly(func() { m.takeOff(p, h, v) })
		}
	}()
	m.tell(v, &v.State)
	done = true
}

// countOne counts by how much v, committed on top of base, changes the number of keys.
func (m *core) countOne(base, v *chain.Node) {
	if n := chain.Growth(base, v); n != 0 {
		m.counters.keys.Add(int64(n))
	}
}
