package mvcc

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/seam"
)

// WatchOptions configures a watch.
type WatchOptions[K comparable, V any] struct {
	// Since is a snapshot of the map, open until [Map.Watch] has returned: the watch begins there.
	// Default: now.
	Since Snapshot[K, V]

	// Keys are the keys to watch, of an ordered map. Default: all.
	Keys Range[K]

	// Match reports whether to watch a key. The goroutine of the loop calls it, and so wakes up for
	// all commits. Default: all.
	Match func(key K) bool

	// Buffer is how many changes may wait; with more the watch ends with a [*GapError]. Changes
	// that Match, or Keys in an order by a function, will leave out count too. A commit that is
	// larger than Buffer is given whole to a loop that has taken all larger ones before. A waiting
	// change takes a key and two values, and up to a hundred bytes. Default: 8192.
	Buffer int

	_ struct{}
}

const defaultBuffer = 1 << 13

// Watch returns an iterator over the commits that change the map from now on, in the order of their
// epochs, each whole, with old and new values. The watch begins with the call, not with the loop.
// It ends with the loop. When ctx has ended, or if the loop is too slow, the last step gives a
// commit without changes, and the error of the context, or a [*GapError]. A second loop panics.
//
// A commit is given within a millisecond, if the machine has time. Commits never wait for watches:
// a timer has all watches of the map or database served, in rounds. A commit notes its writes, in
// one allocation; in a map that nobody watches it pays one load. Changes stay in memory until a
// round has seen them, and in the buffer of a loop until it has taken them.
//
// Watch, and the end of a watch, may wait for the round under way. The first watch of a map, and one
// with Since, looks at all keys. With Since the first commit is a [Commit.Summary], if there are
// changes since the snapshot. If the snapshot is evicted meanwhile Watch panics, see [ErrTxTooOld].
//
// [NewIndex] changes all records. [Map.Close] does not end a watch.
func (m *Map[K, V]) Watch(
	ctx context.Context, opts *WatchOptions[K, V],
) iter.Seq2[Commit[K, V], error] {
	e := m.engine()
	var o WatchOptions[K, V]
	if opts != nil {
		o = *opts
	}
	atOnce, later := m.picks(&o)
	all := e.watch(ctx, moment(o.Since), o.Buffer, func(all any) (any, int) {
		changes, _ := all.([]Change[K, V])
		if atOnce == nil {
			return all, len(changes)
		}
		changes = atOnce(changes)
		return changes, len(changes)
	}, func(now moment) any {
		return slices.Collect(Snapshot[K, V](now).Diff(o.Since))
	})
	return func(yield func(Commit[K, V], error) bool) {
		all(func(c DBCommit, err error) bool {
			changes, _ := c.only.([]Change[K, V])
			if err == nil && later != nil {
				if changes = later(changes); len(changes) == 0 {
					return true
				}
			}
			return yield(Commit[K, V]{c.Epoch, changes, c.Summary, c.Expired}, err)
		})
	}
}

// A picker picks changes of a commit.
type picker[K comparable, V any] func(all []Change[K, V]) (some []Change[K, V])

// picks returns the pickers of the changes to be given. atOnce is called when a commit is handed
// on, and later by the loop, unless they are nil. Only later calls functions of the user.
func (m *Map[K, V]) picks(o *WatchOptions[K, V]) (atOnce, later picker[K, V]) {
	keys, match := o.Keys, o.Match // not o: Since may be dropped
	if s := m.at.strict(); s != nil && match != nil {
		of := match
		match = func(key K) bool {
			return twice(s, "WatchOptions.Match", func() bool { return of(key) })
		}
	}
	if keys.low.kind == open && keys.high.kind == open {
		if match != nil {
			later = pick[K, V](m.at, nil, match)
		}
		return nil, later
	}
	m.at.checkOrdered(keys.prefix)
	in := spanOf(&keys)
	if !m.at.order().natural {
		return nil, pick[K, V](m.at, &in, match)
	}
	if match != nil {
		later = pick[K, V](m.at, nil, match)
	}
	return pick[K, V](m.at, &in, nil), later
}

