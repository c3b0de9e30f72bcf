package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A growth round goes on for a number of windows, and measures at the end of each. A window
// has no fixed time: it is over when its share of the round's transactions is done, and the
// background work has made a number of ticks, or fewer if much was written meanwhile.
const (
	windows       = 5
	windowTicks   = 4
	windowCommits = 300_000
)

// pollInterval is how often the statistics are looked at within a window.
const pollInterval = 5 * time.Millisecond

// opening is what is in each account before the first transfer.
const opening = 1000

// growth is a growth round under way.
type growth struct {
	r       Round
	m       *mvcc.Map[int, int64]
	stats   func(m *mvcc.Map[int, int64]) mvcc.Stats
	readers *readers
	writers []*writer

	stop   atomic.Bool
	broken atomic.Bool // a writer has failed
	wg     sync.WaitGroup

	gauges []gauge // at the start, and after each window
	peak   gauge   // the most of each
}

// doGrowth has writers that never rest, with readers beside them, and looks whether
// memory grows with what they have written.
func (t Target) doGrowth(ctx context.Context, r Round) Outcome {
	before := liveHeap()
	m := mvcc.New[int, int64](r.Options())
	defer m.Close()
	for k := range r.Keys {
		m.Store(k, r.first(k))
	}
	g := &growth{r: r, m: m, stats: t.Stats, readers: newReaders(r, m)}
	g.keep(liveHeap())
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
	if v == nil {
		v = g.readers.check()
	}
	g.readers.close()
	if v == nil {
		v = g.atRest(before)
	}
	end := liveHeap()
	o.Violation = v
	o.Note = fmt.Sprintf("%d versions at most; live heap %s at the start, %s at most, %s in the end",
		g.peak.versions, brief.Bytes(g.gauges[0].heap), brief.Bytes(g.peak.heap), brief.Bytes(end))
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
	g.wg.Go(func() { g.readers.run(&g.stop) })
}

// watch goes through the windows. It returns what has grown.
func (g *growth) watch(ctx context.Context) *Violation {
	for range windows {
		if v := g.window(ctx); v != nil {
			return v
		}
		if ctx.Err() != nil || g.broken.Load() {
			return nil
		}
	}
	return g.violation(grown(g.r, g.gauges))
}

// window waits until the window is over, and measures. All the time, also during a
// collection, it keeps a map that grows from taking all memory.
func (g *growth) window(ctx context.Context) *Violation {
	first, from := g.gauges[0], g.take()
	patience := time.Now().Add(restPatience)
	var heap chan int64
	for over := false; !over; {
		now := gauge{}
		select {
		case <-ctx.Done():
			over = true
			now = g.take()
		case bytes := <-heap:
			over = true
			now = g.keep(bytes)
		case <-time.After(pollInterval):
			now = g.take()
		}
		what := tooMuch(g.r, now)
		if now.ticks == first.ticks && time.Now().After(patience) {
			what = fmt.Sprintf("the background work stands still: no tick in %v", restPatience)
		}
		if what != "" {
			// Must precede the collection, which may take long beside the writers.
			g.stop.Store(true)
			g.wg.Wait()
			g.keep(liveHeap())
			return g.violation(what)
		}
		ticks, done := now.ticks-from.ticks, now.commits-from.commits
		enough := ticks >= windowTicks || now.ticks > first.ticks && done >= windowCommits
		if heap == nil && (enough && done >= uint64(g.r.Size/windows) || g.broken.Load()) {
			heap = make(chan int64, 1)
			go func() { heap <- liveHeap() }()
		}
	}
	return nil
}

// take reads the gauges, but for the heap.
func (g *growth) take() gauge {
	s := g.stats(g.m)
	// Must follow the versions: snapshots opened meanwhile count, and more are needed.
	n := gauge{
		commits: s.Commits, ticks: s.TickRefreshes,
		versions: s.Versions, surplus: s.Versions - s.Entries - s.Aside, aside: s.Aside,
		queued: s.QueueDepth,
		bytes:  int64(s.Bytes), needed: g.readers.needed(s.TickRefreshes),
	}
	g.peak.versions = max(g.peak.versions, n.versions)
	return n
}

// keep reads the gauges, and keeps them with the measured heap.
func (g *growth) keep(heap int64) gauge {
	now := g.take()
	now.heap = heap
	g.peak.heap = max(g.peak.heap, heap)
	g.gauges = append(g.gauges, now)
	return now
}

// violation makes a violation of what is wrong and all that was measured; nil if nothing is wrong.
func (g *growth) violation(what string) *Violation {
	if what == "" {
		return nil
	}
	return &Violation{Summary: what, Detail: table(g.gauges) +
		fmt.Sprintf("Statistics of the map: %+v", g.m.Stats())}
}

// atRest checks that all is given back once there are no writers and readers any more: in
// the map by one call of Reclaim, in the heap by as many garbage collections as it takes.
// before is the heap without the map.
func (g *growth) atRest(before int64) *Violation {
	if err := g.m.Reclaim(context.Background()); err != nil {
		return failed(err)
	}
	if s := g.stats(g.m); s.Versions != g.r.Keys || s.QueueDepth != 0 || s.Aside != 0 {
		return g.violation(fmt.Sprintf("after the load and one Reclaim: %d versions of %d keys, %d set "+
			"aside, %d keys queued",
			s.Versions, g.r.Keys, s.Aside, s.QueueDepth))
	}
	start := g.gauges[0].heap
	room := int64(keptRoom) + max(start-before, 0)/2
	for end := time.Now().Add(restPatience); ; {
		heap := liveHeap()
		if heap <= start+room {
			break
		}
		if time.Now().After(end) {
			return g.violation(fmt.Sprintf("after the load the heap is not given back: %s, from %s at its "+
				"start", brief.Bytes(heap), brief.Bytes(start)))
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

// keptRoom is how many bytes a map may keep for later use.
const keptRoom = 16 << 20

// checkContents checks what sn shows: transfers leave the sum alone, and what is
// stored names its key.
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
