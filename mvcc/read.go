package mvcc

import (
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

// decide makes sure that v is committed or may be passed over as of s, and returns its
// commit epoch, or 0 if it may be passed over. It never waits for a particular
// goroutine.
func (m *core) decide(v *node, s epoch.Epoch) epoch.Epoch {
	for {
		w, r := m.resolve(v)
		switch w.tag() {
		case tagCommitted:
			return w.epoch()
		case tagAnnounced:
			m.help(v, r, w)
		case tagTentative:
			if w.epoch() > s {
				return 0
			}
			if m.lingers(r, w) {
				m.revoke(r, w)
			}
		default:
			return 0
		}
	}
}

// visible returns the version of a chain that a transaction reading as of epoch s sees:
// nil, or a committed version, which may be a tombstone. v is or was the head of the
// chain.
func (m *core) visible(v *node, s epoch.Epoch) *node {
	for v != nil {
		w := load(&v.state)
		e := w.epoch()
		if !w.committed() {
			e = m.decide(v, s)
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
func (m *core) newest(v *node) *node {
	if v == nil || load(&v.state).committed() {
		return v
	}
	return m.newestSlow(v)
}

func (m *core) newestSlow(v *node) *node {
	checked := m.checkNewestBegin(v)
	// Nothing that commits from here on is at or below the clock, and nothing that had
	// committed when the call began is above it.
	v = m.newestAt(v, m.slots.Now())
	m.checkNewestEnd(checked, v)
	return v
}

// newestAt returns the newest committed version of the key whose head is v, or nil: at a
// moment when v was the head. If v is passed over it commits above s, or never.
func (m *core) newestAt(v *node, s epoch.Epoch) *node {
	if v == nil || m.decide(v, s) != 0 {
		return v
	}
	hooks.At(hooks.HeadSkipped)
	// Nothing protects what is below v once v is committed: a pruner may cut there. So v
	// must still be undecided, or aborted, after its link was loaded. Otherwise it is the
	// newest itself: nobody installs on top of an undecided version.
	n := v.next.Load()
	if w, _ := m.resolve(v); w.committed() {
		return v
	}
	return n
}

// help draws an epoch for the announced record r of version v, which says w. A
// transaction with several keys has raised the alarms before it was announced; for one
// with one key the helper has to.
func (m *core) help(v *node, r *record, w word) {
	m.tell(v, r)
	hooks.At(hooks.HelpMarked)
	// Must follow the load of w: an epoch drawn before could be below one
	// that was revoked.
	e := m.slots.Next()
	hooks.At(hooks.HelpDrawn)
	d := w.drawn(e)
	switch {
	case !advance(r, w, d):
		m.counters.wasted.Add(1)
	case d.committed():
		m.counters.helped.Add(1)
	default:
		m.counters.pushed.Add(1)
	}
}

// revoke takes the epoch away from the tentative record r, which says w.
func (m *core) revoke(r *record, w word) {
	if advance(r, w, w.announced(w.epoch(), checkBit)) {
		m.counters.revoked.Add(1)
		m.counters.wasted.Add(1)
		hooks.At(hooks.Revoked)
	}
}

// readerSpins is how long a reader gives a tentative writer to validate, in looks
// at its record, before it takes the epoch away. Validating a few keys takes
// less than a microsecond.
const readerSpins = 128

// lingers watches a tentative record that says w for a moment, and reports
// whether it stands still.
func (m *core) lingers(r *record, w word) bool {
	for range hooks.Looks(readerSpins) {
		if load(r) != w {
			return false
		}
	}
	hooks.GaveUp()
	return true
}
