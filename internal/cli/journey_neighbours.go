package cli

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/internal/journey"
	"github.com/mvccmap/mvccmap/internal/results"
)

// What neighbours of the post have measured: RavenDB, the Persistent Memory Development Kit, and
// a database that moved to virtual threads.

// holding measures what a read transaction keeps two things in.
func (a *answering) holding() (answer, error) {
	holders := journey.Holders()
	figures := make([][3][]float64, len(holders))
	for i := range a.count {
		for k, h := range holders {
			if err := a.env.ctx.Err(); err != nil {
				return answer{}, err
			}
			a.say(h.Name, i)
			ns, bytes, allocs, err := h.Measure(a.duration)
			if err != nil {
				return answer{}, &bench.Violation{Detail: err.Error()}
			}
			for f, x := range []float64{ns, bytes, allocs} {
				figures[k][f] = append(figures[k][f], x)
			}
		}
	}
	got := answer{rows: [][]string{{"two things in", "ns", "B", "allocs"}}}
	var nanos []float64
	for k, h := range holders {
		nanos = append(nanos, results.Median(figures[k][0]))
		got.rows = append(got.rows, []string{
			h.Doc, tableCount(nanos[k]), fmt.Sprintf("%.0f", results.Median(figures[k][1])),
			fmt.Sprintf("%.0f", results.Median(figures[k][2])),
		})
	}
	best := slices.Index(nanos, slices.Min(nanos))
	got.says = fmt.Sprintf("In %s: %.0f ns, against %.0f ns in a map, %.0f ns in a slice that grows "+
		"and %.0f ns in a linked list; RavenDB found the same.",
		holders[best].Doc, nanos[best], nanos[0], nanos[1], nanos[3])
	if holders[best].Name != "slice-2" {
		got.says = fmt.Sprintf("In %s, on this machine: %.0f ns; in RavenDB it was a list with room "+
			"for two.", holders[best].Doc, nanos[best])
	}
	return got, nil
}

// secondLock measures begin behind two locks, one, and none.
func (a *answering) secondLock() (answer, error) {
	list := journey.StepByName("reuse").Config
	list.Tracker = journey.KeyedLocked
	two := list
	two.Gate = true
	cases := []struct {
		name   string
		engine bench.EngineSpec
	}{
		{"two: of a gate and of the list", journey.Engine("two-locks", "", two)},
		{"one: of the list", journey.Engine("one-lock", "", list)},
		{"none: slots per P", journey.StepByName("slots").Engine},
	}
	var sides []*side
	for _, c := range cases {
		for _, column := range ravendbColumns {
			w := workload("mixed", 0)
			w.Params.ReadPct = column.readPct
			sides = append(sides, &side{name: c.name + ", " + column.name, config: bench.Config{Workload: w,
				Engine: c.engine, Threads: 8}})
		}
	}
	if err := a.measure(sides); err != nil {
		return answer{}, err
	}
	n := len(ravendbColumns)
	got := answer{rows: [][]string{{"locks in begin", "reads", "writes", "2/3 reads"}}}
	for i, c := range cases {
		row := []string{c.name}
		for k := range n {
			row = append(row, brief.Number(sides[i*n+k].ops()))
		}
		got.rows = append(got.rows, row)
	}
	change := func(from, to int) string {
		return fmt.Sprintf("%.2f, %.2f and %.2f", sides[to*n].ops()/sides[from*n].ops(),
			sides[to*n+1].ops()/sides[from*n+1].ops(), sides[to*n+2].ops()/sides[from*n+2].ops())
	}
	got.says = fmt.Sprintf("Of reads, writes and both, with eight goroutines: without the gate, "+
		"which commits close, there are %s times as many, and without the lock of the list once more "+
		"%s times; RavenDB fell to a quarter without its first lock, as the second was met more often, "+
		"and without both had 1.08, 1.05 and 1.00 of the beginning.",
		change(0, 1), change(1, 2))
	return got, nil
}

