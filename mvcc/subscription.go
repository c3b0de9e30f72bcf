package mvcc

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	stdatomic "sync/atomic"
)

// WatchOptions configures a watch. A nil *WatchOptions, and every field that is zero, means the
// default.
type WatchOptions[K comparable, V any] struct {
	// Since is a snapshot of the map: the watch gives all changes after it, so a reader of the
	// snapshot misses none. It must be open until [Map.Watch] has returned. Default: from now on.
	Since Snapshot[K, V]

	// Keys are the keys to watch, of an ordered map. Default: all.
	Keys Range[K]

	// Match says which keys to watch. It must be quick, and not use the map: the goroutine that
	// serves all watches calls it. If it panics, so does the loop. Default: all.
	Match func(key K) bool

	// Buffer is how many changes may wait to be consumed; when there are more the watch ends
	// with a [*GapError]. Default: 65536.
	Buffer int

	_ struct{}
}

const defaultBuffer = 1 << 16

// Watch returns an iterator over the commits that change the map from now on, in the order of their
// epochs, each whole: with all of its changes, and the old and new values. opts may be nil. The
// watch begins with the call, not with the loop, and ends with the loop, or when ctx has ended: the
// last thing that the iterator gives is then the error of the context, or, if the loop was too
// slow, a [*GapError]. There may be one loop: a second one panics.
//
//	for c, err := range users.Watch(ctx, nil) {
//		if err != nil {
//			return err
//		}
//		for _, change := range c.Changes { ... }
//	}
//
// A commit is given soon after it was made, within a millisecond if the machine has time. Commits
// never wait for watches: one goroutine serves all watches of the map or database, and ends with
// the last of them. A commit notes each key that it writes, which takes an allocation unless the
// key was noted last. What was written is kept until the goroutine has seen it; what waits for a
// loop is kept in its buffer. In a map that nobody watches a commit pays one load.
//
// Watch may wait until the goroutine has handed on what it is at, and the first one of a map looks
// at all of its keys once. With Since, the first commit that is given is a [Commit.Summary] of
// what changed between the snapshot and the start of the watch, if anything has: that looks at
// all keys, too. If the snapshot is evicted meanwhile Watch panics, with an error that wraps
// [ErrTxTooOld]. The end of the last watch waits for the goroutine to end.
//
// Making an index, see [NewIndex], writes all records of the table again: they are changes.
// [Map.Close] does not end a watch.
func (m *Map[K, V]) Watch(
	ctx context.Context, opts *WatchOptions[K, V],
) iter.Seq2[Commit[K, V], error] {
	m.check()
	var o WatchOptions[K, V]
	if opts != nil {
		o = *opts
	}
	wants, begun := m.wants(&o), false
	s := newSubscription(ctx, &m.shared.hub, o.Buffer, m, func(c DBCommit) (Commit[K, V], int) {
		changes := wants(m.Changes(c))
		return Commit[K, V]{c.Epoch, changes, c.Summary, c.Expired}, len(changes)
	})
	since := o.Since.st != nil
	if since {
		o.Since.check()
		if o.Since.st.m != m {
			panic("mvcc: Watch: WatchOptions.Since is a snapshot of another map")
		}
	}
	var now Snapshot[K, V]
	s.begin(func() { m.fed().own++ }, func(at uint64) {
		if since {
			now = m.snapshotAtHub(at)
		}
	})
	defer s.endUnless(&begun)
	if since {
		defer now.Close()
		if all := wants(slices.Collect(now.Diff(o.Since))); len(all) > 0 {
			s.first = &Commit[K, V]{Epoch: now.Epoch(), Changes: all, Summary: true}
		}
	}
	begun = true
	return s.all
}

// wants returns what picks the changes that are to be given.
func (m *Map[K, V]) wants(o *WatchOptions[K, V]) func([]Change[K, V]) []Change[K, V] {
	if o.Keys.low.kind == open && o.Keys.high.kind == open && o.Match == nil {
		return func(all []Change[K, V]) []Change[K, V] { return all }
	}
	if o.Keys.low.kind != open || o.Keys.high.kind != open {
		m.checkOrdered()
	}
	return func(all []Change[K, V]) (some []Change[K, V]) {
		for _, c := range all {
			inRange := m.order == nil || o.Keys.has(m.order.comparing(), c.Key)
			if inRange && (o.Match == nil || o.Match(c.Key)) {
				some = append(some, c)
			}
		}
		return some
	}
}

// snapshotAtHub returns a snapshot at an epoch that the hub, which is locked, has got to.
func (m *Map[K, V]) snapshotAtHub(at uint64) Snapshot[K, V] {
	s, err := m.SnapshotAt(at)
	if err != nil {
		panic(err) // the hub holds the bound below
	}
	return s
}

// DBWatchOptions configures a watch of a database. A nil *DBWatchOptions, and every field that
// is zero, means the default. Its fields are as those of [WatchOptions].
type DBWatchOptions struct {
	Since  DBSnapshot
	Buffer int
	// Progress says that whenever all commits that wait were given a [DBCommit.Progress]
	// follows them.
	Progress bool

	_ struct{}
}

