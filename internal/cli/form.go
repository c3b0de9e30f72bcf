package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/results"
)

// A Form is a table of figures: its rows say what is measured.
type Form struct {
	Title string   // a sentence above it
	Head  []string // the names of the columns
	Left  int      // so many of them are no figures
	Rows  []*FormRow
	Show  Shows
	Notes []string // paragraphs under it
}

// A FormRow is a row of a [Form]. Its figures are the medians of those of the samples.
type FormRow struct {
	Labels []string // the cells before the figures
	Runs   []FormRun
	// Figures has those of one sample, of what was measured by Runs. Nil: operations a second.
	Figures func(list []bench.Measurement) []float64
	Show    Shows // instead of the form's

	got [][]float64 // by figure: the samples so far
}

// A FormRun is measured on a map of its own.
type FormRun struct {
	bench.Config
	// Ops are numbers of operations, each of which is measured, one after the other. None: one
	// measurement is taken, as long as the [Filling] says.
	Ops    []uint64
	Around func() (end func()) // see [bench.Trial.Around]; may be nil
}

// Add adds a row with one label.
func (f *Form) Add(
	label string, figures func(list []bench.Measurement) []float64, runs ...FormRun,
) *FormRow {
	row := &FormRow{Labels: []string{label}, Runs: runs, Figures: figures}
	f.Rows = append(f.Rows, row)
	return row
}

// ClosedLoop is a run of a form in which no operation is timed.
func ClosedLoop(w bench.Workload, engine bench.EngineSpec, threads int) FormRun {
	return FormRun{Config: bench.Config{
		Workload: w, Engine: engine, Threads: threads, LatencySample: bench.NoLatency,
	}}
}

// NoFigure is one that a sample does not support, or the system does not tell.
var NoFigure = math.NaN()

// Shows has what shows the first figure of a row, the second and so on; the last shows the rest.
type Shows []func(x float64) string

// Format shows a figure in a format of package fmt.
func Format(verb string) func(x float64) string {
	return func(x float64) string { return fmt.Sprintf(verb, x) }
}

// A Filling says how forms are measured and printed. Its fields are called as the flags.
type Filling struct {
	Count            int
	Seed             uint64
	Warmup, Duration time.Duration // of a run that has no Ops
	Quiet            bool
	Format           string // table, markdown, csv; or bench for each sample as it is taken

	// Recorded forms say how long samples were and how many were noisy. Samples may be written
	// to the file Output in the Go benchmark format as well.
	Recorded  bool
	Output    string
	Overwrite bool
}

// filling is one under way.
type filling struct {
	Filling
	*Env
	progress *progress
	run      results.Run
	lines    []*results.BenchWriter // to standard output, to the file, or neither
	steps    []bench.Step
	done     int // of them
}

// Fill measures sets of forms, one set after the other, and prints each. The samples of a set are
// taken in turns, so that a machine that changes meanwhile is equally unfair to all. When the
// context ends it prints the rows that have a sample of every figure.
func (e *Env) Fill(f Filling, sets ...[]*Form) (err error) {
	if err := cmp.Or(checkCount(f.Count), checkRun(f.Duration, f.Warmup)); err != nil {
		return err
	}
	r := &filling{Filling: f, Env: e}
	var file *os.File
	if f.Output != "" {
		if file, err = createOutput(f.Output, f.Overwrite); err != nil {
			return err
		}
		defer func() { err = cmp.Or(err, writing("results", file.Close())) }()
	}
	r.run.Header = e.header(f.Quiet)
	h := &r.run.Header
	h.Seed, h.Count, h.Warmup, h.Duration = f.Seed, f.Count, f.Warmup, f.Duration
	if f.Format == "bench" {
		r.lines = append(r.lines, results.NewBenchWriter(e.stdout, *h))
	}
	if file != nil {
		r.lines = append(r.lines, results.NewBenchWriter(file, *h))
	}
	for _, set := range sets {
		r.each(set, func(row *FormRow, i int) error {
			for k := range row.Runs {
				c := &row.Runs[k].Config
				c.Seed, c.Sample = f.Seed, i
				r.steps = append(r.steps, bench.Step{Index: len(r.steps), Config: *c})
			}
			return nil
		})
	}
	for i := range r.steps {
		r.steps[i].Of = len(r.steps)
	}
	r.progress = newProgress(e.said(f.Quiet), 0, f.Warmup+f.Duration)
	for _, set := range sets {
		err = r.each(set, r.row)
		var violated *bench.Violation
		if errors.As(err, &violated) {
			break
		}
		r.progress.aside(func() { err = cmp.Or(err, r.print(set)) })
		if err != nil {
			break
		}
	}
	r.progress.close()
	return cmp.Or(err, r.end(err))
}

