package mvcc

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
)

// A conflict is what a ConflictError is made of, before anybody asks for one:
// Update throws most of them away.
type conflict struct {
	key       any
	of        *counters // of the map that has the key
	hash      uint64
	kind      ConflictKind
	readEpoch epoch.Epoch
	epoch     epoch.Epoch
	within    bool // what was in the way was committed while the function of Update ran
	self      bool // that function has written the key itself
}

// like reports whether c is about the same as the conflict before, and with something that
// was committed while the function ran.
func (c *conflict) like(before conflict) bool {
	return c.within && c.kind == before.kind && c.of == before.of &&
		(c.key == before.key || c.kind == ConflictScan)
}

// err returns the error of a transaction that was attempted so many times.
func (c conflict) err(attempts int) error {
	key := c.key
	if entry, ok := key.(interface{ indexKey() any }); ok {
		key = entry.indexKey()
	}
	return &ConflictError{Table: c.of.name, Key: key, Kind: c.kind, ReadEpoch: uint64(c.readEpoch),
		CommitEpoch: uint64(c.epoch), Attempts: attempts, self: c.self}
}

// conflictOn notes that the transaction conflicts over the key at key, whose newest
// committed version is v or nil.
func (p *part) conflictOn(key unsafe.Pointer, kind ConflictKind, v *node) result {
	c := conflict{key: p.index.hash.boxed(key), of: p.m.counters,
		hash: p.m.claimHash(p.index.hash.sum(key)), kind: kind, readEpoch: p.st.epoch()}
	if v != nil {
		if w, _ := p.m.resolve(v); w.committed() {
			c.epoch = w.epoch()
		}
	}
	p.st.conflict = c
	return resultConflict
}

// takeConflict returns what the transaction has noted of a conflict, and forgets it.
func (st *txState) takeConflict() conflict {
	c := st.conflict
	st.conflict = conflict{}
	return c
}
