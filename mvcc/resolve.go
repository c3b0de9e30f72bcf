package mvcc

import (
	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/hooks/atomic"
)

// A record is a word that decides about a transaction: the state of a version, or a
// slot's record.
type record = atomic.Uint64

// load returns what the record says.
func load(r *record) word { return word(r.Load()) }

// abortRecord makes an undecided record say aborted, and returns what it said before: it may have
// been decided already. The caller knows that nobody announces it from here on.
func abortRecord(r *record) (was word) {
	for {
		w := load(r)
		if w.committed() || w.is(kindAborted) || advance(r, w, w.aborted()) {
			return w
		}
	}
}

// advance moves the record on from w to t, if it still says w, and reports whether it
// did.
func advance(r *record, w, t word) bool {
	checkStep(w, t)
	return r.CompareAndSwap(uint64(w), uint64(t))
}

// A resolver finds the words that decide about the versions of a map. It may be copied.
type resolver struct {
	slots *epoch.Slots // of the transactions
	keys  *hasher      // of the keys of the map: checks say by it which key is meant
}

// resolve returns the word that decides about v, and where it stands.
//
// The owner of a slot puts the outcome into the state of each of its versions before
// the slot's record serves another transaction. So if v still says the same after the
// record was loaded, the record was that of its transaction.
func (c *resolver) resolve(v *node) (word, *record) {
	for {
		w := load(&v.state)
		if !w.is(kindIndirect) {
			return w, &v.state
		}
		r := c.slots.Record(w.recordNumber())
		hooks.At(hooks.StateLoaded)
		if r == nil {
			// The slot went when v had been settled, or nobody will ever decide about v.
			v.state.CompareAndSwap(uint64(w), uint64(w.aborted()))
			continue
		}
		decides := load(r)
		if load(&v.state) == w {
			return decides, r
		}
	}
}

// commitEpoch returns the commit epoch of a version that is known to be
// committed.
func (c *resolver) commitEpoch(v *node) epoch.Epoch {
	w := load(&v.state)
	if !w.committed() {
		w = c.outcome(v)
	}
	return w.epoch()
}

// outcome returns what decides about v.
func (c *resolver) outcome(v *node) word {
	w, _ := c.resolve(v)
	return w
}