// each calls f for each row and sample.
func (r *filling) each(set []*Form, f func(row *FormRow, i int) error) error {
	for i := range r.Count {
		for _, form := range set {
			for _, row := range form.Rows {
				if err := f(row, i); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// row takes a sample of all runs of a row.
func (r *filling) row(row *FormRow, _ int) error {
	var list []bench.Measurement
	for k := range row.Runs {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		got, err := r.sample(&row.Runs[k])
		if err != nil {
			return err
		}
		list = append(list, got...)
	}
	var figures []float64
	if row.Figures != nil {
		figures = row.Figures(list)
	} else {
		for _, m := range list {
			figures = append(figures, m.OpsPerSecond())
		}
	}
	if row.got == nil {
		row.got = make([][]float64, len(figures))
	}
	for k, x := range figures {
		row.got[k] = append(row.got[k], x)
	}
	return nil
}

// sample takes one sample of a run. What was under way when the context ended is of no use.
func (r *filling) sample(run *FormRun) (list []bench.Measurement, err error) {
	step := r.steps[r.done]
	var next *bench.Step
	if r.done+1 < len(r.steps) {
		next = &r.steps[r.done+1]
	}
	r.progress.Start(step, next)
	t, err := bench.New(step.Config)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	r.progress.Running(step, t)
	if run.Around != nil {
		t.Around(run.Around)
	}
	list, err = r.measure(t, run.Ops)
	if err == nil {
		err = t.Verify()
	}
	if err = cmp.Or(err, context.Cause(r.ctx)); err != nil {
		return nil, err
	}
	r.done++
	for _, m := range list {
		_ = r.progress.Done(step, m) // it cannot fail
		if err := r.record(step, m); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// measure takes the measurements of a run.
func (r *filling) measure(t *bench.Trial, ops []uint64) (list []bench.Measurement, err error) {
	if len(ops) > 0 {
		list = make([]bench.Measurement, len(ops))
		for i := 0; i < len(ops) && err == nil; i++ {
			list[i], err = t.RunOps(r.ctx, ops[i])
		}
		return list, err
	}
	if r.Warmup > 0 {
		if _, err := t.RunFor(r.ctx, r.Warmup, false); err != nil {
			return nil, err
		}
	}
	m, err := t.RunFor(r.ctx, r.Duration, true)
	return []bench.Measurement{m}, err
}

// record keeps a sample.
func (r *filling) record(step bench.Step, m bench.Measurement) error {
	if m.Ops == 0 {
		r.progress.note("%s: no operation has committed in %v", stepName(step), m.Wall)
		return nil
	}
	if !r.Recorded {
		return nil
	}
	s := results.NewSample(step.Config, m)
	r.run.Samples = append(r.run.Samples, s)
	for _, w := range r.lines {
		w.Sample(&s)
		if err := writing("results", w.Flush()); err != nil {
			return err
		}
	}
	return nil
}

// print prints a set of forms, without the rows that have not been measured.
func (r *filling) print(set []*Form) error {
	text := &textWriter{w: r.stdout, width: terminalWidth(r.stdout)}
	for _, form := range set {
		rows := [][]string{form.Head}
		for _, row := range form.Rows {
			if row.got != nil {
				rows = append(rows, row.cells(form.Show))
			}
		}
		as := results.Markdown
		switch r.Format {
		case "bench":
			continue
		case "csv":
			if err := results.CSV.Write(r.stdout, rows, nil); err != nil {
				return writing("table", err)
			}
			continue
		case "table":
			as = results.Plain
		}
		text.line(form.Title)
		text.line("")
		if err := as.Write(r.stdout, rows, func(i int) bool { return i < form.Left }); err != nil {
			return writing("table", err)
		}
		text.line("")
		for _, note := range form.Notes {
			text.line(note)
			text.line("")
		}
	}
	return text.err
}

// cells returns the row as it is printed.
func (row *FormRow) cells(show Shows) []string {
	if row.Show != nil {
		show = row.Show
	}
	cells := slices.Clone(row.Labels)
	for i, samples := range row.got {
		cell := "-"
		if !slices.ContainsFunc(samples, math.IsNaN) {
			cell = show[min(i, len(show)-1)](results.Median(samples))
		}
		cells = append(cells, cell)
	}
	return cells
}

// end says how all was measured, and whether err has ended it.
func (r *filling) end(err error) error {
	r.run.Outcome = outcomeOf(err, r.done, len(r.steps))
	o := &r.run.Outcome
	if o.Kind == results.Interrupted {
		fmt.Fprintf(r.stderr, "interrupted after %d of %d samples\n", o.Done, o.Of)
	}
	var failure error
	for _, w := range r.lines {
		w.Outcome(*o)
		failure = cmp.Or(failure, writing("results", w.Flush()))
	}
	if r.Format == "csv" || r.Format == "bench" || o.Kind == results.Violated {
		return failure
	}
	h := r.run.Header
	how := append(results.DescribeMachine(h), h.CPU)
	switch {
	case r.Recorded:
		how = append(how, fmt.Sprintf("seed %d, %d x %v after %v of warm-up", h.Seed, h.Count,
			h.Duration, h.Warmup))
		if mark := r.run.Mark(); mark != "" {
			how = append(how, "NOTE: "+mark)
		}
	case err != nil:
		how = append(how, fmt.Sprintf("seed %d, medians of %d samples; ended after %d of %d", h.Seed,
			h.Count, o.Done, o.Of))
	case h.Count == 1:
		how = append(how, fmt.Sprintf("seed %d, one sample of each", h.Seed))
	default:
		how = append(how, fmt.Sprintf("seed %d, medians of %d samples", h.Seed, h.Count))
	}
	text := &textWriter{w: r.stdout}
	text.measuredBy(r.Format != "table", how)
	return cmp.Or(failure, text.err)
}
