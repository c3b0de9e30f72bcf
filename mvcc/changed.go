package mvcc

import (
	"context"
	"iter"
	"slices"
	"sync/atomic"
)

// Changed returns a channel that is closed when key has been written by a commit that the snapshot
// does not see, which may have happened already. It is for what is derived from a snapshot and
// kept, such as a cache: wait for the channel, and make it anew. It is closed, too, where a watch
// would end with a [*GapError]. When ctx ends the channel stays as it is. The snapshot may be
// closed once Changed has returned. It costs what a watch does, see [Map.Watch]: also in that it
// may take a millisecond, and that the first one looks at all keys.
func (s Snapshot[K, V]) Changed(ctx context.Context, key K) <-chan struct{} {
	s.check()
	return s.alert(ctx,
		func(c Change[K, V]) bool { return c.Key == key },
		func(Snapshot[K, V]) iter.Seq2[K, V] {
			var none V
			return func(yield func(K, V) bool) { yield(key, none) }
		})
}

// RangeChanged is [Snapshot.Changed] for all keys of a range of an ordered map, those that are
// inserted included.
func (s Snapshot[K, V]) RangeChanged(ctx context.Context, keys Range[K]) <-chan struct{} {
	s.check()
	s.st.m.checkOrdered(&keys)
	return s.alert(ctx,
		func(c Change[K, V]) bool { return keys.has(s.st.m.order.comparing(), c.Key) },
		func(s Snapshot[K, V]) iter.Seq2[K, V] { return s.Ascend(keys) })
}

// Changed is [Snapshot.Changed] for the records that have an index key, in the snapshot s of the
// table: the channel is closed when [Index.Get] may give something else.
func (ix *Index[I, K, V]) Changed(ctx context.Context, s Snapshot[K, V], key I) <-chan struct{} {
	s.check()
	ix.check()
	ix.checkOf(s.st.m)
	return s.alert(ctx,
		func(c Change[K, V]) bool {
			return c.Had && slices.Contains(ix.keys(c.Key, c.Old), key) ||
				c.Has && slices.Contains(ix.keys(c.Key, c.New), key)
		},
		func(s Snapshot[K, V]) iter.Seq2[K, V] { return ix.Get(s, key) })
}

// alert returns a channel that is closed when a change matches. find gives the keys that
// concern it in a snapshot.
func (s Snapshot[K, V]) alert(
	ctx context.Context, matches func(Change[K, V]) bool, find func(Snapshot[K, V]) iter.Seq2[K, V],
) <-chan struct{} {
	m := s.st.m
	a := &alert[K, V]{m: m, matches: matches, closed: make(chan struct{})}
	checkContext("Changed", ctx)
	var now Snapshot[K, V]
	m.shared.hub.begin(a, func() { m.fed().own++ }, func(at uint64) { now = m.snapshotAtHub(at) })
	defer now.Close()
	begun := false
	defer func() {
		if !begun { // something has panicked, or it has changed
			m.shared.hub.end(a)
		}
	}()
	from, to := s.st.epoch(), now.st.epoch()
	s.check()
	if from != to {
		for _, in := range []Snapshot[K, V]{s, now} {
			for key := range find(in) {
				_, _, head := m.index.lookup(key)
				was, is := m.visible(head, from), m.visible(head, to)
				_, had := was.present()
				if _, has := is.present(); was != is && (had || has) {
					a.lose()
					return a.closed
				}
			}
		}
		s.check()
	}
	begun = true
	stop := context.AfterFunc(ctx, func() { m.shared.hub.end(a) })
	if a.stop.Store(&stop); a.fired.Load() {
		stop()
	}
	return a.closed
}

// An alert is a [listener] that waits for one change.
type alert[K comparable, V any] struct {
	m       *Map[K, V]
	matches func(Change[K, V]) bool
	closed  chan struct{}
	fired   atomic.Bool
	stop    atomic.Pointer[func() bool] // the watch over ctx
}

func (a *alert[K, V]) only() any { return a.m }
func (a *alert[K, V]) fail(any)  { a.lose() }

func (a *alert[K, V]) lose() {
	if a.fired.Swap(true) {
		return
	}
	close(a.closed)
	if stop := a.stop.Load(); stop != nil {
		(*stop)()
	}
}

func (a *alert[K, V]) offer(list []DBCommit) (more bool) {
	if !slices.ContainsFunc(list, func(c DBCommit) bool {
		return slices.ContainsFunc(a.m.Changes(c), a.matches)
	}) {
		return true
	}
	a.lose()
	return false
}
