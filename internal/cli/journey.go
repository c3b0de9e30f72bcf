package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/journey"
	"github.com/mvccmap/mvccmap/internal/results"
)

// journeyCmd is "mvccbench journey".
type journeyCmd struct {
	Steps   journeySteps   `cmd:"" default:"withargs" help:"Measure every step, beside the post's figures, in ten minutes. This is the default."`
	Answers journeyAnswers `cmd:"" help:"Measure what the post and its neighbours left open, and answer each question in a sentence, in a minute."`
}

// journeySteps is "mvccbench journey steps". The fields are the flags.
type journeySteps struct {
	Step    []string `help:"Steps to measure: ${enum_steps}. Default: all." placeholder:"NAME" group:"What to run"`
	Threads []int    `help:"Numbers of goroutines, each of which is measured." default:"1,2,4,8" placeholder:"N" group:"What to run"`

	Quick    bool           `help:"One short sample of each figure: a minute for all steps." group:"How long"`
	Count    *int           `help:"Samples of each figure; their median is shown. Default: 5, with --quick 1." placeholder:"N" group:"How long"`
	Duration *time.Duration `help:"Length of a sample. Default: 500ms, with --quick 200ms." placeholder:"TIME" group:"How long"`
	Warmup   time.Duration  `help:"Length of the warm-up before each sample." default:"20ms" placeholder:"TIME" group:"How long"`

	Format    string `help:"Format: table, for a terminal; markdown, as it stands in docs/journey.md; bench, the Go benchmark format, which benchstat reads." enum:"table,markdown,bench" default:"table" placeholder:"FORMAT" group:"Output"`
	Output    string `help:"Write the results to FILE as well, which there is not yet, in the Go benchmark format." short:"o" placeholder:"FILE" group:"Output"`
	Overwrite bool   `help:"Let --output replace a file." group:"Output"`
	Flames    string `help:"Take CPU profiles of the write-heavy samples with the most goroutines, and draw a flame graph of each step in the folder DIR: STEP.svg." placeholder:"DIR" group:"Output"`
	Seed      uint64 `help:"Seed of all random choices." default:"1" placeholder:"N" group:"Output"`
	Quiet     bool   `help:"Report no progress." short:"q" group:"Output"`
}

// journeyRun is the steps under way.
type journeyRun struct {
	*journeySteps
	env   *env
	steps []journey.Step
	run   results.Run
	lines []*results.BenchWriter // to standard output, to --output, or neither

	flames *journeyFlames // nil: none are drawn
}

// Run measures the steps and prints the table.
func (c *journeySteps) Run(e *env) error {
	steps, err := c.named()
	if err != nil {
		return err
	}
	count, duration := 5, 500*time.Millisecond
	if c.Quick {
		count, duration = 1, 200*time.Millisecond
	}
	count, duration = given(c.Count, count), given(c.Duration, duration)
	err = cmp.Or(
		checkCounts("--threads", c.Threads, 1, bench.MaxThreads),
		checkCount(count),
		checkRun(duration, c.Warmup))
	if err != nil {
		return err
	}
	flames, err := startFlames(e.Name, c.Flames)
	if err != nil {
		return err
	}
	defer flames.close()
	var file *os.File
	if c.Output != "" {
		if file, err = createOutput(c.Output, c.Overwrite); err != nil {
			return err
		}
	}
	r := &journeyRun{journeySteps: c, env: e, steps: steps, flames: flames}
	r.run.Header = e.header(c.Quiet)
	h := &r.run.Header
	h.Seed, h.Count, h.Warmup, h.Duration = c.Seed, count, c.Warmup, duration
	if c.Format == "bench" {
		r.lines = append(r.lines, results.NewBenchWriter(e.stdout, r.run.Header))
	}
	if file != nil {
		r.lines = append(r.lines, results.NewBenchWriter(file, r.run.Header))
	}
	err = r.measure()
	err = cmp.Or(err, flames.draw())
	for _, w := range r.lines {
		w.Outcome(r.run.Outcome)
		err = cmp.Or(err, writing("results", w.Flush()))
	}
	if file != nil {
		err = cmp.Or(err, writing("results", file.Close()))
	}
	var violated *bench.Violation
	if c.Format == "bench" || errors.As(err, &violated) {
		return err
	}
	return cmp.Or(err, r.print(e.stdout))
}

// named returns the steps that --step names.
func (c *journeySteps) named() ([]journey.Step, error) {
	all := journey.Steps()
	if c.Step == nil {
		return all, nil
	}
	if err := checkList("--step", "step", c.Step, stepNames()); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(s journey.Step) bool {
		return !slices.Contains(c.Step, s.Name)
	}), nil
}

func stepNames() []string {
	return namesOf(journey.Steps(), func(s journey.Step) string { return s.Name })
}

// samples returns all samples in the order in which they are taken: one of each figure, then
// the next of each.
func (r *journeyRun) samples() (list []bench.Step) {
	for i := range r.run.Header.Count {
		for _, step := range r.steps {
			for _, w := range journey.Workloads() {
				for _, n := range r.Threads {
					c := bench.Config{
						Workload: w, Engine: step.Engine, Threads: n,
						Seed: r.Seed, Sample: i,
					}
					c.Engine.Name = step.Name
					if !step.Retries {
						c.Attempts = 1
					}
					list = append(list, bench.Step{Index: len(list), Config: c})
				}
			}
		}
	}
	for i := range list {
		list[i].Of = len(list)
	}
	return list
}

// measure takes the samples.
func (r *journeyRun) measure() error {
	samples := r.samples()
	p := newProgress(r.env.said(r.Quiet), 0, r.run.Header.Warmup+r.run.Header.Duration)
	defer p.close()
	var err error
	for i, s := range samples {
		if err = context.Cause(r.env.ctx); err != nil {
			break
		}
		var next *bench.Step
		if i+1 < len(samples) {
			next = &samples[i+1]
		}
		p.Start(s, next)
		if err = r.sample(s, p); err != nil {
			break
		}
	}
	o := outcomeOf(err, len(r.run.Samples), len(samples))
	if o.Kind == results.Interrupted {
		p.note("interrupted after %d of %d samples", o.Done, o.Of)
	}
	r.run.Outcome = o
	return err
}

// sample takes one. What was under way when the context ended is of no use.
func (r *journeyRun) sample(s bench.Step, p *progress) error {
	var m bench.Measurement
	err := runTrial(r.env.ctx, s.Config, func(t *bench.Trial) (err error) {
		p.Running(s, t)
		if s.Config.Threads == slices.Max(r.Threads) &&
			s.Config.Workload.Name == journey.Workloads()[1].Name {
			r.flames.running(s.Config, t)
		}
		m, err = warmRun(r.env.ctx, t, r.Warmup, r.run.Header.Duration)
		_ = p.Done(s, m) // it cannot fail
		return err
	})
	if err != nil {
		return err
	}
	if m.Ops == 0 {
		p.note("%s: no operation has committed in %v", stepName(s), m.Wall)
		return nil
	}
	sample := results.NewSample(s.Config, m)
	r.run.Samples = append(r.run.Samples, sample)
	for _, w := range r.lines {
		w.Sample(&sample)
		if err := writing("results", w.Flush()); err != nil {
			return err
		}
	}
	return nil
}
