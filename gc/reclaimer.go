package gc

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/hooks"
	hooked "github.com/mvccmap/mvccmap/internal/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// Defaults of [Config].
const (
	DefaultInterval = 100 * time.Millisecond
	DefaultQueue    = 16384
)

// An Item is what can be handed over for pruning: a key of a map. Its mark
// belongs to the reclaimer; it starts at zero.
type Item interface {
	comparable
	Mark() *Mark
}

// A Mark says where an item stands. It makes sure that an item is queued once
// and set aside once.
type Mark struct{ bits atomic.Uint32 }

const (
	markQueued = 1 << iota
	markAside
)

// Queued reports whether the item waits in the queue. A committer asks this on
// its hot path; it is one atomic load.
func (m *Mark) Queued() bool { return m.bits.Load()&markQueued != 0 }

func (m *Mark) set(bit uint32) bool { return m.bits.Or(bit)&bit == 0 }
func (m *Mark) unset(bit uint32) {
	was := m.bits.And(^bit)
	if invariant.Enabled {
		m.check(was, bit)
	}
}

// An Outcome says what is left of an item after pruning.
type Outcome uint8

const (
	// Done: nothing but what is newest is left.
	Done Outcome = iota
	// Blocked: a live read epoch still needs an old version.
	Blocked
	// Later: versions above the view's bound are left; a newer view may drop
	// them.
	Later
)

// Config configures a [Reclaimer].
type Config[E Item] struct {
	// Slots is the clock and the slots of the map.
	Slots *epoch.Slots
	// Interval is how often the view is made anew; 0 means [DefaultInterval].
	Interval time.Duration
	// Workers is how many goroutines drain the queue. With 0 there is no
	// queue: Offer returns false, and the committer prunes.
	Workers int
	// Queue is how many items may wait; 0 means [DefaultQueue].
	Queue int
	// Prune drops what view allows to drop of item. It is called by several
	// goroutines at once, also for the same item. It must not block.
	Prune func(item E, view *View) Outcome
	_     struct{}
}

// A Reclaimer makes views and drains the queue of keys to prune. Use
// [NewReclaimer]; all methods are safe for concurrent use.
type Reclaimer[E Item] struct {
	ghost ghost

	slots    *epoch.Slots
	prune    func(E, *View) Outcome
	interval time.Duration
	workers  int
	queue    *xsync.MPMCQueue[E]
	capacity int

	view   hooked.Pointer[View]
	parked atomic.Bool
	closed atomic.Bool
	passed atomic.Int64 // when the last pass by a committer was, after Close
	depth  atomic.Int64

	wake  chan struct{} // capacity 1: the ticker goroutine has work
	drain chan *View    // one view for each further worker that shall drain
	stop  chan struct{}
	wg    sync.WaitGroup
	once  sync.Once

	// refreshing is held while a view is made, so that not everybody does it at
	// once. Nothing else depends on it but the fields below.
	refreshing sync.Mutex
	scratch    []uint64 // guarded by refreshing

	// oldest is the oldest pin that the last pass saw, nil if there was none.
	oldest atomic.Pointer[pin]

	// last is the view of the last pass. overdue says that something was set
	// aside with another view, whose epochs may have ended unnoticed.
	last    atomic.Pointer[View]
	overdue atomic.Bool

	asideMu sync.Mutex
	aside   []E // guarded by asideMu

	counters counters
}

// A pin is a live read epoch, and since when passes have seen it.
type pin struct {
	epoch uint64
	since int64
}

// NewReclaimer starts the goroutines of a reclaimer: one for the ticker, which
// also is the first worker, and Workers-1 more. Close ends them.
func NewReclaimer[E Item](cfg Config[E]) *Reclaimer[E] {
	r := &Reclaimer[E]{
		slots:    cfg.Slots,
		prune:    cfg.Prune,
		interval: cfg.Interval,
		workers:  max(cfg.Workers, 0),
		capacity: cfg.Queue,
		wake:     make(chan struct{}, 1),
		stop:     make(chan struct{}),
	}
	if r.interval <= 0 {
		r.interval = DefaultInterval
	}
	if r.capacity <= 0 {
		r.capacity = DefaultQueue
	}
	if r.workers > 0 {
		r.queue = xsync.NewMPMCQueue[E](r.capacity)
		r.drain = make(chan *View, r.workers)
	}
	r.last.Store(r.refresh())
	r.wg.Go(r.tick)
	for range r.workers - 1 {
		r.wg.Go(r.work)
	}
	return r
}

// View returns the newest view. It never waits.
func (r *Reclaimer[E]) View() *View { return r.view.Load() }

// Refresh makes a new view, unless another goroutine is at it: then it returns
// at once, and the view may be the old one. The cost is one pass over all slots
// and the allocation of the view.
func (r *Reclaimer[E]) Refresh() {
	if r.tryLock() {
		r.refresh()
		r.unlock()
	}
}

