package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/results"
)

// serveCmd is "mvccbench serve". The fields are the flags; those of a run mean
// the same.
type serveCmd struct {
	Kept []string `arg:"" optional:"" name:"file" help:"Kept runs to be shown, instead of one that runs a workload: files of results in JSON, or folders of them. Their results, comparisons and profiles, and the differences of those as flame graphs."`

	Workload string        `help:"Workload to run: ${enum_workloads}." default:"${workload}" placeholder:"NAME" group:"What to run"`
	Engine   string        `help:"Map to run it on: ${enum_engines}." default:"mvcc" placeholder:"NAME" group:"What to run"`
	Threads  int           `help:"Number of goroutines." default:"4" placeholder:"N" group:"What to run"`
	Duration time.Duration `help:"Time after which to end; 0 for never." default:"0s" placeholder:"TIME" group:"What to run"`
	Row      time.Duration `help:"Time that each row of the results covers." default:"10s" placeholder:"TIME" group:"What to run"`

	Rate          *float64      `help:"Operations to start in a second, by all goroutines together, instead of as many as possible." placeholder:"OPS/S" group:"Load"`
	Arrival       string        `help:"With --rate: operations come at fixed distances, or at random like requests of many users: fixed or poisson." enum:"fixed,poisson" default:"fixed" placeholder:"KIND" group:"Load"`
	Retries       *int          `help:"Retry an operation that does not commit so many times at most, then give it up and count an error. Without the flag it is retried until it commits." placeholder:"N" group:"Load"`
	AuditInterval time.Duration `help:"Time from one audit to the next; 0 for no pause between them." default:"${audit_interval}" placeholder:"TIME" group:"Load"`
	Seed          uint64        `help:"Seed of all random choices." default:"1" placeholder:"N" group:"Load"`

	Keys      *int     `help:"Number of keys." placeholder:"N" group:"Parameters of the workload (defaults: see list)"`
	Theta     *float64 `help:"Skew of the Zipf distribution, from 0 (uniform) up." placeholder:"X" group:"Parameters of the workload (defaults: see list)"`
	ReadPct   *int     `help:"Percentage of operations that read." placeholder:"PCT" group:"Parameters of the workload (defaults: see list)"`
	TxnSize   *int     `help:"Number of operations in a transaction." placeholder:"N" group:"Parameters of the workload (defaults: see list)"`
	ValueSize *string  `help:"Bytes of a value, such as 100, or 16-1024 for sizes at random between the two." placeholder:"BYTES" group:"Parameters of the workload (defaults: see list)"`
	Isolation *string  `help:"Level of read-write transactions: serializable or snapshot. Default: serializable." placeholder:"LEVEL" group:"Parameters of the workload (defaults: see list)"`

	LatencySample string `help:"Time one operation in N, at random distances; auto chooses N so that reading the clock takes less than 1 % of the time, off times none: then /metrics has no operations." default:"auto" placeholder:"N" group:"Measuring"`
	Verify        bool   `help:"Check at the end that the map holds what it must. What is read is checked as it is read in any case." default:"true" negatable:"" group:"Measuring"`

	Config configFlag `help:"Take flags from FILE, a JSON object such as {\"threads\": 8, \"rate\": 1000}; those on the command line win." placeholder:"FILE" group:"Measuring"`

	HTTP string `name:"http" help:"Serve the dashboard on ADDR; auto is ${http_addr}, or a free port if that is taken. An address that other machines can reach needs a token in the environment variable MVCCBENCH_TOKEN." default:"auto" placeholder:"ADDR" group:"Profiles in the browser"`

	slowFlags `embed:""`
}

// config returns what the flags ask for, checked as those of a run are.
func (c *serveCmd) config(e *Env) (bench.Config, error) {
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
			Arrival:       c.Arrival,
			Retries:       c.Retries,
			AuditInterval: c.AuditInterval,
			Seed:          c.Seed,
			Keys:          listOf(c.Keys),
			Theta:         listOf(c.Theta),
			ReadPct:       listOf(c.ReadPct),
			TxnSize:       listOf(c.TxnSize),
			ValueSize:     listOf(c.ValueSize),
			Rate:          listOf(c.Rate),
			Isolation:     listOf(c.Isolation),
			LatencySample: []string{c.LatencySample},
		},
		slowFlags: c.slowFlags,
		HTTP:      c.HTTP,
	}
	sweep, err := run.sweep(e)
	if err != nil {
		return bench.Config{}, err
	}
	steps, _ := sweep.Combinations()
	return steps[0].Config, nil
}

// Run carries "mvccbench serve" out; the parser calls it. It ends with Ctrl-C,
// or after the given time, and verifies the map then.
func (c *serveCmd) Run(e *Env) error {
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
	profiles, err := mustServe(served{program: e.Name, addr: c.HTTP, slow: slow, tables: tables})
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
		m, err := trial.RunFor(ctx, c.Row, true)
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
	verified := ""
	if c.Verify {
		if err := trial.Verify(); err != nil {
			return err
		}
		verified = ", verified"
	}
	fmt.Fprintf(e.stdout, "%s: %d operations in %v%s\n", name, ops, took.Round(time.Millisecond),
		verified)
	return nil
}

// show serves kept runs until Ctrl-C.
func (c *serveCmd) show(e *Env) error {
	kept, err := results.OpenShelf(c.Kept...)
	if err != nil {
		return usagef("serve: expected files of results in JSON, or folders of them: %w", err)
	}
	profiles, err := mustServe(served{program: e.Name, addr: c.HTTP, kept: kept})
	if err != nil {
		return err
	}
	defer profiles.close()
	fmt.Fprintf(e.stderr, "runs: %s/debug/pprof/runs/\nend with Ctrl-C\n", profiles.url())
	<-e.ctx.Done()
	return nil
}
