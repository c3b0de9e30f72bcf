package mvcc

import (
	"cmp"
	"slices"
	"sync"
	stdatomic "sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/hooks"
)

// A hub tells those who watch the maps of a database what was committed. It works in rounds:
// it notes the clock, takes what the feeds have noted, finds what was committed up to that
// clock, sorts it by epochs, and hands it on. Nobody who commits waits for it.
//
// It has a goroutine as long as somebody watches.
type hub struct {
	slots *epoch.Slots
	idle  stdatomic.Bool // the goroutine waits for wake
	wake  chan struct{}

	mu        sync.Mutex // guards what follows; held for a round
	work      *hubWork   // nil if nobody watches
	feeds     []anyFeed
	joining   []anyFeed // have just been published
	listeners []listener
	all       int                   // how many of these watch all tables
	found     []dated[tableChanges] // room for what a round finds
	at        epoch.Epoch           // what was committed up to here was handed on
}

// hubWork is a goroutine of a hub, which is told to end, and says that it has.
type hubWork struct{ quit, done chan struct{} }

// anyFeed is a [feed].
type anyFeed interface {
	take() bool
	empty() bool
	find(from, to epoch.Epoch)
	seed(at epoch.Epoch)
	// handOn appends what find has found, by commits, in no order.
	handOn(list []dated[tableChanges]) []dated[tableChanges]
	// watchedBy reports whether w watches the map.
	watchedBy(w listener) bool
	// hasLost reports whether keys that were noted are lost.
	hasLost() bool
	// leave counts the end of a listener of this map alone; and unpublish takes the feed off
	// its map, if nobody watches that any more.
	leave()
	unpublish(all int) (done bool)
}

// A listener is told of commits.
type listener interface {
	// offer is given commits, and returns false if it wants no more.
	offer(list []DBCommit) (more bool)
	// only returns the map that it watches, or nil if it watches all.
	only() any
	// lose says that what it was not told of is lost.
	lose()
}

// hubPause is how long the goroutine rests between two rounds, so that these have more than
// a few commits; longestPause is how long it does if there is nothing but a committer who
// sleeps.
const (
	hubPause     = 200 * time.Microsecond
	longestPause = 20 * time.Millisecond
)

// stir wakes the goroutine if it waits.
func (h *hub) stir() {
	if h.idle.Load() && h.idle.CompareAndSwap(true, false) {
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}
}

// run is the goroutine.
func (h *hub) run(work *hubWork) {
	defer close(work.done)
	for pause := hubPause; ; {
		select {
		case <-work.quit:
			return
		case <-time.After(pause):
		}
		h.mu.Lock()
		if h.work != work {
			h.mu.Unlock()
			return
		}
		found := h.round()
		h.idle.Store(true) // must precede
		rest := h.empty()
		h.mu.Unlock()
		switch {
		case rest:
			select {
			case <-work.quit:
				return
			case <-h.wake:
			}
			pause = hubPause
		case found:
			pause = hubPause
		default:
			pause = min(2*pause, longestPause)
		}
		h.idle.Store(false)
	}
}

// empty reports whether there is nothing to look at. h.mu is held.
func (h *hub) empty() bool {
	return !slices.ContainsFunc(h.feeds, func(f anyFeed) bool { return !f.empty() })
}

// round hands on what was committed since the last one, and reports whether anything was
// noted. h.mu is held.
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
	if slices.ContainsFunc(h.feeds, func(f anyFeed) bool { return f.hasLost() }) {
		h.drop(func(w listener) bool {
			w.lose()
			return true
		})
		h.found = nil
		return true
	}
	h.at = to
	h.slots.Hold(to)
	if len(list) == 0 {
		return any
	}
	slices.SortFunc(list, func(a, b dated[tableChanges]) int { return cmp.Compare(a.epoch, b.epoch) })
	commits := make([]DBCommit, 0, len(list))
	tables := make([]tableChanges, len(list))
	for i, one := range list {
		tables[i] = one.change
		if n := len(commits); n > 0 && commits[n-1].Epoch == uint64(one.epoch) {
			c := &commits[n-1]
			c.tables = tables[i-len(c.tables) : i+1 : i+1]
			continue
		}
		commits = append(commits, DBCommit{Epoch: uint64(one.epoch), tables: tables[i : i+1 : i+1]})
	}
	h.found = cleared(list)
	h.drop(func(w listener) bool { return !w.offer(commits) })
	return any
}

// drop ends the listeners for which f says so. h.mu is held.
func (h *hub) drop(f func(w listener) bool) {
	var gone []listener
	h.listeners = slices.DeleteFunc(h.listeners, func(w listener) bool {
		ends := f(w)
		if ends {
			gone = append(gone, w)
		}
		return ends
	})
	for _, w := range gone {
		if w.only() == nil {
			h.all--
			continue
		}
		for _, f := range h.feeds {
			if f.watchedBy(w) {
				f.leave()
			}
		}
	}
	if len(gone) > 0 {
		h.sweep()
	}
	if len(h.listeners) == 0 {
		h.slots.Hold(0)
		if h.work != nil {
			close(h.work.quit)
			h.work = nil
		}
	}
}

// sweep ends the feeds that nobody needs. h.mu is held.
func (h *hub) sweep() {
	h.feeds = slices.DeleteFunc(h.feeds, func(f anyFeed) bool { return f.unpublish(h.all) })
}

// end ends a listener. If it was the last one, end waits for the goroutine to end.
func (h *hub) end(w listener) {
	h.mu.Lock()
	work := h.work
	h.drop(func(o listener) bool { return o == w })
	ended := work != nil && h.work == nil
	h.mu.Unlock()
	if ended {
		<-work.done
	}
}

// begin adds a listener. watched calls [Map.fed] for the maps that it watches. begin returns the
// epoch above which the watcher is told of all commits, after it has called begun with that.
func (h *hub) begin(w listener, watched func(), begun func(at uint64)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.feeds) == 0 {
		h.slots.Hold(h.slots.Now())
		h.at = h.slots.Now() // must follow: what is above is kept
	}
	watched()
	h.join()
	h.listeners = append(h.listeners, w)
	if w.only() == nil {
		h.all++
	}
	begun(uint64(h.at))
	if h.work == nil && !hooks.Scheduled() {
		h.work = &hubWork{make(chan struct{}), make(chan struct{})}
		go h.run(h.work)
	}
}

// adopt makes those who watch all tables watch a new one.
func (h *hub) adopt(table anyTable) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all > 0 {
		table.feedForAll()
		h.join()
	}
}

// feedForAll is fed for those who watch all tables.
func (m *Map[K, V]) feedForAll() { m.fed().inAll = true }

// leaveAll makes those who watch all tables watch m no more.
func (m *Map[K, V]) leaveAll() {
	h := &m.shared.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := m.feed.Load(); f != nil {
		f.inAll = false
		h.sweep()
	}
}

// fed gives the map a feed, if it has none. hub.mu is held; join must follow.
func (m *Map[K, V]) fed() *feed[K, V] {
	if f := m.feed.Load(); f != nil {
		return f
	}
	h := &m.shared.hub
	f := &feed[K, V]{m: m, hub: h, among: map[K]struct{}{}}
	m.feed.Store(f)
	h.joining = append(h.joining, f)
	return f
}

// join hands on what was committed up to now, in the maps that were watched before, and lets
// in those whose feeds have just been published: see N2. h.mu is held.
func (h *hub) join() {
	h.round() // notes the clock
	for _, f := range h.joining {
		f.seed(h.at)
	}
	h.feeds = append(h.feeds, h.joining...)
	h.joining = nil
}
