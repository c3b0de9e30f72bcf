package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
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

// opening is the amount in each account before the first transfer.
const opening = 1000

// A map may hold so much beyond the versions that are needed. It follows from the counts alone. A
// busy machine makes everything late, also the writers, and these prune what they write: so the
// excess of a key is bounded however late a tick is. With a fault it follows the commits.
const (
	excessGrown = 16  // for each key, if it has become more and more
	excessMost  = 256 // for each key, ever
	excessKeys  = 256 // as many keys are counted at least
)

// The heap may exceed what the map says that it takes by a factor, and by room for what is
// left by collections beside the writers.
const (
	heapFactor = 3
	heapRoom   = 64 << 20
)

// keptRoom is how many bytes a map may keep for later use.
const keptRoom = 16 << 20

// needed is how many versions may be needed: of each key the newest one, one for each snapshot
// that is open, or was lately, and one for each transaction.
func (r Round) needed() int {
	n := 1 + r.Snapshots
	if r.Snapshots > 1 {
		// One is closed with each tick. Its versions stay for some ticks until they are noticed and
		// due, and for more if there are more keys than a tick visits.
		n += 6 + 2*r.Keys/16384
	}
	if !r.Stores {
		n += r.Workers
	}
	return n * r.Keys
}

// A gauge is the size of a map at one moment of a growth round.
type gauge struct {
	commits, ticks          uint64
	versions, aside, queued int
	heap                    int64 // of the process, right after a collection
	bytes                   int64 // what the map says that it takes
}

// excess is how many versions, or notes of them if these are more, there are beyond those that are
// needed.
func (g gauge) excess(r Round) int {
	return max(g.versions, r.Keys+g.aside, g.queued, r.needed()) - r.needed()
}

// grown says what has grown with each window of a round, and is too much in the end, "" if
// all is well. The first of gauges is from before the load.
func grown(r Round, gauges []gauge) string {
	start, all := gauges[0], gauges[1:]
	last := all[len(all)-1]
	excess := func(g gauge) int { return g.excess(r) }
	if limit := excessGrown * max(r.Keys, excessKeys); excess(last) > limit && rising(all, excess) {
		return fmt.Sprintf("versions grow with the commits: %d beyond the %d that are needed, of %d "+
			"keys, after %d commits", excess(last), r.needed(), r.Keys, last.commits-start.commits)
	}
	more := func(g gauge) int {
		return int(max(g.heap-start.heap-heapFactor*max(g.bytes-start.bytes, 0), 0))
	}
	if more(last) > heapRoom && rising(all, more) {
		return fmt.Sprintf("the heap grows with the commits: from %s to %s after %d commits, and the "+
			"map says that it takes %s",
			brief.Bytes(start.heap), brief.Bytes(last.heap), last.commits-start.commits,
			brief.Bytes(last.bytes))
	}
	return ""
}

// rising reports whether a figure falls with no gauge, and at least doubles.
func rising(all []gauge, figure func(gauge) int) bool {
	sorted := slices.IsSortedFunc(all, func(a, b gauge) int { return figure(a) - figure(b) })
	return sorted && figure(all[len(all)-1]) >= 2*figure(all[0])
}

// tooMuch says what there is more of than there may ever be, "" if nothing.
func tooMuch(r Round, g gauge) string {
	if g.excess(r) <= excessMost*max(r.Keys, excessKeys) {
		return ""
	}
	return fmt.Sprintf("%d versions beyond the %d that are needed, of %d keys", g.excess(r),
		r.needed(), r.Keys)
}

// table shows gauges, each in a line.
func table(gauges []gauge) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "window\tcommits\tticks\tversions\taside\tqueued\theap\tmap\t")
	for i, g := range gauges {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t\n", i, g.commits, g.ticks, g.versions, g.aside,
			g.queued, brief.Bytes(g.heap), brief.Bytes(g.bytes))
	}
	_ = w.Flush()
	return b.String()
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

	gauges []gauge // at the start, and after each window
	open   []mvcc.Snapshot[int, int64]
}

// doGrowth has writers that never rest, with snapshots beside them, and looks whether
// memory grows with what they have written.
func (t Target) doGrowth(ctx context.Context, r Round) Outcome {
	before := liveHeap()
	m := mvcc.New[int, int64](r.Options())
	defer m.Close()
	for k := range r.Keys {
		m.Store(k, r.first(k))
	}
	g := &growth{r: r, m: m, stats: t.Stats}
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
	for _, s := range g.open {
		if v == nil {
			v = checkContents(r, s)
		}
		s.Close()
	}
	if v == nil {
		v = g.atRest(before)
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

// window waits until the window is over, and measures. It keeps a map that grows from taking all
// memory.
func (g *growth) window(ctx context.Context) *Violation {
	first, from := g.gauges[0], g.take()
	patience := time.Now().Add(restPatience)
	for ctx.Err() == nil && !g.broken.Load() {
		time.Sleep(pollInterval)
		now := g.take()
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
		if enough && done >= uint64(g.r.Size/windows) {
			break
		}
	}
	g.keep(liveHeap())
	return nil
}

// take reads the gauges, but for the heap.
func (g *growth) take() gauge {
	s := g.stats(g.m)
	return gauge{
		commits: s.Commits, ticks: s.TickRefreshes, versions: s.Versions, aside: s.Aside,
		queued: s.QueueDepth, bytes: int64(s.Bytes),
	}
}

// keep reads the gauges, and keeps them with the measured heap.
func (g *growth) keep(heap int64) {
	now := g.take()
	now.heap = heap
	g.gauges = append(g.gauges, now)
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
