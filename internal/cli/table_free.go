package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/mvccmap/mvccmap/bench"
)

// freeBatchTable is "mvccbench table free-batch": the form of the table with which
// the Persistent Memory Development Kit judged cleaning up after the commit in
// background workers.
type freeBatchTable struct {
	tableFlags
	Engine  string `help:"The engine: mvcc, or another for comparison, for which cleanup workers mean nothing." default:"mvcc" placeholder:"NAME"`
	Objects int    `help:"Objects that each worker deletes." default:"100000" placeholder:"N"`
	TxnSize []int  `help:"Objects per transaction." default:"100,1000,10000" placeholder:"N"`
	Workers []int  `help:"Workers: goroutines that delete." default:"1,2" placeholder:"N"`
	Cleanup []int  `help:"Cleanup workers: goroutines that prune in the background; with 0 the committers do." default:"0,1,2,4" placeholder:"N"`

	Interval  time.Duration `name:"gc-interval" help:"As for run." placeholder:"TIME"`
	Queue     int           `name:"gc-queue" help:"As for run." placeholder:"N"`
	Threshold int           `name:"gc-threshold" help:"As for run." placeholder:"N"`
}

// Run measures and prints the table.
func (c *freeBatchTable) Run(e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.Objects < 1 || c.Objects > 100_000_000 {
		return usagef("--objects: expected a number from 1 to 100000000, not %d", c.Objects)
	}
	if err := checkCounts("--txn-size", c.TxnSize, 1, c.Objects); err != nil {
		return err
	}
	for _, size := range c.TxnSize {
		if c.Objects%size != 0 {
			return usagef("--txn-size: expected divisors of the %d objects of a worker, not %d", c.Objects,
				size)
		}
	}
	if err := checkCounts("--workers", c.Workers, 1, bench.MaxThreads); err != nil {
		return err
	}
	if err := checkCounts("--cleanup", c.Cleanup, 0, 1_000); err != nil {
		return err
	}
	options := bench.MapOptions{Interval: c.Interval, Queue: c.Queue, Threshold: c.Threshold}
	if err := options.Validate(); err != nil {
		return usagef("--gc-interval, --gc-queue, --gc-threshold: %w", err)
	}
	w, _ := bench.WorkloadByName("free-batch")
	spec, err := tableEngine(e, "--engine", c.Engine, w)
	if err != nil {
		return err
	}
	t := &table{
		title: fmt.Sprintf("Time to delete %d objects per worker, and to put them back: %s",
			c.Objects, spec.Name),
		header: []string{
			"objects_per_worker", "objects_per_tx", "workers", "cleanup workers",
			"time elapsed s", "cpu s", "put back s", "put back cpu s",
		},
		notes: []string{
			"A transaction deletes so many objects of its worker's own. The time is that until the last " +
				"has committed; what is left to the cleanup workers after that is not in it, but what they " +
				"did meanwhile is in the processor time of the process. With 0 cleanup workers the " +
				"committers prune.",
		},
	}
	for _, size := range c.TxnSize {
		for _, workers := range c.Workers {
			for _, cleanup := range c.Cleanup {
				t.rows = append(t.rows, c.row(spec, w, options, size, workers, cleanup))
			}
		}
	}
	return t.measure(e, &c.tableFlags)
}

func (c *freeBatchTable) row(
	spec bench.EngineSpec, w bench.Workload, options bench.MapOptions, size, workers, cleanup int,
) *tableRow {
	w.Params.Keys, w.Params.TxnSize = c.Objects, size
	options.Workers = cleanup
	if cleanup == 0 {
		options.Workers = bench.NoWorkers
	}
	// So many operations delete everything, and as many put it back.
	all := uint64(workers * (c.Objects / size))
	return &tableRow{
		name: fmt.Sprintf("%d objects a transaction, %d workers, %d cleanup workers",
			size, workers, cleanup),
		labels: []string{
			fmt.Sprint(c.Objects), fmt.Sprint(size), fmt.Sprint(workers), fmt.Sprint(cleanup),
		},
		show: formatted("%.3f"),
		sample: func(ctx context.Context, i int) ([]float64, error) {
			var figures []float64
			config := bench.Config{
				Workload: w, Engine: spec, Threads: workers, Map: options, Seed: c.Seed, Sample: i,
				LatencySample: bench.NoLatency, AuditInterval: time.Hour,
			}
			err := runTrial(ctx, config, func(t *bench.Trial) error {
				for range 2 {
					m, err := t.RunOps(ctx, all)
					if err != nil {
						return err
					}
					cpu := unknown
					if m.CPU > 0 {
						cpu = m.CPU.Seconds()
					}
					figures = append(figures, m.Wall.Seconds(), cpu)
				}
				return nil
			})
			return figures, err
		},
	}
}
