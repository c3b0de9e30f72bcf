package mvcc

import (
	"fmt"

	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// A ComputeOp is the operation that [Map.Compute] is to do on a key, as in xsync.
type ComputeOp int

const (
	// CancelOp leaves the key as it is.
	CancelOp ComputeOp = iota
	// UpdateOp sets the value of the key.
	UpdateOp
	// DeleteOp deletes the key.
	DeleteOp
)

// Compute sets or deletes the value of key, or leaves it as it is, as fn says: loaded tells whether
// there is an old value. Compute returns the value of key afterwards, and true; or the deleted
// value, if any, and false. This is one atomic step, which never conflicts.
//
// No lock is held while fn runs: fn is called again if the key was written meanwhile, and only its
// last result counts. It must not change the old value, see [Tx.Merge]. It may use the map, but
// must not write key. After six calls in vain Compute has its turn, as [Map.Update] does; after 96
// it panics. It costs, and panics, as [Map.Store] does.
func (m *Map[K, V]) Compute(
	key K, fn func(old V, loaded bool) (value V, op ComputeOp),
) (actual V, ok bool) {
	if fn == nil {
		panic("mvcc: Compute: fn is nil")
	}
	if m.strictly() != nil {
		return m.compute(key, func(old V, loaded bool) (V, ComputeOp) {
			fn(old, loaded)
			return fn(old, loaded)
		})
	}
	return m.compute(key, fn)
}

// compute is Compute without Options.Strict: fn runs once if no other writer is in the way.
func (m *Map[K, V]) compute(
	key K, fn func(old V, loaded bool) (value V, op ComputeOp),
) (actual V, ok bool) {
	m.checkKey(useWrite, key)
	h, p, head := index.Lookup(m.index, key)
	v := chain.Bare[K, V](key)
	base, written := m.at.write(p, h, head, v, func(base *chain.Node) bool {
		old, loaded := chain.Present[K, V](base)
		value, op := fn(old, loaded)
		switch {
		case op == UpdateOp:
			become[K](v, value, 0)
		case op == DeleteOp && loaded:
			var none V
			become[K](v, none, chain.TombBit)
		case op == DeleteOp || op == CancelOp:
			return false
		default:
			panic(fmt.Sprintf("mvcc: Compute: fn returned ComputeOp(%d), want CancelOp, UpdateOp or "+
				"DeleteOp", op))
		}
		return true
	}, nil)
	if written && !v.Tombstone() {
		return chain.ValueOf[K, V](v), true
	}
	actual, ok = chain.Present[K, V](base)
	return actual, ok && !written
}

// become gives v, which is private and announced, a value, or makes v say "deleted".
func become[K comparable, V any](v *chain.Node, value V, tomb chain.Word) {
	chain.VersionOf[K, V](v).Value = value
	chain.SetWord(&v.State, chain.Word(0).Announced(0, 0)|tomb)
}

// LoadOrCompute is [Map.LoadOrStore] of a value from fn, which is called once, if key has no value.
// If fn returns cancel, nothing is stored, and LoadOrCompute returns the zero value and false. If
// another goroutine has stored a value meanwhile, that value is returned. No lock is held while fn
// runs: several calls at once each call their own fn.
func (m *Map[K, V]) LoadOrCompute(key K, fn func() (value V, cancel bool)) (actual V, loaded bool) {
	if fn == nil {
		panic("mvcc: LoadOrCompute: fn is nil")
	}
	m.checkKey(useWrite, key)
	if actual, loaded = m.Load(key); loaded {
		return actual, true
	}
	value, cancel := fn()
	if cancel {
		return actual, false
	}
	return m.LoadOrStore(key, value)
}

// CompareAndDelete is [CompareAndSwap] that deletes key.
func CompareAndDelete[K, V comparable](m *Map[K, V], key K, old V) (deleted bool) {
	if m.badKey(useWrite, key) {
		return false
	}
	h, p, head := index.Lookup(m.index, key)
	if value, ok := chain.Present[K, V](m.at.newest(head)); !ok || value != old {
		return false
	}
	_, deleted = m.at.write(p, h, head, tombstoneOf[K, V](key), func(base *chain.Node) bool {
		value, ok := chain.Present[K, V](base)
		return ok && value == old
	}, nil)
	return deleted
}

// tombstoneOf returns a private version of key that says "deleted".
func tombstoneOf[K comparable, V any](key K) *chain.Node {
	v := chain.Bare[K, V](key)
	chain.SetWord(&v.State, chain.TombBit)
	return v
}

// DeleteFunc deletes the keys for which del returns true, and returns how many. It visits each key
// that is there throughout the call once, with its newest value; del is asked again if the key was
// written meanwhile. It is not one transaction. del may use the map in any way. It costs a scan,
// and one version for each key deleted; it holds back no reclamation.
func (m *Map[K, V]) DeleteFunc(del func(key K, value V) bool) (deleted int) {
	m.engine()
	if del == nil {
		panic("mvcc: DeleteFunc: del is nil")
	}
	return m.at.deleteFunc(func(v *chain.Node) bool {
		return del(chain.KeyOf[K](v), chain.ValueOf[K, V](v))
	})
}

// deleteFunc is [Map.DeleteFunc].
//
//go:noinline
func (e *engine) deleteFunc(del func(v *chain.Node) bool) (deleted int) {
	m := coreAt(e)
	if m.strict {
		m.beside(useWrite)
		of := del
		del = func(v *chain.Node) bool {
			of(v)
			return of(v)
		}
	}
	m.index.Scan(func(p index.Place, head *chain.Node) bool {
		h := m.index.Hash.Sum(head.Key())
		head = m.Newest(head)
		if !head.There() || !del(head) {
			return true
		}
		at, now := m.index.Again(p, h, head.Key())
		_, ok := m.write(at, h, now, m.types.tombstone(head.Key()), func(base *chain.Node) bool {
			return base.There() && (base == head || del(base))
		}, nil)
		if ok {
			deleted++
		}
		return true
	})
	return deleted
}

// Clear deletes all keys, in one transaction. It takes its turn like [Map.Update], but for up to
// ten seconds. It allocates a version for each key.
func (m *Map[K, V]) Clear() { m.engine().clear() }

// DeleteRange deletes the keys of a range of an ordered map, in one transaction, and returns how
// many there were. It begins anew if another commit writes a key of the range meanwhile, and has
// its turn as [Map.Clear]: on its keys if there are more than 256, and on all keys of the map after
// a conflict. It allocates a write and a version for each key. It panics if the keys have no order.
func (m *Map[K, V]) DeleteRange(r Range[K]) (deleted int) {
	return m.engine().deleteRange(spanOf(&r), r.prefix)
}

// DeleteRange deletes each key that [Tx.Ascend] visits, and returns how many. So at level snapshot
// a key that another transaction inserts meanwhile stays.
func (tx Tx[K, V]) DeleteRange(r Range[K]) (deleted int) {
	return DBTx(tx).deleteRange(spanOf(&r), r.prefix)
}

// deleteRange is [Tx.DeleteRange].
//
//go:noinline
func (tx DBTx) deleteRange(r span, prefix bool) (deleted int) {
	tx.check()
	m := partOf(tx.st).m
	m.checkOrdered(prefix)
	var c chunk
	tx.ranged(&c, &r, false, func() bool {
		for _, v := range c.found[:c.n] {
			tx.write(m.types.tombstone(v.Key()))
			deleted++
		}
		return true
	})
	return deleted
}

// deleteAll buffers the deletion of every key. The transaction has written nothing yet, so no key
// is looked for among its own writes.
func (tx DBTx) deleteAll() {
	p := partOf(tx.st)
	st := p.st
	read := st.epoch()
	if s := p.schemaFor(); s != nil {
		for _, ix := range s.indexes {
			ix.clear(tx)
		}
	}
	st.enter()
	defer st.leave()
	st.hasRead, st.beyond = true, true
	p.rare().scanned = true
	p.index.Scan(func(at index.Place, head *chain.Node) bool {
		if p.m.Visible(head, read).There() {
			p.note(p.m.types.tombstone(head.Key()), p.index.Hash.Sum(head.Key()), at, 0)
		}
		return st.gen() == tx.gen
	})
	tx.check()
}
