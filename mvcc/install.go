package mvcc

import (
	"runtime"

	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// install puts the pending version of write i on top of its chain. It returns
// resultCommitted if it did, and otherwise why the attempt is over. gen is the
// transaction.
func (st *txState[K, V]) install(gen uint64, i int) result {
	m := st.m
	w := &st.writes[i]
	for {
		if len(st.writes) > 1 && i%installStride == installStride-1 {
			// A sign of life, and a look whether somebody has aborted us.
			s := st.word.Load()
			if !isKind(s, kindActive) || !advance(st.word, s, s+installStep) {
				return resultAborted
			}
		}
		h, base, ok := m.settle(w.e)
		if !ok {
			w.e = m.makeEntry(w.key)
			continue
		}
		if st.level == LevelSnapshot && st.hasRead {
			if base != nil && commitEpoch(base) > st.epoch() {
				return st.conflictOn(w.key, ConflictWrite, base)
			}
			// Must follow the comparison, and precede the push: what was
			// committed since may have left the index if we were evicted,
			// and once it is pushed others may commit us.
			if st.gen() != gen {
				return resultEvicted
			}
		}
		if w.read {
			if _, seen := w.seen.present(); seen && base != w.seen {
				return st.conflictOn(w.key, ConflictRead, base)
			} else if _, there := base.present(); there && !seen {
				return st.conflictOn(w.key, ConflictRead, base)
			}
			// As above.
			if st.gen() != gen {
				return resultEvicted
			}
		}
		if m.push(w.e, h, base, w.v) {
			st.grows += growth(base, w.v)
			return resultCommitted
		}
	}
}

// installStride is after how many installs the owner shows that it goes on, by a
// CAS of its record. Others look for microseconds before they abort it.
const installStride = 8

// settle returns the head of e and the newest committed version on e, which may
// be nil, at a moment when no undecided writer was on top. It reports false if e
// is dead; e has then left the index.
//
// On the way it decides for every undecided writer it meets: one that is
// announced and does not validate is helped to commit; any other is given a
// moment and, if it stands still, aborted. So it waits for no particular
// goroutine.
func (m *Map[K, V]) settle(e *entry[K, V]) (h, base *version[V], ok bool) {
	for {
		h = e.head.Load()
		if h == nil {
			return nil, nil, true
		}
		s, word := h.resolve()
		switch {
		case committed(s):
			return h, h, true
		case isKind(s, kindDead):
			m.unlink(e)
			return nil, nil, false
		case isKind(s, kindAborted):
			return h, h.next.Load(), true
		case tag(s) == tagAnnounced && s&checkBit == 0:
			m.help(e.key, word, s)
		default:
			if s, still := standsStill(word, s); still && advance(word, s, abortedWord(s)) {
				m.counters.rivals.Add(1)
				if tag(s) == tagTentative {
					m.counters.wasted.Add(1)
				}
			}
		}
	}
}

// push makes v, which is private, the head of e on top of base, if the head is
// still h. It reports whether it did.
func (m *Map[K, V]) push(e *entry[K, V], h, base, v *version[V]) bool {
	count := uint64(1)
	if base != nil {
		// Not by its own word, which may not have its epoch yet.
		if view := m.gc.View(); commitEpoch(base) <= view.Min {
			m.trim(e, base, view)
		} else {
			count = min(base.state.Load()&countMask>>countShift+1, countMax)
		}
	}
	setWord(&v.state, v.state.Load()&^countMask|count<<countShift)
	setLink(&v.next, base)
	if invariant.Enabled {
		m.checkPush(e, h, base, v)
	}
	return e.head.CompareAndSwap(h, v)
}

// growth returns by how much the number of keys grows when v is committed on top of
// base: 1, 0 or -1.
func growth[V any](base, v *version[V]) int {
	was, is := base != nil && !base.tombstone(), !v.tombstone()
	switch {
	case was == is:
		return 0
	case is:
		return 1
	}
	return -1
}

// How long an installer gives an undecided rival, in looks at its record: first
// spinning, then yielding. The rival makes eight installs, or validates 64 reads,
// between two signs of life; yielding lets it run if it has lost its processor.
const (
	installSpins  = 256
	installYields = 4
)

// standsStill watches the record of a rival that says s for a while, and reports
// what it says in the end and whether its owner stands still.
func standsStill(word *atomic.Uint64, s uint64) (uint64, bool) {
	for range hooks.Looks(installSpins) {
		now := word.Load()
		if moved(s, now) {
			return now, false
		}
		s = now
	}
	for range hooks.Looks(installYields) {
		runtime.Gosched()
		now := word.Load()
		if moved(s, now) {
			return now, false
		}
		s = now
	}
	if hooks.Enabled {
		hooks.GaveUp()
	}
	return s, true
}

// moved reports whether an undecided record that said s has been decided, or been
// moved on by its owner, now that it says now. That readers revoke and push it
// is no sign of its owner's life, else they would shield one that sleeps.
func moved(s, now uint64) bool {
	if now == s {
		return false
	}
	undecided := tag(now) == tagAnnounced || tag(now) == tagTentative
	if tag(s) == tagSpecial || !undecided {
		return true
	}
	return tag(s) == tagTentative && now == s^checkBit
}

// settledRun is after how many versions in a row of which each had to be kept a
// committer stops pruning: what is below was pruned before, and only loses a
// version when a read epoch ends. Looking after that is background work.
const settledRun = 8

// shortRun is after how many versions a committer looks whether the present view allows
// to drop any, and after how many in a row that have to be kept it stops: so chains
// are short beside a reader too, for which trim cannot drop anything.
const shortRun = 2

// installed does the work that a committed version v on e brings with it: it drops
// what has become superfluous, now and then, and hands e over to the background work,
// which drops the rest when e is not written any more.
func (m *Map[K, V]) installed(e *entry[K, V], v *version[V]) {
	if invariant.Enabled {
		m.checkNewest(e, v)
	}
	s := v.state.Load()
	base := v.next.Load()
	if base == nil && s&tombBit == 0 {
		return // a new key: nothing to drop
	}
	if count := s & countMask >> countShift; base != nil && (count >= m.threshold || count%shortRun == 0) {
		view, run := m.gc.View(), shortRun
		if count >= m.threshold {
			// A newer view helps if it is the view that is old, and not who
			// reads.
			if run = settledRun; commitEpoch(base) > view.Bound {
				view = m.gc.RefreshPast(epochOf(s), max(m.threshold/4, 1))
			}
		}
		m.prune(e, view, run, nil)
		if count >= m.threshold {
			// Must follow: if we sleep before, the next committer prunes.
			v.state.And(^uint64(countMask))
		}
	}
	m.offer(e)
}

// offer hands e over to the background work, unless it has it.
func (m *Map[K, V]) offer(e *entry[K, V]) {
	if !e.pending.Load() && !e.pending.Swap(true) {
		m.gc.Offer(e)
	}
}
