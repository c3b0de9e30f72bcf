package gc_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
)

// A key is an item whose versions are known by their commit epochs alone.
type key struct {
	// onVisit, if set, is called by a visit when the mark is off, before the
	// versions are looked at.
	onVisit func(v *gc.View)

	mu       sync.Mutex
	marked   bool                 // guarded by mu
	versions []epoch.Epoch        // newest first; guarded by mu
	deleted  bool                 // goes when it is pruned down; guarded by mu
	waiting  map[epoch.Epoch]bool // by version; guarded by mu
	visits   int                  // guarded by mu
	bound    epoch.Epoch          // the largest bound visited with; guarded by mu
}

type (
	config    = gc.Config
	found     = gc.Found
	reclaimer = gc.Reclaimer
)

// item is that of a key, or of a version of it that waits.
func (k *key) item(version epoch.Epoch) gc.Item {
	return gc.Item{Of: unsafe.Pointer(k), Thing: unsafe.Pointer(&version)}
}

func keyOf(i gc.Item) *key { return (*key)(i.Of) }

func visit(items []gc.Item, v *gc.View, f *found) {
	for _, i := range items {
		k := keyOf(i)
		k.mu.Lock()
		k.marked = false
		k.visits++
		k.bound = max(k.bound, v.Bound)
		k.mu.Unlock()
		if k.onVisit != nil {
			k.onVisit(v)
		}
		k.prune(v, f)
	}
}

// prune drops all versions but those above the bound, the newest one at or
// below it, and the newest one at or below each live epoch.
func (k *key) prune(v *gc.View, f *found) {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.versions, func(e epoch.Epoch) bool { return e <= v.Bound })
	if i < 0 {
		if len(k.versions) > 1 && !k.marked {
			k.marked = true
			f.Again = append(f.Again, k.item(0))
		}
		return
	}
	kept := slices.Clone(k.versions[:i+1])
	above, young := i > 0, false
	for _, e := range k.versions[i+1:] {
		at, old := v.Below(kept[len(kept)-1])
		if at < e {
			delete(k.waiting, e)
			continue
		}
		kept = append(kept, e)
		switch {
		case k.waiting[e]:
		case !old || f.Alone:
			young = true
		default:
			if k.waiting == nil {
				k.waiting = make(map[epoch.Epoch]bool)
			}
			k.waiting[e] = true
			f.Waits = append(f.Waits, gc.Wait{Epoch: at, What: k.item(e)})
		}
	}
	k.versions = kept
	if k.deleted && !above && len(kept) == 1 {
		k.versions = nil
		f.Gone++
	}
	switch {
	case !above && !young || k.marked:
	case above:
		k.marked = true
		f.Again = append(f.Again, k.item(0))
	default:
		k.marked = true
		f.Later = append(f.Later, k.item(0))
	}
}

func due(waits, items []gc.Item) []gc.Item {
	for _, w := range waits {
		k := keyOf(w)
		k.mu.Lock()
		delete(k.waiting, *(*epoch.Epoch)(w.Thing))
		if !k.marked {
			k.marked = true
			items = append(items, k.item(0))
		}
		k.mu.Unlock()
	}
	return items
}

// surplus returns how many versions the key has beyond the newest one and those that
// wait.
func surplus(i gc.Item) int {
	k := keyOf(i)
	k.mu.Lock()
	defer k.mu.Unlock()
	return max(len(k.versions)-1-len(k.waiting), 0)
}

// mark marks the key, and reports whether it was not marked.
func (k *key) mark() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	was := k.marked
	k.marked = true
	return !was
}

func (k *key) isMarked() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.marked
}

// chain returns the commit epochs of the key's versions, newest first.
func (k *key) chain() []epoch.Epoch {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.versions)
}

func (k *key) visited() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.visits
}

func (k *key) visitedAt() epoch.Epoch {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bound
}

// A fixture is a reclaimer with its clock.
type fixture struct {
	*reclaimer
	slots    *epoch.Slots
	interval time.Duration
}

// start makes a reclaimer of keys that the test's end closes.
func start(t testing.TB, cfg config) *fixture {
	cfg.Slots = epoch.NewSlots()
	cfg.Visit, cfg.Due, cfg.Surplus = visit, due, surplus
	f := &fixture{gc.NewReclaimer(cfg), cfg.Slots, cfg.Interval}
	if f.interval == 0 {
		f.interval = gc.DefaultInterval
	}
	t.Cleanup(f.Close)
	return f
}

// commit adds a version to k, without telling the reclaimer.
func (f *fixture) commit(k *key) epoch.Epoch {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := f.slots.Next()
	k.versions = slices.Insert(k.versions, 0, e)
	return e
}

// write commits a version of k and hands k over, as a committer does.
func (f *fixture) write(k *key) epoch.Epoch {
	e := f.commit(k)
	if len(k.chain()) > 1 && k.mark() {
		f.Offer(k.item(0))
	}
	return e
}

// keys returns n keys with a version each.
func (f *fixture) keys(n int) []*key {
	keys := make([]*key, n)
	for i := range keys {
		keys[i] = &key{}
		f.commit(keys[i])
	}
	return keys
}

// A reader is a live transaction.
type reader struct {
	slot *epoch.Slot
	gen  epoch.Gen
	at   epoch.Epoch
}

func (f *fixture) begin() reader {
	slot := f.slots.Acquire()
	f.Wake()
	at := f.slots.Begin(slot, 0)
	return reader{slot, slot.Gen(), at}
}

func (r reader) end() {
	if r.slot.End(r.gen) {
		r.slot.Keep(r.gen)
	}
}

// ticks lets n ticks pass in a bubble, and everything that they start.
func (f *fixture) ticks(n int) {
	time.Sleep(time.Duration(n)*f.interval + 1)
	synctest.Wait()
}

// made returns how many views ticks have made.
func (f *fixture) made() uint64 { return f.Stats().TickRefreshes.N }
