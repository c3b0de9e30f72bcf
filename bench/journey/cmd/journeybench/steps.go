package main

import (
	"cmp"
	"fmt"
	"math"
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

	Format string `help:"Format: table, for a terminal; markdown, as it stands in docs/journey.md." enum:"table,markdown" default:"table" placeholder:"FORMAT" group:"Output"`
	Seed   uint64 `help:"Seed of all random choices." default:"1" placeholder:"N" group:"Output"`
	Quiet  bool   `help:"Report no progress." short:"q" group:"Output"`
}

// stepsCmd is "journeybench steps". The fields are the flags.
type stepsCmd struct {
	Step    []string `help:"Steps to measure. Default: all." placeholder:"NAME" group:"What to run"`
	Threads []int    `help:"Numbers of goroutines, each of which is measured." default:"1,2,4,8" placeholder:"N" group:"What to run"`

	lengthFlags `embed:""`

	Flames string `help:"Take CPU profiles of the write-heavy samples with the most goroutines, and draw a flame graph of each step in the folder DIR: STEP.svg." placeholder:"DIR" group:"Output"`
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
	var forms []*form
	var flames []*flame
	for w, workload := range journey.Workloads() {
		form := &form{
			title: fmt.Sprintf("%s, %d %% puts to 4 keys: operations a second by the number of goroutines.",
				strings.ToUpper(workload.Name[:1])+workload.Name[1:], 100-workload.Params.ReadPct),
			head: []string{"step"}, show: []func(float64) string{brief.Number},
		}
		for _, n := range c.Threads {
			form.head = append(form.head, fmt.Sprintf("%d post", n), "ours")
		}
		for _, step := range steps {
			if !slices.Contains(c.Step, step.Name) {
				continue
			}
			row := c.row(step, w, workload)
			if w == 1 && c.Flames != "" {
				most := slices.Index(c.Threads, slices.Max(c.Threads))
				f := newFlame(step.Name, step.Name+": processor time", row.runs[most].Config)
				row.runs[most].around = f.Around
				flames = append(flames, f)
			}
			form.rows = append(form.rows, row)
		}
		forms = append(forms, form)
	}
	forms[1].note = "post: the figures of the post, of Java on its author's machine. " +
		"ours: the same step of this program, median; an operation that has not committed is not " +
		"counted."
	return cmp.Or(c.fill(e, 5, 200*time.Millisecond, forms), draw(c.Flames, flames...))
}

// row returns that of a step in the table of workload number w.
func (c *stepsCmd) row(step journey.Step, w int, workload bench.Workload) *formRow {
	row := &formRow{name: step.Name}
	for _, n := range c.Threads {
		config := bench.Config{Workload: workload, Engine: step.Engine, Threads: n}
		if !step.Retries {
			config.Attempts = 1
		}
		row.runs = append(row.runs, formRun{Config: config})
	}
	row.figures = func(list []bench.Measurement) (figures []float64) {
		for i, m := range list {
			post := math.NaN()
			if at := slices.Index(journey.Threads(), c.Threads[i]); at >= 0 && step.Post[w][at] > 0 {
				post = step.Post[w][at]
			}
			figures = append(figures, post, m.OpsPerSecond())
		}
		return figures
	}
	return row
}
