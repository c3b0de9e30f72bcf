package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/internal/cli"
	"github.com/mvccmap/mvccmap/internal/results"
)

// A form is a table of figures: its rows say what is measured.
type form struct {
	title string   // a sentence above it
	head  []string // the names of the columns, the first of which has the names of the rows
	rows  []*formRow
	show  []func(x float64) string // of the first figure and so on; the last shows the rest
	note  string                   // a paragraph under it
}

// A formRow is a row of a form. Its figures are the medians of those of the samples.
type formRow struct {
	name string
	runs []formRun
	// figures has those of one sample, of what was measured by runs.
	figures func(list []bench.Measurement) []float64

	got [][]float64 // by figure: the samples so far
}

// A formRun is measured on a map of its own.
type formRun struct {
	bench.Config
	around func() (end func()) // see [bench.Trial.Around]; may be nil
}

// add adds a row.
func (f *form) add(
	name string, figures func(list []bench.Measurement) []float64, runs ...formRun,
) {
	f.rows = append(f.rows, &formRow{name: name, runs: runs, figures: figures})
}

// format shows a figure in a format of package fmt.
func format(verb string) func(x float64) string {
	return func(x float64) string { return fmt.Sprintf(verb, x) }
}

// count shows a number that was counted.
func count(x float64) string { return brief.Count(int(x)) }

// fill measures forms, whose samples are taken in turns, and prints them. When the context ends it
// prints the rows that have a sample of every figure.
func (f *lengthFlags) fill(e *cli.Env, samples int, quick time.Duration, forms []*form) error {
	duration := 500 * time.Millisecond
	if f.Quick {
		samples, duration = 1, quick
	}
	if f.Count != nil {
		samples = *f.Count
	}
	if f.Duration != nil {
		duration = *f.Duration
	}
	if samples < 1 || duration <= 0 || f.Warmup < 0 {
		return cli.UsageError(fmt.Errorf("--count, --duration, --warmup: expected a number of 1 or more, " +
			"a time above 0 and one of 0 or more"))
	}
	taking := &sampling{flags: f, env: e, duration: duration}
	for _, form := range forms {
		for _, row := range form.rows {
			taking.of += samples * len(row.runs)
		}
	}
	err := taking.take(forms, samples)
	if err != nil && e.Context().Err() == nil {
		return err
	}
	for _, form := range forms {
		if err := form.write(e, f.Format == "markdown"); err != nil {
			return err
		}
	}
	how := append(results.DescribeMachine(results.Header{Program: e.Name, Args: os.Args[1:],
		Started: time.Now(), Machine: results.ThisMachine()}), fmt.Sprintf(
		"seed %d, %d x %v after %v of warm-up", f.Seed, samples, duration, f.Warmup))
	if err != nil {
		how = append(how, fmt.Sprintf("NOTE: interrupted after %d of %d samples", taking.done, taking.of))
	}
	_, wrote := fmt.Fprintf(e.Stdout(), "Measured by:\n\n    %s\n", strings.Join(how, "\n    "))
	return cmp.Or(err, wrote)
}

// sampling is how far the samples of forms are.
type sampling struct {
	flags    *lengthFlags
	env      *cli.Env
	duration time.Duration
	done, of int
}

// take takes so many samples of all rows.
func (s *sampling) take(forms []*form, samples int) error {
	for i := range samples {
		for _, form := range forms {
			for _, row := range form.rows {
				var list []bench.Measurement
				for _, run := range row.runs {
					m, err := s.one(run, i)
					if err != nil {
						return err
					}
					list = append(list, m)
				}
				row.take(row.figures(list))
			}
		}
	}
	return nil
}

// one takes a sample of a run. What was under way when the context ended is of no use.
func (s *sampling) one(run formRun, sample int) (m bench.Measurement, err error) {
	ctx := s.env.Context()
	if ctx.Err() != nil {
		return m, context.Cause(ctx)
	}
	run.Sample, run.Seed, run.LatencySample = sample, s.flags.Seed, bench.NoLatency
	if !s.flags.Quiet {
		fmt.Fprintf(s.env.Stderr(), "[%*d/%d] %s\n", len(fmt.Sprint(s.of)), s.done+1, s.of, run.Name())
	}
	t, err := bench.New(run.Config)
	if err != nil {
		return m, err
	}
	defer t.Close()
	if run.around != nil {
		t.Around(run.around)
	}
	if s.flags.Warmup > 0 {
		_, err = t.RunFor(ctx, s.flags.Warmup, false)
	}
	if err == nil {
		m, err = t.RunFor(ctx, s.duration, true)
	}
	if err == nil {
		err = t.Verify()
	}
	if err = cmp.Or(err, context.Cause(ctx)); err == nil {
		s.done++
	}
	return m, err
}

// take adds the figures of a sample.
func (r *formRow) take(figures []float64) {
	if r.got == nil {
		r.got = make([][]float64, len(figures))
	}
	for k, x := range figures {
		r.got[k] = append(r.got[k], x)
	}
}

// write writes the form.
func (f *form) write(e *cli.Env, markdown bool) error {
	rows := [][]string{f.head}
	for _, row := range f.rows {
		if row.got == nil {
			continue
		}
		cells := []string{row.name}
		for i, samples := range row.got {
			cell := "-"
			if !slices.ContainsFunc(samples, math.IsNaN) {
				cell = f.show[min(i, len(f.show)-1)](results.Median(samples))
			}
			cells = append(cells, cell)
		}
		rows = append(rows, cells)
	}
	as := results.Plain
	if markdown {
		as = results.Markdown
	}
	w := e.Stdout()
	fmt.Fprintf(w, "%s\n\n", f.title)
	if err := as.Write(w, rows, func(column int) bool { return column == 0 }); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n\n", f.note)
	return err
}
