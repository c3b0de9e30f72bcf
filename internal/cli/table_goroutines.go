package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/mvccmap/mvccmap/bench"
)

// goroutinesTable is "mvccbench table goroutines": the form of a table of response
// times with which kinds of locks were compared under very many threads.
type goroutinesTable struct {
	tableFlags
	Engine     []string      `help:"The engines: who guards the critical section." default:"mutex,rwmutex,mvcc,mvcc-direct" placeholder:"NAME"`
	Goroutines int           `help:"Number of goroutines." default:"100000" placeholder:"N"`
	Rate       float64       `help:"Operations per second, of all goroutines together." default:"20000" placeholder:"N"`
	Arrival    string        `help:"How the operations follow each other: fixed or poisson." enum:"fixed,poisson" default:"poisson" placeholder:"KIND"`
	Keys       int           `help:"Number of counters that the goroutines share; with 1 all are after the same." default:"1000" placeholder:"N"`
	Duration   time.Duration `help:"Length of a sample." default:"5s" placeholder:"TIME"`
	Warmup     time.Duration `help:"Length of the warm-up before each sample." default:"1s" placeholder:"TIME"`
}

// responseQuantiles are those of the table.
var responseQuantiles = []struct {
	name string
	q    float64
}{{"99.9 %", 0.999}, {"99.99 %", 0.9999}, {"99.999 %", 0.99999}}

// Run measures and prints the table.
func (c *goroutinesTable) Run(e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := checkRun(c.Duration, c.Warmup); err != nil {
		return err
	}
	if err := checkCounts("--goroutines", []int{c.Goroutines}, 1, bench.MaxThreads); err != nil {
		return err
	}
	if !(c.Rate > 0 && c.Rate <= bench.MaxRate) {
		return usagef("--rate: expected a number above 0, up to %.0f, not %v", bench.MaxRate, c.Rate)
	}
	w, err := tableWorkload("many-goroutines", c.Keys)
	if err != nil {
		return err
	}
	if _, err := namedEngines("--engine", c.Engine, e.Engines); err != nil {
		return err
	}
	t := &table{
		title: fmt.Sprintf("%d goroutines, %s operations per second offered (%s arrivals), %d counters",
			c.Goroutines, tableCount(c.Rate), c.Arrival, c.Keys),
		header: []string{"", "throughput ops/s", "achieved", "average ms"},
		left:   1,
		notes: []string{
			"One operation reads a counter and writes it back, one higher, in one critical section or " +
				"transaction. Response times count from when the operation was due, so the wait for a turn " +
				"is in them; a percentile without ten operations beyond it is not shown. Context switches " +
				"are those of the threads of the process, not of goroutines.",
		},
	}
	for _, q := range responseQuantiles {
		t.header = append(t.header, q.name+" ms")
	}
	t.header = append(t.header, "max ms", "errors/s", "aborts/op", "context switches/s")
	for _, name := range c.Engine {
		spec, err := tableEngine(e, "--engine", name, w)
		if err != nil {
			return err
		}
		t.rows = append(t.rows, c.row(spec, w))
		t.notes = append(t.notes, fmt.Sprintf("%s: %s.", spec.Name, spec.Doc))
	}
	return t.measure(e, &c.tableFlags)
}

func (c *goroutinesTable) row(spec bench.EngineSpec, w bench.Workload) *tableRow {
	return &tableRow{
		name:   spec.Name,
		labels: []string{spec.Name},
		show: formatted("%.1f", "%.1f %%", "%.3f", "%.3f", "%.3f", "%.3f", "%.3f",
			"%.1f", "%.4f", "%.0f"),
		sample: func(ctx context.Context, i int) (figures []float64, err error) {
			config := bench.Config{
				Workload: w, Engine: spec, Threads: c.Goroutines, Seed: c.Seed, Sample: i,
				Rate: c.Rate, Arrival: bench.Arrival(c.Arrival), LatencySample: 1,
			}
			err = runTrial(ctx, config, func(t *bench.Trial) error {
				m, err := warmRun(ctx, t, c.Warmup, c.Duration)
				if err == nil {
					figures = responseFigures(m)
				}
				return err
			})
			return figures, err
		},
	}
}

// responseFigures returns the figures of a row, times in milliseconds.
func responseFigures(m bench.Measurement) []float64 {
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	achieved, _ := m.Achieved()
	figures := []float64{m.OpsPerSecond(), 100 * achieved, ms(m.Response.Mean())}
	for _, q := range responseQuantiles {
		x := unknown
		if d, ok := m.Response.Quantile(q.q); ok {
			x = ms(d)
		}
		figures = append(figures, x)
	}
	switches := unknown
	if n, ok := m.SwitchesPerOp(); ok {
		switches = n * m.OpsPerSecond()
	}
	return append(figures, ms(m.Response.Max()), m.ErrorsPerSecond(), m.AbortsPerOp(), switches)
}
