package cli

import (
	"errors"
	"fmt"

	"github.com/mvccmap/mvccmap/internal/bench/report"
	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// reportCmd is "mvccbench report".
type reportCmd struct {
	From   string `arg:"" name:"file" help:"A file of results in JSON."`
	Report string `help:"File to write the charts to: one HTML page, which needs nothing else." required:"" placeholder:"FILE"`
}

// Run draws the charts of a run again.
func (c *reportCmd) Run(e *Env) error {
	var r *results.Run
	in, err := results.Load(c.From)
	if err == nil {
		r, err = in.Run()
	}
	if err != nil {
		return usagef("%w", err)
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
