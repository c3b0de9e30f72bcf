package mvcc

import (
	"slices"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/favour"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// An alarm tells a validation that takes long whether anybody else may have committed on the keys
// that it validates. Readers of the keys which the transaction writes push its epoch ahead of them
// while it validates; if there was no commit on the keys that it read, it need not begin anew.
//
//   - W1: a committer has installed its version before it looks for alarms, and raises
//     those on the key before an epoch is drawn for it.
//   - W2: the alarm of a validation is in the list before it notes the clock, and that
//     before it looks at the first key. It passes over no undecided writer: it helps
//     each, or aborts it.
//
// So a committer on one of the keys, above the clock that was noted, has installed
// after the validation looked there, hence found the alarm, and has raised it before it
// drew its epoch. The transaction may commit at an epoch that was drawn for it before
// it found the alarm clean.
type alarm struct {
	keys   *favour.Keys
	record *chain.Record // of the transaction whose alarm it is
	// dirty is 1 if there may have been a commit on one of the keys.
	dirty atomic.Uint64
}

// alarms are the alarms there are: nil, or a list that is never changed.
type alarms struct {
	_    [128]byte
	list atomic.Pointer[[]*alarm]
	_    [120]byte
}

func (l *alarms) add(a *alarm) {
	for {
		old := l.list.Load()
		list := []*alarm{a}
		if old != nil {
			list = append(list, *old...)
		}
		if l.list.CompareAndSwap(old, &list) {
			return
		}
	}
}

func (l *alarms) remove(a *alarm) {
	for {
		old := l.list.Load()
		var list *[]*alarm
		if len(*old) > 1 {
			rest := slices.DeleteFunc(slices.Clone(*old), func(o *alarm) bool { return o == a })
			list = &rest
		}
		if l.list.CompareAndSwap(old, list) {
			return
		}
	}
}

// tell is called by the goroutine that commits v, which is installed and has no epoch yet: it notes
// the key, if the map is watched, or if records of it expire, and raises the alarms on it, except
// for that of the transaction whose record is r, v's own.
func (m *core) tell(v *chain.Node, r *chain.Record) {
	if x := m.expiryAt.Load(); x != nil { // E1
		x.note(v, m.index.Hash.Sum(v.Key()))
	}
	m.tellOthers(v, r)
}

// tellHelping is tell for a goroutine that draws an epoch for another one's commit. It calls no
// function of the user: that would be one of somebody else.
func (m *core) tellHelping(v *chain.Node, r *chain.Record) {
	if x := m.expiryAt.Load(); x != nil && v.There() { // E1
		x.push(v.Key(), m.index.Hash.Sum(v.Key()), 0)
	}
	m.tellOthers(v, r)
}

func (m *core) tellOthers(v *chain.Node, r *chain.Record) {
	if f := m.feedAt.Load(); f != nil && r == &v.State { // N1
		f.note(v, m.index.Hash.Sum(v.Key()), nil)
	}
	if list := m.alarms.list.Load(); list != nil {
		raise(*list, m.claimHash(m.index.Hash.Sum(v.Key())), r)
	}
}

// hasListeners reports whether tell has anything to do.
func (m *core) hasListeners() bool {
	return m.feedAt.Load() != nil || m.expiryAt.Load() != nil || m.alarms.list.Load() != nil
}

func raise(list []*alarm, hash uint64, r *chain.Record) {
	for _, a := range list {
		if a.record != r && a.keys.Has(hash) && a.dirty.Load() == 0 {
			a.dirty.Store(1)
		}
	}
}

// tellAll is tell for all keys that the transaction writes.
func (st *txState) tellAll() {
	if len(st.parts) > 1 || st.m.hasListeners() {
		st.noteAll() // N1, E1
	}
	if list := st.m.alarms.list.Load(); list != nil {
		st.eachHash(func(hash uint64) { raise(*list, hash, st.record()) })
	}
}

// endAlarm takes the alarm of the validation off the list, if there is anything.
func (st *txState) endAlarm() {
	if st.alarm != nil {
		st.m.alarms.remove(st.alarm)
		st.alarm = nil
	}
}

// decideAlarmed validates and publishes a tentative transaction with an alarm. It
// validates as of the clock at the start, c, and may commit at any epoch up to c, or
// at a later one if the alarm is clean then. So readers cannot keep it from committing
// by pushing it, however long the validation takes. It returns aborted if it is to be
// decided anew, or was aborted, also by itself.
func (st *txState) decideAlarmed(gen epoch.Gen) (epoch.Epoch, result) {
	m := st.m
	own := st.alarm
	if own == nil {
		own = &alarm{keys: st.keySet(false), record: st.record()}
		st.alarm = own
		m.alarms.add(own) // until the attempt is over
	} else {
		// A writer that has raised it has installed before, and is met.
		own.dirty.Store(0)
	}
	hooks.At(hooks.AlarmListed)
	c := m.Slots.Now()
	_, r := st.validated(gen, chain.Load(st.record()), c+1)
	hooks.At(hooks.Validated)
	for {
		// The record comes before the alarm: its epoch was drawn by then.
		switch w := chain.Load(st.record()); w.Tag() {
		case chain.TagAnnounced:
			if !chain.Advance(st.record(), w, w.Drawn(m.Slots.Next())) {
				m.counters.Wasted.Add(1)
			}
		case chain.TagTentative:
			if r != resultOK {
				if chain.Advance(st.record(), w, w.Aborted()) {
					m.counters.Wasted.Add(1)
					return 0, r
				}
				continue
			}
			if e := w.Epoch(); e > c && own.dirty.Load() != 0 {
				// A writer that raises it need not commit. If that goes on, the transaction is
				// installed again, with a claim on the keys that it has read: such writers give way
				// then.
				if st.rare().dirtied++; st.dirtied >= maxDirty && chain.Advance(st.record(), w, w.Aborted()) {
					m.counters.Wasted.Add(1)
				}
				return 0, resultAborted
			}
			hooks.At(hooks.AlarmClean)
			// Linearization point of a transaction that validates.
			if chain.Advance(st.record(), w, w.At(w.Epoch())) {
				return w.Epoch(), resultOK
			}
		default:
			st.takeConflict()
			return 0, resultAborted
		}
	}
}

// decidedHead returns the newest committed version of the key whose head at p was v, or nil:
// at a moment when no undecided writer was on top.
func (m *core) decidedHead(p index.Place, v *chain.Node) *chain.Node {
	for v != nil {
		if w, _ := m.Resolve(v); !w.Committed() {
			hooks.At(hooks.HeadSkipped)
		}
		if base, ok := m.DecidedBase(v); ok {
			return base
		}
		p, v = m.index.Again(p, m.index.Hash.Sum(v.Key()), v.Key())
	}
	return nil
}
