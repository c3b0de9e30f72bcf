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
	"github.com/mvccmap/mvccmap/internal/bench/report"
	"github.com/mvccmap/mvccmap/internal/bench/results"
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
	if err = cmp.Or(err, c.check()); err != nil {
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
	a.progress = newProgress(e.statusOut(c.Quiet), time.Second)
	defer a.progress.close()
	if err := a.prepare(); err != nil {
		return a.interrupted(err)
	}
	err = a.measure()
	a.progress.close()
	// Before anything is printed: if the reader of that has gone, printing ends the process.
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
	progress *progress
	began    time.Time // when the first sample was
}

// sideNames are the names of the sides in those of files and runs.
var sideNames = [2]string{"old", "new"}

// open checks the flags that say where results go. An error names the flag, and then nothing has
// been done.
func (a *ab) open() error {
	c, status := a.cmd, a.env.statusOut(a.cmd.Quiet)
	var skips []bench.Skip
	if a.steps, skips = a.sweep.Steps(); c.Profile && c.Samples == "" && c.Report == "" {
		return usagef("--profile: there is nowhere to keep the profiles; expected --samples or --report " +
			"with it")
	}
	for _, s := range skips {
		fmt.Fprintf(status, "skipping %s on %s: %s\n", s.Workload, s.Engine, s.Why)
	}
	combinations := map[string]bool{}
	for _, step := range a.steps {
		combinations[step.Config.Name()] = true
	}
	if n := results.PairsFor(c.Alpha / float64(len(combinations))); c.Count < n {
		fmt.Fprintf(status, "note: with %d combinations it takes at least %d pairs of "+
			"samples for a difference to be significant: --count %d\n", len(combinations), n, n)
	}
	if c.Report != "" {
		if err := canWrite("--report", c.Report); err != nil {
			return err
		}
	}
	if c.Samples != "" {
		if err := os.MkdirAll(c.Samples, 0o777); err != nil {
			return usagef("--samples: expected a folder that can be written: %w", err)
		}
		for _, side := range sideNames {
			if err := isNew("--samples", samplesFile(c.Samples, side)); err != nil {
				return err
			}
		}
	}
	return nil
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
		if s.program != "" {
			continue
		}
		what := "the work tree in " + s.module
		if s.commit != "" {
			what = fmt.Sprintf("%s (%.12s)", s.label, s.commit)
		}
		a.progress.note("building %s: %s", s.side, what)
		if err := s.build(a.env.ctx); err != nil {
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
	lot := newSideOrder(a.sweep.Seed)
	a.began = time.Now()
	for i, step := range a.steps {
		pair := [2]results.Sample{}
		for k, side := range lot.nextPair(step) {
			if err := a.env.ctx.Err(); err != nil {
				return context.Cause(a.env.ctx)
			}
			begun := time.Now()
			a.progress.set(func(now time.Time) string {
				return position(a.began, begun, now, 2*i+k, 2*len(a.steps)) + stepName(step) + ", " +
					sideNames[side]
			})
			s, err := a.sides[side].sample(a.env.ctx, a, step)
			if err != nil {
				return err
			}
			pair[side] = s
		}
		for k, side := range a.sides { // both or neither: an interrupted one has nothing beside it
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

// finish compares the samples there are, and says where they went.
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
	told := a.cmd.writeComparison(a.env, comparison, false, func(w io.Writer) error {
		fmt.Fprintf(w, "%s\n", verdict)
		for _, r := range slices.Concat(verdict.Worse, verdict.Better) {
			fmt.Fprintf(w, "  %s: %s\n", r.Verdict, r)
		}
		writeChanges(w, changes)
		fmt.Fprintln(w)
		return compareText(w, comparison, verdict.Units)
	})
	return cmp.Or(err, a.keep(comparison, changes), told)
}

// keep saves the runs and writes the page, if that is asked for.
func (a *ab) keep(c *results.Comparison, changes []report.Change) error {
	if dir := a.cmd.Samples; dir != "" {
		var err error
		for _, s := range a.sides {
			f, why := os.Create(samplesFile(dir, s.side))
			if err = cmp.Or(err, why); err == nil {
				err = errors.Join(results.Write(f, &s.run), f.Close())
			}
		}
		if err != nil {
			return writing("samples", err)
		}
		fmt.Fprintf(a.env.statusOut(a.cmd.Quiet), "samples: old.json and new.json in %s\n", dir)
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
	fmt.Fprintf(a.env.statusOut(a.cmd.Quiet), "charts: %s\n", a.cmd.Report)
	return nil
}
