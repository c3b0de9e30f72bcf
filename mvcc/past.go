package mvcc

import (
	"runtime"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// A Revision is the value of a key from one commit on, up to the next revision, see [History].
type Revision[V any] struct {
	Epoch   uint64 // of the commit
	Value   V
	Deleted bool // the key had no value from then on
	// Time is the time of the commit, or up to Options.ReclaimInterval (if longer, 1/4096 of
	// Options.Retain) later, plus the delay of the background work. It is zero if the commit is
	// longer ago than Options.Retain, or after Close.
	Time time.Time
}

// History returns the revisions of a key in the time of Options.Retain, and the one before, the
// newest first; without Retain the newest one, and older ones by chance. A key without a value in
// that time has none. A record restored by durable.Load counts as written then. History waits as
// [Map.Snapshot] does. It costs a snapshot, a [Map.Load], and for each revision a step, a binary
// search, and its place in the slice.
func History[K comparable, V any](m *Map[K, V], key K) (revisions []Revision[V]) {
	if m.badKey(useRead, key) {
		return nil
	}
	s := m.engine().snapshot(forCall) // before the lookup: the versions it sees are kept
	defer s.Close()
	_, _, head := index.Lookup(m.index, key)
	list, epochs, times := s.history(head)
	revisions = slices.Grow(revisions, len(list))
	for i, v := range list {
		r := Revision[V]{Epoch: uint64(epochs[i]), Deleted: v.Tombstone(), Time: times[i]}
		r.Value = chain.ValueOf[K, V](v)
		revisions = append(revisions, r)
	}
	return revisions
}

// history returns the versions of the key with this head that have been the newest one at some time
// since the bound. It returns the newest first.
//
// The snapshot keeps the newest version that it sees. As no view has a greater bound, all versions
// above the bound and the newest one below are kept: so the bound after the walk is used.
//
//go:noinline
func (s moment) history(head *chain.Node) (list []*chain.Node, epochs []epoch.Epoch, times []time.Time) {
	const few = 8
	list, epochs = make([]*chain.Node, 0, few), make([]epoch.Epoch, 0, few)
	c, at := stateOf(s.st).m, s.st.head.Epoch()
	for v := s.st.visible(head, at); v != nil; v = s.st.visible(v.Next.Load(), at) {
		list, epochs = append(list, v), append(epochs, c.CommitEpoch(v))
		hooks.At(hooks.HistoryStep)
	}
	bound := c.Slots.Bound()
	s.check()
	if i := slices.IndexFunc(epochs, func(e epoch.Epoch) bool { return e <= bound }); i >= 0 {
		if !list[i].Tombstone() { // else the key had no value when the history begins
			i++
		}
		list, epochs = list[:i], epochs[:i]
	}
	times = c.gc.TimesOf(epochs)
	runtime.KeepAlive(s.st)
	return list, epochs, times
}
