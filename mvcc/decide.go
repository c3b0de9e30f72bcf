package mvcc

import (
	"sync/atomic"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/hooks"
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

// A decider reads the versions of a map, and decides about those that are undecided.
type decider struct {
	of     *resolver
	counts *counts
	// tell is told of a version, which is installed, before an epoch is drawn for its record.
	tell func(v *node, r *record)
}

// counts counts what deciders have done.
type counts struct {
	wasted  atomic.Uint64 // epochs drawn that are no transaction's commit epoch
	helped  atomic.Uint64 // commits
	pushed  atomic.Uint64 // writers for which an epoch was drawn
	revoked atomic.Uint64 // epochs
}

// decide makes sure that v is committed or may be passed over as of s, and returns its
// commit epoch, or 0 if it may be passed over. It never waits for a particular
// goroutine.
func (d *decider) decide(v *node, s epoch.Epoch) epoch.Epoch {
	for {
		w, r := d.of.resolve(v)
		switch w.tag() {
		case tagCommitted:
			return w.epoch()
		case tagAnnounced:
			d.help(v, r, w)
		case tagTentative:
			if w.epoch() > s {
				return 0
			}
			if d.lingers(r, w) {
				d.revoke(r, w)
			}
		default:
			return 0
		}
	}
}

// visible returns the version of a chain that a transaction reading as of epoch s sees:
// nil, or a committed version, which may be a tombstone. v is or was the head of the
// chain.
func (d *decider) visible(v *node, s epoch.Epoch) *node {
	for v != nil {
		w := load(&v.state)
		e := w.epoch()
		if !w.committed() {
			e = d.decide(v, s)
		}
		if e != 0 && e <= s {
			return v
		}
		v = v.next.Load()
	}
	return nil
}

// newest returns the newest committed version of a key as of some moment during the
// call, for an operation that has published no read epoch: nil, or a version
// that may be a tombstone. v, which may be nil, was the head of the key during the call.
//
// Passing over a tentative head because "it is not committed" would be wrong:
// its epoch may be older than that of a write that a reader has already seen.
// So its epoch is pushed above the clock first; then it may be passed over.
func (d *decider) newest(v *node) *node {
	if v == nil || load(&v.state).committed() {
		return v
	}
	return d.newestSlow(v)
}

func (d *decider) newestSlow(v *node) *node {
	checked := d.of.checkNewestBegin(v)
	// Nothing that commits from here on is at or below the clock, and nothing that had
	// committed when the call began is above it.
	v = d.newestAt(v, d.of.slots.Now())
	d.of.checkNewestEnd(checked, v)
	return v
}

// newestAt returns the newest committed version of the key whose head is v, or nil: at a
// moment when v was the head. If v is passed over it commits above s, or never.
func (d *decider) newestAt(v *node, s epoch.Epoch) *node {
	if v == nil || d.decide(v, s) != 0 {
		return v
	}
	hooks.At(hooks.HeadSkipped)
	// Nothing protects what is below v once v is committed: a pruner may cut there. So v
	// must still be undecided, or aborted, after its link was loaded. Otherwise it is the
	// newest itself: nobody installs on top of an undecided version.
	n := v.next.Load()
	if w, _ := d.of.resolve(v); w.committed() {
		return v
	}
	return n
}

// help draws an epoch for the announced record r of version v, which says w. A
// transaction with several keys has raised the alarms before it was announced; for one
// with one key the helper has to.
func (d *decider) help(v *node, r *record, w word) {
	d.tell(v, r)
	hooks.At(hooks.HelpMarked)
	// Must follow the load of w: an epoch drawn before could be below one
	// that was revoked.
	e := d.of.slots.Next()
	hooks.At(hooks.HelpDrawn)
	drawn := w.drawn(e)
	switch {
	case !advance(r, w, drawn):
		d.counts.wasted.Add(1)
	case drawn.committed():
		d.counts.helped.Add(1)
	default:
		d.counts.pushed.Add(1)
	}
}

// revoke takes the epoch away from the tentative record r, which says w.
func (d *decider) revoke(r *record, w word) {
	if advance(r, w, w.announced(w.epoch(), checkBit)) {
		d.counts.revoked.Add(1)
		d.counts.wasted.Add(1)
		hooks.At(hooks.Revoked)
	}
}

// readerSpins is how long a reader gives a tentative writer to validate, in looks
// at its record, before it takes the epoch away. Validating a few keys takes
// less than a microsecond.
const readerSpins = 128

// lingers watches a tentative record that says w for a moment, and reports
// whether it stands still.
func (d *decider) lingers(r *record, w word) bool {
	for range hooks.Looks(readerSpins) {
		if load(r) != w {
			return false
		}
	}
	hooks.GaveUp()
	return true
}
