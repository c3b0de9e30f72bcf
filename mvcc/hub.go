package mvcc

import (
	"cmp"
	"slices"
	"sync"
	stdatomic "sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// A hub tells the listeners of a database of the commits. It works in rounds: it notes the clock,
// takes the keys that the feeds have noted, finds their versions committed up to that clock, sorts
// these by epochs, and hands them on. No committer waits for it. Versions above the epoch at which
// the last round stopped are not pruned.
//
// It has a goroutine as long as there are watches. If the goroutine does not keep up, all watches
// are told that they miss something. With mu held no function of the user is called: a function
// that judges commits runs in the goroutine of its loop, or in one of its own, see [alert].
type hub struct {
	slots  *epoch.Slots
	strict *strict                    // or nil; with a trial
	trial  map[listener]calls         // where listeners began; guarded by mu
	work   stdatomic.Pointer[hubWork] // nil if nobody watches; written under mu

	// For Stats: how many listeners there are; the changes that wait for loops; how many listeners
	// have missed something; a copy of at.
	listening, waiting stdatomic.Int64
	gaps, told         stdatomic.Uint64
	dropped            droppedListeners

	mu        sync.Mutex // guards the fields below; held for a round
	feeds     []*feed
	joining   []*feed // feeds that have just been published
	listeners map[listener]struct{}
	all       int                   // how many listeners watch all tables
	found     []dated[tableChanges] // room for the changes that a round finds
	at        epoch.Epoch           // commits up to here were handed on
	closing   []dated[*core]        // tables that were closed above at
	beginning bool                  // a listener is about to be added
	overrun   bool                  // a round has given up
	asked     bool                  // the next round offers, even if it finds nothing
}

// hubWork is the goroutine of a hub: quit tells it to end, and done says that it has.
type hubWork struct {
	idle stdatomic.Bool // it waits for wake
	wake chan struct{}
	quit chan struct{}
	done chan struct{}
}

// A listener is told of commits. Its methods are called by the goroutine that
// makes a round.
type listener interface {
	// offer takes all further commits up to hub.at, and returns false to get no more.
	offer(list []DBCommit) (more bool)
	// only returns the map that the listener watches, or nil if it watches all.
	only() *core
	lose()    // commits were missed
	dropped() // the user cannot reach it any more
}

// hubPause is how long the goroutine rests between two rounds, so that these have more than a few
// commits; longestPause is how long it rests if there is nothing but a committer that sleeps; after
// restPause without a note it lets go of the versions kept for it.
const (
	hubPause     = 200 * time.Microsecond
	longestPause = 20 * time.Millisecond
	restPause    = 100 * time.Millisecond
)

// stir wakes the goroutine if it waits.
func (h *hub) stir() {
	if w := h.work.Load(); w != nil && w.idle.Load() && w.idle.CompareAndSwap(true, false) {
		w.wake <- struct{}{} // there is room: one for each time that it was idle
	}
}

// run is the goroutine.
func (h *hub) run(w *hubWork) {
	defer close(w.done)
	if h.strict != nil && h.strict.trial != nil {
		h.runOnTrial(w)
		return
	}
	for pause := hubPause; ; {
		select {
		case <-w.quit:
			return
		case <-time.After(pause):
		}
		found, rest, over := h.turn(w)
		if over {
			return
		}
		pause = min(2*pause, longestPause)
		if rest {
			select {
			case <-w.quit:
				return
			case <-w.wake:
				pause = hubPause
				continue
			case <-time.After(restPause):
			}
		}
		if !w.idle.CompareAndSwap(true, false) {
			<-w.wake
			found = true
		}
		if found {
			pause = hubPause
		}
	}
}

// runOnTrial is run without pauses: in a bubble of testing/synctest it makes a round before all
// goroutines rest. A commit of several keys, or with reads to validate, stirs the goroutine once
// more when decided, see Commit and tooOld. (A round helps other commits.)
func (h *hub) runOnTrial(w *hubWork) {
	for {
		_, rest, over := h.turn(w)
		if over {
			return
		}
		if !h.hasNotes() {
			var sleeper <-chan time.Time // a committer may be one
			if !rest {
				sleeper = time.After(longestPause)
			}
			select {
			case <-w.quit:
				return
			case <-w.wake:
				continue
			case <-sleeper:
			}
		}
		if !w.idle.CompareAndSwap(true, false) {
			<-w.wake
		}
	}
}

// hasNotes reports whether something was noted that no round has taken. Whoever notes something
// later stirs the goroutine, which is idle.
func (h *hub) hasNotes() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.feeds, func(f *feed) bool { return f.hasNotes() })
}

// turn makes a round. over says that w has ended, without a round; rest, that nothing is left.
func (h *hub) turn(w *hubWork) (found, rest, over bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forgetDropped()
	if h.work.Load() != w {
		return false, false, true
	}
	found = h.round()
	w.idle.Store(true) // must precede
	return found, h.empty(), false
}

// empty reports whether there is nothing to look at. h.mu is held.
func (h *hub) empty() bool {
	return !slices.ContainsFunc(h.feeds, func(f *feed) bool { return !f.empty() })
}

