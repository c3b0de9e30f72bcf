package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/bench/journey"
	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/internal/cli"
)

// lengthFlags are the flags of both commands.
type lengthFlags struct {
	Quick    bool           `help:"One short sample of each figure: a minute at most." group:"How long"`
	Count    *int           `help:"Samples of each figure; medians are shown. Default: 5 for steps, 3 for answers, with --quick 1." placeholder:"N" group:"How long"`
	Duration *time.Duration `help:"Length of a sample. Default: 500ms, with --quick 200ms for steps, 100ms for answers." placeholder:"TIME" group:"How long"`
	Warmup   time.Duration  `help:"Length of the warm-up before each sample." default:"20ms" placeholder:"TIME" group:"How long"`

	Format string `help:"Format: table, for a terminal; markdown, as it stands in docs/journey.md; bench, the Go benchmark format, which benchstat reads." enum:"table,markdown,bench" default:"table" placeholder:"FORMAT" group:"Output"`
	Seed   uint64 `help:"Seed of all random choices." default:"1" placeholder:"N" group:"Output"`
	Quiet  bool   `help:"Report no progress." short:"q" group:"Output"`
}

// filling returns what they say, if samples are so many and a quick one is as long.
func (f *lengthFlags) filling(count int, quick time.Duration) cli.Filling {
	duration := 500 * time.Millisecond
	if f.Quick {
		count, duration = 1, quick
	}
	if f.Count != nil {
		count = *f.Count
	}
	if f.Duration != nil {
		duration = *f.Duration
	}
	return cli.Filling{Count: count, Duration: duration, Warmup: f.Warmup, Seed: f.Seed,
		Quiet: f.Quiet, Format: f.Format, Recorded: true}
}

// stepsCmd is "journeybench steps". The fields are the flags.
type stepsCmd struct {
	Step    []string `help:"Steps to measure. Default: all." placeholder:"NAME" group:"What to run"`
	Threads []int    `help:"Numbers of goroutines, each of which is measured." default:"1,2,4,8" placeholder:"N" group:"What to run"`

	lengthFlags `embed:""`

	Output    string `help:"Write the results to FILE as well, which there is not yet, in the Go benchmark format." short:"o" placeholder:"FILE" group:"Output"`
	Overwrite bool   `help:"Let --output replace a file." group:"Output"`
	Flames    string `help:"Take CPU profiles of the write-heavy samples with the most goroutines, and draw a flame graph of each step in the folder DIR: STEP.svg." placeholder:"DIR" group:"Output"`
}

// Help ends the help of the command.
func (*stepsCmd) Help() string {
	text := "The steps, in their order. Each changes what it says, and leaves the rest as it was:\n"
	for _, s := range journey.Steps() {
		text += fmt.Sprintf("\n%s: %s.\n", s.Name, s.Doc)
	}
	return text
}

// Run measures the steps and prints a table for each workload.
func (c *stepsCmd) Run(e *cli.Env) error {
	steps := journey.Steps()
	var names []string
	for _, s := range steps {
		names = append(names, s.Name)
	}
	if c.Step == nil {
		c.Step = names
	}
	err := cmp.Or(
		cli.CheckNames("--step", "step", c.Step, names),
		cli.CheckNumbers("--threads", c.Threads, 1, bench.MaxThreads),
		canDraw(c.Flames))
	if err != nil {
		return err
	}
	var forms []*cli.Form
	var flames []*flame
	for w, workload := range journey.Workloads() {
		form := &cli.Form{
			Title: fmt.Sprintf("%s, %d %% puts to 4 keys: operations a second by the number of goroutines.",
				strings.ToUpper(workload.Name[:1])+workload.Name[1:], 100-workload.Params.ReadPct),
			Head: []string{"step"}, Left: 1,
			Show: cli.Shows{brief.Number},
		}
		for _, n := range c.Threads {
			form.Head = append(form.Head, fmt.Sprintf("%d post", n), "ours")
		}
		for _, step := range steps {
			if !slices.Contains(c.Step, step.Name) {
				continue
			}
			row := c.row(step, w, workload)
			if w == 1 && c.Flames != "" {
				most := slices.Index(c.Threads, slices.Max(c.Threads))
				f := newFlame(step.Name, step.Name+": processor time", row.Runs[most].Config)
				row.Runs[most].Around = f.Around
				flames = append(flames, f)
			}
			form.Rows = append(form.Rows, row)
		}
		forms = append(forms, form)
	}
	forms[1].Notes = []string{"post: the figures of the post, of Java on its author's machine. " +
		"ours: the same step of this program, median; an operation that has not committed is not " +
		"counted."}
	f := c.filling(5, 200*time.Millisecond)
	f.Output, f.Overwrite = c.Output, c.Overwrite
	return cmp.Or(e.Fill(f, forms), draw(c.Flames, flames...))
}

// row returns that of a step in the table of workload number w.
func (c *stepsCmd) row(step journey.Step, w int, workload bench.Workload) *cli.FormRow {
	row := &cli.FormRow{Labels: []string{step.Name}}
	for _, n := range c.Threads {
		config := bench.Config{Workload: workload, Engine: step.Engine, Threads: n}
		if !step.Retries {
			config.Attempts = 1
		}
		row.Runs = append(row.Runs, cli.FormRun{Config: config})
	}
	row.Figures = func(list []bench.Measurement) (figures []float64) {
		for i, m := range list {
			post := cli.NoFigure
			if at := slices.Index(journey.Threads(), c.Threads[i]); at >= 0 && step.Post[w][at] > 0 {
				post = step.Post[w][at]
			}
			figures = append(figures, post, m.OpsPerSecond())
		}
		return figures
	}
	return row
}
