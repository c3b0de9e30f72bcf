package bars

import (
	"fmt"

	"github.com/mvccmap/mvccmap/bench"
)

// sizes are the numbers of keys of the rows that have a choice.
type sizes struct {
	path   [2]int // of single calls
	scan   int    // of a full scan
	weighs int    // of a map that is weighed
}

// limits are the bars, and the aims, of the rows of one path: for the smaller number of keys
// with 1 and 2 goroutines, then for the larger one.
type limits [2][2]float64

// rows returns all rows, in the order in which they are reported.
func rows(n sizes) (list []row) {
	for _, p := range []struct {
		name     string
		ours     opener
		peer     string
		base     opener
		allocs   float64
		bar, aim limits
	}{
		{"load", load, "xsync", xsyncLoad, 0,
			limits{{1.45, 1.45}, {1.2, 1.2}}, limits{{1.2, 1.2}, {1.1, 1.1}}},
		{"view-16-gets", view16, "xsync", xsyncLoad16, 0,
			limits{{1.5, 1.5}, {1.2, 1.2}}, limits{{1.2, 1.2}, {1.1, 1.1}}},
		{"store", store, "xsync", xsyncStore, 1,
			limits{{1.9, 1.9}, {1.5, 1.6}}, limits{{1.5, 1.5}, {1.2, 1.3}}},
		{"update-1-put", update1, "xsync", xsyncStore, 1,
			limits{{2.6, 2.6}, {1.8, 1.9}}, limits{{2, 2}, {1.5, 1.5}}},
		// An Update that reads and writes one key, and one that reads and writes two.
		{"increment", increment, "rwmutex", lockedIncrement, 1,
			limits{{5, 3.5}, {2.5, 1.5}}, limits{{4, 2.5}, {2, 1}}},
		{"transfer", transfer, "rwmutex", lockedTransfer, 2,
			limits{{4, 2.5}, {2.2, 1.5}}, limits{{3, 1.5}, {1.5, 1}}},
	} {
		for i, keys := range n.path {
			for j, goroutines := range []int{1, 2} {
				list = append(list, row{
					name: fmt.Sprintf("%s/keys=%d/goroutines=%d", p.name, keys, goroutines),
					ours: p.ours.side("mvcc", keys, goroutines), base: p.base.side(p.peer, keys, goroutines),
					bar: p.bar[i][j], aim: p.aim[i][j], maxAllocs: p.allocs,
				})
			}
		}
	}
	add := func(name string, speed bool, bar, aim float64, ours, base side) {
		list = append(list, row{name, ours, base, speed, bar, aim, -1})
	}
	const pace = bench.DefaultAuditInterval
	// Transfers beside audits without a pause; 1,000 goroutines against 2.
	add("beside-audits/goroutines=2", true, 10, 100,
		trial("mvcc", "transfer", "mvcc", 2, 0), trial("rwmutex", "transfer", "rwmutex", 2, 0))
	for _, w := range []string{"read-heavy", skewed, "transfer"} {
		add("many-"+w+"/goroutines=1000", true, 0.8, 1,
			trial("many", w, "mvcc", 1_000, pace), trial("two", w, "mvcc", 2, pace))
	}
	add("scan", false, 2.5, 1.8, scan(n.scan), xsyncScan(n.scan))
	// One writer beside full scans against one beside a spinning goroutine; overwrites of 1,000 keys
	// with one snapshot open against none.
	add("beside-scan", true, 0.85, 0.95,
		beside("scan", n.scan, scanning), beside("spin", n.scan, spinning))
	add("beside-reader", true, 0.9, 1, beside("open", 1_000, reading), beside("none", 1_000, nothing))
	// Bytes of a key; with a snapshot open, after 1,024 overwrites of each of 1,000 keys against 64.
	add("bytes/entry=8+8", false, 1.25, 1.1,
		weight("mvcc", n.weighs, filled[uint64, uint64](number)),
		weight("xsync", n.weighs, xsyncFilled[uint64, uint64](number)))
	add("bytes/entry=16+100", false, 1.25, 1.1,
		weight("mvcc", n.weighs, filled[[16]byte, [100]byte](name16)),
		weight("xsync", n.weighs, xsyncFilled[[16]byte, [100]byte](name16)))
	add("bytes/reader=open", false, 1.1, 1,
		weight("later", 1_000, overwritten(1_024)), weight("soon", 1_000, overwritten(64)))
	// A program, built after an edit, against one with one map of xsync: with one map, with maps of
	// four types, with four tables, an order and an index.
	for _, p := range []struct {
		name, program string
		bar, aim      float64
	}{
		{"maps=1", "one", 3, 2}, {"maps=4", "four", 5, 3}, {"tables=4", "database", 8, 5},
	} {
		add("rebuild/"+p.name, false, p.bar, p.aim, rebuild("mvcc", p.program), rebuild("xsync", "xsync"))
	}
	return list
}
