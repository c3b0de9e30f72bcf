package mvcc

import (
	"iter"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// A Change is a write of a key, even of the same value.
type Change[K comparable, V any] struct {
	Key      K
	Old, New V
	Had, Has bool // whether the key was there before, and after
}

// A Commit has all changes of a transaction, or of a one-key operation, in a map.
type Commit[K comparable, V any] struct {
	// Epoch is its commit epoch: a snapshot of that epoch or a later one sees all the changes.
	Epoch uint64
	// Changes are in no particular order, each key once. All watches share them.
	Changes []Change[K, V]
	// Summary says that these are the changes of several transactions, between [WatchOptions.Since]
	// and Epoch, with the last value of each key. Only the first Commit of a watch may be one.
	Summary bool
	// Expired says that the commit deletes an expired record, see [Map.Expire].
	Expired bool
}

// A DBCommit is a [Commit] over the tables of a database, see [Map.Changes]. With Progress or
// Closed it has no changes.
type DBCommit struct {
	Epoch   uint64
	Summary bool
	Expired bool
	// Progress says that all commits up to Epoch were given, see [DBWatchOptions.Progress].
	Progress bool
	// Closed is the name of a table that was closed at Epoch. Snapshots of that epoch or a later
	// one are without the table.
	Closed string

	tables []tableChanges
	closed *engine
	only   any // for a watch of one map: its []Change
}

// tableChanges are the changes of a commit in one map.
type tableChanges struct {
	of      *engine
	changes any // []Change[K, V]
	n       int
	inAll   bool    // a watch of all tables is told
	expired bool    // of a commit that deletes a record whose time had come
	closed  *engine // the table that was closed: no changes
}

// Changes returns the changes of the table m in c, nil if there are none.
func (m *Map[K, V]) Changes(c DBCommit) []Change[K, V] {
	changes, _ := c.of(m.engine()).([]Change[K, V])
	return changes
}

// of returns the changes in a table, nil if there are none.
//
//go:noinline
func (c *DBCommit) of(m *engine) any {
	changes, _ := c.in(m)
	return changes
}

// in returns the changes in a table, and how many there are.
func (c *DBCommit) in(m *engine) (changes any, n int) {
	for _, t := range c.tables {
		if t.of == m {
			return t.changes, t.n
		}
	}
	return nil, 0
}

// Diff returns an iterator over the keys that were written between two snapshots of the map, with
// their values in both. Either may be the earlier one, and both must stay open until the loop has
// ended. The loop looks at every key of the map, and waits for nobody.
//
//go:noinline
func (s Snapshot[K, V]) Diff(older Snapshot[K, V]) iter.Seq[Change[K, V]] {
	moment(s).checkDiff(moment(older))
	return func(yield func(Change[K, V]) bool) {
		moment(s).diff(moment(older), func(v, was, is *chain.Node) bool {
			c := Change[K, V]{Key: chain.KeyOf[K](v)}
			c.Old, c.Had = chain.Present[K, V](was)
			c.New, c.Has = chain.Present[K, V](is)
			return yield(c)
		})
	}
}

//go:noinline
func (s moment) checkDiff(older moment) {
	s.check()
	older.check()
	if partOf(s.st).m != partOf(older.st).m {
		panic("mvcc: Diff: the snapshots are of two maps")
	}
}

// diff is [Snapshot.Diff]. visit takes the key from v: the version in s, or the head if s has none.
//
//go:noinline
func (s moment) diff(older moment, visit func(v, was, is *chain.Node) bool) {
	m, from, to := partOf(s.st).m, stateOf(older.st).epoch(), stateOf(s.st).epoch()
	newest := max(from, to)
	s.check()
	older.check()
	all := m.index.Scan(func(_ index.Place, head *chain.Node) bool {
		if e := chain.Load(&head.State); e.Committed() && e.Epoch() <= min(from, to) {
			return true
		}
		top := m.Visible(head, newest)
		was, is := m.Visible(top, from), m.Visible(top, to)
		if was == is {
			return true
		}
		v := head
		if is != nil {
			v = is
		}
		s.check()
		older.check()
		return !was.There() && !is.There() || visit(v, was, is)
	})
	if all {
		s.check() // else a key may have gone
		older.check()
	}
	runtime.KeepAlive(s.st)
	runtime.KeepAlive(older.st)
}

// Diff returns the changes from older to newer in the tables of newer, as [Snapshot.Diff] does,
// with the Epoch of newer. Later tables are included.
func (db *DB) Diff(newer, older DBSnapshot) DBCommit {
	c := DBCommit{Epoch: newer.Epoch(), Summary: true}
	for _, table := range seenIn(newer) {
		if t := table.diff(newer, older); t.n > 0 {
			c.tables = append(c.tables, t)
		}
	}
	return c
}

// diff is Diff for one table.
func (m *core) diff(newer, older DBSnapshot) tableChanges {
	of := func(s DBSnapshot) moment {
		s.check()
		if stateOf(s.st).m.shared != m.shared {
			panic("mvcc: Diff: a snapshot is of another database")
		}
		return moment{&stateOf(s.st).part(m).txn, s.gen}
	}
	changes, n := m.types.diff(of(newer), of(older))
	return tableChanges{of: hide(m), changes: changes, n: n, inAll: true}
}

// changedTo is [recordType.changed].
func changedTo[K comparable, V any](changes any, i int) (v *chain.Node, has bool) {
	c := &changes.([]Change[K, V])[i]
	return chain.New(c.Key, c.New), c.Has
}

func diff[K comparable, V any](newer, older moment) (changes any, n int) {
	list := slices.Collect(Snapshot[K, V](newer).Diff(Snapshot[K, V](older)))
	return list, len(list)
}

func (db door) RequestProgress() {
	h := &dbAt(db.DB).shared.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.listeners) > 0 {
		h.asked = true
		h.round()
	}
}

// A watchLoop is the user's side of a subscription. The hub does not refer to it: when nobody can
// reach the watchLoop, the subscription ends.
type watchLoop struct {
	s    *subscription
	over atomic.Bool // there was a loop
}

// all is the iterator.
func (l *watchLoop) all(yield func(DBCommit, error) bool) {
	if l.over.Swap(true) {
		panic("mvcc: Watch: there was a loop before: a watch has one, call Watch again")
	}
	s := l.s
	defer runtime.KeepAlive(l)
	defer s.stop()
	defer s.end()
	give := func(c DBCommit) (more bool) {
		s.given = c.Epoch
		return yield(c, nil)
	}
	for _, c := range s.first {
		if !give(c) {
			return
		}
	}
	s.first = nil
	for {
		list, err := s.take()
		for _, c := range list {
			if err = s.ctx.Err(); err != nil {
				break
			}
			if !give(c) {
				return
			}
		}
		if err != nil {
			if yield(DBCommit{}, err) && s.hub.strict != nil {
				s.hub.strict.fail("a loop over a Watch goes on after the error: does it look at it?")
			}
			return
		}
	}
}
