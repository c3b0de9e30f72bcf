package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/mvccmap/mvccmap/bench"
)

// ravendbTable is "mvccbench table ravendb": the form of a table with which the
// RavenDB project judged the removal of a lock that the opening of a read
// transaction shared with commits.
type ravendbTable struct {
	tableFlags
	Before   string        `help:"The engine before the change." default:"rwmutex" placeholder:"NAME"`
	After    string        `help:"The engine after the change." default:"mvcc" placeholder:"NAME"`
	Threads  int           `help:"Number of goroutines." default:"8" placeholder:"N"`
	Keys     int           `help:"Number of keys." default:"1000" placeholder:"N"`
	Duration time.Duration `help:"Length of a sample." default:"1s" placeholder:"TIME"`
	Warmup   time.Duration `help:"Length of the warm-up before each sample." default:"100ms" placeholder:"TIME"`
}

// ravendbColumns are the percentages of reads of the columns.
var ravendbColumns = []struct {
	name    string
	readPct int
}{{"Reads", 100}, {"Writes", 0}, {"2/3 Reads & 1/3 Writes", 67}}

// Run measures and prints the table.
func (c *ravendbTable) Run(e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := checkRun(c.Duration, c.Warmup); err != nil {
		return err
	}
	if err := checkCounts("--threads", []int{c.Threads}, 1, bench.MaxThreads); err != nil {
		return err
	}
	w, err := tableWorkload("mixed", c.Keys)
	if err != nil {
		return err
	}
	t := &table{
		title:  fmt.Sprintf("Requests per second, %d goroutines, %d keys", c.Threads, c.Keys),
		header: []string{""},
		left:   1,
	}
	for _, column := range ravendbColumns {
		t.header = append(t.header, column.name)
	}
	for _, side := range []struct{ flag, label, engine string }{
		{"--before", "Before", c.Before}, {"--after", "After", c.After},
	} {
		spec, err := tableEngine(e, side.flag, side.engine, w)
		if err != nil {
			return err
		}
		t.rows = append(t.rows, c.row(side.label+" ("+spec.Name+")", spec, w))
		t.notes = append(t.notes, fmt.Sprintf("%s is the engine %s: %s.", side.label,
			spec.Name, spec.Doc))
	}
	t.notes = append(t.notes, "One request is one transaction that gets or puts one key, picked at "+
		"random; the last column has 67 % gets. Each sample has a map of its own and was verified.",
		"Change is the median of the changes of the samples, each of which compares two that were "+
			"taken one after the other: the machine drifts. It need not be what the medians above it make.")
	t.rows = append(t.rows, changeRow(t.rows[0], t.rows[1]))
	return t.measure(e, &c.tableFlags)
}

// row measures one engine under all three loads.
func (c *ravendbTable) row(label string, spec bench.EngineSpec, w bench.Workload) *tableRow {
	return &tableRow{
		name:   spec.Name,
		labels: []string{label},
		show:   func(_ int, x float64) string { return tableCount(x) },
		sample: func(ctx context.Context, i int) ([]float64, error) {
			var figures []float64
			for _, column := range ravendbColumns {
				w.Params.ReadPct = column.readPct
				config := bench.Config{Workload: w, Engine: spec, Threads: c.Threads, Seed: c.Seed, Sample: i,
					LatencySample: bench.NoLatency}
				err := runTrial(ctx, config, func(t *bench.Trial) error {
					m, err := warmRun(ctx, t, c.Warmup, c.Duration)
					figures = append(figures, m.OpsPerSecond())
					return err
				})
				if err != nil {
					return nil, err
				}
			}
			return figures, nil
		},
	}
}

// changeRow shows by how much the second row differs from the first, sample by
// sample.
func changeRow(before, after *tableRow) *tableRow {
	return &tableRow{
		labels: []string{"Change"},
		show:   formatted("%+.1f %%"),
		sample: func(_ context.Context, i int) ([]float64, error) {
			figures := make([]float64, len(after.got))
			for f := range figures {
				figures[f] = 100 * (after.got[f][i]/before.got[f][i] - 1)
			}
			return figures, nil
		},
	}
}
