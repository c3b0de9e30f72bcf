package mvcc

import (
	"runtime"
	"slices"
	stdatomic "sync/atomic"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// A feed collects the versions of a watched map that are about to be committed. The hub takes them,
// and finds out which were committed.
//
//   - N1: before a goroutine draws an epoch for a record, and after the record's versions were
//     installed, somebody has looked for the feed and noted the versions there. If the record has
//     several keys, the committer notes all versions before it announces the record. If it has one
//     key, each goroutine that draws notes the version.
//   - N2: a goroutine that begins to watch publishes the feed, then notes the clock, and then
//     looks at all chains: versions that are undecided, or above the clock, are noted.
//
// So each version committed above that clock is noted by the time the clock reaches its epoch. By
// N1 the version was noted before the epoch was drawn. If there was no feed yet, the version was
// installed before the feed was published, and N2 meets it. [epoch.Slots.Hold] keeps pruners from
// all versions that a feed needs: the next in a chain is the one that the key had before.
//
// A feed looks up no key, and so calls no function of the user that compares keys: the hub, which
// serves other maps as well, is locked while a feed works.
type feed struct {
	m     *core
	hub   *hub
	lists [feedLists]feedList
	// lost says that the lists have become too long, and that notes may be missing.
	lost stdatomic.Bool

	// Guarded by hub.mu.
	pending []*chain.Node            // versions that are not decided for good
	seeded  map[*chain.Node]struct{} // the pending ones by N2: committers may note them as well
	own     int                      // how many listeners watch this map alone
	inAll   bool                     // watches of all tables watch it too
	fresh   []dated[succession]      // successions found in the round under way
}

// A succession is a committed version, and the one before, or nil.
type succession struct{ v, older *chain.Node }

// feed returns the feed of the watches, or nil.
func (m *core) feed() *feed { return m.feedAt.Load() }

// There are feedLists lists, so that committers of different keys do not meet on one. A committer
// that makes a list longer by longList entries yields, so that the hub may run. When all lists have
// longestList entries, the hub has not run for so long that it gives up.
const (
	feedLists   = 16
	longList    = 1 << 8
	longestList = 1 << 16
)

type feedList struct {
	head atomic.Pointer[noted]
	_    [120]byte
}

// A noted is a version, or several of one transaction. The hub lets go of it soon.
type noted struct {
	v     *chain.Node
	more  []*chain.Node
	next  *noted
	depth int
}

// dated is a change, with its epoch.
type dated[C any] struct {
	epoch  epoch.Epoch
	change C
}

// note notes v, an installed version whose key has the hash, and others, writes of its transaction.
// It never waits.
func (f *feed) note(v *chain.Node, hash uint64, others []write) {
	n := &noted{v: v}
	for i := range others {
		n.more = append(n.more, others[i].v)
	}
	for i := range uint64(feedLists) {
		if f.lost.Load() {
			return
		}
		if f.lists[(hash+i)%feedLists].add(n) {
			f.hub.stir()
			if n.depth%longList == 0 && !hooks.Scheduled() {
				runtime.Gosched()
			}
			return
		}
	}
	f.lost.Store(true)
	f.hub.stir()
}

// add adds n, unless the list is as long as it may be.
func (list *feedList) add(n *noted) (added bool) {
	for {
		last := list.head.Load()
		if n.next, n.depth = last, 1; last != nil {
			n.depth += last.depth + len(n.more)/longList
		}
		if n.depth >= longestList {
			return false
		}
		if list.head.CompareAndSwap(last, n) {
			return true
		}
	}
}

// noteAll notes the keys that the transaction writes to maps that are watched, or whose records
// expire. It notes neighbouring writes to one map together.
func (st *txState) noteAll() {
	for rest := st.writes; len(rest) > 0; {
		first, n := &rest[0], 1
		for n < len(rest) && rest[n].of == first.of {
			n++
		}
		m := st.parts[first.of].m
		if x := m.expiryAt.Load(); x != nil {
			for i := range rest[:n] {
				x.note(rest[i].v, rest[i].hash)
			}
		}
		if f := m.feedAt.Load(); f != nil {
			f.note(first.v, first.hash, rest[1:n])
		}
		rest = rest[n:]
	}
}

// take makes the noted versions pending, and reports whether there were any.
func (f *feed) take() (any bool) {
	for i := range f.lists {
		for n := takeAll(&f.lists[i].head); n != nil; n = n.next {
			f.add(n.v)
			for _, v := range n.more {
				f.add(v)
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

// add makes v pending, unless N2 has.
func (f *feed) add(v *chain.Node) {
	if _, there := f.seeded[v]; !there {
		f.pending = append(f.pending, v)
	}
}

func (f *feed) hasNotes() bool {
	for i := range f.lists {
		if f.lists[i].head.Load() != nil {
			return true
		}
	}
	return false
}

func (f *feed) empty() bool {
	return !f.hasNotes() && len(f.pending) == 0 && !f.lost.Load()
}

// seed makes pending the versions that are undecided, or above the epoch at, see N2. A chain may
// have several versions above at, whose committers may have found no feed.
func (f *feed) seed(at epoch.Epoch) {
	f.seeded = map[*chain.Node]struct{}{}
	f.m.index.Scan(func(_ index.Place, head *chain.Node) bool {
		for v := head; v != nil; v = v.Next.Load() {
			if w, _ := f.m.Resolve(v); w.Committed() && w.Epoch() <= at {
				break
			}
			f.add(v)
			f.seeded[v] = struct{}{}
		}
		return true
	})
}

// find finds the pending versions that were committed above the epoch from, up to the epoch to. The
// clock had reached to before the versions were taken.
func (f *feed) find(from, to epoch.Epoch) {
	left := 0
	for _, v := range f.pending {
		e := f.m.Decide(v, to)
		if w, _ := f.m.Resolve(v); e == 0 && !w.Is(chain.KindAborted) || e > to { // for a later round
			f.pending[left] = v
			left++
			continue
		}
		delete(f.seeded, v)
		if e <= from { // it was aborted, or was found before somebody noted it once more
			continue
		}
		if older := v.Next.Load(); v.There() || older.There() {
			f.fresh = append(f.fresh, dated[succession]{e, succession{v, older}})
		}
	}
	clear(f.pending[left:])
	f.pending = f.pending[:left]
	if left == 0 {
		f.seeded = nil
		if cap(f.pending) > longestList {
			f.pending = nil
		}
	}
}

// handOn appends to list an element for each commit, with the successions that find has found.
func (f *feed) handOn(list []dated[tableChanges]) []dated[tableChanges] {
	if len(f.fresh) == 0 {
		return list
	}
	sortBy(f.fresh, func(one *dated[succession]) uint64 { return uint64(one.epoch) })
	// A version noted twice is of a commit of a single key: both stand alone in its epoch.
	f.fresh = slices.CompactFunc(f.fresh, func(a, b dated[succession]) bool {
		return a.change.v == b.change.v
	})
	part, closed := f.m.types.changes(f.fresh), f.m.closedAt()
	for from := 0; from < len(f.fresh); {
		e, to := f.fresh[from].epoch, from+1
		for to < len(f.fresh) && f.fresh[to].epoch == e {
			to++
		}
		list = append(list, dated[tableChanges]{e, tableChanges{of: hide(f.m), changes: part(from, to),
			n: to - from, inAll: f.inAll && (closed == 0 || e < closed),
			expired: f.fresh[from].change.v.Expired()}})
		from = to
	}
	f.fresh = cleared(f.fresh)
	return list
}

// changesOf returns a function that returns a part of the changes of a list.
func changesOf[K comparable, V any](list []dated[succession]) (part func(from, to int) any) {
	changes := make([]Change[K, V], len(list))
	for i, one := range list {
		c, v := &changes[i], one.change
		c.Key = chain.KeyOf[K](v.v)
		c.Old, c.Had = chain.Present[K, V](v.older)
		c.New, c.Has = chain.Present[K, V](v.v)
	}
	return func(from, to int) any { return changes[from:to:to] }
}

// hasLost reports whether keys that were noted are lost.
func (f *feed) hasLost() bool { return f.lost.Load() }

// leave counts the end of a listener of this map alone. unpublish takes the feed off its map, if
// nobody watches the map any more, and reports whether it did; forget does so in any case.
func (f *feed) leave() { f.own-- }

// watchedBy reports whether w watches the map.
func (f *feed) watchedBy(w listener) bool {
	m := w.only()
	return m == f.m || m == nil && f.inAll
}

func (f *feed) unpublish(all int) (done bool) {
	if f.own > 0 || f.inAll && all > 0 {
		return false
	}
	f.forget()
	return true
}

func (f *feed) forget() { f.m.feedAt.Store(nil) }

// cleared returns s with length 0, and nothing reachable through it, for the next round.
func cleared[T any](s []T) []T {
	if cap(s) > longestList {
		return nil
	}
	clear(s)
	return s[:0]
}
