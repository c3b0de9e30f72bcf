package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/mvccmap/mvccmap/bench"
)

// A row compares two sides. Ratios are used because they mean the same on every machine.
type row struct {
	name string // as a benchmark's: "load/keys=10000/goroutines=2"
	what string // one line

	ours, base side

	// kind says what is compared and which way is better.
	kind kind
	// bar must hold and aim is wanted: upper bounds of the ratio of ours to the base, or
	// lower bounds for a speed.
	bar, aim float64
	// maxAllocs bounds the allocations of an operation of ours; negative means that it is
	// not looked at.
	maxAllocs float64
}

// kind is what a [row] compares.
type kind int

const (
	timed  kind = iota // time of an operation: the ratio must not exceed the bar
	speed              // operations in a given time: the ratio must reach the bar
	memory             // bytes: the ratio must not exceed the bar
)

// met reports whether a ratio of ours to the base satisfies a bound.
func (k kind) met(ratio, bound float64) bool {
	if k == speed {
		return ratio >= bound
	}
	return ratio <= bound
}

// sign returns the sign between a ratio and its bound.
func (k kind) sign() string {
	if k == speed {
		return "≥"
	}
	return "≤"
}

// unit is what a side of the kind reports.
func (k kind) unit() string {
	if k == memory {
		return "B/key"
	}
	return "ns/op"
}

// A side is one of the two sides of a row: a Go benchmark. What it measures has the
// profiler labels of ctx; what it prepares has not. It reports ns/op and allocs/op, or
// B/key.
type side struct {
	name  string // as in a benchmark's name: "mvcc", "xsync"
	bench func(ctx context.Context, b *testing.B) error
}

// sizes are the numbers of keys of the rows that have a choice.
type sizes struct {
	path   [2]int // of single calls
	scan   int    // of a full scan
	weighs int    // of a map that is weighed
}

func defaultSizes() sizes {
	return sizes{path: [2]int{10_000, 1_000_000}, scan: 1_000_000, weighs: 1_000_000}
}

// limits are the bars, and the aims, of the rows of one path: for the smaller number of keys
// with 1 and 2 goroutines, then for the larger one.
type limits [2][2]float64

// rows returns all rows, in the order in which they are reported.
func rows(n sizes) (list []row) {
	for _, p := range []struct {
		name, what string
		ours       opener
		peer       string
		base       opener
		allocs     float64
		bar, aim   limits
	}{
		{
			"load", "Load against xsync Load", load, "xsync", xsyncLoad, 0,
			limits{{1.45, 1.45}, {1.2, 1.2}}, limits{{1.2, 1.2}, {1.1, 1.1}},
		},
		{
			"view-16-gets", "View with 16 gets against 16 xsync Loads", view16, "xsync", xsyncLoad16, 0,
			limits{{1.5, 1.5}, {1.2, 1.2}}, limits{{1.2, 1.2}, {1.1, 1.1}},
		},
		{
			"store", "Store against xsync Store", store, "xsync", xsyncStore, 1,
			limits{{1.9, 1.9}, {1.5, 1.6}}, limits{{1.5, 1.5}, {1.2, 1.3}},
		},
		{
			"update-1-put", "Update with 1 put against xsync Store", update1, "xsync", xsyncStore, 1,
			limits{{2.6, 2.6}, {1.8, 1.9}}, limits{{2, 2}, {1.5, 1.5}},
		},
		{
			"increment", "Update that reads and writes one key against the same under a RWMutex",
			increment, "rwmutex", lockedIncrement, 1,
			limits{{5, 3.5}, {2.5, 1.5}}, limits{{4, 2.5}, {2, 1}},
		},
		{
			"transfer", "Update that reads and writes two keys against the same under a RWMutex",
			transfer, "rwmutex", lockedTransfer, 2,
			limits{{4, 2.5}, {2.2, 1.5}}, limits{{3, 1.5}, {1.5, 1}},
		},
	} {
		for i, keys := range n.path {
			for j, goroutines := range []int{1, 2} {
				list = append(list, row{
					name: fmt.Sprintf("%s/keys=%d/goroutines=%d", p.name, keys, goroutines), what: p.what,
					ours: p.ours.side("mvcc", keys, goroutines), base: p.base.side(p.peer, keys, goroutines),
					bar: p.bar[i][j], aim: p.aim[i][j], maxAllocs: p.allocs,
				})
			}
		}
	}
	add := func(name, what string, kind kind, bar, aim float64, ours, base side) {
		list = append(list, row{name, what, ours, base, kind, bar, aim, -1})
	}
	const pace = bench.DefaultAuditInterval
	add("beside-audits/goroutines=2", "transfers beside audits without a pause, against RWMutex + map",
		speed, 10, 100,
		trial("mvcc", "transfer", "mvcc", 2, 0), trial("rwmutex", "transfer", "rwmutex", 2, 0))
	for _, w := range []string{"read-heavy", skewed, "transfer"} {
		add("many-"+w+"/goroutines=1000", w+" with 1,000 goroutines against 2", speed, 0.8, 1,
			trial("many", w, "mvcc", 1_000, pace), trial("two", w, "mvcc", 2, pace))
	}
	add("scan", "full scan, against xsync Range", timed, 2.5, 1.8,
		side{"mvcc", scan(n.scan)}, side{"xsync", xsyncScan(n.scan)})
	add("beside-scan", "one writer beside full scans, against one beside a spinning goroutine",
		speed, 0.85, 0.95,
		side{"scan", beside(n.scan, scanning)}, side{"spin", beside(n.scan, spinning)})
	add("beside-reader", "overwrites of 1,000 keys with one snapshot open, against none", speed, 0.9,
		1,
		side{"open", beside(1_000, reading)}, side{"none", beside(1_000, nothing)})
	add("bytes/entry=8+8", "bytes per key against xsync, 8-byte keys and values", memory, 1.25, 1.1,
		weight("mvcc", n.weighs, filled[uint64, uint64](number)),
		weight("xsync", n.weighs, xsyncFilled[uint64, uint64](number)))
	add("bytes/entry=16+100", "bytes per key against xsync, 16-byte keys and 100-byte values",
		memory, 1.25, 1.1,
		weight("mvcc", n.weighs, filled[[16]byte, [100]byte](name16)),
		weight("xsync", n.weighs, xsyncFilled[[16]byte, [100]byte](name16)))
	add("bytes/reader=open", "bytes per key with a snapshot open, after 1,024 overwrites of each of "+
		"1,000 keys against 64",
		memory, 1.1, 1,
		weight("later", 1_000, overwritten(1_024)), weight("soon", 1_000, overwritten(64)))
	for _, p := range []struct {
		name, what, program string
		bar, aim            float64
	}{
		{"maps=1", "one map", "one", 3, 2},
		{"maps=4", "maps of four types", "four", 5, 3},
		{"tables=4", "four tables, an order and an index", "database", 8, 5},
	} {
		add("rebuild/"+p.name, "a program with "+p.what+", built after an edit, against one with one map "+
			"of xsync",
			timed, p.bar, p.aim, rebuild("mvcc", p.program), rebuild("xsync", "xsync"))
	}
	return list
}
