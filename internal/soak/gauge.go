package soak

import (
	"fmt"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/mvccmap/mvccmap/internal/brief"
)

// A gauge is what a map holds at one moment of a growth round.
type gauge struct {
	commits, ticks uint64
	versions       int
	needed         int // versions that readers may need, see readers
	surplus        int // of keys that wait to be pruned
	aside          int
	queued         int
	heap           int64 // of the process, right after a collection
	bytes          int64 // what the map says that it takes
}

// excess is how many versions, or notes of them if these are more, there are beyond those that are
// needed.
func (g gauge) excess(keys int) int {
	return max(g.versions-g.needed, keys+g.aside-g.needed, g.queued-g.needed, 0)
}

// What a map may hold beyond what is needed. It follows from the counts alone. A busy
// machine makes everything late, also the writers, and these prune what they write: so the
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

// grown says what has grown with each window of a round, and is too much in the end, "" if
// all is well. The first of gauges is from before the load.
func grown(r Round, gauges []gauge) string {
	start, all := gauges[0], gauges[1:]
	last := all[len(all)-1]
	excess := func(g gauge) int { return g.excess(r.Keys) }
	if limit := excessGrown * max(r.Keys, excessKeys); excess(last) > limit && rising(all, excess) {
		return fmt.Sprintf("versions grow with the commits: %d beyond the %d that are needed, of %d "+
			"keys, after %d commits",
			excess(last), last.needed, r.Keys, last.commits-start.commits)
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

// rising reports whether a figure grows with each gauge, and at least doubles.
func rising(all []gauge, what func(gauge) int) bool {
	for i := range all[1:] {
		if what(all[i+1]) <= what(all[i]) {
			return false
		}
	}
	return what(all[len(all)-1]) >= 2*what(all[0])
}

// tooMuch says what there is more of than there may ever be, "" if nothing.
func tooMuch(r Round, g gauge) string {
	if g.excess(r.Keys) <= excessMost*max(r.Keys, excessKeys) {
		return ""
	}
	return fmt.Sprintf("%d versions beyond the %d that are needed, of %d keys", g.excess(r.Keys),
		g.needed, r.Keys)
}

// table shows gauges, each in a line.
func table(gauges []gauge) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "window\tcommits\tticks\tversions\tneeded\tsurplus\taside\tqueued\theap\tmap\t")
	for i, g := range gauges {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t\n",
			i, g.commits, g.ticks, g.versions, g.needed, g.surplus, g.aside, g.queued,
			brief.Bytes(g.heap), brief.Bytes(g.bytes))
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
