package mvcc

import (
	"slices"

	"github.com/mvccmap/mvccmap/internal/favour"
	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/hooks/atomic"
)

// A watch tells a validation that takes long whether anybody else may have committed
// on the keys that it validates. Readers of the keys which the transaction writes push
// its epoch ahead of them while it validates; if nobody has committed on what it read,
// it need not begin anew.
//
//   - W1: who commits has installed its version before it looks for watches, and marks
//     those on the key before an epoch is drawn for it.
//   - W2: a validation that watches is in the list before it notes the clock, and that
//     before it looks at the first key. It passes over nobody that is undecided: it
//     helps them, or aborts them.
//
// So whoever commits on one of the keys above the clock that was noted has installed
// after the validation looked there, hence found the watch, and has marked it before it
// drew its epoch. The transaction may commit at an epoch that was drawn for it before
// it found the watch clean.
type watch struct {
	keys *favour.Keys
	word *atomic.Uint64 // the record of the transaction that watches
	// dirty is 1 if somebody may have committed on one of the keys.
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

// mark marks the watches on key, but for that of the transaction whose record is word.
// A version is installed on key, and no epoch is drawn for it.
func (m *Map[K, V]) mark(key K, word *atomic.Uint64) {
	if list := m.watches.list.Load(); list != nil {
		m.markIn(*list, key, word)
	}
}

func (m *Map[K, V]) markIn(list []*watch, key K, word *atomic.Uint64) {
	hash := m.hash(key)
	for _, w := range list {
		if w.word != word && w.keys.Has(hash) && w.dirty.Load() == 0 {
			w.dirty.Store(1)
		}
	}
}

// markAll is mark for all keys that the transaction writes.
func (st *txState[K, V]) markAll() {
	if list := st.m.watches.list.Load(); list != nil {
		for i := range st.writes {
			st.m.markIn(*list, st.writes[i].key, st.word)
		}
	}
}

// decideWatched validates and publishes a tentative transaction that watches. It
// validates as of the clock at the start, c, and may commit at any epoch up to c, or
// at a later one if the watch is clean then. So readers cannot keep it from committing
// by pushing it, however long the validation takes. It returns aborted if it is to be
// decided anew, or was aborted, also by itself.
func (st *txState[K, V]) decideWatched(gen uint64) (uint64, result) {
	m := st.m
	w := st.watch
	if w == nil {
		w = &watch{keys: st.keySet(false), word: st.word}
		st.watch = w
		m.watches.add(w) // until the attempt is over
	} else {
		// Whoever has marked it has installed before, and is met.
		w.dirty.Store(0)
	}
	if hooks.Enabled {
		hooks.At(hooks.Watching)
	}
	c := m.slots.Now()
	_, r := st.validated(gen, st.word.Load(), c+1)
	if hooks.Enabled {
		hooks.At(hooks.Validated)
	}
	for {
		// The record comes before the mark: its epoch was drawn by then.
		switch s := st.word.Load(); tag(s) {
		case tagAnnounced:
			if !advance(st.word, s, decidedWord(s, m.slots.Next())) {
				m.counters.wasted.Add(1)
			}
		case tagTentative:
			if r != resultCommitted {
				if advance(st.word, s, abortedWord(s)) {
					m.counters.wasted.Add(1)
					return 0, r
				}
				continue
			}
			if e := epochOf(s); e > c && w.dirty.Load() != 0 {
				// Who marks need not commit. If that goes on, it is installed
				// again, with a claim on what it has read: they give way then.
				if st.dirtied++; st.dirtied >= maxDirty && advance(st.word, s, abortedWord(s)) {
					m.counters.wasted.Add(1)
				}
				return 0, resultAborted
			}
			if hooks.Enabled {
				hooks.At(hooks.WatchClean)
			}
			// Linearization point of a transaction that validates.
			if advance(st.word, s, committedWord(s, epochOf(s))) {
				return epochOf(s), resultCommitted
			}
		default:
			st.conflict = conflict[K]{}
			return 0, resultAborted
		}
	}
}

// decided returns the newest committed version of en, not counting that of the
// transaction itself, nil if there is none, or the dead version: at a moment when no
// undecided writer but the transaction was on top.
func (st *txState[K, V]) decided(en *entry[K, V]) *version[V] {
	if v := en.head.Load(); v != nil {
		s, word := v.resolve()
		if word == st.word {
			return v.next.Load() // which is decided, and stays as long as v is not
		}
		if hooks.Enabled && !committed(s) {
			hooks.At(hooks.WalkSkipped)
		}
	}
	_, base, ok := st.m.settle(en)
	if !ok {
		return st.m.dead
	}
	return base
}
