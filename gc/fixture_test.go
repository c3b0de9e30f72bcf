package gc_test

import (
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
)

// A key is an item whose versions are known by their commit epochs alone.
type key struct {
	name string
	mark gc.Mark
	// onMark, if set, is called by Mark: the reclaimer asks for the mark
	// right after its checks in Offer and right after it took the key off the
	// queue, so this is a seam between these steps.
	onMark func()
	// onPrune, if set, is called by prune instead of pruning by interval,
	// which it can do by calling the key's interval.
	onPrune func(v *gc.View, visit *gc.Visit[uint64])

	mu       sync.Mutex
	versions []uint64        // newest first; guarded by mu
	waiting  map[uint64]bool // by version; guarded by mu
	deleted  bool            // the newest version is a tombstone; guarded by mu
	buried   bool            // guarded by mu
	prunes   int             // guarded by mu
	bound    uint64          // the largest bound pruned with; guarded by mu
}

func (k *key) Mark() *gc.Mark {
	if k.onMark != nil {
		k.onMark()
	}
	return &k.mark
}

func prune(k *key, v *gc.View, visit *gc.Visit[uint64]) {
	k.mu.Lock()
	k.prunes++
	k.bound = max(k.bound, v.Bound)
	k.mu.Unlock()
	if k.onPrune != nil {
		k.onPrune(v, visit)
		return
	}
	k.interval(v, visit)
}

// interval drops all versions but those above the bound, the newest one at or
// below it, and the newest one at or below each live epoch.
func (k *key) interval(v *gc.View, visit *gc.Visit[uint64]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.buried {
		return
	}
	i := slices.IndexFunc(k.versions, func(e uint64) bool { return e <= v.Bound })
	if i < 0 {
		i = len(k.versions)
	}
	visit.Left = visit.Left || i > 0
	if i == len(k.versions) {
		return
	}
	kept := slices.Clone(k.versions[:i+1])
	waiting := make(map[uint64]bool)
	for _, e := range k.versions[i+1:] {
		newer := kept[len(kept)-1]
		for _, a := range slices.Backward(v.Live) {
			if e <= a && a < newer {
				kept = append(kept, e)
				if !k.waiting[e] {
					visit.Waits = append(visit.Waits, gc.Wait[uint64]{Epoch: a, Version: e})
				}
				waiting[e] = true
				break
			}
		}
	}
	k.versions, k.waiting = kept, waiting
	if !k.deleted || len(kept) > 1 || i > 0 {
		return
	}
	below, _ := slices.BinarySearch(v.Live, kept[0])
	if below == 0 {
		k.buried = true
	} else {
		visit.Waits = append(visit.Waits, gc.Wait[uint64]{Epoch: v.Live[below-1]})
	}
}

// chain returns the commit epochs of the key's versions, newest first.
func (k *key) chain() []uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.versions)
}

func (k *key) pruned() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.prunes
}

func (k *key) prunedAt() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bound
}

// A fixture is a reclaimer with its clock.
type fixture struct {
	*gc.Reclaimer[*key, uint64]
	slots    *epoch.Slots
	interval time.Duration
	owners   *sync.Map // which key a commit epoch is of
}

// start makes a reclaimer of keys that the test's end closes.
func start(t testing.TB, cfg gc.Config[*key, uint64]) *fixture {
	cfg.Slots = epoch.NewSlots()
	if cfg.Prune == nil {
		cfg.Prune = prune
	}
	owners := new(sync.Map)
	cfg.Release = func(version uint64) {
		owner, _ := owners.Load(version)
		k := owner.(*key)
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.waiting, version)
	}
	f := &fixture{gc.NewReclaimer(cfg), cfg.Slots, cfg.Interval, owners}
	if f.interval == 0 {
		f.interval = gc.DefaultInterval
	}
	t.Cleanup(f.Close)
	return f
}

// commit adds a version to k, without telling the reclaimer.
func (f *fixture) commit(k *key) uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := f.slots.Next()
	k.versions = slices.Insert(k.versions, 0, e)
	if f.owners != nil {
		f.owners.Store(e, k)
	}
	return e
}

// handOver does what a committer does with a key that it has written.
func (f *fixture) handOver(k *key) {
	if !k.mark.Queued() && !f.Offer(k) {
		f.Prune(k)
	}
}

// write commits a version of k and hands k over.
func (f *fixture) write(k *key) uint64 {
	e := f.commit(k)
	f.handOver(k)
	return e
}

// A reader is a live transaction.
type reader struct {
	slot *epoch.Slot
	gen  uint64
	at   uint64
}

func (f *fixture) begin() reader {
	slot := f.slots.Acquire()
	at := f.slots.Begin(slot)
	return reader{slot, slot.Gen(), at}
}

func (r reader) end() { r.slot.End(r.gen) }

// ticks lets n ticks pass in a bubble, and everything that they start.
func (f *fixture) ticks(n int) {
	time.Sleep(time.Duration(n)*f.interval + 1)
	synctest.Wait()
}

// refreshes returns how many views the ticker has made.
func (f *fixture) refreshes() uint64 { return f.Stats().TickRefreshes.N }

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// isTicker reports whether the caller is called by the ticker goroutine.
func isTicker() bool { return strings.Contains(string(debug.Stack()), ").tick(") }
