package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// serveCmd is "mvccbench serve". The fields are the flags; a flag that run has too means the same.
type serveCmd struct {
	Kept []string `arg:"" optional:"" name:"file" help:"Kept runs to be shown, instead of one that runs a workload: files of results in JSON, or folders of them. Their results, comparisons and profiles, and the differences of those as flame graphs."`

	Workload string        `help:"Workload to run: ${enum_workloads}." default:"${workload}" placeholder:"NAME" group:"What to run"`
	Engine   string        `help:"Map to run it on: ${enum_engines}." default:"mvcc" placeholder:"NAME" group:"What to run"`
	Threads  int           `help:"Number of goroutines." default:"4" placeholder:"N" group:"What to run"`
	Duration time.Duration `help:"Time after which to end; 0 for never." default:"0s" placeholder:"TIME" group:"What to run"`

	loadFlags `embed:""`

	HTTP string `name:"http" help:"Serve the dashboard on ADDR; auto is ${http_addr}, or a free port if that is taken. An address that other machines can reach needs a token in the environment variable MVCCBENCH_TOKEN." default:"auto" placeholder:"ADDR" group:"Profiles in the browser"`

	slowFlags `embed:""`
}

// config returns the configuration of the flags, checked as those of a run are.
func (c *serveCmd) config(e *Env) (bench.Config, error) {
	if c.Duration < 0 {
		return bench.Config{}, usagef("--duration: expected a time of 0 or more, such as 10m, not %v",
			c.Duration)
	}
	run := runCmd{
		sweepFlags: sweepFlags{Workload: []string{c.Workload}, Engine: []string{c.Engine},
			Threads: []int{c.Threads}, Count: 1, loadFlags: c.loadFlags},
		slowFlags: c.slowFlags,
		HTTP:      c.HTTP,
	}
	sweep, err := run.sweep(e)
	if err != nil {
		return bench.Config{}, err
	}
	steps, _ := sweep.Combinations()
	if len(steps) > 1 {
		return bench.Config{}, usagef("serve: expected one value of each flag: with several "+
			"there are %d combinations", len(steps))
	}
	return steps[0].Config, nil
}

// rowEvery is the time that each row of the results covers.
const rowEvery = 10 * time.Second

// Run carries "mvccbench serve" out; the parser calls it. It ends with Ctrl-C,
// or after the given time, and verifies the map then.
func (c *serveCmd) Run(e *Env) error {
	if !serves(c.HTTP) {
		return usagef("--http: expected an address such as %s: without one there is nothing to serve",
			exampleHTTP)
	}
	if len(c.Kept) > 0 {
		return c.show(e)
	}
	config, err := c.config(e)
	if err != nil {
		return err
	}
	slow, err := c.slowFlags.config()
	if err != nil {
		return err
	}
	var tables []string
	if config.Engine.Reclaims { // it is the map of this library
		tables = config.Workload.Tables()
	}
	profiles, err := serve(served{program: e.Name, addr: c.HTTP, slow: slow, tables: tables})
	if err != nil {
		return err
	}
	defer profiles.close()
	ctx := e.ctx
	if c.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Duration)
		defer cancel()
	}
	name := fmt.Sprintf("%s, %s, %s", config.Workload.Name, config.Engine.Name,
		threads(config.Threads))
	fmt.Fprintf(e.stderr, "dashboard: %s\n", profiles.url())
	for _, url := range profiles.server.URLs()[1:] {
		fmt.Fprintf(e.stderr, "from other machines: %s\n", url)
	}
	fmt.Fprintf(e.stderr, "%s; end with Ctrl-C\n", name)
	return c.serve(ctx, e, profiles, config, name)
}

// serve runs one workload, and a row of results for each stretch of time, until
// ctx ends.
func (c *serveCmd) serve(
	ctx context.Context, e *Env, profiles *profiler, config bench.Config, name string,
) error {
	profiles.phase("filling the map for " + name)
	trial, err := bench.New(config)
	if err != nil {
		return err
	}
	defer trial.Close()
	defer profiles.stopped()
	profiles.phase(name)
	profiles.running(trial, config)
	var ops uint64
	var took time.Duration
	for ctx.Err() == nil {
		m, err := trial.RunFor(ctx, rowEvery, true)
		if err != nil && !(ctx.Err() != nil && errors.Is(err, context.Cause(ctx))) {
			return err
		}
		profiles.settle()
		ops += m.Ops
		took += m.Wall
		if m.Ops > 0 {
			profiles.row(time.Now().Format(time.TimeOnly), m)
		}
	}
	if err := trial.Verify(); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%s: %d operations in %v, verified\n", name, ops,
		took.Round(time.Millisecond))
	return nil
}

// show serves kept runs until Ctrl-C.
func (c *serveCmd) show(e *Env) error {
	kept, err := results.OpenShelf(c.Kept...)
	if err != nil {
		return usagef("serve: expected files of results in JSON, or folders of them: %w", err)
	}
	profiles, err := serve(served{program: e.Name, addr: c.HTTP, kept: kept})
	if err != nil {
		return err
	}
	defer profiles.close()
	fmt.Fprintf(e.stderr, "runs: %s/debug/pprof/runs/\nend with Ctrl-C\n", profiles.url())
	<-e.ctx.Done()
	return nil
}
