package mvcc

import "github.com/mvccmap/mvccmap/epoch"

// A conflict is what a ConflictError is made of, before anybody asks for one:
// Update throws most of them away.
type conflict[K comparable] struct {
	key       K
	kind      ConflictKind
	readEpoch epoch.Epoch
	epoch     epoch.Epoch
	within    bool // what was in the way was committed while the function of Update ran
	self      bool // that function has written the key itself
}

// like reports whether c is about the same as the conflict before, and with something that
// was committed while the function ran.
func (c *conflict[K]) like(before conflict[K]) bool {
	return c.within && c.kind == before.kind && (c.key == before.key || c.kind == ConflictScan)
}

// err returns the error of a transaction that was attempted so many times.
func (c conflict[K]) err(attempts int) error {
	return &ConflictError{Key: c.key, Kind: c.kind, ReadEpoch: uint64(c.readEpoch), CommitEpoch: uint64(c.epoch),
		Attempts: attempts, self: c.self}
}

// conflictOn notes that the transaction conflicts over key, whose newest
// committed version is v or nil.
func (st *txState[K, V]) conflictOn(key K, kind ConflictKind, v *version[K, V]) result {
	st.conflict = conflict[K]{key: key, kind: kind, readEpoch: st.epoch()}
	if v != nil {
		if w, _ := st.m.resolve(v); w.committed() {
			st.conflict.epoch = w.epoch()
		}
	}
	return resultConflict
}
