package cli

import (
	"cmp"
	"fmt"
	"time"

	"github.com/mvccmap/mvccmap/bench"
)

// tableCmd is "mvccbench table": measurements in the form in which others have
// published theirs.
type tableCmd struct {
	Ravendb    ravendbTable    `cmd:"" help:"Requests a second of reads, writes and both, before and after a change: a lock that readers share with writers, taken away."`
	FreeBatch  freeBatchTable  `cmd:"" help:"Time to delete objects in transactions, by objects per transaction, workers, and workers that clean up in the background."`
	Goroutines goroutinesTable `cmd:"" help:"Throughput and response times of very many goroutines in one critical section: a Mutex, a RWMutex, or a commit."`
}

// tableFlags are the flags that all tables have.
type tableFlags struct {
	Count  int    `help:"Samples of each figure; their median is shown." default:"3" placeholder:"N" group:"All tables"`
	Format string `help:"Format: table, which is Markdown and says what it was measured with, or csv." enum:"table,csv" default:"table" placeholder:"FORMAT" group:"All tables"`
	Seed   uint64 `help:"Seed of all random choices." default:"1" placeholder:"N" group:"All tables"`
	Quiet  bool   `help:"Report no progress." short:"q" group:"All tables"`
}

// fill measures and prints a table whose samples have a length.
func (f *tableFlags) fill(e *Env, form *Form, warmup, duration time.Duration) error {
	format := f.Format
	if format == "table" {
		format = "markdown"
	}
	return e.Fill(Filling{Count: f.Count, Seed: f.Seed, Warmup: warmup, Duration: duration,
		Quiet: f.Quiet, Format: format}, []*Form{form})
}

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

// Run measures and prints the table.
func (c *ravendbTable) Run(e *Env) error {
	w, err := tableWorkload("mixed", c.Keys)
	err = cmp.Or(CheckNumbers("--threads", []int{c.Threads}, 1, bench.MaxThreads), err)
	if err != nil {
		return err
	}
	form := &Form{
		Title: fmt.Sprintf("Requests per second, %d goroutines, %d keys.", c.Threads, c.Keys),
		Head:  []string{"", "Reads", "Writes", "2/3 Reads & 1/3 Writes"},
		Left:  1,
		Show:  Shows{Count},
	}
	for _, side := range []struct{ flag, label, engine string }{
		{"--before", "Before", c.Before}, {"--after", "After", c.After},
	} {
		spec, err := tableEngine(e, side.flag, side.engine, w)
		if err != nil {
			return err
		}
		form.Add(side.label+" ("+spec.Name+")", nil, Mixed(w, spec, c.Threads)...)
		form.Notes = append(form.Notes, fmt.Sprintf("%s is the engine %s: %s.", side.label,
			spec.Name, spec.Doc))
	}
	before, after := form.Rows[0], form.Rows[1]
	form.Add("Change", func([]bench.Measurement) (figures []float64) {
		for k := range after.got {
			i := len(after.got[k]) - 1
			figures = append(figures, 100*(after.got[k][i]/before.got[k][i]-1))
		}
		return figures
	}).Show = Shows{Format("%+.1f %%")}
	form.Notes = append(form.Notes, "One request is one transaction that gets or puts one key, "+
		"picked at random; the last column has 67 % gets. Each sample has a map of its own and was verified.",
		"Change is the median of the changes of the samples, each of which compares two that were "+
			"taken one after the other: the machine drifts. It need not be what the medians above it make.")
	return c.fill(e, form, c.Warmup, c.Duration)
}

