package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/bench"
)

// Run carries "mvccbench run" out; the parser calls it. Everything that can be
// wrong with the arguments is found before anything is done.
func (c *runCmd) Run(e *env) error {
	sweep, err := c.sweep(e.engines)
	if err != nil {
		return err
	}
	var profiles *profiler
	if c.serves() {
		if profiles, err = startProfiler(c.HTTP); err != nil {
			return usagef("--http: expected a loopback address such as %s, or off: %w", defaultHTTP, err)
		}
		defer profiles.close()
	}
	out, err := openResults(c.Output, e.stdout)
	if err != nil {
		return usagef("--output: expected a file that can be written: %w", err)
	}
	if c.serves() {
		fmt.Fprintf(e.stderr, "profiles: %s\n", profiles.url())
	}
	r := &runner{cmd: c, env: e, sweep: sweep, profiles: profiles, out: out}
	err = r.run()
	if e := out.close(); err == nil && e != nil {
		err = fmt.Errorf("writing the results: %w", e)
	}
	if err == nil && c.Hold {
		fmt.Fprintf(e.stderr, "still serving profiles at %s; end with Ctrl-C\n", profiles.url())
		profiles.phase("done")
		<-e.ctx.Done()
	}
	return err
}

// runner runs a sweep; it is its observer.
type runner struct {
	cmd      *runCmd
	env      *env
	sweep    bench.Sweep
	profiles *profiler
	out      *results
	progress *progress
	summary  summary
	done     int // samples printed
	of       int
}

func (r *runner) run() error {
	steps, skips := r.sweep.Steps()
	r.of = len(steps)
	for _, s := range steps {
		r.out.pad = max(r.out.pad, len(resultName(s.Config)))
	}
	r.header(skips)
	if err := r.out.flush(); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	if !r.cmd.Quiet {
		r.progress = newProgress(r.env.stderr, r.cmd.Interval, r.sweep.Warmup+r.sweep.Duration)
	}
	for _, s := range skips {
		r.progress.note("skipping %s on %s: %s", s.Workload, s.Engine, s.Why)
	}
	if r.cmd.Count < 6 {
		r.progress.note("note: with fewer than 6 samples benchstat gives no confidence intervals")
	}
	err := r.sweep.Run(r.env.ctx, r)
	r.progress.close()

	var violation *bench.Violation
	switch {
	case err == nil:
	case errors.As(err, &violation):
		r.out.comment("%v\nthe samples above were verified; the run ended here, after %d of %d", err, r.done, r.of)
	case errors.Is(err, context.Canceled):
		r.out.comment("interrupted after %d of %d samples", r.done, r.of)
		fmt.Fprintf(r.env.stderr, "interrupted after %d of %d samples\n", r.done, r.of)
	default:
		r.out.comment("failed after %d of %d samples: %v", r.done, r.of, err)
	}
	if e := r.out.flush(); e != nil && err == nil {
		err = fmt.Errorf("writing the results: %w", e)
	}
	if !r.cmd.Quiet && violation == nil {
		r.summary.print(r.env.stderr)
	}
	return err
}

// freeCPUProbe is how long it is tried how much of the CPUs there is to be had,
// and enoughCPU how much of them is no cause for a remark.
const (
	freeCPUProbe = 30 * time.Millisecond
	enoughCPU    = 0.9
)

// header writes what was measured, on what and how. What may differ between two
// runs that are compared is in comments.
func (r *runner) header(skips []bench.Skip) {
	o := r.out
	o.comment("%s", strings.TrimSpace(programName+" "+strings.Join(r.env.args, " ")))
	o.comment("%s; %s", version(), time.Now().UTC().Format(time.RFC3339))
	o.comment("GOMAXPROCS %d of %d CPUs%s", runtime.GOMAXPROCS(0), runtime.NumCPU(), goSettings())
	if share, ok := bench.FreeCPU(freeCPUProbe); ok {
		o.comment("the process could have %.0f %% of its CPUs", 100*share)
		if share < enoughCPU && !r.cmd.Quiet {
			fmt.Fprintf(r.env.stderr, "note: other programs are busy: this one gets only %.0f %% of its CPUs, and the figures will show it\n", 100*share)
		}
	}
	o.comment("seed %d, %d x %v after %v of warm-up, %s", r.sweep.Seed, r.sweep.Count, r.sweep.Duration, r.sweep.Warmup, r.sweep.Isolation)
	o.comment("the harness takes of each operation about %s", strings.Join(r.harness(), ", "))
	o.comment("closed loop: latencies exclude queueing and include one reading of the clock, %v", bench.ClockCost())
	o.comment("profiles: %s", r.profiles.describe())
	for _, s := range skips {
		o.comment("skipped: %s on %s: %s", s.Workload, s.Engine, s.Why)
	}
	o.header()
}

// harness returns what the harness takes of each operation, by workload.
func (r *runner) harness() []string {
	var costs []string
	for _, w := range r.sweep.Workloads {
		if ns, err := bench.HarnessCost(w); err == nil {
			costs = append(costs, fmt.Sprintf("%.0f ns (%s)", ns, w.Name))
		}
	}
	return costs
}

// goSettings returns the environment variables that change how a Go program
// runs.
func goSettings() string {
	s := ""
	for _, name := range []string{"GOGC", "GOMEMLIMIT", "GODEBUG"} {
		if v := os.Getenv(name); v != "" {
			s += fmt.Sprintf(", %s=%s", name, v)
		}
	}
	return s
}

// Start implements [bench.Observer].
func (r *runner) Start(step bench.Step, next *bench.Step) {
	r.progress.start(step, next)
	r.profiles.phase(stepName(step))
}

// Running implements [bench.Observer].
func (r *runner) Running(_ bench.Step, live func() uint64) { r.progress.running(live) }

// Done implements [bench.Observer].
func (r *runner) Done(step bench.Step, m bench.Measurement) error {
	if m.Ops == 0 && !m.Interrupted {
		return fmt.Errorf("%s: no operation has committed in %v", stepName(step), m.Wall)
	}
	if m.Ops == 0 {
		return nil
	}
	if m.Interrupted {
		r.out.comment("interrupted: the next sample ran %v of %v", m.Wall.Round(time.Microsecond), r.sweep.Duration)
	}
	r.out.result(step.Config, m)
	r.summary.add(step.Config, m)
	r.done++
	if err := r.out.flush(); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}
