package mvcc

import (
	"github.com/mvccmap/mvccmap/internal/hooks"
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

// validate validates the transaction, whose tentative record is s, for every
// commit epoch from that of s up to e. It returns the record as it left it. It
// gives up early, with ok, if the record has changed, since the caller's CAS
// will fail then; but not if it watches.
func (st *txState[K, V]) validate(s, e uint64) (now uint64, ok bool) {
	least := epochOf(s)
	n := 0
	alive := func() bool {
		if n++; n%validateStride != 0 {
			return true
		}
		// Only a tentative record has the bit to flip. In an announced one it
		// says that there is something to validate.
		if tag(s) == tagTentative && advance(st.word, s, s^checkBit) {
			s ^= checkBit
			return true
		}
		if st.watch == nil {
			return false
		}
		s = st.word.Load()
		return tag(s) == tagTentative || tag(s) == tagAnnounced
	}
	for i := range st.reads {
		r := &st.reads[i]
		if v, valid := st.valid(r.e, r.seen, least, e); !valid {
			st.conflictOn(r.e.key, ConflictRead, v)
			return s, false
		}
		if !alive() {
			return s, true
		}
	}
	for _, key := range st.absent {
		if v, valid := st.validAbsent(key, least, e); !valid {
			st.conflictOn(key, ConflictRead, v)
			return s, false
		}
		if !alive() {
			return s, true
		}
	}
	ok = true
	if st.scanned {
		// Every key that was visible at the read epoch is still in the index,
		// and so is every key that was committed since: it is met. A key that
		// is inserted behind our back draws an epoch above e.
		at := st.epoch()
		st.m.scan(func(en *entry[K, V], _ *version[V]) bool {
			v := st.settled(en, e)
			if v != nil && !isKind(v.state.Load(), kindDead) && commitEpoch(v) > at {
				st.conflictOn(en.key, ConflictScan, v)
				ok = false
				return false
			}
			return alive()
		})
	}
	return s, ok
}

// validated is validate, but with a result: a transaction that has been evicted
// meanwhile cannot tell, since what it would conflict with may have been taken out
// of the index. Once this has returned the slot is needed no more.
func (st *txState[K, V]) validated(gen, s, e uint64) (now uint64, r result) {
	now, ok := st.validate(s, e)
	switch {
	case !ok:
		return now, resultConflict
	case st.gen() != gen:
		return now, resultEvicted
	}
	return now, resultCommitted
}

// valid reports whether seen is what a read of en would find at every epoch from
// least to e. Otherwise it returns what is in the way.
func (st *txState[K, V]) valid(en *entry[K, V], seen *version[V], least, e uint64) (*version[V], bool) {
	v := st.settled(en, e)
	if v == seen {
		return nil, true
	}
	if v != nil && isKind(v.state.Load(), kindDead) {
		// The entry has left the index since, so what was seen was a
		// tombstone, or nothing: the slot would have kept anything else.
		if _, ok := seen.present(); ok {
			return nil, false
		}
		return st.validAbsent(en.key, least, e)
	}
	if _, ok := seen.present(); ok {
		return v, false
	}
	return absentSince(v, least)
}

// validAbsent reports whether key, which was absent, is absent at every epoch from
// least to e.
func (st *txState[K, V]) validAbsent(key K, least, e uint64) (*version[V], bool) {
	for {
		en := st.m.lookup(key)
		if en == nil {
			return nil, true
		}
		v := st.settled(en, e)
		if v != nil && isKind(v.state.Load(), kindDead) {
			st.m.unlink(en)
			continue
		}
		return absentSince(v, least)
	}
}

// absentSince reports whether v, the newest committed version of a key, says that
// the key is absent from epoch e on. A tombstone above e does not: what it
// deleted may have been there at e.
func absentSince[V any](v *version[V], e uint64) (*version[V], bool) {
	if v == nil || v.tombstone() && commitEpoch(v) < e {
		return nil, true
	}
	return v, false
}

// settled returns the newest committed version of en, not counting those of the
// transaction itself, which validates as of epoch e; nil if there
// is none; or the dead version. An undecided writer with an epoch below e is
// given a moment and then pushed above e: only the later waits for the earlier.
func (st *txState[K, V]) settled(en *entry[K, V], e uint64) *version[V] {
	if st.watch != nil {
		return st.decided(en)
	}
	m, own := st.m, st.word
	v := en.head.Load()
	for v != nil {
		w, word := v.resolve()
		if word == own {
			v = v.next.Load()
			continue
		}
		switch tag(w) {
		case tagCommitted:
			return v
		case tagAnnounced:
			m.help(en.key, word, w)
			continue
		case tagTentative:
			if epochOf(w) < e {
				if m.lingers(word, w) {
					m.revoke(word, w)
				}
				continue
			}
		default:
			if isKind(w, kindDead) {
				return v
			}
		}
		if hooks.Enabled {
			hooks.At(hooks.WalkSkipped)
		}
		// As in newestSlow: once v is committed, a pruner may cut below it.
		n := v.next.Load()
		if w, _ := v.resolve(); committed(w) {
			return v
		}
		v = n
	}
	return nil
}

// doomed reports whether the transaction is certain to conflict: a value it read
// has been overwritten. A key it found absent may be absent again by then.
func (st *txState[K, V]) doomed() bool {
	if st.level != LevelSerializable || len(st.writes) == 0 {
		return false
	}
	for i := range st.reads {
		r := &st.reads[i]
		if _, ok := r.seen.present(); !ok {
			continue
		}
		if v := st.m.newest(r.e); v != r.seen {
			st.conflictOn(r.e.key, ConflictRead, v)
			return true
		}
	}
	return false
}
