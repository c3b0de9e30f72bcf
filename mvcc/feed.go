package mvcc

import (
	"runtime"
	"slices"
	stdatomic "sync/atomic"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/hooks/atomic"
)

// A feed collects the keys of a watched map on which a commit is about to be made. The
// hub takes them, and finds in the chains what was committed.
//
//   - N1: a goroutine that draws an epoch for a record has looked for the feed before, and
//     after the versions of the record were installed, and has noted their keys there. For a
//     record of several keys the committer notes all before it announces the record; for one
//     with a single key each goroutine that draws notes it.
//   - N2: a goroutine that begins to watch publishes the feed, then notes the clock, and then
//     looks at the heads of all keys: those that are undecided, or above the clock, are
//     noted.
//
// So whatever commits above that clock is noted by the time the clock reaches its epoch: by
// the goroutine that has drawn it, or, if that found no feed, the versions were installed
// before the feed was published, and N2 meets them. Only the head of a chain is undecided,
// so that a look at the head is enough. Nothing that a feed needs is pruned:
// [epoch.Slots.Hold].
type feed[K comparable, V any] struct {
	feedHead
	m     *Map[K, V]
	hub   *hub
	lists [feedLists]feedList[K]
	// lost says that a list has become too long, and that what was noted may be missing.
	lost stdatomic.Bool

	// Guarded by hub.mu.
	pending []K                   // noted, and not decided for good
	among   map[K]struct{}        // these
	own     int                   // those that watch this map alone
	inAll   bool                  // watches of all tables watch it too
	fresh   []dated[Change[K, V]] // what the round under way has found
}

// A feedHead is what a map knows of its feed: note is that of the feed for the key of v, which is
// installed, and those of more.
type feedHead struct {
	note func(v *node, hash uint64, more []write)
}

// feed returns the feed of the watches, or nil.
func (m *Map[K, V]) feed() *feed[K, V] { return (*feed[K, V])(unsafe.Pointer(m.feedAt.Load())) }

// feedLists is how many lists there are, so that committers of different keys do not meet on
// one. When one has longList entries, a committer that adds another gives the hub its turn.
// When it has longestList, the hub has not run for so long that it gives up.
const (
	feedLists   = 16
	longList    = 1 << 8
	longestList = 1 << 16
)

type feedList[K comparable] struct {
	head atomic.Pointer[noted[K]]
	_    [120]byte
}

// A noted is a key that was noted, or several of one transaction.
type noted[K comparable] struct {
	key   K
	more  []K
	next  *noted[K]
	depth int
}

// dated is a change, with its epoch.
type dated[C any] struct {
	epoch  epoch.Epoch
	change C
}

// noteKeys notes the key of v, whose hash is given, and those of others. It never waits.
//
// If the key was noted last nothing is to be done: the hub looks at its chain after it has
// taken that note, and finds the version that was installed before.
func (f *feed[K, V]) noteKeys(v *node, hash uint64, others []write) {
	var more []K
	for i := range others {
		more = append(more, keyOf[K](others[i].v))
	}
	key := keyOf[K](v)
	var n *noted[K]
	for head := &f.lists[hash%feedLists].head; ; {
		last, depth := head.Load(), 1
		if last != nil {
			depth += last.depth + len(more)/longList
		}
		switch {
		case f.lost.Load() || last != nil && last.key == key && more == nil:
			return
		case depth >= longestList:
			f.lost.Store(true)
			return
		case n == nil:
			n = &noted[K]{key: key, more: more}
		}
		if n.next, n.depth = last, depth; head.CompareAndSwap(last, n) {
			break
		}
	}
	f.hub.stir()
	if n.depth%longList == 0 && !hooks.Scheduled() {
		runtime.Gosched()
	}
}

// noteAll notes the keys that the transaction writes to the map, if that is watched, or if
// records of it expire.
func (st *txState) noteAll() {
	if x := st.m.expiryAt.Load(); x != nil {
		for i := range st.writes {
			x.note(st.writes[i].v, st.writes[i].hash)
		}
	}
	if f := st.m.feedAt.Load(); f != nil && len(st.writes) > 0 {
		f.note(st.writes[0].v, st.writes[0].hash, st.writes[1:])
	}
}

