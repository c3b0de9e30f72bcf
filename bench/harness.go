package bench

import (
	"context"
	"time"
)

// HarnessCost returns the nanoseconds that the harness itself takes of each
// operation of w in a single goroutine: the loop, the random choices and the
// record kept for verification. It is contained in every figure of every engine.
// It is measured now, in a few milliseconds, with an engine that does nothing but
// remember what it was given; with many keys it is an underestimate, because
// memory is slower than caches.
func HarnessCost(w Workload) (ns float64, err error) {
	const few = 10_000
	if w.Params.Keys > few {
		w.Params.Keys = few
	}
	t, err := New(Config{Workload: w, Engine: idleSpec(), Threads: 1, LatencySample: maxSample, AuditInterval: time.Hour})
	if err != nil {
		return 0, err
	}
	defer t.Close()
	ops := uint64(50_000 / max(w.Params.TxnSize, 1))
	if _, err := t.RunOps(context.Background(), max(ops/5, 1)); err != nil {
		return 0, err
	}
	m, err := t.RunOps(context.Background(), max(ops, 1))
	return m.NsPerOp(), err
}
