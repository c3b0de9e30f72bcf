package mvcc

// A conflict is what a ConflictError is made of, before anybody asks for one:
// Update throws most of them away.
type conflict[K comparable] struct {
	key       K
	kind      ConflictKind
	readEpoch uint64
	epoch     uint64
}

// The kinds of no conflict at all: the transaction was too old; its context has ended.
const (
	conflictEvicted ConflictKind = 0xff - iota
	conflictGaveUp
)

func (c conflict[K]) err() error {
	if c.kind == conflictEvicted {
		return ErrTxTooOld
	}
	return &ConflictError{Key: c.key, Kind: c.kind, ReadEpoch: c.readEpoch, CommitEpoch: c.epoch}
}

// conflictOn notes that the transaction conflicts over key, whose newest
// committed version is v or nil.
func (st *txState[K, V]) conflictOn(key K, kind ConflictKind, v *version[V]) result {
	st.conflict = conflict[K]{key: key, kind: kind, readEpoch: st.epoch()}
	if v != nil {
		if w, _ := v.resolve(); committed(w) {
			st.conflict.epoch = epochOf(w)
		}
	}
	return resultConflict
}