// RefreshPast makes a new view if the present one is too old for a committer
// that has just drawn commit epoch e and wants to prune: if so many epochs have
// been drawn since that a pass over all slots costs each of them next to nothing.
func (r *Reclaimer[E]) RefreshPast(e uint64, stride int) *View {
	v := r.view.Load()
	age := uint64(max(stride, r.slots.Cap()/64))
	if v.Bound+age > e {
		return v
	}
	r.counters.commitRefreshes.Add(1)
	switch {
	case r.tryLock():
		r.refresh()
		r.unlock()
	case v.Bound+lateFactor*age <= e:
		// Whoever is at it sleeps: do not let chains grow meanwhile.
		r.install(r.slots.Announce(), nil)
	}
	return r.view.Load()
}

// lateFactor is how many times the age at which a committer asks for a new view
// the view may have before he makes one beside another goroutine that is at it.
const lateFactor = 4

// tryLock takes r.refreshing, if nobody holds it; unlock gives it back.
func (r *Reclaimer[E]) tryLock() bool {
	if hooks.Enabled {
		hooks.Mutex(&r.refreshing)
	}
	return r.refreshing.TryLock()
}

func (r *Reclaimer[E]) unlock() {
	if hooks.Enabled {
		hooks.Mutex(&r.refreshing)
	}
	r.refreshing.Unlock()
}

// refresh makes a new view. r.refreshing is held.
func (r *Reclaimer[E]) refresh() *View {
	v, scratch := r.install(r.slots.Announce(), r.scratch)
	r.scratch = scratch
	return v
}

// install scans the slots, once bound m has been announced, and makes what it
// finds the view, unless a newer one has been made meanwhile. It returns the view
// it made, and scratch, which it has used. Calls may overlap.
func (r *Reclaimer[E]) install(m uint64, scratch []uint64) (*View, []uint64) {
	scratch = r.slots.Live(m, scratch[:0])
	if hooks.Enabled {
		hooks.At(hooks.SlotsScanned)
	}
	v := &View{Bound: m}
	if old := r.view.Load(); old != nil && slices.Equal(old.Live, scratch) {
		v.Live = old.Live // with many idle snapshots a copy is most of the cost
	} else if len(scratch) > 0 {
		v.Live = slices.Clone(scratch)
	}
	for old := r.view.Load(); old == nil || old.Bound <= m; old = r.view.Load() {
		if r.view.CompareAndSwap(old, v) {
			break
		}
	}
	if invariant.Enabled {
		r.checkInstalled(v)
	}
	return v, scratch
}

// Offer hands an item over for pruning and reports whether somebody else will
// take care of it. If not, the caller prunes it: the queue is full, closed, or
// there is no worker. Offer never waits. An item that waits already is not
// queued again; callers ask [Mark.Queued] first.
func (r *Reclaimer[E]) Offer(item E) bool {
	if r.workers == 0 || r.closed.Load() {
		return false
	}
	if !item.Mark().set(markQueued) {
		return true
	}
	if invariant.Enabled {
		r.ghost.offered.Add(1)
	}
	if !r.enqueue(item) {
		if invariant.Enabled {
			r.ghost.offered.Add(^uint64(0))
		}
		item.Mark().unset(markQueued)
		r.counters.fallbacks.Add(1)
		return false
	}
	// Must follow the enqueue: the ticker says that it parks, then looks at
	// the depth; see park.
	if d := r.depth.Add(1); r.parked.Load() || d == int64(r.capacity/2) {
		r.poke()
	}
	if r.closed.Load() {
		r.drainQueue(r.View()) // Close may have drained before the enqueue
	}
	return true
}

// enqueue reports whether the queue took the item. The queue also refuses when
// another goroutine came first: then a few more tries are worth it.
func (r *Reclaimer[E]) enqueue(item E) bool {
	for range enqueueTries {
		if r.queue.TryEnqueue(item) {
			return true
		}
		if r.depth.Load() >= int64(r.capacity) {
			return false
		}
	}
	return false
}

const enqueueTries = 8

// Prune prunes an item here and now, with a new view, for a committer whose
// Offer was refused. What a live read epoch still needs is set aside. It waits
// for nobody. After Close the callers do the ticker's work as well, one of them
// and at most once in an interval; that one waits for a refresh under way.
func (r *Reclaimer[E]) Prune(item E) {
	r.Refresh()
	view := r.View()
	if outcome := r.prune(item, view); outcome != Done {
		r.setAside(item, view)
		if outcome == Later {
			// Another goroutine was refreshing, and the view is an old one:
			// what is left waits for the next pass, not for an epoch to end.
			r.overdue.Store(true)
		}
	}
	if r.closed.Load() {
		now := time.Now().UnixNano()
		if last := r.passed.Load(); now-last >= int64(r.interval) && r.passed.CompareAndSwap(last, now) {
			r.pass()
		}
	}
}

// poke tells the ticker goroutine that there is work before the next tick.
func (r *Reclaimer[E]) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Stop tells all goroutines to end and returns at once. It may be called any
// number of times.
func (r *Reclaimer[E]) Stop() {
	r.once.Do(func() {
		r.closed.Store(true)
		close(r.stop)
	})
}

// Close ends all goroutines, waits for them, and prunes what was queued.
// Afterwards Offer returns false, and committers prune: each the item it wrote,
// and now and then what was set aside.
func (r *Reclaimer[E]) Close() {
	r.Stop()
	r.wg.Wait()
	r.pass()
}
