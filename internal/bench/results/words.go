package results

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/perf/benchunit"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
)

// Method says by which statistics c was made.
func (c *Comparison) Method() string {
	test := "the Mann-Whitney U test"
	if c.Turns {
		test = "Wilcoxon's signed-rank test of the pairs"
	}
	return fmt.Sprintf("medians with %v %% confidence intervals; a change is significant "+
		"if p ≤ %v in %s, considering all benchmarks of its unit (Holm)",
		100*confidence, c.Alpha, test)
}

// zero reports whether all figures on both sides are zero.
func (t *Table) zero() bool {
	return !slices.ContainsFunc(t.Rows, func(r Row) bool {
		return r.Old.Center != 0 || r.New.Center != 0 || r.P != 1
	})
}

// Changed returns the tables that have figures other than zero.
func (c *Comparison) Changed() (list []*Table) {
	for i := range c.Tables {
		if t := &c.Tables[i]; !t.zero() {
			list = append(list, t)
		}
	}
	return list
}

// Zero returns the units whose figures are all zero on both sides.
func (c *Comparison) Zero() (units []string) {
	for i := range c.Tables {
		if t := &c.Tables[i]; t.zero() {
			units = append(units, t.Unit)
		}
	}
	return units
}

// A Tally is how many rows there are, and how many of them have become better and worse.
type Tally struct{ Rows, Improved, Worse int }

// Tally counts the rows of all tables that Changed returns.
func (c *Comparison) Tally() (sum Tally) {
	for _, t := range c.Changed() {
		n := t.Tally()
		sum.Rows += n.Rows
		sum.Improved += n.Improved
		sum.Worse += n.Worse
	}
	return sum
}

// Tally counts the rows of t, without the row of means.
func (t *Table) Tally() Tally {
	n := Tally{Rows: len(t.Rows)}
	for _, r := range t.Rows {
		switch r.Verdict {
		case Improved:
			n.Improved++
		case Worsened:
			n.Worse++
		}
	}
	return n
}

// All returns the rows, and at the end the row of means if there is one.
func (t *Table) All() []Row {
	if t.Geomean == nil {
		return t.Rows
	}
	return append(slices.Clone(t.Rows), *t.Geomean)
}

// Show writes the median of a side as benchstat does: with a prefix, and as many digits as a
// comparison needs.
func (t *Table) Show(s Side) string { return scaled(t.Unit, s) }

func scaled(unit string, s Side) string { return benchunit.Scale(s.Center, benchunit.ClassOf(unit)) }

// String says in a line how the judgement is.
func (j *Judgement) String() string {
	word := map[string]string{Passed: "passed", GateFailed: "FAILED", CannotTell: "CANNOT TELL"}[j.Outcome]
	return fmt.Sprintf("gate: %s: %s", word, j.Why())
}

// Why gives the reason of the outcome.
func (j *Judgement) Why() string {
	of := fmt.Sprintf("%d comparisons of %s", j.Rows, strings.Join(j.Units, ", "))
	switch j.Outcome {
	case GateFailed:
		return fmt.Sprintf("%d of %s are worse by more than %v %%", len(j.Worse), of, j.Pct)
	case Passed:
		return fmt.Sprintf("none of %s is worse by more than %v %%, nor can be by twice that", of, j.Pct)
	}
	var why []string
	if len(j.Open) > 0 {
		why = append(why, fmt.Sprintf("%d of %s may be worse by more than %v %%, or not", len(j.Open),
			of, j.Pct))
	}
	return strings.Join(append(why, j.Doubts...), "; ")
}

// String names the figures that are worse, or may be, and by how much.
func (r Regression) String() string {
	return fmt.Sprintf("%s, %s: %s to %s, %s (%s)", r.Unit, r.Name, scaled(r.Unit, r.Old),
		scaled(r.Unit, r.New), r.Interval(), r.Chances())
}

// Interval says between which percentages the change is, "?" where samples are too few to tell.
func (r *Row) Interval() string {
	if r.isMean() {
		return ""
	}
	end := func(pct *float64) string {
		if pct == nil {
			return "?"
		}
		return fmt.Sprintf("%+.1f%%", *pct+0) // no minus before zero
	}
	return end(r.Lo) + " to " + end(r.Hi)
}

// isMean reports whether r is a row of means, which have no statistics.
func (r *Row) isMean() bool { return r.Old.N == 0 }

// Change says by how much a row has changed, or "~" if that is not significant.
func (r *Row) Change() string {
	switch {
	case !r.Significant && !r.isMean():
		return "~"
	case r.DeltaPct == nil:
		return "from 0"
	}
	return fmt.Sprintf("%+.2f%%", *r.DeltaPct)
}

// Times returns words for how many times more the new side has, or how many times less, "~" if the
// change is not significant.
func (r *Row) Times() string {
	times, word := r.New.Center/r.Old.Center, "more"
	switch {
	case !r.Significant:
		return "~"
	case times < 1:
		times, word = 1/times, "less"
	}
	return humanize.Number(times) + " x " + word
}

// Chances says how probable such a change is by chance, and how many samples there are.
func (r *Row) Chances() string {
	if r.isMean() {
		return ""
	}
	n := fmt.Sprintf("n=%d", r.Old.N)
	if r.Old.N != r.New.N {
		n += fmt.Sprintf("+%d", r.New.N)
	}
	return fmt.Sprintf("p=%.3f %s", r.P, n)
}

// SmallestP returns the smallest p-value that the two-sided U test can give with that
// many samples: if all samples of one side are above all of the other.
func SmallestP(n1, n2 int) float64 { return min(2*chanceOfU(n1, n2, 0), 1) }

// smallestP returns the smallest p-value that r can have with its samples.
func (r *Row) smallestP() float64 {
	if r.shift.turns {
		return SmallestPOfTurns(r.Old.N)
	}
	return SmallestP(r.Old.N, r.New.N)
}

// SamplesFor returns how many samples on each side it takes for a difference to be
// significant.
func SamplesFor(alpha float64) int {
	n := 1
	for SmallestP(n, n) > alpha {
		n++
	}
	return n
}
