package mvcc

import (
	"slices"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/favour"
	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/hooks/atomic"
)

// A watch tells a validation that takes long whether anybody else may have committed
// on the keys that it validates. Readers of the keys which the transaction writes push
// its epoch ahead of them while it validates; if there was no commit on what it read,
// it need not begin anew.
//
//   - W1: a committer has installed its version before it looks for watches, and marks
//     those on the key before an epoch is drawn for it.
//   - W2: a validation that watches is in the list before it notes the clock, and that
//     before it looks at the first key. It passes over no undecided writer: it helps
//     each, or aborts it.
//
// So a committer on one of the keys, above the clock that was noted, has installed
// after the validation looked there, hence found the watch, and has marked it before it
// drew its epoch. The transaction may commit at an epoch that was drawn for it before
// it found the watch clean.
type watch struct {
	keys   *favour.Keys
	record *record // of the transaction that watches
	// dirty is 1 if there may have been a commit on one of the keys.
	dirty atomic.Uint64
}

// watches are the watches there are: nil, or a list that is never changed.
type watches struct {
	_    [128]byte
	list atomic.Pointer[[]*watch]
	_    [120]byte
}

func (l *watches) add(w *watch) {
	for {
		old := l.list.Load()
		list := []*watch{w}
		if old != nil {
			list = append(list, *old...)
		}
		if l.list.CompareAndSwap(old, &list) {
			return
		}
	}
}

func (l *watches) remove(w *watch) {
	for {
		old := l.list.Load()
		var list *[]*watch
		if len(*old) > 1 {
			rest := slices.DeleteFunc(slices.Clone(*old), func(o *watch) bool { return o == w })
			list = &rest
		}
		if l.list.CompareAndSwap(old, list) {
			return
		}
	}
}

// mark marks the watches on the key of v, which is installed, except for that of the
// transaction whose record is r, v's own; and notes the key, if the map is watched, or if
// records of it expire. No epoch is drawn for it.
func (m *core) mark(v *node, r *record) {
	if f := m.feedAt.Load(); f != nil { // N1
		f.note(v, m.index.hash.sum(v.key()), nil)
	}
	if x := m.expiryAt.Load(); x != nil { // E1
		x.note(v, m.index.hash.sum(v.key()))
	}
	if list := m.watches.list.Load(); list != nil {
		markIn(*list, m.claimHash(m.index.hash.sum(v.key())), r)
	}
}

// heard reports whether mark has anything to do.
func (m *core) heard() bool {
	return m.feedAt.Load() != nil || m.expiryAt.Load() != nil || m.watches.list.Load() != nil
}

func markIn(list []*watch, hash uint64, r *record) {
	for _, w := range list {
		if w.record != r && w.keys.Has(hash) && w.dirty.Load() == 0 {
			w.dirty.Store(1)
		}
	}
}

// markAll is mark for all keys that the transaction writes.
func (st *txState) markAll() {
	if len(st.parts) > 1 || st.m.heard() {
		st.noteAll() // N1, E1
	}
	if list := st.m.watches.list.Load(); list != nil {
		st.eachHash(func(hash uint64) { markIn(*list, hash, st.record()) })
	}
}

// endWatch takes what the validation watches off the list, if there is anything.
func (st *txState) endWatch() {
	if st.watch != nil {
		st.m.watches.remove(st.watch)
		st.watch = nil
	}
}

// decideWatched validates and publishes a tentative transaction that watches. It
// validates as of the clock at the start, c, and may commit at any epoch up to c, or
// at a later one if the watch is clean then. So readers cannot keep it from committing
// by pushing it, however long the validation takes. It returns aborted if it is to be
// decided anew, or was aborted, also by itself.
func (st *txState) decideWatched(gen epoch.Gen) (epoch.Epoch, result) {
	m := st.m
	watches := st.watch
	if watches == nil {
		watches = &watch{keys: st.keySet(false), record: st.record()}
		st.watch = watches
		m.watches.add(watches) // until the attempt is over
	} else {
		// A writer that has marked it has installed before, and is met.
		watches.dirty.Store(0)
	}
	hooks.At(hooks.Watching)
	c := m.slots.Now()
	_, r := st.validated(gen, load(st.record()), c+1)
	hooks.At(hooks.Validated)
	for {
		// The record comes before the mark: its epoch was drawn by then.
		switch w := load(st.record()); w.tag() {
		case tagAnnounced:
			if !advance(st.record(), w, w.decided(m.slots.Next())) {
				m.counters.wasted.Add(1)
			}
		case tagTentative:
			if r != resultOK {
				if advance(st.record(), w, w.aborted()) {
					m.counters.wasted.Add(1)
					return 0, r
				}
				continue
			}
			if e := w.epoch(); e > c && watches.dirty.Load() != 0 {
				// A writer that marks need not commit. If that goes on, the
				// transaction is installed again, with a claim on what it has
				// read: such writers give way then.
				if st.rare().dirtied++; st.dirtied >= maxDirty && advance(st.record(), w, w.aborted()) {
					m.counters.wasted.Add(1)
				}
				return 0, resultAborted
			}
			hooks.At(hooks.WatchClean)
			// Linearization point of a transaction that validates.
			if advance(st.record(), w, w.at(w.epoch())) {
				return w.epoch(), resultOK
			}
		default:
			st.takeConflict()
			return 0, resultAborted
		}
	}
}

// decided returns the newest committed version of the key whose head at p was v, or nil:
// at a moment when no undecided writer was on top.
func (m *core) decided(p place, v *node) *node {
	for v != nil {
		if w, _ := m.resolve(v); !w.committed() {
			hooks.At(hooks.HeadSkipped)
		}
		if base, ok := m.decidedBase(v); ok {
			return base
		}
		p, v = m.index.again(p, m.index.hash.sum(v.key()), v.key())
	}
	return nil
}
