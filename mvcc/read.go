package mvcc

import (
	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// This file is how readers deal with writers that have not decided yet. Nobody
// waits for a particular goroutine: whoever meets an undecided writer decides
// for it, so that it does not matter whether that writer is running.
//
//	what the record says   a reader as of S does
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
// writer's timestamp is how CockroachDB resolves a read against an intent).

// visible returns the version of e that a transaction reading as of epoch s
// sees: nil, or a committed version, which may be a tombstone. It never waits
// for a particular goroutine, and allocates nothing.
func (m *Map[K, V]) visible(e *entry[K, V], s uint64) *version[V] {
	return m.visibleFrom(e, e.head.Load(), s)
}

// visibleFrom is visible if the head of e is or was v.
func (m *Map[K, V]) visibleFrom(e *entry[K, V], v *version[V], s uint64) *version[V] {
	for v != nil {
		w := v.state.Load()
		if committed(w) {
			if epochOf(w) <= s {
				return v
			}
		} else if m.sees(e, v, s) {
			return v
		}
		v = v.next.Load()
	}
	return nil
}

// sees decides whether a version v of e that was not plainly committed a moment ago is
// visible as of epoch s.
func (m *Map[K, V]) sees(e *entry[K, V], v *version[V], s uint64) bool {
	for {
		w, word := v.resolve()
		switch tag(w) {
		case tagCommitted:
			return epochOf(w) <= s
		case tagAnnounced:
			m.help(e.key, word, w)
		case tagTentative:
			if epochOf(w) > s {
				return false
			}
			if m.lingers(word, w) {
				m.revoke(word, w)
			}
		default:
			return false
		}
	}
}

// newest returns the newest committed version of e as of some moment during the
// call, for an operation that has published no read epoch: nil, or a version
// that may be a tombstone. It never waits for a particular goroutine.
//
// Passing over a tentative head because "it is not committed" would be wrong:
// its epoch may be older than that of a write which somebody has already seen.
// So its epoch is pushed above the clock first; then it may be passed over.
func (m *Map[K, V]) newest(e *entry[K, V]) *version[V] {
	v := e.head.Load()
	if v == nil || committed(v.state.Load()) {
		return v
	}
	if invariant.Enabled {
		return m.checkedNewest(e)
	}
	return m.newestSlow(e)
}

func (m *Map[K, V]) newestSlow(e *entry[K, V]) *version[V] {
	// now is a lower bound for the epoch of everything that commits from here
	// on, and nothing that had committed when the call began is above it.
	now := m.slots.Now()
	for {
		v := e.head.Load()
		if v == nil {
			return nil
		}
		w, word := v.resolve()
		switch tag(w) {
		case tagCommitted:
			return v
		case tagAnnounced:
			m.help(e.key, word, w)
			continue
		case tagTentative:
			if epochOf(w) <= now {
				if m.lingers(word, w) {
					m.revoke(word, w)
				}
				continue
			}
		}
		if hooks.Enabled {
			hooks.At(hooks.LoadSkipped)
		}
		// Without a slot nothing protects what is below v once v is
		// committed: a pruner may cut there. So v must still be undecided
		// after its link was loaded.
		n := v.next.Load()
		if w, _ := v.resolve(); !committed(w) {
			return n
		}
	}
}

// help draws an epoch for the announced record at word, which says w, and whose
// transaction has installed a version on key. A transaction with several has marked
// the watches before it was announced; for one with one key the helper has to.
func (m *Map[K, V]) help(key K, word *atomic.Uint64, w uint64) {
	m.mark(key, word)
	if hooks.Enabled {
		hooks.At(hooks.HelpMarked)
	}
	// Must follow the load of w: an epoch drawn before could be below one
	// that was revoked.
	e := m.slots.Next()
	if hooks.Enabled {
		hooks.At(hooks.HelpDrawn)
	}
	d := decidedWord(w, e)
	switch {
	case !advance(word, w, d):
		m.counters.wasted.Add(1)
	case committed(d):
		m.counters.helped.Add(1)
	default:
		m.counters.pushed.Add(1)
	}
}

// revoke takes the epoch away from the tentative record at word, which says w.
func (m *Map[K, V]) revoke(word *atomic.Uint64, w uint64) {
	if advance(word, w, announcedWord(w, epochOf(w), checkBit)) {
		m.counters.revoked.Add(1)
		m.counters.wasted.Add(1)
		if hooks.Enabled {
			hooks.At(hooks.Revoked)
		}
	}
}

// readerSpins is how long a reader gives a tentative writer to validate, in looks
// at its record, before it takes the epoch away. Validating a few keys takes
// less than a microsecond.
const readerSpins = 128

// lingers watches a tentative record that says w for a moment, and reports
// whether it stands still.
func (m *Map[K, V]) lingers(word *atomic.Uint64, w uint64) bool {
	for range hooks.Looks(readerSpins) {
		if word.Load() != w {
			return false
		}
	}
	if hooks.Enabled {
		hooks.GaveUp()
	}
	return true
}