// Mixed are runs of the workload mixed: reads, writes, and both.
func Mixed(w bench.Workload, engine bench.EngineSpec, threads int) (runs []FormRun) {
	for _, pct := range []int{100, 0, 67} {
		w.Params.ReadPct = pct
		runs = append(runs, ClosedLoop(w, engine, threads))
	}
	return runs
}

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
func (c *freeBatchTable) Run(e *Env) error {
	if c.Objects < 1 || c.Objects > 100_000_000 {
		return usagef("--objects: expected a number from 1 to 100000000, not %d", c.Objects)
	}
	err := cmp.Or(
		CheckNumbers("--txn-size", c.TxnSize, 1, c.Objects),
		CheckNumbers("--workers", c.Workers, 1, bench.MaxThreads),
		CheckNumbers("--cleanup", c.Cleanup, 0, 1_000))
	if err != nil {
		return err
	}
	for _, size := range c.TxnSize {
		if c.Objects%size != 0 {
			return usagef("--txn-size: expected divisors of the %d objects of a worker, not %d", c.Objects,
				size)
		}
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
	form := &Form{
		Title: fmt.Sprintf("Time to delete %d objects per worker, and to put them back: %s.",
			c.Objects, spec.Name),
		Head: []string{
			"objects_per_worker", "objects_per_tx", "workers", "cleanup workers",
			"time elapsed s", "cpu s", "put back s", "put back cpu s",
		},
		Show: Shows{Format("%.3f")},
		Notes: []string{
			"A transaction deletes so many objects of its worker's own. The time is that until the last " +
				"has committed; what is left to the cleanup workers after that is not in it, but what they " +
				"did meanwhile is in the processor time of the process. With 0 cleanup workers the " +
				"committers prune.",
		},
	}
	for _, size := range c.TxnSize {
		for _, workers := range c.Workers {
			for _, cleanup := range c.Cleanup {
				form.Add("", func(m []bench.Measurement) []float64 {
					return []float64{m[0].Wall.Seconds(), known(m[0].CPU.Seconds(), m[0].CPU > 0),
						m[1].Wall.Seconds(), known(m[1].CPU.Seconds(), m[1].CPU > 0)}
				}, FreeBatch(spec, c.Objects, size, workers, cleanup, options)).Labels = namesOf(
					[]int{c.Objects, size, workers, cleanup}, func(n int) string { return fmt.Sprint(n) })
			}
		}
	}
	return c.fill(e, form, 0, time.Second)
}

// FreeBatch has workers delete so many objects each, and then put them back. With 0 cleanup
// workers the committers prune.
func FreeBatch(
	spec bench.EngineSpec, objects, size, workers, cleanup int, options bench.MapOptions,
) FormRun {
	w, _ := bench.WorkloadByName("free-batch")
	w.Params.Keys, w.Params.TxnSize = objects, size
	options.Workers = cleanup
	if cleanup == 0 {
		options.Workers = bench.NoWorkers
	}
	run := ClosedLoop(w, spec, workers)
	run.Map, run.AuditInterval = options, time.Hour
	all := uint64(workers * (objects / size))
	run.Ops = []uint64{all, all}
	return run
}

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

// Run measures and prints the table.
func (c *goroutinesTable) Run(e *Env) error {
	if !(c.Rate > 0 && c.Rate <= bench.MaxRate) {
		return usagef("--rate: expected a number above 0, up to %.0f, not %v", bench.MaxRate, c.Rate)
	}
	w, err := tableWorkload("many-goroutines", c.Keys)
	err = cmp.Or(CheckNumbers("--goroutines", []int{c.Goroutines}, 1, bench.MaxThreads), err)
	if err != nil {
		return err
	}
	if _, err := namedEngines("--engine", c.Engine, e.Engines); err != nil {
		return err
	}
	ms := Format("%.3f")
	form := &Form{
		Title: fmt.Sprintf("%d goroutines, %s operations per second offered (%s arrivals), %d counters.",
			c.Goroutines, Count(c.Rate), c.Arrival, c.Keys),
		Head: []string{"", "throughput ops/s", "achieved", "average ms", "99.9 % ms", "99.99 % ms",
			"99.999 % ms", "max ms", "errors/s", "aborts/op", "context switches/s"},
		Left: 1,
		Show: Shows{Format("%.1f"), Format("%.1f %%"), ms, ms, ms, ms, ms,
			Format("%.1f"), Format("%.4f"), Format("%.0f")},
		Notes: []string{
			"One operation reads a counter and writes it back, one higher, in one critical section or " +
				"transaction. Response times count from when the operation was due, so the wait for a turn " +
				"is in them; a percentile without ten operations beyond it is not shown. Context switches " +
				"are those of the threads of the process, not of goroutines.",
		},
	}
	for _, name := range c.Engine {
		spec, err := tableEngine(e, "--engine", name, w)
		if err != nil {
			return err
		}
		form.Add(spec.Name, responseFigures, FormRun{Config: bench.Config{Workload: w, Engine: spec,
			Threads: c.Goroutines, Rate: c.Rate, Arrival: bench.Arrival(c.Arrival), LatencySample: 1}})
		form.Notes = append(form.Notes, fmt.Sprintf("%s: %s.", spec.Name, spec.Doc))
	}
	return c.fill(e, form, c.Warmup, c.Duration)
}

// responseFigures returns the figures of a row, times in milliseconds.
func responseFigures(list []bench.Measurement) []float64 {
	m := list[0]
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	achieved, _ := m.Achieved()
	figures := []float64{m.OpsPerSecond(), 100 * achieved, ms(m.Response.Mean())}
	for _, q := range []float64{0.999, 0.9999, 0.99999} {
		d, ok := m.Response.Quantile(q)
		figures = append(figures, known(ms(d), ok))
	}
	switches, ok := m.SwitchesPerOp()
	return append(figures, ms(m.Response.Max()), m.ErrorsPerSecond(), m.AbortsPerOp(),
		known(switches*m.OpsPerSecond(), ok))
}

// known returns x, if it is known.
func known(x float64, ok bool) float64 {
	if !ok {
		return NoFigure
	}
	return x
}

// tableWorkload returns a workload with as many keys as --keys says.
func tableWorkload(name string, keys int) (bench.Workload, error) {
	w, _ := bench.WorkloadByName(name)
	p := bench.NoParams
	p.Keys = keys
	w, err := w.With(p)
	if err != nil {
		err = usagef("--keys: %w", err)
	}
	return w, err
}

// tableEngine returns the engine called name, which must run w.
func tableEngine(e *Env, flag, name string, w bench.Workload) (bench.EngineSpec, error) {
	list, err := namedEngines(flag, []string{name}, e.Engines)
	if err != nil {
		return bench.EngineSpec{}, err
	}
	spec := list[0]
	if why, ok := spec.Runs(w); !ok {
		return spec, usagef("%s: %s cannot be measured here: %s", flag, name, why)
	}
	return spec, nil
}

// Count writes a count with commas between the thousands.
func Count(x float64) string { return spacedNumbers(fmt.Sprintf("%.0f", x)) }
