package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/results"
)

// limitFlags say what a run must keep.
type limitFlags struct {
	Threshold  []string `help:"Exit with 5 unless the median of each combination keeps these limits, such as 'response-p99<1ms,achieved>=99'. The figures are those of \"list metrics\", whose unit at the end may be left out; times are 1ms, other values numbers such as 1.5M." placeholder:"LIMIT" group:"Limits"`
	FindRate   []string `help:"Search for the highest rate at which these limits are kept, such as 'response-p99<1ms', and all that is due is begun (achieved>=99): for each combination, from what it does in a closed loop, up or down until there is a rate that does and one that does not, and then between them. The rate found is confirmed by --count samples, whose median must keep the limits, or a lower one is taken. Exit with 5 if there is none." placeholder:"LIMIT" xor:"load" group:"Limits"`
	Resolution float64  `help:"With --find-rate: stop when rate and the next that does not do are so many percent apart." default:"5" placeholder:"PCT" group:"Limits"`
}

// errMissed is wrapped by the errors that say that a limit was not kept.
var errMissed = errors.New("missed")

// limits reads the limits of a flag, all figures of which a run in such loops must have.
func limits(flag string, texts []string, paced bool) ([]results.Limit, error) {
	var list []results.Limit
	for _, text := range texts {
		l, err := results.ParseLimit(text, parseNumber)
		if err != nil {
			return nil, usagef("%s: %w", flag, err)
		}
		if l.Paced() && !paced {
			return nil, usagef("%s: %s is measured at a given rate only; expected --rate, --stages or "+
				"--find-rate with it", flag, l.Unit)
		}
		list = append(list, l)
	}
	return list, nil
}

// paced reports whether a sweep is an open loop, in all its parts.
func paced(s bench.Sweep) bool {
	if len(s.Stages) > 0 {
		return true
	}
	if len(s.Rates) > 0 {
		return !slices.Contains(s.Rates, 0)
	}
	return !slices.ContainsFunc(s.Workloads, func(w bench.Workload) bool { return w.Rate() == 0 })
}

// thresholds returns what --threshold asks for.
func (c *runCmd) thresholds(s bench.Sweep) ([]results.Limit, error) {
	return limits("--threshold", c.Threshold, paced(s) || len(c.FindRate) > 0)
}

// judge says which limits a run that is over has missed, and returns an error if it has.
func (r *runner) judge(cells []*results.Cell) error {
	missed, open, all := 0, 0, 0
	for _, cell := range cells {
		for _, check := range cell.Check(r.thresholds) {
			all++
			r.logged.threshold(check)
			switch {
			case !check.Known:
				open++
			case !check.Kept:
				missed++
			default:
				continue
			}
			remark(r.env.stderr, "threshold: %s", check)
		}
	}
	switch {
	case missed > 0:
		return fmt.Errorf("thresholds: %w: %d of %d", errMissed, missed, all)
	case open > 0:
		return fmt.Errorf("thresholds: %w: %d of %d", errCannotTell, open, all)
	}
	if all > 0 && !r.cmd.Quiet {
		remark(r.env.stderr, "thresholds: all kept: %s", strings.Join(namesOf(r.thresholds,
			results.Limit.String), ", "))
	}
	return nil
}
