package gc

import (
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// View returns the newest view. It never waits.
func (r *Reclaimer[E, V]) View() *View { return r.view.Load() }

// Refresh makes a new view, unless another goroutine is at it: then it returns
// at once, and the view may be the old one. The cost is one pass over all slots
// and the allocation of the view.
func (r *Reclaimer[E, V]) Refresh() {
	if r.tryLock() {
		r.refresh()
		r.unlock()
	}
}

// RefreshPast makes a new view if the present one is too old for a committer
// that has just drawn commit epoch e and wants to prune: if so many epochs have
// been drawn since that a pass over all slots costs each of them next to nothing.
func (r *Reclaimer[E, V]) RefreshPast(e uint64, stride int) *View {
	v := r.view.Load()
	age := uint64(max(stride, r.slots.Cap()/64))
	if v.Bound+age > e {
		return v
	}
	start := r.counters.commits.begin()
	switch {
	case r.tryLock():
		r.refresh()
		r.unlock()
	case v.Bound+lateFactor*age <= e:
		// Whoever is at it sleeps: do not let chains grow meanwhile.
		r.install(r.slots.Announce(), nil, false)
	}
	r.counters.commits.end(start)
	return r.view.Load()
}

// lateFactor is how many times the age at which a committer asks for a new view
// the view may have before he makes one beside another goroutine that is at it.
const lateFactor = 4

// tryLock takes r.refreshing, if nobody holds it; unlock gives it back.
func (r *Reclaimer[E, V]) tryLock() bool {
	if hooks.Enabled {
		hooks.Mutex(&r.refreshing)
	}
	return r.refreshing.TryLock()
}

func (r *Reclaimer[E, V]) unlock() {
	if hooks.Enabled {
		hooks.Mutex(&r.refreshing)
	}
	r.refreshing.Unlock()
}

// renew looks at the live transactions and makes a new view, counting that as a
// refresh by cause. It waits for a refresh under way.
func (r *Reclaimer[E, V]) renew(cause *cause) *View {
	r.refreshing.Lock()
	start := r.now()
	notices := r.look(start)
	told := len(notices) > 0 && r.logging.CompareAndSwap(false, true)
	view := r.refresh()
	cause.add(1, r.now()-start)
	r.refreshing.Unlock()
	if r.trim != nil {
		r.trimming.Store(r.trim())
	}
	if told {
		r.tell(notices, start, cause == &r.counters.ticks && !r.closed.Load())
	}
	r.aside.release(view)
	return view
}

// now returns the time since the reclaimer was made. It does not jump when the
// clock on the wall does.
func (r *Reclaimer[E, V]) now() time.Duration { return time.Since(r.born) }

// refresh makes a new view. r.refreshing is held.
func (r *Reclaimer[E, V]) refresh() *View {
	v, scratch := r.install(r.slots.Announce(), r.scratch, true)
	r.scratch = scratch
	return v
}

// install scans the slots, once bound m has been announced, and makes what it
// finds the view, unless a newer one has been made meanwhile. It returns the view
// it made, and scratch, which it has used. Calls may overlap; one that holds
// r.refreshing also replaces a view of the same bound, which is older than its own.
func (r *Reclaimer[E, V]) install(m uint64, scratch []uint64, locked bool) (*View, []uint64) {
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
	for old := r.view.Load(); old == nil || old.Bound < m || locked && old.Bound == m; old = r.view.Load() {
		if r.view.CompareAndSwap(old, v) {
			break
		}
	}
	if invariant.Enabled {
		r.checkInstalled(v)
	}
	return v, scratch
}
