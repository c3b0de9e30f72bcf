package chain

import (
	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/engine/hasher"
)

// A Record is a word that decides about a transaction: the state of a version, or a
// slot's record.
type Record = atomic.Uint64

// Load returns the word of the record.
func Load(r *Record) Word { return Word(r.Load()) }

// AbortRecord makes an undecided record say aborted, leaves a decided one alone, and returns the
// word that the record said before. The caller knows that nobody announces the record any more.
func AbortRecord(r *Record) (was Word) {
	for {
		w := Load(r)
		if w.Committed() || w.Is(KindAborted) || Advance(r, w, w.Aborted()) {
			return w
		}
	}
}

// Advance moves the record on from w to t, if it still says w, and reports whether it
// did.
func Advance(r *Record, w, t Word) bool {
	checkStep(w, t)
	return r.CompareAndSwap(uint64(w), uint64(t))
}

// A Resolver finds the words that decide about the versions of a map. It may be copied.
type Resolver struct {
	Slots *epoch.Slots   // of the transactions
	Keys  *hasher.Hasher // of the keys of the map: checks compare and name keys by it
}

// Resolve returns the word that decides about v, and the record that says it.
//
// The owner of a slot puts the outcome into the state of each of its versions before the slot's
// record serves another transaction. So if v's state has not changed by the time the record is
// loaded, the record was still that of v's transaction.
func (c *Resolver) Resolve(v *Node) (Word, *Record) {
	for {
		w := Load(&v.State)
		if !w.Is(KindIndirect) {
			return w, &v.State
		}
		r := c.Slots.Record(w.recordNumber())
		hooks.At(hooks.StateLoaded)
		if r == nil {
			// The slot went when v had been settled, or nobody will ever decide about v.
			v.State.CompareAndSwap(uint64(w), uint64(w.Aborted()))
			continue
		}
		decides := Load(r)
		if Load(&v.State) == w {
			return decides, r
		}
	}
}

// CommitEpoch returns the commit epoch of a version that is known to be
// committed.
func (c *Resolver) CommitEpoch(v *Node) epoch.Epoch {
	w := Load(&v.State)
	if !w.Committed() {
		w = c.outcome(v)
	}
	return w.Epoch()
}

// outcome returns the word that decides about v.
func (c *Resolver) outcome(v *Node) Word {
	w, _ := c.Resolve(v)
	return w
}

// Trim drops all versions below base, a committed version that the caller is about to cover. base
// is at or below the min visible epoch of view, so nobody sees older versions. Trim keeps chains
// short where writers never rest.
func (c *Resolver) Trim(base *Node, view *gc.View) {
	if first := base.Next.Load(); first != nil {
		c.CheckCut(base, first, nil, view)
		atomic.Clear(&base.Next)
	}
}
