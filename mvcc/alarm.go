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

// An alarm tells a long validation whether anybody else may have committed on the keys that are
// validated. During the validation, readers of the keys that the transaction writes push its epoch
// ahead of theirs. If the alarm is clean, it need not validate anew.
//
//   - W1: a committer installs its version, then looks for alarms, and raises those on the key
//     before an epoch is drawn for the version.
//   - W2: a validation puts its alarm in the list, then notes the clock, then looks at the first
//     key. It helps or aborts each undecided writer that it meets.
//
// So a committer with an epoch above the noted clock has installed after the validation looked at
// the committer's key, and has raised the alarm before the epoch was drawn. The transaction may
// commit at an epoch that was drawn for it before the alarm was found clean.
type alarm struct {
	keys   *favour.Keys
	record *chain.Record // of the transaction whose alarm it is
	// dirty is 1 if there may have been a commit on one of the keys.
	dirty atomic.Uint64
}

// alarms has the list of all alarms, or nil. A list is never changed, but replaced.
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

// tell notes the key of v if the map is watched or its records expire, and raises the alarms on the
// key of other transactions. r is the record of v's own transaction. The goroutine that commits v
// calls tell when v is installed and has no epoch yet.
func (m *core) tell(v *chain.Node, r *chain.Record) {
	if x := m.expiryAt.Load(); x != nil { // E1
		x.note(v, m.index.Hash.Sum(v.Key()))
	}
	m.tellOthers(v, r)
}

// tellHelping is tell for a goroutine that draws an epoch for another goroutine's commit. It calls
// no function of the user: such a function would belong to that commit.
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

// endAlarm takes the alarm of the transaction off the list, if there is one.
func (st *txState) endAlarm() {
	if st.alarm != nil {
		st.m.alarms.remove(st.alarm)
		st.alarm = nil
	}
}

// decideAlarmed validates and publishes a tentative transaction with an alarm. It validates as of
// c, the clock at the start. The transaction may commit at any epoch up to c, and at a later epoch
// if the alarm is clean. So readers that push the transaction cannot keep it from committing,
// however long the validation takes. decideAlarmed returns resultAborted if the caller is to load
// the record again: the record may be aborted.
func (st *txState) decideAlarmed(gen epoch.Gen) (epoch.Epoch, result) {
	m := st.m
	own := st.alarm
	if own == nil {
		own = &alarm{keys: st.keySet(false), record: st.record()}
		st.alarm = own
		m.alarms.add(own) // until the attempt is over
	} else {
		// A committer that raised the alarm had installed before: the validation meets its version.
		own.dirty.Store(0)
	}
	hooks.At(hooks.AlarmListed)
	c := m.Slots.Now()
	_, r := st.validated(gen, chain.Load(st.record()), c+1)
	hooks.At(hooks.Validated)
	for {
		// The record is loaded before the alarm: its epoch was drawn before the alarm was clean.
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
				// A writer that raises the alarm need not commit. After maxDirty such validations
				// the transaction is installed again, with a claim on the keys that it has read:
				// then such writers give way.
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

// decidedHead returns the newest committed version, or nil, of the key whose head at p was v, as of
// a moment when no undecided writer was on top.
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