// pick returns a picker of the changes whose keys are in a range and match. A nil in or match lets
// all keys through.
func pick[K comparable, V any](e *engine, in *span, match func(key K) bool) picker[K, V] {
	return func(all []Change[K, V]) (some []Change[K, V]) {
		for i := range all {
			c := &all[i]
			inRange := in == nil || e.within(in, unsafe.Pointer(&c.Key))
			if inRange && (match == nil || match(c.Key)) {
				some = append(some, *c)
			}
		}
		return some
	}
}

// snapshotAtHub returns a snapshot at an epoch that the hub, which is locked, has got to.
func (m *core) snapshotAtHub(at uint64) moment {
	s, err := m.openAt(at, forCall)
	if err != nil {
		panic(err) // the hub holds the bound below
	}
	return s
}

// DBWatchOptions configures a watch of a database, see [WatchOptions].
type DBWatchOptions struct {
	Since  DBSnapshot
	Buffer int
	// Progress: a [DBCommit.Progress] follows whenever all commits that wait were given.
	Progress bool

	coroutine seam.Coroutine // of the loop, or nil
	_         struct{}
}

// Watch is [Map.Watch] for all tables, including later ones: [Map.Changes] returns the changes of
// one. It also tells of closed tables, in the order of the epochs; with Since, tables closed since
// the snapshot come before the summary.
//
//go:noinline
func (db *DB) Watch(ctx context.Context, opts *DBWatchOptions) iter.Seq2[DBCommit, error] {
	return watchAll(ctx, db, *cmp.Or(opts, &DBWatchOptions{})).all
}

func (db door) WatchIn(
	c seam.Coroutine, ctx context.Context, o DBWatchOptions,
) iter.Seq2[DBCommit, error] {
	o.coroutine = c
	return watchAll(ctx, db.DB, o).all
}

// watchAll is [DB.Watch]. It is no method: programs that have a DB would compile its loop.
func watchAll(ctx context.Context, db *DB, o DBWatchOptions) *watchLoop {
	of := &dbAt(db).shared.hub
	loop := newSubscription(ctx, of, o.Buffer, nil, func(c DBCommit) (DBCommit, int) {
		if c.closed != nil {
			return c, 1
		}
		some, n := DBCommit{Epoch: c.Epoch, Expired: c.Expired}, 0
		for _, t := range c.tables {
			if t.inAll {
				some.tables = append(some.tables, t)
				n += t.n
			}
		}
		return some, n
	})
	s := loop.s
	s.coroutine = o.coroutine
	if o.Progress {
		s.progress = func(to uint64) DBCommit { return DBCommit{Epoch: to, Progress: true} }
	}
	since, begun := o.Since.st != nil, false
	if since {
		o.Since.check()
		if stateOf(o.Since.st).m.shared != dbAt(db).shared {
			panic("mvcc: Watch: DBWatchOptions.Since is a snapshot of another database")
		}
	}
	var now DBSnapshot
	func() {
		dbAt(db).mu.Lock() // no table is made until the watch has begun
		defer dbAt(db).mu.Unlock()
		s.begin(dbAt(db).feedAll, func(at uint64) {
			if since {
				s := dbAt(db).root.snapshotAtHub(at)
				now = DBSnapshot{s.st, s.gen, hideList(dbAt(db).list.Load())}
			}
		})
	}()
	defer s.endUnless(&begun)
	if since {
		defer now.Close()
		for _, t := range closedSince(o.Since, now.Epoch()) {
			s.first = append(s.first, DBCommit{Epoch: uint64(t.closedAt()), Closed: t.counters.name,
				closed: hide(t)})
		}
		if c := db.Diff(now, o.Since); len(c.tables) > 0 {
			s.first = append(s.first, c)
		}
	}
	begun = true
	return loop
}

// A subscription is a [listener] with a loop.
type subscription struct {
	ctx   context.Context
	hub   *hub
	of    *core // nil for all
	limit int
	pick  func(c DBCommit) (some DBCommit, changes int)
	// progress makes the commit that says that all up to an epoch was given; it may be nil.
	progress  func(to uint64) DBCommit
	ready     chan struct{}  // there is something to take
	coroutine seam.Coroutine // of the loop, or nil
	first     []DBCommit     // before all else
	// given is the epoch of the last commit that the loop was given, or of the begin: commits that
	// wait may still be dropped. Once the watch has begun only the goroutine of the loop uses it.
	given uint64

	mu      sync.Mutex
	waiting []DBCommit
	changes int  // in waiting
	large   int  // of changes, those in commits that are larger than limit
	marked  bool // the last commit in waiting is of progress
	gap     bool

	stop    func() bool
	cleanup runtime.Cleanup // of the iterator, when it is dropped
}

