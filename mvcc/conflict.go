package mvcc

import "github.com/mvccmap/mvccmap/epoch"

// A conflict is what a ConflictError is made of, before anybody asks for one:
// Update throws most of them away.
type conflict[K comparable] struct {
	key       K
	kind      ConflictKind
	readEpoch epoch.Epoch
	epoch     epoch.Epoch
	self      bool // the function of Update has written the key itself
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