// cleanupWorkers deletes in batches, by the table that there is for that.
func (a *answering) cleanupWorkers() (answer, error) {
	w := workload("free-batch", 0)
	spec, _ := bench.EngineByName("mvcc")
	got := answer{rows: [][]string{{"cleanup workers", "100 objects ms",
		"1,000 objects ms"}}}
	sizes := []int{100, 1_000}
	c := freeBatchTable{Objects: 20_000}
	c.Seed = a.seed
	workers := []int{0, 1, 2, 4}
	var times [2][]float64
	for _, n := range workers {
		row := []string{fmt.Sprint(n)}
		for k, size := range sizes {
			r := c.row(spec, w, bench.MapOptions{}, size, 1, n)
			var list []float64
			for i := range a.count {
				a.say(r.name, i)
				figures, err := r.sample(a.env.ctx, i)
				if err != nil {
					return answer{}, fmt.Errorf("%s: %w", r.name, err)
				}
				list = append(list, 1e3*figures[0])
			}
			times[k] = append(times[k], results.Median(list))
			row = append(row, fmt.Sprintf("%.2f", results.Median(list)))
		}
		got.rows = append(got.rows, row)
	}
	best := func(k int) int { return workers[slices.Index(times[k], slices.Min(times[k]))] }
	got.says = fmt.Sprintf("For one goroutine that deletes 20,000 objects: %d, in transactions of "+
		"100 objects, and %d, in such of 1,000, where one worker takes the time from %.1f to %.1f ms; "+
		"\"table free-batch\" has the whole table of the PMDK.",
		best(0), best(1), times[1][0], times[1][1])
	return got, nil
}

// onThread is a session whose goroutine has an OS thread to itself.
type onThread struct {
	bench.Session[uint64]
	counter bench.Incrementer
}

// Add implements [bench.Incrementer]. The thread is the goroutine's from its first operation on,
// and ends with it.
func (s onThread) Add(key string, delta uint64) (uint64, error) {
	runtime.LockOSThread()
	return s.counter.Add(key, delta)
}

// osThreads measures response times at a given load, with goroutines and with OS threads.
func (a *answering) osThreads() (answer, error) {
	const n, rate = 1_000, 20_000
	var sides []*side
	for _, name := range []string{"mutex", "mvcc"} {
		spec, _ := bench.EngineByName(name)
		locked := spec.Wrapped(func(s bench.Session[uint64]) bench.Session[uint64] {
			return onThread{s, s.(bench.Incrementer)}
		})
		for i, engine := range []bench.EngineSpec{spec, locked} {
			sides = append(sides, &side{name: name + ", " + []string{"goroutines", "OS threads"}[i],
				config: bench.Config{
					Workload: workload("many-goroutines", 0), Engine: engine, Threads: n,
					Rate: rate, Arrival: bench.PoissonArrivals, LatencySample: 1,
				}})
		}
	}
	if err := a.measure(sides); err != nil {
		return answer{}, err
	}
	got := answer{rows: [][]string{{"1,000 of them", "ops/s", "average ms", "99 % ms",
		"max ms", "switches/s"}}}
	var switches []float64
	for _, s := range sides {
		ms := func(figure func(m bench.Measurement) time.Duration) string {
			return fmt.Sprintf("%.3f", s.median(func(m bench.Measurement) float64 {
				return float64(figure(m)) / 1e6
			}))
		}
		per := s.median(func(m bench.Measurement) float64 {
			n, _ := m.SwitchesPerOp()
			return n * m.OpsPerSecond()
		})
		switches = append(switches, per)
		got.rows = append(got.rows, []string{
			s.name, brief.Number(s.ops()),
			ms(func(m bench.Measurement) time.Duration { return m.Response.Mean() }),
			ms(func(m bench.Measurement) time.Duration { d, _ := m.Response.Quantile(0.99); return d }),
			ms(func(m bench.Measurement) time.Duration { return m.Response.Max() }), brief.Number(per),
		})
	}
	got.says = fmt.Sprintf("Goroutines: at %s operations a second of a thousand of them, threads of "+
		"the process are switched %s times a second under the mutex and %s times with the map, and "+
		"with an OS thread each %s and %s times; the table has what that does to response times.",
		tableCount(rate), brief.Number(switches[0]), brief.Number(switches[2]),
		brief.Number(switches[1]), brief.Number(switches[3]))
	return got, nil
}
