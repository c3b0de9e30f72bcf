package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// compareCmd is "mvccbench compare".
type compareCmd struct {
	Old string `arg:"" help:"The results to compare with: a file in the Go benchmark format or in JSON."`
	New string `arg:"" help:"The results to compare: likewise."`

	comparisonFlags `embed:""`

	Force bool `help:"Compare a run that was slowed down by instruments with one that was not." group:"What to compare"`
}

// comparisonFlags say which samples are compared, how they are judged and where the result goes.
type comparisonFlags struct {
	Unit   []string `help:"Compare these figures only, such as ops/s or p99-ns." placeholder:"UNIT" group:"What to compare"`
	Alpha  float64  `help:"A difference is significant if one as large would turn up by chance with at most this probability." default:"0.05" placeholder:"P" group:"What to compare"`
	Format string   `help:"Format: text or json." enum:"text,json" default:"text" placeholder:"FORMAT" group:"Output"`

	Gate    bool     `help:"Exit with 1 if something surely has become worse, with 0 if surely nothing has, with 4 if that cannot be told: too few samples, too much noise, benchmarks that are missing, a run that did not come to its end. Judged is throughput or, where there is none, the time of an operation; of operations at a given --rate the response times and what was achieved; with --unit, what that names." group:"Gate"`
	GatePct *float64 `help:"With --gate: worse by more than so many percent, with the confidence that --alpha leaves, considering how many comparisons are judged. What passes is surely not worse by twice that. Default: 10." placeholder:"PCT" group:"Gate"`
}

// errGate is returned when the gate does not let the change pass.
var errGate = errors.New("worse")

// expectedResults describes a file of results.
const expectedResults = "expected a file of results, in JSON or in the Go benchmark format"

// Run compares; the parser calls it.
func (c *compareCmd) Run(e *Env) error {
	if err := c.check(); err != nil {
		return err
	}
	var sides [2]*results.Source
	for i, name := range []string{c.Old, c.New} {
		in, err := results.Load(name)
		if err == nil {
			sides[i], err = in.Source()
		}
		if err != nil {
			return usagef("%w; %s", err, expectedResults)
		}
	}
	if c.Old == c.New {
		sides[0].Label, sides[1].Label = c.Old+"#0", c.New+"#1"
	}
	cmp, err := c.compare(sides, results.Options{Force: c.Force})
	if err != nil {
		return err
	}
	once := sides[0].Runs == 1 || sides[1].Runs == 1
	return c.writeComparison(e, cmp, once, func(w io.Writer) error {
		return compareText(w, cmp, nil)
	})
}

// check checks the flags.
func (c *comparisonFlags) check() error {
	switch {
	case !(c.Alpha > 0 && c.Alpha < 1):
		return usagef("--alpha: expected a probability between 0 and 1, such as 0.05, not %v", c.Alpha)
	case c.GatePct != nil && !c.Gate:
		return usagef("--gate-pct: expected --gate with it")
	case !(c.gatePct() >= 0) || math.IsInf(c.gatePct(), 0):
		return usagef("--gate-pct: expected a percentage of 0 or more, not %v", c.gatePct())
	}
	return nil
}

// compare compares the sides as the flags say.
func (c *comparisonFlags) compare(
	sides [2]*results.Source, o results.Options,
) (*results.Comparison, error) {
	o.Alpha, o.Units = c.Alpha, c.Unit
	cmp, err := results.Compare(sides[0], sides[1], o)
	switch {
	case errors.Is(err, results.ErrUnit):
		return nil, usagef("--unit: %w", err)
	case errors.Is(err, results.ErrInstrumented):
		return nil, usagef("%w; --force compares them all the same", err)
	case err != nil:
		return nil, usagef("%w", err)
	}
	if c.Gate {
		cmp.Gate = cmp.Judge(c.gatePct(), len(c.Unit) > 0)
	}
	return cmp, nil
}