// Watch is [Map.Watch] for all tables, including those that are made later: a commit is given with
// its changes in all of them, see [Map.Changes]. When a table is closed that is told as well.
func (db *DB) Watch(ctx context.Context, opts *DBWatchOptions) iter.Seq2[DBCommit, error] {
	var o DBWatchOptions
	if opts != nil {
		o = *opts
	}
	s := newSubscription(ctx, &db.base().shared.hub, o.Buffer, nil, func(c DBCommit) (DBCommit, int) {
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
	if o.Progress {
		s.progress = func(to uint64) DBCommit { return DBCommit{Epoch: to, Progress: true} }
	}
	since, begun := o.Since.s.st != nil, false
	if since {
		o.Since.s.check()
		if o.Since.s.st.m != db.base() {
			panic("mvcc: Watch: DBWatchOptions.Since is a snapshot of another database")
		}
	}
	var now DBSnapshot
	func() {
		db.mu.Lock() // no table is made until the watch has begun
		defer db.mu.Unlock()
		s.begin(func() {
			for _, table := range db.tables {
				if !table.isInner() {
					table.feedForAll()
				}
			}
		}, func(at uint64) {
			if since {
				now = DBSnapshot{db.base().snapshotAtHub(at)}
			}
		})
	}()
	defer s.endUnless(&begun)
	if since {
		defer now.Close()
		if c := db.Diff(now, o.Since); len(c.tables) > 0 {
			s.first = &c
		}
	}
	begun = true
	return s.all
}

// RequestProgress delivers, to all watches of the database and its tables, what was committed
// before the call. Each watch with [DBWatchOptions.Progress] is given the Progress up to at least
// there, even if there was nothing to deliver. It waits for the goroutine that serves the watches
// if that is at work; otherwise the caller does its work.
func (db *DB) RequestProgress() {
	h := &db.base().shared.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.listeners) > 0 {
		h.asked = true
		h.round()
	}
}

// A subscription is a [listener] with a loop.
type subscription[C any] struct {
	ctx   context.Context
	hub   *hub
	of    any
	limit int
	pick  func(c DBCommit) (of C, changes int)
	// progress is what says that all up to an epoch was given, or nil.
	progress func(to uint64) C
	ready    chan struct{} // there is something to take
	first    *C            // before all else

	mu      sync.Mutex
	waiting []C
	changes int    // in these
	marked  bool   // the last one is of progress
	at      uint64 // the epoch of the last one, or of the begin
	gap     bool
	panics  any // what a function of the user has panicked with

	over stdatomic.Bool // there was a loop
	stop func() bool
}

func newSubscription[C any](
	ctx context.Context, h *hub, buffer int, of any, pick func(c DBCommit) (C, int),
) *subscription[C] {
	checkContext("Watch", ctx)
	if buffer < 0 {
		panic(fmt.Sprintf("mvcc: Watch: Buffer is %d, want 0 or more", buffer))
	}
	if buffer == 0 {
		buffer = defaultBuffer
	}
	return &subscription[C]{ctx: ctx, hub: h, of: of, limit: buffer, pick: pick,
		ready: make(chan struct{}, 1)}
}

// begin begins the watch, see [hub.begin].
func (s *subscription[C]) begin(watched func(), begun func(at uint64)) {
	s.hub.begin(s, watched, func(at uint64) {
		s.at = at
		if s.progress != nil {
			s.mark(at)
		}
		begun(at)
	})
	s.stop = context.AfterFunc(s.ctx, s.end)
}

// endUnless is deferred by code that may panic because Since is evicted.
func (s *subscription[C]) endUnless(begun *bool) {
	if !*begun {
		s.stop()
		s.end()
	}
}

func (s *subscription[C]) end() {
	s.hub.end(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(-s.changes)
}

// count counts changes that wait. s.mu is held.
func (s *subscription[C]) count(n int) {
	s.changes += n
	s.hub.waiting.Add(int64(n))
}

func (s *subscription[C]) only() any { return s.of }

func (s *subscription[C]) offer(list []DBCommit) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.marked {
		s.waiting, s.marked = s.waiting[:len(s.waiting)-1], false
	}
	for i, c := range list {
		picked, n := s.pick(c)
		if n == 0 {
			continue
		}
		// A commit of its own may be larger than the buffer.
		if s.gap = len(s.waiting) > 0 && s.changes+n > s.limit; s.gap {
			s.hub.gaps.Add(1)
			break
		}
		if len(s.waiting) == cap(s.waiting) {
			s.waiting = slices.Grow(s.waiting, len(list)-i)
		}
		s.waiting = append(s.waiting, picked)
		s.count(n)
		s.at = c.Epoch
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
func (s *subscription[C]) mark(to uint64) {
	s.at, s.marked = to, true
	s.waiting = append(s.waiting, s.progress(to))
	s.signal()
}

func (s *subscription[C]) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gap = true
	s.signal()
}

func (s *subscription[C]) fail(p any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gap, s.panics = true, p
	s.signal()
}

func (s *subscription[C]) signal() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// all is the iterator.
func (s *subscription[C]) all(yield func(C, error) bool) {
	if s.over.Swap(true) {
		panic("mvcc: Watch: there was a loop before: a watch has one, call Watch again")
	}
	defer s.stop()
	defer s.end()
	if s.first != nil && !yield(*s.first, nil) {
		return
	}
	s.first = nil
	for {
		list, err := s.take()
		for _, c := range list {
			if err = s.ctx.Err(); err != nil {
				break
			}
			if !yield(c, nil) {
				return
			}
		}
		if err != nil {
			var none C
			yield(none, err)
			return
		}
	}
}

// take waits for commits, or an error.
func (s *subscription[C]) take() (list []C, err error) {
	for {
		select {
		case <-s.ctx.Done():
			return nil, s.ctx.Err()
		case <-s.ready:
		}
		s.mu.Lock()
		list, s.waiting, s.marked = s.waiting, nil, false
		s.count(-s.changes)
		if p := s.panics; p != nil && len(list) == 0 {
			s.mu.Unlock()
			panic(p)
		}
		if s.gap && len(list) == 0 {
			err = &GapError{s.at}
		}
		if s.gap {
			s.signal() // once more, when these are consumed
		}
		s.mu.Unlock()
		if len(list) > 0 || err != nil {
			return list, err
		}
	}
}
