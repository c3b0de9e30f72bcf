package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// Run carries "mvccbench run" out; the parser calls it. Everything that can be
// wrong with the arguments is found before anything is done.
func (c *runCmd) Run(e *Env) error {
	sweep, err := c.sweep(e)
	if err != nil {
		return err
	}
	paced := len(sweep.Rates) > 0 && !slices.Contains(sweep.Rates, 0) // all of them
	thresholds, err := limits("--threshold", c.Threshold, paced || len(c.FindRate) > 0)
	if err != nil {
		return err
	}
	finding, err := limits("--find-rate", c.FindRate, true)
	if err != nil {
		return err
	}
	if len(finding) > 0 && !slices.ContainsFunc(finding, func(l results.Limit) bool {
		return l.Unit == results.KeptUp().Unit
	}) {
		finding = append(finding, results.KeptUp())
	}
	slow, err := c.slowFlags.config()
	if err != nil {
		return err
	}
	samples, err := c.profileFlags.start(e.Name, c.outputFlags)
	if err != nil {
		return err
	}
	defer samples.close()
	profiles, err := serve(served{program: e.Name, addr: c.HTTP, slow: slow})
	if err != nil {
		return err
	}
	defer profiles.close()
	if err := c.checkLog(); err != nil {
		return err
	}
	out, err := c.open(e)
	if err != nil {
		return err
	}
	watch, err := c.openLog()
	if err != nil {
		return err
	}
	if profiles != nil {
		fmt.Fprintf(e.stderr, "profiles: %s\n", profiles.url())
	}
	i := slices.IndexFunc(sweep.Engines, func(e bench.EngineSpec) bool { return e.Reclaims })
	out.subject = sweep.Engines[max(i, 0)].Name // the map, if it is among them
	r := &runner{cmd: c, env: e, sweep: sweep, profiles: profiles, kept: samples, out: out,
		thresholds: thresholds, finding: finding, watch: watch}
	return r.run()
}

// runner runs a sweep; it is its observer.
type runner struct {
	cmd      *runCmd
	env      *Env
	sweep    bench.Sweep
	profiles *profiler
	kept     *sampleProfiles
	out      *output
	progress *sweepProgress
	watch    *watcher // nil if samples are too short, and there is no log

	thresholds, finding []results.Limit // of --threshold and --find-rate

	observers []bench.Observer // further observers
}

func (r *runner) run() error {
	steps, skips := r.sweep.Combinations()
	of := len(steps) * r.sweep.Count
	h := r.header(skips)
	if err := r.out.begin(h); err != nil {
		return err
	}
	several := slices.ContainsFunc(steps, func(s bench.Step) bool {
		return s.Config.Name() != steps[0].Config.Name()
	})
	every := given(r.cmd.Interval, time.Second)
	if r.watch == nil && (r.cmd.Interval != nil || r.sweep.Duration >= longEnough) {
		r.watch = new(watcher)
	}
	if r.watch != nil && r.watch.file == nil {
		every = max(every, r.sweep.Duration/results.MaxIntervals)
	}
	r.watch.begin(h, several || len(r.finding) > 0, every)
	r.progress = newSweepProgress(r.env.statusOut(r.cmd.Quiet), given(r.cmd.Interval, time.Second))
	r.observers = []bench.Observer{r.progress}
	if r.profiles != nil {
		r.observers = append(r.observers, r.profiles)
	}
	if r.watch != nil {
		r.observers = append(r.observers, r.watch)
	}
	for _, s := range skips {
		r.progress.note("skipping %s on %s: %s", s.Workload, s.Engine, s.Why)
	}
	if r.cmd.Count < 6 {
		r.progress.note("note: with fewer than 6 samples benchstat gives no confidence intervals")
	}
	var err error
	if len(r.finding) > 0 {
		err = r.findRates()
		of = len(r.out.run.Samples)
	} else {
		err = r.sweep.Run(r.env.ctx, r)
	}
	r.progress.close()
	missed := errors.Is(err, errMissed) || errors.Is(err, errCannotTell) // no failure of the run
	outcome := outcomeOf(err, len(r.out.run.Samples), of)
	if missed {
		outcome = outcomeOf(nil, outcome.Done, outcome.Of)
	}
	if outcome.Kind == results.Interrupted {
		fmt.Fprintf(r.env.stderr, "interrupted after %d of %d samples\n", outcome.Done, outcome.Of)
	}
	profileErr := r.kept.finish(r.out)
	outErr := r.out.end(outcome, r.cmd.Quiet, r.env.stderr)
	err = cmp.Or(err, profileErr, outErr)
	if err == nil || missed {
		err = cmp.Or(err, r.judge(r.out.run.Cells()))
	}
	return cmp.Or(r.watch.end(), err)
}

