package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/report"
	"github.com/mvccmap/mvccmap/internal/results"
)

// abCmd is "mvccbench ab".
type abCmd struct {
	Old string `arg:"" help:"What to compare with: this program built before the change, or a revision of git that it is built from, or . for the work tree as it is. The module is that of the current folder."`
	New string `arg:"" help:"What has changed: likewise."`

	//lint:ignore SA5008 kong takes each set
	sweepFlags `embed:"" set:"engines=mvcc" set:"count=10" set:"count_help=each is a pair of old and new, taken one after the other, the first of them by lot"`

	comparisonFlags `embed:""`

	Samples string `help:"Keep both sides, with their profiles, as old.json and new.json in the folder DIR, for compare, report and serve." placeholder:"DIR" group:"Output"`
	Report  string `help:"Write the verdict, the comparison and charts of both sides to FILE as one HTML page, which needs nothing else." placeholder:"FILE" group:"Output"`
	Quiet   bool   `help:"Report no progress." short:"q" group:"Output"`

	Profile bool `help:"Profile the measured part of every sample, and subtract the profiles of the old side from those of the new one, for each operation. --samples keeps the profiles of both; --report lists the functions that take more or less." group:"Profiles"`
}

// Run carries "mvccbench ab" out; the parser calls it.
func (c *abCmd) Run(e *Env) (err error) {
	sweep, err := c.sweep(e)
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return err
	}
	a := &ab{cmd: c, env: e, sweep: sweep}
	if err := a.open(); err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", e.Name+"-ab-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	a.temp = temp
	a.progress = newABProgress(e.said(c.Quiet))
	closed := false
	end := func() {
		if !closed {
			closed = true
			a.progress.close()
		}
	}
	defer end()
	if err := a.prepare(); err != nil {
		return a.interrupted(err)
	}
	err = a.measure()
	end()
	// Before anything is printed: who reads that may have gone, and then the process ends there.
	err = cmp.Or(err, os.RemoveAll(temp))
	return a.finish(err)
}

// An ab is a comparison under way.
type ab struct {
	cmd      *abCmd
	env      *Env
	sweep    bench.Sweep
	steps    []bench.Step // each is taken of both sides
	temp     string       // a folder, which goes at the end
	sides    [2]*abSide   // old and new
	progress *abProgress
}

// sideNames are what the sides are called in the names of files and runs.
var sideNames = [2]string{"old", "new"}

// open checks the flags that say where results go. An error names the flag, and then nothing has
// been done.
func (a *ab) open() error {
	c := a.cmd
	var skips []bench.Skip
	if a.steps, skips = a.sweep.Steps(); c.Profile && c.Samples == "" && c.Report == "" {
		return usagef("--profile: there is nowhere to keep the profiles; expected --samples or --report " +
			"with it")
	}
	for _, s := range skips {
		remark(a.env.said(c.Quiet), "skipping %s on %s: %s", s.Workload, s.Engine, s.Why)
	}
	combinations := map[string]bool{}
	for _, step := range a.steps {
		combinations[step.Config.Name()] = true
	}
	if n := results.PairsFor(c.Alpha / float64(len(combinations))); c.Count < n {
		remark(a.env.said(c.Quiet), "note: with %d combinations it takes at least %d pairs of samples "+
			"for a difference to be significant: --count %d", len(combinations), n, n)
	}
	if c.Report != "" {
		if err := canWrite("--report", c.Report); err != nil {
			return err
		}
	}
	if c.Samples != "" {
		if err := canCreate("--samples", c.Samples); err != nil {
			return err
		}
		for _, side := range sideNames {
			if err := isNew("--samples", samplesFile(c.Samples, side), c.Overwrite); err != nil {
				return err
			}
		}
	}
	if c.Output == "" {
		return nil
	}
	return cmp.Or(isNew("--output", c.Output, c.Overwrite), canWrite("--output", c.Output))
}

// prepare finds or builds both programs.
func (a *ab) prepare() error {
	for i, name := range []string{a.cmd.Old, a.cmd.New} {
		s, err := a.find(sideNames[i], name)
		if err != nil {
			return err
		}
		a.sides[i] = s
	}
	for _, s := range a.sides {
		if err := s.build(a.env.ctx, a.progress); err != nil {
			return err
		}
	}
	if old, now := a.sides[0], a.sides[1]; old.label == now.label {
		old.label, now.label = old.label+"#0", now.label+"#1"
	}
	return nil
}

