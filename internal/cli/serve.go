package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mvccmap/mvccmap/bench"
)

// serveCmd is "mvccbench serve". The fields are the flags; those of a run mean
// the same.
type serveCmd struct {
	Workload  string        `help:"Workload to run: ${enum_workloads}; or a file, as in run." default:"transfer" placeholder:"NAME"`
	Engine    string        `help:"Map to run it on: ${enum_engines}." default:"mvcc" placeholder:"NAME"`
	Threads   int           `help:"Number of goroutines." default:"4" placeholder:"N"`
	Duration  time.Duration `help:"Time after which to end; 0 for never." default:"0s" placeholder:"TIME"`
	Row       time.Duration `help:"Time that each row of the results covers." default:"10s" placeholder:"TIME"`
	Rate      *float64      `help:"Operations to start in a second, by all goroutines together, instead of as many as possible." placeholder:"OPS/S"`
	Keys      *int          `help:"Number of keys." placeholder:"N"`
	Theta     *float64      `help:"Skew of the Zipf distribution, from 0 (uniform) up." placeholder:"X"`
	ReadPct   *int          `help:"Percentage of operations that read." placeholder:"PCT"`
	Isolation *string       `help:"Level of read-write transactions: serializable or snapshot. Default: what the file of the workload says, else serializable." placeholder:"LEVEL"`
	Seed      uint64        `help:"Seed of all random choices." default:"1" placeholder:"N"`
	HTTP      string        `name:"http" help:"Serve the dashboard on ADDR; auto is ${http_addr}, or a free port if that is taken. An address that other machines can reach needs a token in the environment variable MVCCBENCH_TOKEN." default:"auto" placeholder:"ADDR"`

	slowFlags `embed:""`
	autoFlags `embed:""`
}

// config returns what the flags ask for, checked as those of a run are.
func (c *serveCmd) config(engines []bench.EngineSpec) (bench.Config, error) {
	switch {
	case c.Duration < 0:
		return bench.Config{}, usagef("--duration: expected a time of 0 or more, such as 10m, not %v",
			c.Duration)
	case c.Row <= 0:
		return bench.Config{}, usagef("--row: expected a time above 0, such as 10s, not %v", c.Row)
	}
	run := runCmd{
		sweepFlags: sweepFlags{
			Workload:      []string{c.Workload},
			Engine:        []string{c.Engine},
			Threads:       []int{c.Threads},
			Count:         1,
			Arrival:       string(bench.FixedArrivals),
			AuditInterval: bench.DefaultAuditInterval,
			Seed:          c.Seed,
			Keys:          listOf(c.Keys),
			Theta:         listOf(c.Theta),
			ReadPct:       listOf(c.ReadPct),
			Rate:          listOf(c.Rate),
			Isolation:     listOf(c.Isolation),
			LatencySample: []string{autoSample},
			Verify:        true,
		},
		slowFlags: c.slowFlags,
		HTTP:      c.HTTP,
	}
	sweep, err := run.sweep(engines)
	if err != nil {
		return bench.Config{}, err
	}
	steps, _ := sweep.Steps()
	return steps[0].Config, nil
}

// Run carries "mvccbench serve" out; the parser calls it. It ends with Ctrl-C,
// or after the given time, and verifies the map then.
func (c *serveCmd) Run(e *Env) error {
	config, err := c.config(e.Engines)
	if err != nil {
		return err
	}
	slow, err := c.slowFlags.config()
	if err != nil {
		return err
	}
	rules, err := c.rules()
	if err != nil {
		return err
	}
	var tables []string
	if config.Engine.Reclaims { // it is the map of this library
		tables = config.Workload.Tables()
	}
	profiles, err := mustServe(e.Name, c.HTTP, slow, tables, rules...)
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
	fmt.Fprintf(e.stderr, "dashboard: %s\n%s; end with Ctrl-C\n", profiles.url(), name)
	return serve(ctx, e, profiles, config, name, c.Row)
}

// serve runs one workload, and a row of results for each stretch of time, until
// ctx ends.
func serve(
	ctx context.Context, e *Env, profiles *profiler, config bench.Config, name string,
	row time.Duration,
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
		m, err := trial.RunFor(ctx, row, true)
		if err != nil && !(ctx.Err() != nil && errors.Is(err, context.Cause(ctx))) {
			return err
		}
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
