package mvcc

// If a transaction writes every key that it has read, its commit need not validate.
// It compares while it installs: what was read has to be the newest committed version
// below its own. From the install until the transaction is decided nobody else can
// commit on that key, since whoever installs there decides for it first. So what was
// read is what is there at the commit epoch, whichever that will be, and the epoch may
// be drawn by anybody. What was read as absent has to be absent: a tombstone below, of
// whatever epoch, is older than the commit. That is the rule of the snapshot level,
// first committer wins, and here it makes the transaction serializable.

// written reports whether every key that was read is written too, and if so notes in
// the writes what was read.
func (st *txState[K, V]) written() bool {
	if st.scanned || len(st.reads)+len(st.absent) > len(st.writes) {
		return false
	}
	for i := range st.reads {
		r := &st.reads[i]
		j := st.find(r.e.key)
		if j < 0 {
			return false
		}
		st.writes[j].read, st.writes[j].seen = true, r.seen
	}
	for _, key := range st.absent {
		j := st.find(key)
		if j < 0 {
			return false
		}
		st.writes[j].read, st.writes[j].seen = true, nil
	}
	return true
}