// measure takes all samples.
func (a *ab) measure() error {
	lot := newLot(a.sweep.Seed)
	for i, step := range a.steps {
		pair := [2]results.Sample{}
		for k, side := range lot.order(step) {
			if err := a.env.ctx.Err(); err != nil {
				return context.Cause(a.env.ctx)
			}
			a.progress.sample(2*i+k, 2*len(a.steps), step, sideNames[side])
			s, err := a.sides[side].sample(a.env.ctx, a, step)
			if err != nil {
				return err
			}
			pair[side] = s
		}
		for k, side := range a.sides { // both or neither: what was interrupted has nothing beside it
			if err := side.keep(pair[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// interrupted says that the comparison was interrupted, if err says so.
func (a *ab) interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		pairs := 0
		if a.sides[0] != nil {
			pairs = len(a.sides[0].run.Samples)
		}
		fmt.Fprintf(a.env.stderr, "interrupted after %d of %d pairs of samples\n", pairs, len(a.steps))
	}
	return err
}

// finish compares what there is, and says where it went.
func (a *ab) finish(err error) error {
	_ = a.interrupted(err)
	outcome := outcomeOf(err, len(a.sides[0].run.Samples), len(a.steps))
	var sources [2]*results.Source
	for i, s := range a.sides {
		s.run.Outcome = outcome
		if outcome.Done == 0 {
			continue
		}
		var why error
		if sources[i], why = s.run.Source(s.label); why != nil {
			return cmp.Or(err, why)
		}
	}
	if outcome.Done == 0 {
		return err
	}
	comparison, why := a.cmd.compare(sources, results.Options{Turns: true, Force: true})
	if why != nil {
		return cmp.Or(err, why)
	}
	verdict := comparison.Decide(len(a.cmd.Unit) > 0)
	comparison.Verdict = verdict
	if noisy := comparison.NoisyOld + comparison.NoisyNew; noisy > outcome.Done && len(a.cmd.Unit) == 0 {
		comparison.Warnings = append(comparison.Warnings, "most samples are noisy: on a busy machine "+
			"the middle of the latencies says more than throughput: --unit p50-ns, or cpu-ns/op")
	}
	changes, why := a.profiles()
	err = cmp.Or(err, why)
	told := a.cmd.tell(a.env, comparison, false, func(w io.Writer) error {
		fmt.Fprintf(w, "%s\n", verdict)
		for _, r := range slices.Concat(verdict.Worse, verdict.Better) {
			fmt.Fprintf(w, "  %s: %s\n", r.Verdict, r)
		}
		writeChanges(w, changes)
		fmt.Fprintln(w)
		return compareText(w, comparison, verdict.Units, a.cmd.Output == "" && hasColour(w))
	})
	return cmp.Or(err, a.keep(comparison, changes), told)
}

// keep saves the runs and writes the page, if that is asked for.
func (a *ab) keep(c *results.Comparison, changes []report.Change) error {
	if dir := a.cmd.Samples; dir != "" {
		err := os.MkdirAll(dir, 0o777)
		for _, s := range a.sides {
			err = cmp.Or(err, writeTo(samplesFile(dir, s.side), true, nil, func(w io.Writer) error {
				return results.Write(w, &s.run)
			}))
		}
		if err != nil {
			return writing("samples", err)
		}
		remark(a.env.said(a.cmd.Quiet), "samples: old.json and new.json in %s", dir)
	}
	if a.cmd.Report == "" {
		return nil
	}
	err := report.WriteComparison(a.cmd.Report, report.Sides{
		Old: &a.sides[0].run, New: &a.sides[1].run, Comparison: c, Changes: changes,
	})
	if err != nil {
		return fmt.Errorf("drawing the charts: %w", err)
	}
	remark(a.env.said(a.cmd.Quiet), "charts: %s", a.cmd.Report)
	return nil
}

// abProgress tells which sample of which side is being taken.
type abProgress struct {
	*statusLine

	// Under the line's lock.
	line  string
	first time.Time // when the first sample was begun
	begun time.Time // when the one under way was
	done  int       // samples so far
	of    int
}

// newABProgress starts reporting on w.
func newABProgress(w io.Writer) *abProgress {
	p := &abProgress{statusLine: newStatusLine(w)}
	p.every(time.Second, func() {
		if p.terminal || p.of > 0 { // that something is being built is said once
			p.report()
		}
	})
	return p
}

// building says that a side is being built.
func (p *abProgress) building(s *abSide) {
	what := "the work tree in " + s.module
	if s.commit != "" {
		what = fmt.Sprintf("%s (%.12s)", s.label, s.commit)
	}
	p.say(fmt.Sprintf("building %s: %s", s.side, what), 0, 0)
}

// sample says that a sample is being taken.
func (p *abProgress) sample(done, of int, step bench.Step, side string) {
	p.say(stepName(step)+", "+side, done, of)
}

func (p *abProgress) say(line string, done, of int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line, p.begun, p.done, p.of = line, time.Now(), done, of
	if done == 0 {
		p.first = p.begun
	}
	if p.terminal || done == 0 {
		p.report()
	}
}

// report says what is running. p.mu is held.
func (p *abProgress) report() {
	if p.line == "" {
		return
	}
	head := ""
	if p.of > 0 {
		head = fmt.Sprintf("[%*d/%d", len(fmt.Sprint(p.of)), p.done+1, p.of)
		if left, ok := remaining(p.first, p.begun, time.Now(), p.done, p.of, 0); ok {
			head += fmt.Sprintf(", %s left", left)
		}
		head += "] "
	}
	p.show(head + p.line)
}
