package cli

import (
	"fmt"
	"strings"

	"github.com/mvccmap/mvccmap/internal/results"
)

// runsCmd is "mvccbench runs".
type runsCmd struct {
	List runsListCmd `cmd:"" default:"1" help:"List the runs that were kept with --save. This is the default."`
	Rm   runsRmCmd   `cmd:"" help:"Delete saved runs."`
}

type runsListCmd struct{}

// Run lists the saved runs.
func (c *runsListCmd) Run(e *env) error {
	store, err := results.OpenStore()
	if err != nil {
		return usagef("%w", err)
	}
	list, err := store.List()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintf(e.stderr, "no runs are saved in %s; %s run --save NAME keeps one\n", store.Dir(), programName)
		return nil
	}
	rows := [][]string{{"name", "started", "samples", "outcome", "what"}}
	for _, s := range list {
		if s.Err != nil {
			rows = append(rows, []string{s.Name, "-", "-", "unreadable", s.Err.Error()})
			continue
		}
		r := s.Run
		outcome := r.Outcome.Kind
		if r.Header.Instrumented != "" {
			outcome += ", instrumented"
		}
		rows = append(rows, []string{s.Name, r.Header.Started.Local().Format("2006-01-02 15:04"),
			fmt.Sprint(len(r.Samples)), outcome, what(r)})
	}
	var b strings.Builder
	writeTable(&b, rows, func(column int) bool { return column != 2 })
	_, err = fmt.Fprint(e.stdout, b.String())
	return err
}

// what says in short what a run measured.
func what(r *results.Run) string {
	var workloads, engines []string
	seen := map[string]bool{}
	for i := range r.Samples {
		s := &r.Samples[i]
		if !seen["w"+s.Workload] {
			seen["w"+s.Workload] = true
			workloads = append(workloads, s.Workload)
		}
		if !seen["e"+s.Engine] {
			seen["e"+s.Engine] = true
			engines = append(engines, s.Engine)
		}
	}
	return strings.Join(workloads, ", ") + " on " + strings.Join(engines, ", ")
}

type runsRmCmd struct {
	Names []string `arg:"" name:"name" help:"The names of the runs."`
}

// Run deletes saved runs: all that are named or, if one of them is not there, none.
func (c *runsRmCmd) Run(e *env) error {
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
