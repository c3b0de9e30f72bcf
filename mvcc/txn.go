package mvcc

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// Code that has the types of a map is compiled in each package that uses a map, and so is all
// generic code that the compiler can reach from that code, such as each [atomic.Pointer] in a field
// of a type that a field points to. So for such code a core is an [engine], which has no fields,
// and a part is a txn. Their methods are not inlined, and take and return nothing by which more
// could be reached.

// A txn is the begin of a [part]: the methods of a [Tx] and a [Snapshot] see no more of it.
type txn struct {
	head  *epoch.Head  // of the slot
	index *index.Index // of the map: here it saves each read a load
	plain bool         // see core
	// hasWritten says that there are writes to the map, and hasNoted that there are notes of reads.
	hasWritten, hasNoted bool
}

// stateOf returns the state of a handle, whatever map it is for.
func stateOf(t *txn) *txState { return partOf(t).st }

// visible returns the version, seen at an epoch, of the key whose head is v.
//
//go:noinline
func (t *txn) visible(v *chain.Node, at epoch.Epoch) *chain.Node {
	return partOf(t).m.Visible(v, at)
}

// toRead begins a read of the key at key. own is the version that the transaction has written, if
// any: then the read ends here. merge, if not nil, is to be applied to the value read.
//
//go:noinline
func (t *txn) toRead(key unsafe.Pointer) (own *chain.Node, merge merger) {
	p := partOf(t)
	st := p.st
	st.enter()
	if len(st.writes) > 0 {
		if i := p.find(key); i >= 0 {
			w := &st.writes[i]
			if merge = w.merge; merge == nil {
				own = w.v
			}
		}
	}
	st.leave() // a function of the user that compares keys may panic
	return own, merge
}

// read ends a read of the key at key, which has hash h, and head v at a place. It returns the
// version that the transaction sees.
//
//go:noinline
func (t *txn) read(
	gen epoch.Gen, key unsafe.Pointer, h uint64, at index.Place, v *chain.Node, update bool,
) *chain.Node {
	p := partOf(t)
	st := p.st
	w := st.txWork
	if w.busy || st.slot.Gen() != gen { // enterAgain, which is not inlined
		st.enterAgain(gen)
	}
	w.busy = true
	if !v.Plain(st.epoch()) {
		v = p.visible(gen, v)
	}
	if n := len(w.reads); v != nil && n < cap(w.reads) && n+1 < w.full &&
		w.level == LevelSerializable && !p.scanned { // noteRead, as it nearly always is
		w.hasRead, t.hasNoted = true, true
		if n == 0 || w.reads[n-1].seen != v {
			w.reads = w.reads[:n+1]
			w.reads[n].note(v, h, at, p.number)
		}
	} else {
		p.noteRead(key, h, at, v, update)
	}
	w.busy = false
	p.checkGet(key, v)
	return v
}

// A writing says how the write of a key goes on.
type writing uint8

const (
	done      writing = iota
	toBeFound         // the key is to be looked up
	inIndexes         // the table has indexes
)

// set writes v if the transaction has written or read its key before. Otherwise the caller must
// look the key up and call setAt, or write to a table with indexes.
//
//go:noinline
func (t *txn) set(gen epoch.Gen, v *chain.Node) writing {
	p := partOf(t)
	st := p.st
	w := st.txWork
	if p.schemaFor() != nil {
		return inIndexes
	}
	if w.busy || st.slot.Gen() != gen { // enterAgain, which is not inlined
		st.enterAgain(gen)
	}
	w.busy = true
	key := v.Key()
	if t.hasWritten {
		if i := p.find(key); i >= 0 {
			st.replace(i, v)
			w.busy = false
			return done
		}
	}
	if read := p.known(key); read > 0 {
		r := &w.reads[read-1]
		p.note(v, r.hash, r.at(), int32(read))
		w.busy = false
		return done
	}
	w.busy = false // a function of the user that compares keys may panic
	return toBeFound
}

// setAt writes v, whose key has hash h and is at a place, and was not written before.
//
//go:noinline
func (t *txn) setAt(gen epoch.Gen, v *chain.Node, h uint64, at index.Place) writing {
	p := partOf(t)
	st := p.st
	if p.schemaFor() != nil {
		return inIndexes
	}
	if st.busy || st.slot.Gen() != gen { // enterAgain, which is not inlined
		st.enterAgain(gen)
	}
	st.busy = true
	p.note(v, h, at, 0)
	st.busy = false
	return done
}

// toMerge begins a merge of the key at key. own is the version that the transaction has written, or
// merge its merge of the key. If own is not nil set must follow, and else mergeMore.
//
//go:noinline
func (t *txn) toMerge(key unsafe.Pointer) (own *chain.Node, merge merger) {
	p := partOf(t)
	st := p.st
	st.enter()
	if i := p.find(key); i >= 0 {
		if merge = st.writes[i].merge; merge == nil {
			own = st.writes[i].v
		}
	}
	st.leave() // a function of the user may panic
	return own, merge
}

// mergeMore ends a merge of v, which is private and has the key. With more, v replaces an earlier
// merge of the key, which may have the other zero as key, or have its key in other memory.
//
//go:noinline
func (t *txn) mergeMore(gen epoch.Gen, v *chain.Node, merge merger, more bool) {
	p := partOf(t)
	st := p.st
	if more {
		st.enterAgain(gen)
		i := p.find(v.Key())
		st.replace(i, v)
		st.writes[i].merge = merge
	} else {
		h, at := p.locate(v.Key()) // which may call a function of the user that compares keys
		st.enterAgain(gen)
		p.note(v, h, at, 0)
		st.writes[len(st.writes)-1].merge = merge
	}
	st.leave()
}

// indexed reports whether the transaction writes to a table with indexes.
//
//go:noinline
func (t *txn) indexed() bool { return partOf(t).schemaFor() != nil }

// strict returns the strict of the map, or nil.
//
//go:noinline
func (t *txn) strict() *strict {
	if m := partOf(t).m; m.strict {
		return m.shared.strict
	}
	return nil
}

// engine returns the map.
//
//go:noinline
func (t *txn) engine() *engine { return hide(partOf(t).m) }

// written returns the version of the key at key that the transaction sees, or, if own is not set,
// the snapshot; nil if there is none. Its key is as it was written last. A snapshot must not look
// at the writes of its state: the state may serve another by now.
//
//go:noinline
func (t *txn) written(key unsafe.Pointer, own bool) *chain.Node {
	p := partOf(t)
	st := p.st
	if own {
		if i := p.find(key); i >= 0 {
			return st.writes[i].v
		}
	}
	_, _, head := p.index.Seek(key)
	return p.m.Visible(head, st.epoch())
}
