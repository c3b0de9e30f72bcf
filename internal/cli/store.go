package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mvccmap/mvccmap/internal/report"
	"github.com/mvccmap/mvccmap/internal/results"
)

// runsCmd is "mvccbench runs".
type runsCmd struct {
	List  runsListCmd  `cmd:"" default:"1" help:"List the runs that were kept with --save. This is the default."`
	Rm    runsRmCmd    `cmd:"" help:"Delete saved runs, and the profiles kept with them."`
	Serve runsServeCmd `cmd:"" help:"Show the saved runs in the browser: results and charts, comparisons, profiles and their differences as flame graphs."`
}

type runsListCmd struct{}

// Run lists the saved runs.
func (c *runsListCmd) Run(e *Env) error {
	store, err := results.OpenStore()
	if err != nil {
		return usagef("%w", err)
	}
	list, err := store.List()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintf(e.stderr, "no runs are saved in %s; %s run --save NAME keeps one\n",
			store.Dir(), e.Name)
		return nil
	}
	rows := [][]string{{"name", "started", "samples", "outcome", "profiles", "what"}}
	for _, s := range list {
		if s.Err != "" {
			rows = append(rows, []string{s.Name, "-", "-", "unreadable", "-", s.Err})
			continue
		}
		if s.Run.Header.Instrumented != "" {
			s.Outcome += ", instrumented"
		}
		rows = append(rows, []string{s.Name, s.Started.Local().Format("2006-01-02 15:04"),
			fmt.Sprint(s.Samples), s.Outcome, orDash(len(s.Profiles)),
			strings.Join(s.Workloads, ", ") + " on " + strings.Join(s.Engines, ", ")})
	}
	return results.Plain.Write(e.stdout, rows,
		func(column int) bool { return column != 2 && column != 4 })
}

// orDash writes a number, or a dash for none.
func orDash(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// runsServeCmd is "mvccbench runs serve".
type runsServeCmd struct {
	HTTP string `name:"http" help:"Serve on ADDR; auto is ${http_addr}, or a free port if that is taken. An address that other machines can reach needs a token in the environment variable MVCCBENCH_TOKEN." default:"auto" placeholder:"ADDR"`
}

// Run serves the saved runs until Ctrl-C.
func (c *runsServeCmd) Run(e *Env) error {
	if _, err := results.OpenStore(); err != nil {
		return usagef("%w", err)
	}
	profiles, err := mustServe(e.Name, c.HTTP, nil, nil)
	if err != nil {
		return err
	}
	defer profiles.close()
	fmt.Fprintf(e.stderr, "runs: %s/debug/pprof/runs/\nend with Ctrl-C\n", profiles.url())
	<-e.ctx.Done()
	return nil
}

type runsRmCmd struct {
	Names []string `arg:"" name:"name" help:"The names of the runs."`
}

// Run deletes saved runs: all that are named or, if one of them is not there, none.
func (c *runsRmCmd) Run(e *Env) error {
	store, err := results.OpenStore()
	if err != nil {
		return usagef("%w", err)
	}
	for _, name := range c.Names {
		if err := results.CheckName(name); err != nil {
			return usagef("%w", err)
		}
		if !store.Has(name) {
			return usagef("%w: %s (in %s)", results.ErrNoRun, name, store.Dir())
		}
	}
	for _, name := range c.Names {
		if err := store.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// reportCmd is "mvccbench report".
type reportCmd struct {
	From   string `arg:"" name:"run" help:"A file of results, - for standard input, or the name of a saved run. From a file in the Go benchmark format there are no charts of all percentiles, since it has but some."`
	Report string `help:"File to write the charts to: one HTML page, which needs nothing else." required:"" placeholder:"FILE"`
}

// Run draws the charts of a run again.
func (c *reportCmd) Run(e *Env) error {
	var r *results.Run
	err := e.load(c.From, "a file of results, in JSON or in the Go benchmark format, or",
		func(in *results.Input) (err error) {
			r, err = in.Run()
			return err
		})
	if err != nil {
		return err
	}
	if err := canWrite("--report", c.Report); err != nil {
		return err
	}
	err = report.Write(c.Report, r)
	if errors.Is(err, report.ErrEmpty) {
		return usagef("%s: %w", c.From, err)
	}
	if err != nil {
		return fmt.Errorf("drawing the charts: %w", err)
	}
	_, err = fmt.Fprintln(e.stdout, c.Report)
	return err
}