// outcomeOf returns the outcome of a run that stopped with err after some of its samples.
func outcomeOf(err error, done, of int) results.Outcome {
	o := results.Outcome{Kind: results.Failed, Done: done, Of: of}
	switch {
	case err == nil:
		o.Kind = results.Complete
		return o
	case errors.As(err, new(*bench.Violation)):
		o.Kind = results.Violated
	case errors.Is(err, context.Canceled):
		o.Kind = results.Interrupted
		return o
	}
	o.Detail = err.Error()
	return o
}

// header describes the run: program, parameters, machine.
func (r *runner) header(skips []bench.Skip) results.Header {
	h := results.Header{
		Program: r.env.Name + " " + version(), Args: r.env.args, Started: time.Now().UTC(),
		Machine: results.ThisMachine(), Loop: "closed", ClockCost: bench.ClockCost(),
		Seed: r.sweep.Seed, Count: r.sweep.Count, Ops: r.sweep.Ops,
		Warmup: r.sweep.Warmup, Duration: r.sweep.Duration,
	}
	if r.kept != nil {
		h.Profiled = profiled
	}
	if r.profiles != nil {
		h.Notes = []string{"profiles: served at " + r.profiles.url()}
	}
	if rates := slices.DeleteFunc(slices.Clone(r.sweep.Rates), func(rate float64) bool {
		return rate == 0
	}); len(rates) > 0 {
		h.Loop = string(cmp.Or(r.sweep.Arrival, bench.FixedArrivals)) + " arrivals in one queue"
		if len(r.finding) == 0 {
			h.Rates = rates
		}
	}
	for _, level := range r.sweep.Levels() {
		h.Isolation = append(h.Isolation, string(level))
	}
	for _, s := range skips {
		h.Skips = append(h.Skips, results.Skip(s))
	}
	return h
}

// Start implements [bench.Observer].
func (r *runner) Start(step bench.Step, next *bench.Step) {
	for _, o := range r.observers {
		o.Start(step, next)
	}
}

// Running implements [bench.Observer].
func (r *runner) Running(step bench.Step, t *bench.Trial) {
	for _, o := range r.observers {
		o.Running(step, t)
	}
	r.kept.running(t)
}

// Done implements [bench.Observer].
func (r *runner) Done(step bench.Step, m bench.Measurement) error {
	for _, o := range r.observers {
		if err := o.Done(step, m); err != nil {
			return err
		}
	}
	switch {
	case m.Ops > 0:
	case m.Interrupted:
		return nil
	case m.Rate > 0:
		r.progress.note("%s: no operation was due in %v", stepName(step), m.Wall)
		return nil
	default:
		return fmt.Errorf("%s: no operation has committed in %v", stepName(step), m.Wall)
	}
	if m.Saturated() {
		part, _ := m.Achieved()
		r.progress.note("%s: saturated: %.1f %% of the operations that were due, %d left at the end",
			stepName(step), 100*part, m.Backlog)
	}
	if r.profiles != nil && r.profiles.server.Instrumented(r.out.run.Header.Started) {
		r.out.instrument("an execution trace was taken meanwhile")
	}
	if err := r.out.sample(step.Config, m); err != nil {
		return err
	}
	taken := &r.out.run.Samples[len(r.out.run.Samples)-1]
	taken.Intervals = r.watch.take()
	return r.kept.sample(taken)
}