// writeComparison writes a comparison, by the function text unless the format is JSON, and the
// notes about it. It returns an error if the comparison does not pass the gate. once says that the
// samples of at least one side were all taken in one run.
func (c *comparisonFlags) writeComparison(
	e *Env, cmp *results.Comparison, once bool, text func(w io.Writer) error,
) error {
	var err error
	if c.Format == "json" {
		enc := json.NewEncoder(e.stdout)
		enc.SetIndent("", " ")
		err = enc.Encode(cmp)
	} else {
		if c.Gate {
			fmt.Fprintf(e.stdout, "%s\n\n", cmp.Gate)
		}
		err = text(e.stdout)
	}
	if err != nil {
		return writing("comparison", err)
	}
	for _, w := range cmp.Warnings {
		fmt.Fprintf(e.stderr, "note: %s\n", w)
	}
	if !c.Gate {
		return nil
	}
	return c.judge(e, cmp.Gate, once)
}

// gatePct returns by how many percent something may become worse.
func (c *comparisonFlags) gatePct() float64 { return given(c.GatePct, 10) }

// judge names the rows that have become worse, or may have.
func (c *comparisonFlags) judge(e *Env, j *results.Judgement, once bool) error {
	for _, r := range j.Worse {
		fmt.Fprintf(e.stderr, "worse: %s\n", r)
	}
	for _, r := range j.Open {
		fmt.Fprintf(e.stderr, "cannot tell: %s\n", r)
	}
	for _, why := range j.Doubts {
		fmt.Fprintf(e.stderr, "cannot tell: %s\n", why)
	}
	if once && j.Outcome == results.GateFailed {
		fmt.Fprintf(e.stderr, "note: what differs from one run to the next is not in the samples of "+
			"one: to be sure let both programs take turns (%s ab, see docs/gate.md)\n", e.Name)
	}
	switch j.Outcome {
	case results.GateFailed:
		return fmt.Errorf("gate: something is %w: %s", errGate, j.Why())
	case results.CannotTell:
		return fmt.Errorf("gate: %w: %s", errCannotTell, j.Why())
	}
	if c.Format != "text" {
		fmt.Fprintf(e.stderr, "%s\n", j)
	}
	return nil
}

// compareText writes the changes in short, and then a table for each of units, or for each unit if
// units is nil.
func compareText(w io.Writer, c *results.Comparison, units []string) error {
	var b strings.Builder
	var same []string
	for _, t := range c.Changed() {
		switch n := t.Tally(); {
		case t.Better == "":
		case n.Improved+n.Worse > 0:
			fmt.Fprintf(&b, "%s: %d better, %d worse, %d neither\n", t.Unit, n.Improved, n.Worse,
				n.Rows-n.Improved-n.Worse)
		case units != nil:
			same = append(same, t.Unit)
		default:
			fmt.Fprintf(&b, "%s: no significant difference\n", t.Unit)
		}
	}
	if len(same) > 0 {
		fmt.Fprintf(&b, "no significant difference: %s\n", strings.Join(same, ", "))
	}
	for _, t := range c.Changed() {
		if units != nil && !slices.Contains(units, t.Unit) {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(t.Unit)
		if t.Better != "" {
			fmt.Fprintf(&b, " (%s is better)", t.Better)
		}
		b.WriteByte('\n')
		rows := [][]string{{"benchmark", c.Old, "", c.New, "", "delta", "from, to", "p and n", ""}}
		for _, r := range t.All() {
			rows = append(rows, []string{r.Name, t.Show(r.Old), r.Old.Range, t.Show(r.New), r.New.Range,
				r.Change(), r.Interval(), r.Chances(), r.Verdict})
		}
		_ = results.Plain.Write(&b, rows, func(column int) bool { return column == 0 || column >= 7 })
	}
	if zero := c.Zero(); len(zero) > 0 {
		fmt.Fprintf(&b, "\nzero on both sides: %s\n", strings.Join(zero, ", "))
	}
	for _, only := range []struct {
		label string
		names []string
	}{{c.Old, c.OnlyOld}, {c.New, c.OnlyNew}} {
		if len(only.names) > 0 {
			fmt.Fprintf(&b, "\nonly in %s:\n", only.label)
			for _, n := range only.names {
				fmt.Fprintf(&b, "  %s\n", n)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