func newSubscription(
	ctx context.Context, h *hub, buffer int, of *core, pick func(c DBCommit) (DBCommit, int),
) *watchLoop {
	checkContext("Watch", ctx)
	if buffer < 0 {
		panic(fmt.Sprintf("mvcc: Watch: Buffer is %d, want 0 or more", buffer))
	}
	if buffer == 0 {
		buffer = defaultBuffer
	}
	loop := &watchLoop{s: &subscription{ctx: ctx, hub: h, of: of, limit: buffer, pick: pick,
		ready: make(chan struct{}, 1)}}
	loop.s.cleanup = runtime.AddCleanup(loop, h.hasDropped, listener(loop.s))
	return loop
}

// begin begins the watch, see [hub.begin].
func (s *subscription) begin(watched func(), begun func(at uint64)) {
	s.hub.begin(s, watched, func(at uint64) {
		s.given = at
		if s.progress != nil {
			s.mark(at)
		}
		begun(at)
	})
	s.mu.Lock()
	s.stop = context.AfterFunc(s.ctx, s.end)
	s.mu.Unlock()
}

// endUnless is deferred by code that may panic because Since is evicted.
func (s *subscription) endUnless(begun *bool) {
	if !*begun {
		s.stop()
		s.end()
	}
}

func (s *subscription) end() {
	s.cleanup.Stop()
	s.hub.end(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takeWaiting()
	s.signal() // ctx has ended, and a coroutine looks
}

// dropped is called when the iterator is gone.
func (s *subscription) dropped() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil { // else it has not begun: Watch has panicked
		s.stop()
	}
	s.takeWaiting()
}

// takeWaiting takes the commits that wait. s.mu is held.
func (s *subscription) takeWaiting() (list []DBCommit) {
	s.hub.waiting.Add(-int64(s.changes))
	list, s.waiting, s.marked, s.changes, s.large = s.waiting, nil, false, 0, 0
	return list
}

func (s *subscription) only() *core { return s.of }

func (s *subscription) offer(list []DBCommit) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.marked {
		s.waiting, s.marked = s.waiting[:len(s.waiting)-1], false
	}
	behind := s.large > 0 // the loop had time to take the large commit
	for i, c := range list {
		picked, n := s.pick(c)
		if n == 0 {
			continue
		}
		large := n > s.limit
		if s.gap = large && behind || !large && s.changes-s.large+n > s.limit; s.gap {
			s.hub.gaps.Add(1)
			break
		}
		if large {
			s.large += n
		}
		if len(s.waiting) == cap(s.waiting) {
			s.waiting = slices.Grow(s.waiting, len(list)-i)
		}
		s.waiting = append(s.waiting, picked)
		s.changes += n
		s.hub.waiting.Add(int64(n))
	}
	if s.progress != nil && !s.gap {
		s.mark(uint64(s.hub.at))
	}
	if len(s.waiting) > 0 {
		s.signal()
	}
	return !s.gap
}

// mark says that all up to an epoch was given. s.mu is held, or s has not begun.
func (s *subscription) mark(to uint64) {
	s.marked = true
	s.waiting = append(s.waiting, s.progress(to))
	s.signal()
}

func (s *subscription) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gap = true
	s.signal()
}

func (s *subscription) signal() {
	select {
	case s.ready <- struct{}{}:
		if s.coroutine != nil {
			s.coroutine.Resume()
		}
	default:
	}
}

// take waits for commits, or an error.
func (s *subscription) take() (list []DBCommit, err error) {
	for {
		if s.coroutine != nil {
			s.coroutine.Await(func() bool { return len(s.ready) > 0 || s.ctx.Err() != nil })
		}
		select {
		case <-s.ctx.Done():
			return nil, s.ctx.Err()
		case <-s.ready:
		}
		s.mu.Lock()
		list = s.takeWaiting()
		if s.gap && len(list) == 0 {
			err = &GapError{s.given}
		}
		if s.gap {
			s.signal() // for the next take, when list is consumed
		}
		s.mu.Unlock()
		if len(list) > 0 || err != nil {
			return list, err
		}
	}
}
