package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
	"github.com/mvccmap/mvccmap/mvcc"
)

// opening is the amount in each account before the first transfer.
const opening = 1000

// growthTicks is how often the background work must have run at least before a round ends.
const growthTicks = 20

// excess is how many versions of each key a map may hold beyond those needed. It is no matter of
// time: on a busy machine a tick is late, but so are writers, which also prune their own versions.
// So the excess of a key is bounded however late a tick is. With a fault it grows with the commits,
// of which a round has more.
const (
	excess     = 256
	excessKeys = 256 // as many keys are counted at least
)

// needed is how many versions may be needed: of each key the newest one, one for each snapshot
// that is open, or was lately, and one for each transaction.
func (r Round) needed() int {
	n := 1 + r.Snapshots
	if r.Snapshots > 1 {
		n += 6 // one is closed with each tick, and noticed within some
	}
	if !r.Stores {
		n += r.Workers
	}
	return n * r.Keys
}

// liveHeap returns the bytes that are in use after a garbage collection. Pools and
// cleanups take a second one.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// growth is a growth round under way.
type growth struct {
	r       Round
	m       *mvcc.Map[int, int64]
	stats   func(m *mvcc.Map[int, int64]) mvcc.Stats
	writers []*writer

	stop   atomic.Bool
	broken atomic.Bool // a writer has failed
	wg     sync.WaitGroup
	open   []mvcc.Snapshot[int, int64]
}

// doGrowth has writers that never rest, with snapshots beside them, and looks whether
// memory grows with their writes.
func (t Target) doGrowth(ctx context.Context, r Round) Outcome {
	before := liveHeap()
	m := mvcc.New[int, int64](r.Options())
	defer m.Close()
	for k := range r.Keys {
		m.Store(k, r.first(k))
	}
	g := &growth{r: r, m: m, stats: t.Stats}
	start := liveHeap()
	g.begin()
	v := g.watch(ctx)
	g.stop.Store(true)
	g.wg.Wait()

	var o Outcome
	for _, w := range g.writers {
		if w.err != nil && v == nil {
			v = failed(w.err)
		}
		o.Transactions += w.commits
	}
	o.Operations = o.Transactions
	if !r.Stores {
		o.Operations *= 4
	}
	o.Aborted = int(m.Stats().Conflicts)
	for _, s := range g.open {
		if v == nil {
			v = checkContents(r, s)
		}
		s.Close()
	}
	if v == nil {
		v = g.atRest(before, start)
	}
	o.Violation = v
	return o
}

// first is the value of key k before the load.
func (r Round) first(k int) int64 {
	if r.Stores {
		return int64(k)
	}
	return opening
}

// begin starts writers and readers.
func (g *growth) begin() {
	for i := range g.r.Workers {
		w := &writer{growth: g, random: rand.New(rand.NewPCG(g.r.Seed, uint64(i)+1))}
		g.writers = append(g.writers, w)
		g.wg.Go(w.run)
	}
	for range g.r.Snapshots {
		g.open = append(g.open, g.m.Snapshot())
	}
	if g.r.Snapshots > 1 {
		g.wg.Go(g.renew)
	}
}

// renew renews the oldest snapshot with each tick.
func (g *growth) renew() {
	for !g.stop.Load() {
		time.Sleep(g.r.ReclaimInterval)
		g.open[0].Close()
		g.open = append(slices.Delete(g.open, 0, 1), g.m.Snapshot())
	}
}

// watch looks at the map until the writers have done enough.
func (g *growth) watch(ctx context.Context) *Violation {
	first := g.stats(g.m)
	patience := time.Now().Add(restPatience)
	for ctx.Err() == nil && !g.broken.Load() {
		time.Sleep(5 * time.Millisecond)
		s := g.stats(g.m)
		more := max(s.Versions, g.r.Keys+s.Aside, s.QueueDepth) - g.r.needed()
		ticks := s.TickRefreshes - first.TickRefreshes
		commits := s.Commits - first.Commits
		switch {
		case more > excess*max(g.r.Keys, excessKeys):
			return violated(s, "versions grow with the commits: %d beyond the %d that are needed, of %d keys, "+
				"after %d commits", more, g.r.needed(), g.r.Keys, commits)
		case ticks == 0 && time.Now().After(patience):
			return violated(s, "the background work stands still: no tick in %v", restPatience)
		case ticks >= growthTicks && commits >= uint64(g.r.Size):
			return nil
		}
	}
	return nil
}

// keptRoom is how many bytes a map may keep for later use.
const keptRoom = 16 << 20

// atRest checks that all is given back once there are no writers and readers any more: in the map
// by one call of Reclaim, in the heap by as many garbage collections as it takes. before is the
// heap without the map, and start the heap with it, before the load.
func (g *growth) atRest(before, start int64) *Violation {
	if err := g.m.Reclaim(context.Background()); err != nil {
		return failed(err)
	}
	if s := g.stats(g.m); s.Versions != g.r.Keys || s.QueueDepth != 0 || s.Aside != 0 {
		return violated(s, "after the load and one Reclaim: %d versions of %d keys, %d set aside, %d keys "+
			"queued", s.Versions, g.r.Keys, s.Aside, s.QueueDepth)
	}
	room := int64(keptRoom) + max(start-before, 0)/2
	for end := time.Now().Add(restPatience); ; {
		heap := liveHeap()
		if heap <= start+room {
			break
		}
		if time.Now().After(end) {
			return violated(g.m.Stats(), "after the load the heap is not given back: %s, from %s at its "+
				"start", humanize.Bytes(heap), humanize.Bytes(start))
		}
	}
	sn := g.m.Snapshot()
	v := checkContents(g.r, sn)
	sn.Close()
	if v == nil {
		v = checkQuiet(g.m)
	}
	return v
}

// checkContents checks the contents of sn: transfers leave the sum alone, and each
// value names its key.
func checkContents(r Round, sn mvcc.Snapshot[int, int64]) *Violation {
	n, sum := 0, int64(0)
	for k, v := range sn.All() {
		if r.Stores && v%int64(r.Keys) != int64(k) {
			return &Violation{Summary: fmt.Sprintf("key %d has %d, which was not stored there", k, v)}
		}
		n++
		sum += v
	}
	if n != r.Keys || !r.Stores && sum != int64(r.Keys)*opening {
		return &Violation{Summary: fmt.Sprintf("%d keys with the sum %d, of %d keys with %d each", n,
			sum, r.Keys, opening)}
	}
	return nil
}

// writer is a goroutine of a growth round that never rests.
type writer struct {
	*growth
	random  *rand.Rand
	commits int
	err     error
}

func (w *writer) run() {
	defer func() {
		if p := recover(); p != nil {
			w.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if w.err != nil {
			w.broken.Store(true)
		}
	}()
	for n := int64(1); !w.stop.Load() && w.err == nil; n++ {
		k := w.random.IntN(w.r.Keys)
		if w.r.Stores {
			w.m.Store(k, n*int64(w.r.Keys)+int64(k))
			w.commits++
			continue
		}
		to := (k + 1 + w.random.IntN(w.r.Keys-1)) % w.r.Keys
		err := w.m.Update(context.Background(), w.r.level(w.random), func(tx mvcc.Tx[int, int64]) error {
			a, _ := tx.Get(k)
			b, _ := tx.Get(to)
			tx.Set(k, a-1)
			tx.Set(to, b+1)
			return nil
		})
		if err == nil {
			w.commits++
		} else if !errors.Is(err, mvcc.ErrConflict) {
			w.err = err
		}
	}
}
