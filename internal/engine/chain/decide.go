package chain

import (
	"sync/atomic"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// This file is how readers deal with writers that have not decided yet. Nobody
// waits for a particular goroutine: a goroutine that meets an undecided writer
// decides for it, so it does not matter whether that writer is running.
//
// The table says which writers may be passed over as of an epoch S:
//
//   - for a transaction or a snapshot, S is its read epoch;
//   - for a Load, which has published no epoch, S is the clock when it finds the head undecided;
//   - for a validator at e, S is the last epoch before e.
//
// So:
//
//	what the record says   do
//	committed              that is the answer, or for a reader the next older one
//	active                 pass over it: it draws its epoch after this load,
//	                       so above S (I2)
//	announced              draw an epoch for it ("help"; with check "push":
//	                       it then becomes tentative). Whatever is drawn now
//	                       is above S
//	tentative, e > S       pass over it: it commits at e or later, or never
//	tentative, e <= S      give it a moment; then revoke the epoch: back to
//	                       announced, and look again
//	aborted                pass over it
//
// The states are those of Hekaton
// (Larson et al., "High-Performance Concurrency Control Mechanisms for
// Main-Memory Databases", PVLDB 5(4) 2011, section 2); pushing a
// writer's timestamp is how CockroachDB resolves a read against an intent.

// A Decider reads the versions of a map, and decides about those that are undecided.
type Decider struct {
	Of     *Resolver // of the same map
	Counts *Counts   // of all maps of a database
	// Tell is called with an installed version before an epoch is drawn for the version's record.
	Tell func(v *Node, r *Record)
}

// Counts counts the work of deciders.
type Counts struct {
	Wasted  atomic.Uint64 // drawn epochs that are no transaction's commit epoch
	Helped  atomic.Uint64 // commits at an epoch that a helper drew
	Pushed  atomic.Uint64 // writers for which an epoch was drawn
	Revoked atomic.Uint64 // epochs taken away from tentative writers
	Rivals  atomic.Uint64 // writers that were aborted because they stood still
}

// Decide returns the commit epoch of v, which may be above s, or 0 if a reader as of s may pass
// over v. Until either is certain it helps or revokes. It waits for no particular goroutine.
func (d *Decider) Decide(v *Node, s epoch.Epoch) epoch.Epoch {
	for {
		w, r := d.Of.Resolve(v)
		switch w.Tag() {
		case TagCommitted:
			return w.Epoch()
		case TagAnnounced:
			d.Help(v, r, w)
		case TagTentative:
			if w.Epoch() > s {
				return 0
			}
			if d.lingers(r, w) {
				d.Revoke(r, w)
			}
		default:
			return 0
		}
	}
}

// Visible returns the version of a chain that a transaction reading as of epoch s sees:
// nil, or a committed version, which may be a tombstone. v is or was the head of the
// chain.
func (d *Decider) Visible(v *Node, s epoch.Epoch) *Node {
	for v != nil {
		w := Load(&v.State)
		e := w.Epoch()
		if !w.Committed() {
			e = d.Decide(v, s)
		}
		if e != 0 && e <= s {
			return v
		}
		v = v.Next.Load()
	}
	return nil
}

// Newest returns the newest committed version of a key as of some moment during the
// call, for an operation that has published no read epoch: nil, or a version
// that may be a tombstone. v, which may be nil, was the head of the key during the call.
//
// Passing over a tentative head because "it is not committed" would be wrong: the head's epoch may
// be older than that of a write that a reader has already seen. So the head's epoch is pushed above
// the clock first; then the head may be passed over.
func (d *Decider) Newest(v *Node) *Node {
	if v == nil || Load(&v.State).Committed() {
		return v
	}
	return d.newestSlow(v)
}

func (d *Decider) newestSlow(v *Node) *Node {
	checked := d.Of.CheckNewestBegin(v)
	// Nothing that commits from here on is at or below the clock, and nothing that had
	// committed when the call began is above it.
	v = d.NewestAt(v, d.Of.Slots.Now())
	d.Of.CheckNewestEnd(checked, v)
	return v
}

// NewestAt returns the newest committed version, or nil, of the key whose head is v. The result is
// as of a moment when v was the head. If NewestAt passes over v, v commits above s, or never.
func (d *Decider) NewestAt(v *Node, s epoch.Epoch) *Node {
	if v == nil || d.Decide(v, s) != 0 {
		return v
	}
	hooks.At(hooks.HeadSkipped)
	// Once v is committed, nothing protects the versions below v: a pruner may cut there. So v must
	// still be undecided or aborted after its link was loaded. If v is committed, v is the newest:
	// nobody installs on top of an undecided version.
	n := v.Next.Load()
	if w, _ := d.Of.Resolve(v); w.Committed() {
		return v
	}
	return n
}

// Help draws an epoch for the announced record r of version v, which says w. A transaction with
// several keys raises the alarms before it is announced; for a transaction with one key Help raises
// the alarm, by Tell.
func (d *Decider) Help(v *Node, r *Record, w Word) {
	d.Tell(v, r)
	hooks.At(hooks.HelpTold)
	// Must follow the load of w: an epoch drawn before could be below one
	// that was revoked.
	e := d.drawEpoch(w)
	hooks.At(hooks.HelpDrawn)
	drawn := w.Drawn(e)
	switch {
	case !Advance(r, w, drawn):
		if !w.Fixed() {
			d.Counts.Wasted.Add(1)
		}
	case drawn.Committed():
		d.Counts.Helped.Add(1)
	default:
		d.Counts.Pushed.Add(1)
	}
}

// drawEpoch returns an epoch for an announced record that says w. It draws one, unless w is fixed:
// then it moves the clock on to the epoch of w, and no further.
func (d *Decider) drawEpoch(w Word) epoch.Epoch {
	if !w.Fixed() {
		return d.Of.Slots.Next()
	}
	d.Of.Slots.SkipTo(w.Epoch())
	return w.Epoch()
}

// Revoke takes the epoch away from the tentative record r, which says w.
func (d *Decider) Revoke(r *Record, w Word) {
	if Advance(r, w, w.Announced(w.Epoch(), CheckBit)) {
		d.Counts.Revoked.Add(1)
		d.Counts.Wasted.Add(1)
		hooks.At(hooks.Revoked)
	}
}

// readerSpins is how often a reader loads the record of a tentative writer, which may be
// validating, before the reader revokes the epoch. Validating a few keys takes less than a
// microsecond.
const readerSpins = 128

// lingers loads a tentative record that says w again and again for a moment, and reports whether
// the record said w throughout.
func (d *Decider) lingers(r *Record, w Word) bool {
	for range hooks.Looks(readerSpins) {
		if Load(r) != w {
			return false
		}
	}
	hooks.GaveUp()
	return true
}
