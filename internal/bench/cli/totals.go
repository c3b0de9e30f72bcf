package cli

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/hist"
	"github.com/mvccmap/mvccmap/profiling"
	"github.com/mvccmap/mvccmap/profiling/prom"
)

// totals counts the operations of the runs of the program so far, warm-ups left out, for the dashboard
// and /metrics. Its methods may be called from several goroutines.
type totals struct {
	mu                sync.Mutex
	live              recent
	ops, aborts, errs uint64
	late              hist.Hist // times of operations that the dashboard has not shown
	operations        map[string]*operation
}

// An operation counts the operations of one kind.
type operation struct {
	times   hist.Hist // as many as operations
	untimed uint64    // operations that are not in times yet
	errs    uint64
}

// read adds the operations of t since it was last read, under the name of an operation.
func (c *totals) read(t *bench.Trial, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.live.read(t) {
		return
	}
	now, before := &c.live.now, &c.live.before
	ops, errs := grown(now.Ops, before.Ops), grown(now.Errors, before.Errors)
	c.ops += ops
	c.errs += errs
	c.aborts += grown(now.Aborts, before.Aborts)
	if !now.Measured {
		return
	}
	d := now.Response.Since(before.Response)
	for took, n := range d.All() {
		c.late.Add(int64(took), n)
	}
	o := c.operations[name]
	if o == nil {
		if c.operations == nil {
			c.operations = map[string]*operation{}
		}
		o = new(operation)
		c.operations[name] = o
	}
	o.errs += errs
	o.add(d, ops)
}

// add adds ops operations. It assumes that all took times distributed as those in d, which were
// measured. Operations wait in untimed until there is a timed one.
func (o *operation) add(d bench.Distribution, ops uint64) {
	o.untimed += ops
	timed := d.Count()
	if timed == 0 {
		return
	}
	var seen, given uint64
	for took, n := range d.All() {
		seen += n
		upTo := uint64(float64(o.untimed) * (float64(seen) / float64(timed)))
		if upTo > given {
			o.times.Add(int64(took), upTo-given)
			given = upTo
		}
	}
	o.untimed -= min(given, o.untimed)
}

// shown returns the counts so far, and the times of the operations since the last call.
func (c *totals) shown() (ops, aborts, errs uint64, l profiling.Latency) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.late.Count() > 0 {
		quantile := func(q float64) time.Duration {
			if !c.late.Supports(q) {
				return 0
			}
			return time.Duration(c.late.Quantile(q))
		}
		l = profiling.Latency{
			P50: quantile(.5), P90: quantile(.9), P99: quantile(.99),
			P999: quantile(.999), P9999: quantile(.9999), Max: time.Duration(c.late.Max()),
		}
		c.late.Reset()
	}
	return c.ops, c.aborts, c.errs, l
}

// exported returns the counts of each kind, for Prometheus.
func (c *totals) exported() (list []prom.Operation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.operations)) {
		o := c.operations[name]
		times := o.times // a copy
		list = append(list, prom.Operation{Name: name, Errors: o.errs, Latency: &times})
	}
	return list
}

// operationName is the name of the operations of a configuration at /metrics and where slow ones
// are explained.
func operationName(c bench.Config) string { return c.Workload.Name + " on " + c.Engine.Name }
