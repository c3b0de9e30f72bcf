package bench

import (
	"context"
	"errors"
	"math"
	"time"
)

// What is measured to find the cost of the harness, and how often.
const (
	harnessOps      = 1_000 // to warm up
	harnessReadings = 10
	harnessReading  = 5 * time.Millisecond
	harnessBytes    = 32 << 20 // of records; a workload that has more takes too long to fill
)

var errNoHarness = errors.New("bench: the harness of this workload cannot be measured alone")

// HarnessCost returns the nanoseconds that the harness itself takes of each operation of w in a single
// goroutine: the loop, the random choices and the record kept for verification. It is contained in
// every figure of every engine. It is measured now, as the smallest of ten readings of some
// milliseconds, with an engine that does nothing but remember what it was given; with many keys it is
// an underestimate, because memory is slower than caches. There is none for TPC-C.
func HarnessCost(w Workload) (ns float64, err error) {
	w.alone = true
	w.Params.Keys = min(w.Params.Keys, max(w.MinKeys, 10_000))
	c := Config{Workload: w, Engine: idleSpec(), Threads: 1, LatencySample: maxSample}
	if c.Bytes() > harnessBytes {
		return 0, errNoHarness
	}
	t, err := New(c)
	if err != nil {
		return 0, err
	}
	defer t.Close()
	ops := max(harnessOps/uint64(max(w.Params.TxnSize, 1)), 1)
	least := math.Inf(1) // what else the machine does only makes it longer
	for range 1 + harnessReadings {
		m, err := t.RunOps(context.Background(), ops)
		if err != nil {
			return 0, err
		}
		least = min(least, m.NsPerOp())
		ops = max(uint64(float64(harnessReading)/least), 1)
	}
	return least, nil
}