// round hands on the commits since the last one, and reports whether anything was noted. h.mu is
// held.
func (h *hub) round() (any bool) {
	to := h.slots.Now() // must precede the takes
	for _, f := range h.feeds {
		any = f.take() || any
	}
	list := h.found
	for _, f := range h.feeds {
		f.find(h.at, to)
		list = f.handOn(list)
	}
	h.at = to
	h.told.Store(uint64(to))
	h.slots.Hold(to)
	for _, t := range h.closing { // D2: drawn with h.mu held, hence before to was noted
		list = append(list, dated[tableChanges]{t.epoch, tableChanges{closed: hide(t.change)}})
	}
	h.closing = nil
	if slices.ContainsFunc(h.feeds, func(f *feed) bool { return f.hasLost() }) {
		h.giveUp()
		return true
	}
	if len(list) == 0 && !h.asked {
		return any
	}
	h.asked = false
	slices.SortFunc(list, func(a, b dated[tableChanges]) int { return cmp.Compare(a.epoch, b.epoch) })
	commits := make([]DBCommit, 0, len(list))
	tables := make([]tableChanges, len(list))
	for i, one := range list {
		tables[i] = one.change
		if n := len(commits); n > 0 && commits[n-1].Epoch == uint64(one.epoch) {
			c := &commits[n-1]
			c.tables = tables[i-len(c.tables) : i+1 : i+1]
			c.Expired = c.Expired || one.change.expired
			continue
		}
		if t := one.change.closed; t != nil {
			commits = append(commits, DBCommit{Epoch: uint64(one.epoch), Closed: coreAt(t).counters.name,
				closed: t})
			continue
		}
		commits = append(commits, DBCommit{Epoch: uint64(one.epoch), Expired: one.change.expired,
			tables: tables[i : i+1 : i+1]})
	}
	h.found = cleared(list)
	h.offerAll(commits)
	h.sweep()
	return any
}

// offerAll offers commits to all listeners. h.mu is held.
func (h *hub) offerAll(commits []DBCommit) {
	for w := range h.listeners {
		if !w.offer(commits) {
			h.drop(w)
		}
	}
}

// giveUp tells all watches that they miss something, and forgets the feeds. h.mu is held.
func (h *hub) giveUp() {
	h.overrun, h.found, h.closing = true, nil, nil
	for w := range h.listeners {
		w.lose()
	}
	h.gaps.Add(uint64(len(h.listeners)))
	h.listening.Store(0)
	for _, f := range slices.Concat(h.feeds, h.joining) {
		f.forget()
	}
	clear(h.listeners)
	clear(h.trial)
	h.feeds, h.joining, h.all = nil, nil, 0
	h.rest()
}

// drop takes a listener out. sweep must follow. h.mu is held.
func (h *hub) drop(w listener) {
	if _, there := h.listeners[w]; !there {
		return
	}
	delete(h.listeners, w)
	delete(h.trial, w)
	h.listening.Add(-1)
	if w.only() == nil {
		h.all--
		return
	}
	for _, f := range h.feeds {
		if f.watchedBy(w) {
			f.leave()
		}
	}
}

// sweep ends the feeds that nobody needs. h.mu is held.
func (h *hub) sweep() {
	h.feeds = slices.DeleteFunc(h.feeds, func(f *feed) bool { return f.unpublish(h.all) })
	h.rest()
}

// rest ends the goroutine, and lets go of all that is kept, if nobody watches. h.mu is held.
func (h *hub) rest() {
	if len(h.listeners) > 0 || h.beginning {
		return
	}
	h.slots.Hold(0)
	if w := h.work.Swap(nil); w != nil {
		close(w.quit)
		h.forgetDropped() // must follow the Swap: a later hasDropped sees nil
	}
}

// end ends a listener. If it was the last one, end waits for the goroutine to end.
func (h *hub) end(w listener) {
	h.mu.Lock()
	work := h.work.Load()
	h.drop(w)
	h.sweep()
	ended := work != nil && h.work.Load() == nil
	h.mu.Unlock()
	if ended {
		<-work.done
	}
}

// begin adds a listener. watched calls [core.fed] for the maps that the listener watches. begun is
// called with the epoch above which the listener is told of all commits, before it is told of any.
func (h *hub) begin(w listener, watched func(), begun func(at uint64)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.beginning = true
	defer func() {
		h.beginning = false
		h.sweep()
	}()
	h.forgetDropped()
	for again := true; again; again = h.overrun {
		if h.overrun = false; len(h.feeds) == 0 {
			h.slots.Hold(h.slots.Now())
			h.at = h.slots.Now() // must follow: versions above are kept
		}
		if w.only() == nil {
			h.all++
		}
		watched()
		h.join()
	}
	if h.listeners == nil {
		h.listeners = map[listener]struct{}{}
	}
	h.listeners[w] = struct{}{}
	if h.strict != nil {
		h.noteCalls(w)
	}
	h.listening.Add(1)
	begun(uint64(h.at))
	if h.work.Load() == nil && !hooks.Scheduled() {
		work := &hubWork{wake: make(chan struct{}, 1), quit: make(chan struct{}),
			done: make(chan struct{})}
		h.work.Store(work)
		go h.run(work)
	}
}

// adopt adds a new table to the watches of all tables.
func (h *hub) adopt(table *core) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all > 0 {
		table.feedForAll()
		h.join()
	}
}

// feedForAll is fed for the watches of all tables.
func (m *core) feedForAll() { m.fed().inAll = true }

// feedAll is feedForAll of all tables. db.mu is held.
func (db *database) feedAll() {
	for _, table := range db.tables {
		if !table.inner {
			table.feedForAll()
		}
	}
}

// fed gives the map a feed, if it has none. hub.mu is held; join must follow.
func (m *core) fed() *feed {
	if f := m.feed(); f != nil {
		return f
	}
	h := &m.shared.hub
	f := &feed{m: m, hub: h}
	m.feedAt.Store(f)
	h.joining = append(h.joining, f)
	return f
}

// join hands on the commits up to now, in the maps that were watched before, and adds the feeds
// that have just been published, see N2. h.mu is held.
func (h *hub) join() {
	h.round() // notes the clock
	for _, f := range h.joining {
		f.seed(h.at)
	}
	h.feeds = append(h.feeds, h.joining...)
	h.joining = nil
}
