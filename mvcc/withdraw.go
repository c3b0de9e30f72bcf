package mvcc

// withdraw takes the versions that were installed off their chains, as far as
// nobody else has. The record must be aborted, or, if nothing is announced, is
// aborted here.
func (st *txState[K, V]) withdraw() {
	record := st.record()
	for {
		w := load(record)
		if w.is(kindAborted) || advance(record, w, w.aborted()) {
			break
		}
	}
	st.retreat()
	for _, p := range st.more {
		p.retreat()
	}
}

// retreat is withdraw for one map, once the record is aborted.
//
// A key that was made for this commit leaves the index; where they are many, tend has to
// look whether the index is too large now.
func (st *txState[K, V]) retreat() {
	m, multi := st.m, st.multi()
	for i := range st.writes[:st.installed] {
		w := &st.writes[i]
		if multi {
			w.v.settle(word(0).aborted())
		}
		m.takeOff(w.at, w.hash, w.v)
	}
	if st.installed > largeBatch {
		m.gc.Wake()
	}
}

// takeOff takes an aborted version off its chain, if it is the head of one.
func (m *Map[K, V]) takeOff(p place[K, V], h uint64, v *version[K, V]) {
	base := v.next.Load()
	if base == nil {
		m.index.remove(v)
		return
	}
	for head := v; head == v; p, head = m.index.again(p, h, v.key) {
		if p.swap(v, base) {
			// A pruner may have found a tombstone covered, and left it.
			if base.tombstone() {
				m.index.ask(p, h, v.key)
			}
			return
		}
	}
}

// renew gives every write a version that nobody else has seen.
func (st *txState[K, V]) renew() {
	for i := range st.writes {
		w := &st.writes[i]
		v := &version[K, V]{key: w.v.key, value: w.v.value}
		setWord(&v.state, load(&w.v.state)&tombBit)
		w.v = v
	}
}
