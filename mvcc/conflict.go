package mvcc

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
)

// A conflict is what a ConflictError is made of, before anybody asks for one:
// Update throws most of them away.
type conflict[K comparable] struct {
	key K
	cause
}

// A cause is what is known of a conflict without the type of the key.
type cause struct {
	elsewhere bool // the key is one of another map than that of the transaction: other
	other     any
	of        *counters // of the map that has the key
	hash      uint64
	noted     bool
	kind      ConflictKind
	readEpoch epoch.Epoch
	epoch     epoch.Epoch
	within    bool // what was in the way was committed while the function of Update ran
	self      bool // that function has written the key itself
}

// like reports whether c is about the same as the conflict before, and with something that
// was committed while the function ran.
func (c *conflict[K]) like(before conflict[K]) bool {
	return c.within && c.kind == before.kind && c.of == before.of &&
		(c.key == before.key && c.other == before.other || c.kind == ConflictScan)
}

// err returns the error of a transaction that was attempted so many times.
func (c conflict[K]) err(attempts int) error {
	key := any(c.key)
	if c.elsewhere {
		key = c.other
	}
	if entry, ok := key.(interface{ indexKey() any }); ok {
		key = entry.indexKey()
	}
	return &ConflictError{Table: c.of.name, Key: key, Kind: c.kind, ReadEpoch: uint64(c.readEpoch),
		CommitEpoch: uint64(c.epoch), Attempts: attempts, self: c.self}
}

// conflictOn notes that the transaction conflicts over key, whose newest
// committed version is v or nil.
func (st *txState[K, V]) conflictOn(key K, kind ConflictKind, v *node) result {
	st.conflict = conflict[K]{key, cause{of: st.m.counters,
		hash: st.m.claimHash(st.m.index.hash.sum(unsafe.Pointer(&key))), noted: true,
		kind: kind, readEpoch: st.epoch()}}
	if v != nil {
		if w, _ := st.m.core().resolve(v); w.committed() {
			st.conflict.epoch = w.epoch()
		}
	}
	return resultConflict
}

// takeConflict returns what the transaction has noted of a conflict, and forgets it.
func (st *txState[K, V]) takeConflict() conflict[K] {
	c := st.conflict
	st.conflict = conflict[K]{}
	for _, p := range st.more {
		if other := p.takeCause(); other.noted && !c.noted {
			c.cause = other
		}
	}
	return c
}

// takeCause is takeConflict for a part.
func (st *txState[K, V]) takeCause() cause {
	c := st.conflict
	st.conflict = conflict[K]{}
	if c.noted {
		c.elsewhere, c.other = true, c.key
	}
	return c.cause
}
