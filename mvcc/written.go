package mvcc

// If a transaction writes every key that it has read, its commit need not validate.
// It compares while it installs: what was read has to be the newest committed version
// below its own. From the install until the transaction is decided no other one can
// commit on that key, since it would have to decide this one before it installs there.
// So what was read is what is there at the commit epoch, whichever that will be, and
// any goroutine may draw it. What was read as absent has to be absent: a tombstone
// below, of whatever epoch, is older than the commit. That is the rule of the snapshot
// level, first committer wins, and here it makes the transaction serializable.

// written reports whether every key that was read is written too. It notes in the writes
// what was read; if it reports false, of some: these conflict earlier than they would.
func (st *txState) written() bool {
	n := 0
	for _, p := range st.parts {
		if st.level == LevelSerializable && p.scanned || len(p.ranges) > 0 {
			return false
		}
		n += p.absences()
	}
	if len(st.reads)+n > len(st.writes) {
		return false
	}
	if n == 0 && st.known() == len(st.reads) {
		return true // as nearly always, if it is
	}
	for i := range st.reads {
		r := &st.reads[i]
		j := st.parts[r.of].find(r.seen.key())
		if j < 0 {
			return false
		}
		st.writes[j].read = int32(1 + i)
	}
	for _, p := range st.parts {
		for i := range p.absences() {
			key, _ := p.absent.at(i)
			j := p.find(key)
			if j < 0 {
				return false
			}
			st.writes[j].read = readAbsent
		}
	}
	return true
}

// known returns how many reads are known to be of keys that are written: of each key one.
func (st *txState) known() (n int) {
	for i := range st.writes {
		if st.writes[i].read > 0 {
			n++
		}
	}
	return n
}

// seen returns what was read of the key of w, which is read and written: its version,
// or nil.
func (st *txState) seen(w *write) *node {
	if w.read == readAbsent {
		return nil
	}
	return st.reads[w.read-1].seen
}
