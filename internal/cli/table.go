package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/results"
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

func (f *tableFlags) check() error { return checkCount(f.Count) }

// tableRow is a row to be measured.
type tableRow struct {
	// says in the progress what is measured; empty: it follows from other rows
	name   string
	labels []string                                            // the cells before the figures
	sample func(ctx context.Context, i int) ([]float64, error) // figures of sample i
	show   func(i int, median float64) string                  // the cell of figure i
	got    [][]float64                                         // by figure: the samples so far
}

// formatted shows each figure in a format of its own, or the last.
func formatted(formats ...string) func(i int, x float64) string {
	return func(i int, x float64) string { return fmt.Sprintf(formats[min(i, len(formats)-1)], x) }
}

// table is a table to be measured.
type table struct {
	title  string
	header []string
	left   int // columns that are names, to the left of the figures
	rows   []*tableRow
	notes  []string // under a table in Markdown
}

// unknown is a figure that a sample does not support, or the system does not tell.
var unknown = math.NaN()

// measure takes the samples of all rows in turns, so that a machine that changes
// meanwhile is equally unfair to all, and prints the rows. When the context ends
// it prints those that have at least one sample of every figure.
func (t *table) measure(e *env, f *tableFlags) error {
	h := e.header(f.Quiet)
	done, of, err := t.samples(e, f)
	var violated *bench.Violation
	if err != nil && errors.As(err, &violated) {
		return err
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(e.stderr, "interrupted after %d of %d samples\n", done, of)
	}
	how := fmt.Sprintf("seed %d, medians of %d samples", f.Seed, f.Count)
	switch {
	case err != nil:
		how += fmt.Sprintf("; ended after %d of %d", done, of)
	case f.Count == 1:
		how = fmt.Sprintf("seed %d, one sample of each", f.Seed)
	}
	return errors.Join(err, t.print(e.stdout, f.Format,
		append(results.DescribeMachine(h), h.CPU, how)))
}

// samples takes the samples, and returns how many of how many there are.
func (t *table) samples(e *env, f *tableFlags) (done, of int, err error) {
	for _, r := range t.rows {
		if r.name != "" {
			of += f.Count
		}
	}
	for i := range f.Count {
		for _, r := range t.rows {
			if e.ctx.Err() != nil {
				return done, of, context.Cause(e.ctx)
			}
			if r.name != "" && !f.Quiet {
				fmt.Fprintf(e.stderr, "[%*d/%d] %s, sample %d\n",
					len(fmt.Sprint(of)), done+1, of, r.name, i+1)
			}
			figures, err := r.sample(e.ctx, i)
			if err != nil {
				return done, of, fmt.Errorf("%s: %w", r.name, err)
			}
			if r.name != "" {
				done++
			}
			if r.got == nil {
				r.got = make([][]float64, len(figures))
			}
			for k, x := range figures {
				r.got[k] = append(r.got[k], x)
			}
		}
	}
	return done, of, nil
}

// print writes the rows that have been measured, and says how they were.
func (t *table) print(w io.Writer, format string, how []string) error {
	rows := [][]string{t.header}
	for _, r := range t.rows {
		if r.got == nil {
			continue
		}
		cells := slices.Clone(r.labels)
		for i, samples := range r.got {
			if slices.ContainsFunc(samples, math.IsNaN) {
				cells = append(cells, "-")
			} else {
				cells = append(cells, r.show(i, results.Median(samples)))
			}
		}
		rows = append(rows, cells)
	}
	if format == "csv" {
		return results.CSV.Write(w, rows, nil)
	}
	text := &textWriter{w: w}
	text.line(t.title + ".")
	text.line("")
	if err := results.Markdown.Write(w, rows, func(column int) bool {
		return column < t.left
	}); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	for _, note := range t.notes {
		text.line("")
		text.line(note)
	}
	text.line("")
	text.measuredBy(true, how)
	return text.err
}

// runTrial makes a trial, hands it to run, verifies it and closes it. What was
// under way when the context ended is of no use.
func runTrial(ctx context.Context, c bench.Config, run func(t *bench.Trial) error) error {
	t, err := bench.New(c)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := run(t); err != nil {
		return err
	}
	if err := t.Verify(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// warmRun runs t for so long, after a warm-up.
func warmRun(
	ctx context.Context, t *bench.Trial, warmup, duration time.Duration,
) (m bench.Measurement, err error) {
	if warmup > 0 {
		if m, err = t.RunFor(ctx, warmup, false); err != nil {
			return m, err
		}
	}
	return t.RunFor(ctx, duration, true)
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
func tableEngine(e *env, flag, name string, w bench.Workload) (bench.EngineSpec, error) {
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

// tableCount writes a count with commas between the thousands.
func tableCount(x float64) string { return spacedNumbers(fmt.Sprintf("%.0f", x)) }