// take makes what was noted pending, and reports whether anything was.
func (f *feed[K, V]) take() (any bool) {
	for i := range f.lists {
		for n := takeAll(&f.lists[i].head); n != nil; n = n.next {
			f.add(n.key)
			for _, key := range n.more {
				f.add(key)
			}
			any = true
		}
	}
	return any
}

// takeAll takes a list as a whole.
func takeAll[T any](head *atomic.Pointer[T]) *T {
	n := head.Load()
	for n != nil && !head.CompareAndSwap(n, nil) {
		n = head.Load()
	}
	return n
}

// add makes a key pending.
func (f *feed[K, V]) add(key K) {
	if !repeated(f.among, key) {
		f.pending = append(f.pending, key)
	}
}

func (f *feed[K, V]) empty() bool {
	for i := range f.lists {
		if f.lists[i].head.Load() != nil {
			return false
		}
	}
	return len(f.pending) == 0 && !f.lost.Load()
}

// seed makes the keys pending whose head is undecided, or above at: see N2.
func (f *feed[K, V]) seed(at epoch.Epoch) {
	f.m.index.scan(func(_ place, head *node) bool {
		if w, _ := f.m.core().resolve(head); !w.committed() || w.epoch() > at {
			f.add(keyOf[K](head))
		}
		return true
	})
}

// find finds what was committed on the pending keys above the epoch from, up to the epoch to,
// which the clock had reached before the keys were taken.
//
// The versions of a key that has several since the last round are counted: where there are
// too many, or keys are lost, find gives up.
func (f *feed[K, V]) find(from, to epoch.Epoch, deep *int) {
	left := 0
	for _, key := range f.pending {
		if f.lost.Load() || *deep > deepest {
			return // the hub gives up
		}
		_, _, head := lookup(f.m.index, key)
		v := f.m.core().visible(head, to)
		// An undecided head, or one above, is for a later round.
		if v == head {
			delete(f.among, key)
		} else {
			f.pending[left] = key
			left++
		}
		for n := 0; v != nil && *deep <= deepest; n++ {
			e := f.m.core().commitEpoch(v)
			if e <= from {
				break
			}
			if n > 0 {
				*deep++
			}
			older := v.next.Load()
			c := Change[K, V]{Key: keyOf[K](v)}
			c.Old, c.Had = present[K, V](older)
			c.New, c.Has = present[K, V](v)
			if c.Had || c.Has {
				f.fresh = append(f.fresh, dated[Change[K, V]]{e, c})
			}
			v = older
		}
	}
	clear(f.pending[left:])
	f.pending = f.pending[:left]
	if left == 0 && cap(f.pending) > longestList {
		f.pending, f.among = nil, map[K]struct{}{}
	}
}

// handOn appends what find has found, by commits.
func (f *feed[K, V]) handOn(list []dated[tableChanges]) []dated[tableChanges] {
	if len(f.fresh) == 0 {
		return list
	}
	sortBy(f.fresh, func(one *dated[Change[K, V]]) uint64 { return uint64(one.epoch) })
	changes, commits := make([]Change[K, V], len(f.fresh)), 0
	for i, one := range f.fresh {
		changes[i] = one.change
		if i == 0 || one.epoch != f.fresh[i-1].epoch {
			commits++
		}
	}
	list = slices.Grow(list, commits)
	for from := 0; from < len(changes); {
		e, to := f.fresh[from].epoch, from+1
		for to < len(changes) && f.fresh[to].epoch == e {
			to++
		}
		closed := f.m.closedAt()
		list = append(list, dated[tableChanges]{e, tableChanges{of: f.m, changes: changes[from:to:to],
			n: to - from, inAll: f.inAll && (closed == 0 || e < closed)}})
		from = to
	}
	f.fresh = cleared(f.fresh)
	return list
}

func (f *feed[K, V]) hasLost() bool { return f.lost.Load() }
func (f *feed[K, V]) leave()        { f.own-- }

func (f *feed[K, V]) watchedBy(w listener) bool {
	m := w.only()
	return m == any(f.m) || m == nil && f.inAll
}

func (f *feed[K, V]) unpublish(all int) (done bool) {
	if f.own > 0 || f.inAll && all > 0 {
		return false
	}
	f.forget()
	return true
}

func (f *feed[K, V]) forget() { f.m.feedAt.Store(nil) }

// cleared returns s with length 0, and nothing reachable through it, for the next round.
func cleared[T any](s []T) []T {
	if cap(s) > longestList {
		return nil
	}
	clear(s)
	return s[:0]
}
