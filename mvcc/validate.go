package mvcc

import (
	"github.com/mvccmap/mvccmap/epoch"
)

// Validation asks whether everything the transaction read is what it would read
// at its commit epoch e: for each key read, the newest committed version must be
// the one that was seen (Kung and Robinson's backward validation, in the form
// that Hekaton gave it: section 3.2 of the paper named in read.go).
//
// The newest version is compared even if its epoch is above e, which a check as
// of e could let pass. It has to be: a pruner may have dropped a version between
// the read epoch and e, because nobody reads there, once there is one above e;
// what is left below does not show whether there was a conflict. The price is a
// conflict where another commit came between the draw of e and the check.
//
// A writer that is not in the way yet can be passed over: what it installs after
// we looked draws its epoch after that, so above e.

// validateStride is after how many checks a validator shows that it goes on.
const validateStride = 64

// validate validates the transaction, whose tentative record is w, for every
// commit epoch from that of w up to e. It returns the record as it left it. It
// gives up early, with ok, if the record has changed, since the caller's CAS
// will fail then; if it watches, only if the record is decided.
func (st *txState) validate(w word, e epoch.Epoch) (now word, ok bool) {
	least := w.epoch()
	n := &st.checks
	if st.up != nil {
		n = &st.up.checks
	}
	alive := func() bool {
		if *n++; *n%validateStride != 0 {
			return true
		}
		// Only a tentative record has the bit to flip. In an announced one it
		// says that there is something to validate.
		if w.tag() == tagTentative && advance(st.record(), w, w^checkBit) {
			w ^= checkBit
			return true
		}
		if st.watch == nil {
			return false
		}
		w = load(st.record())
		return w.tag() == tagTentative || w.tag() == tagAnnounced
	}
	if len(st.reads)+st.absences()+len(st.ranges) == 0 && !st.scanned {
		return w, true
	}
	for i := range st.reads {
		r := &st.reads[i]
		if v, valid := st.valid(r, least, e); !valid {
			st.conflictOn(r.seen.key(), ConflictRead, v)
			return w, false
		}
		if !alive() {
			return w, true
		}
	}
	for i := range st.absences() {
		key, hash := st.absent.at(i)
		p, h := st.m.index.find(hash, key)
		if v := st.settled(p, h, e); !absentSince(st.m, v, least) {
			st.conflictOn(key, ConflictRead, v)
			return w, false
		}
		if !alive() {
			return w, true
		}
	}
	// Every key that was visible at the read epoch is still in the index,
	// and so is every key that was committed since: it is met. A key that
	// is inserted behind our back draws an epoch above e.
	at := st.epoch()
	ok = true
	same := func(p place, head *node) bool {
		if v := st.settled(p, head, e); v != nil && st.m.commitEpoch(v) > at {
			st.conflictOn(v.key(), ConflictScan, v)
			ok = false
			return false
		}
		return alive()
	}
	if st.m.inner && st.m.dropped.Load() { // must follow the draw of e: nobody writes it any more
		st.conflictOn(st.index.moved.key(), ConflictScan, nil) // of no key
		return w, false
	}
	if st.scanned && st.level == LevelSerializable {
		st.m.index.scan(same)
		return w, ok
	}
	for i := range st.ranges {
		if !st.m.order.scan(st.index, st.ranges[i], false, same) {
			break
		}
	}
	return w, ok
}

// validated is validate, but with a result: a transaction that has been evicted
// meanwhile cannot tell, since what it would conflict with may have been taken out
// of the index.
func (st *txState) validated(gen epoch.Gen, w word, e epoch.Epoch) (now word, r result) {
	now, ok := st.validate(w, e)
	for _, p := range st.more {
		if !ok {
			break
		}
		if st.watch == nil && load(st.record()) != now {
			break // as in validate
		}
		now, ok = p.validate(now, e)
	}
	switch {
	case !ok:
		return now, resultConflict
	case st.gen() != gen:
		return now, resultEvicted
	}
	return now, resultOK
}

// valid reports whether what r saw is what a read would find at every epoch from
// least to e. Otherwise it returns what is in the way.
func (st *txState) valid(r *readRecord, least, e epoch.Epoch) (*node, bool) {
	p := r.at
	h := p.load()
	if h == r.seen {
		return nil, true
	}
	if !st.m.index.head(h) || !st.m.index.hash.same(h, r.seen) {
		// The slot has moved, or the key has left the index since: then what was
		// seen was a tombstone, or our slot would have kept it.
		_, p, h = st.m.index.seek(r.seen.key())
	}
	v := st.settled(p, h, e)
	if v == r.seen {
		return nil, true
	}
	if r.seen.there() {
		return v, false
	}
	return v, absentSince(st.m, v, least)
}

// absentSince reports whether v, the newest committed version of a key, says that
// the key is absent from epoch e on. A tombstone above e does not: what it
// deleted may have been there at e.
func absentSince(m *core, v *node, e epoch.Epoch) bool {
	return v == nil || v.tombstone() && m.commitEpoch(v) < e
}

// settled returns the newest committed version of the key whose head at p was v, not
// counting those of the transaction itself, which validates as of epoch e; nil if there
// is none. An undecided writer with an epoch below e is given a moment and then pushed
// above e: only the later waits for the earlier.
func (st *txState) settled(p place, v *node, e epoch.Epoch) *node {
	if v != nil {
		if _, r := st.m.resolve(v); r == st.record() {
			return v.next.Load() // which is decided, and stays as long as v is not
		}
	}
	if st.watch != nil {
		return st.decided(p, v)
	}
	return st.m.newestAt(v, e-1)
}

// doomed reports whether a transaction that writes is certain to conflict: a value it read
// has been overwritten. A key it found absent may be absent again by then.
func (st *txState) doomed() bool {
	m := st.m
	for i := range st.reads {
		r := &st.reads[i]
		if ok := r.seen.there(); !ok {
			continue
		}
		if r.at.load() == r.seen {
			continue
		}
		_, h := m.index.again(r.at, m.index.hash.sum(r.seen.key()), r.seen.key())
		if v := m.newest(h); v != r.seen {
			st.conflictOn(r.seen.key(), ConflictRead, v)
			return true
		}
	}
	return false
}

// validates reports whether the transaction has read anything that must not have changed
// when it commits.
func (st *txState) validates() bool {
	return st.hasRead && (st.level == LevelSerializable || len(st.reads)+st.absences() > 0)
}
