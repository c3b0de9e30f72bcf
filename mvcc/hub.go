package mvcc

import (
	"cmp"
	"slices"
	"sync"
	stdatomic "sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/goid"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// A hub tells the listeners of a database of the commits. It works in rounds: it notes the clock,
// takes the keys that the feeds have noted, finds their versions committed up to that clock, sorts
// these by epochs, and hands them on. No committer waits for it. Versions above the epoch at which
// the last round stopped are not pruned.
//
// A timer makes the rounds as long as there are watches. If they do not keep up, all watches are
// told that they miss something. With mu held no function of the user is called: a function that
// judges commits runs in the goroutine of its loop, or in one of its own, see [alert].
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

// hubWork makes the rounds of a hub, from the first watch until the last one ends: a timer calls
// run, so that no goroutine waits between two rounds.
type hubWork struct {
	timer   *time.Timer
	pause   time.Duration  // guarded by hub.mu
	idle    stdatomic.Bool // a note has the round made earlier: see run
	bubbled bool           // the timer is of a bubble of synctest: outside it is left alone
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

// hubPause is the pause between two rounds, so that these have more than a few commits;
// longestPause is the pause if there is nothing but a committer that sleeps; after restPause
// without a note a round lets go of the versions kept for it.
const (
	hubPause     = 200 * time.Microsecond
	longestPause = 20 * time.Millisecond
	restPause    = 100 * time.Millisecond
)

// stir has a round made soon if the timer is idle. With a trial that is at once: in a bubble of
// testing/synctest a round is made before all goroutines rest. A commit of several keys, or with
// reads to validate, stirs once more when decided, see Commit and tooOld. (A round helps others.)
func (h *hub) stir() {
	w := h.work.Load()
	switch {
	case w == nil || !w.idle.Load():
	case h.onTrial():
		if w.idle.CompareAndSwap(true, false) {
			go h.run(w)
		}
	case w.bubbled == goid.InBubble() && w.idle.CompareAndSwap(true, false):
		w.timer.Reset(hubPause)
	}
}

func (h *hub) onTrial() bool { return h.strict != nil && h.strict.trial != nil }

// run makes a round, and sets the timer for the next one, unless w has ended.
//
// No note is missed. While idle is false a run is to come, or under way: it sets idle, and then looks
// for notes. While idle is true the timer is set (on trial it need not be: a note begins a run), and
// the first goroutine that notes something sets idle to false, the linearization point, and the timer
// to a short pause. A run that comes between these two is one round more, which takes the note: it
// sets idle to false before it takes notes. On trial idle is true then, too: a commit that is decided
// while a run finds it undecided has another run made, so that its watch is told before all
// goroutines of a bubble rest.
func (h *hub) run(w *hubWork) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.forgetDropped(); h.work.Load() != w {
		return
	}
	if w.idle.Store(h.onTrial()); !h.onTrial() {
		w.timer.Stop() // a note has perhaps set it while this run waited for mu
	}
	if w.pause = min(2*w.pause, longestPause); h.round() {
		w.pause = hubPause
	}
	if h.work.Load() != w { // the last watch has ended
		return
	}
	switch rest := h.empty(); {
	case !rest:
		w.timer.Reset(w.pause) // a committer may sleep
	case !h.onTrial(): // else a bubble in which all goroutines wait for ever would not end
		w.timer.Reset(restPause)
	}
	hooks.At(hooks.RoundSet)
	w.idle.Store(true)
	if h.hasNotes() {
		h.stir()
	}
}

// hasNotes reports whether something was noted that no round has taken. h.mu is held.
func (h *hub) hasNotes() bool {
	return slices.ContainsFunc(h.feeds, func(f *feed) bool { return f.hasNotes() })
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

// rest ends the rounds, and lets go of all that is kept, if nobody watches. h.mu is held.
func (h *hub) rest() {
	if len(h.listeners) > 0 || h.beginning {
		return
	}
	h.slots.Hold(0)
	if w := h.work.Swap(nil); w != nil {
		if w.bubbled == goid.InBubble() { // else it ends with a call that does nothing
			w.timer.Stop()
		}
		h.forgetDropped() // must follow: who comes later does it
	}
}

// end ends a listener.
func (h *hub) end(w listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(w)
	h.sweep()
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
		w := &hubWork{pause: hubPause, bubbled: goid.InBubble()}
		w.timer = time.AfterFunc(restPause, func() { h.run(w) })
		w.idle.Store(true)
		h.work.Store(w)
		h.stir() // something may have been noted since join
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
