package results

import (
	"cmp"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// confidence is the level of the intervals of a comparison, as in benchstat.
const confidence = 0.95

// A Table compares the figures of one unit.
type Table struct {
	Unit   string `json:"unit"`             // as benchstat has it: seconds, not nanoseconds
	Better string `json:"better,omitempty"` // "lower", "higher", or "" if it is not known
	Rows   []Row  `json:"rows"`
	// Geomean is the row of the geometric means over all rows with figures above
	// zero, without statistics; nil if there are fewer than two.
	Geomean *Row `json:"geomean,omitempty"`
	// Missing are the benchmarks that have figures of this unit on the old side only.
	Missing []string `json:"missing,omitempty"`
}

// The verdicts on a [Row]. A change that is not significant has none, and neither has one in a unit
// for which it is not known which way is better.
const (
	Improved = "better"
	Worsened = "worse"
)

// A Row compares the samples of one benchmark.
type Row struct {
	Name string `json:"name"`
	Old  Side   `json:"old"`
	New  Side   `json:"new"`
	// DeltaPct is the change of the median in percent or, if the samples were taken in turns, the
	// estimate of the pairs; nil if it has grown from zero.
	DeltaPct *float64 `json:"delta_pct"`
	// Lo and Hi are a confidence interval of the change in percent, by the pairs of samples. One is
	// nil if the interval has no bound on its side.
	Lo *float64 `json:"change_lo_pct"`
	Hi *float64 `json:"change_hi_pct"`
	P  float64  `json:"p"` // of this row alone
	// Significant says that the change is not by chance, considering all rows of the table.
	Significant bool   `json:"significant"`
	Verdict     string `json:"verdict,omitempty"`
	// Undecidable says that with so few samples no difference, however large,
	// would be significant.
	Undecidable bool `json:"undecidable,omitempty"`

	shift shift // of the samples; without factors if there is none
	exact bool  // every difference in this unit counts
}

// A Side is one of the two medians of a row, with its confidence interval.
type Side struct {
	Center float64  `json:"median"`
	Lo     *float64 `json:"lo"` // nil if there are too few samples for an interval
	Hi     *float64 `json:"hi"`
	N      int      `json:"n"`
	// the distance from the least sample to the largest, in percent of the median
	Spread float64 `json:"spread_pct"`

	Range string `json:"-"` // the interval, as in "± 2%"
}

// A pair is the samples of one benchmark on both sides.
type pair struct {
	name          string
	before, after []float64
	turns         bool // the first of one side was taken beside the first of the other, and so on
}

// tableOf compares pairs, all of which are figures of one unit. better is -1 if a lower figure is
// better, 1 if a higher one is, and otherwise 0.
func tableOf(
	unit string, better int, assume benchmath.Assumption, alpha float64, pairs []pair,
) Table {
	t := Table{Unit: unit, Better: map[int]string{-1: "lower", 1: "higher"}[better]}
	limits := &benchmath.Thresholds{CompareAlpha: alpha}
	var chances []float64
	mean := Row{Name: "geomean"}
	positive := 0.0
	for _, p := range pairs {
		if len(p.before) > 0 && len(p.after) == 0 {
			t.Missing = append(t.Missing, p.name)
		}
		if len(p.before) == 0 || len(p.after) == 0 {
			continue
		}
		// clones, which are sorted: the order of samples in turns says which are beside each other
		a := benchmath.NewSample(slices.Clone(p.before), limits)
		b := benchmath.NewSample(slices.Clone(p.after), limits)
		r := Row{Name: p.name, Old: side(a, assume), New: side(b, assume), P: assume.Compare(a, b).P,
			exact: assume == benchmath.AssumeExact}
		r.setDelta()
		r.setShift(p, better > 0)
		t.Rows = append(t.Rows, r)
		chances = append(chances, r.P)
		if r.Old.Center > 0 && r.New.Center > 0 {
			positive++
			mean.Old.Center += math.Log(r.Old.Center)
			mean.New.Center += math.Log(r.New.Center)
		}
	}
	for i, yes := range holm(chances, alpha) {
		t.Rows[i].decide(yes, t.Better, alpha/float64(len(t.Rows)))
	}
	if positive > 1 {
		mean.Old.Center = math.Exp(mean.Old.Center / positive)
		mean.New.Center = math.Exp(mean.New.Center / positive)
		mean.setDelta()
		t.Geomean = &mean
	}
	return t
}

// decide sets whether the change of r is significant, and its verdict. alpha is the p-value that a
// row needs if all rows are as likely to have changed.
func (r *Row) decide(significant bool, better string, alpha float64) {
	r.Undecidable = !r.exact && r.smallestP() > alpha
	grown := cmp.Compare(r.New.Center, r.Old.Center)
	if r.DeltaPct != nil {
		grown = cmp.Compare(*r.DeltaPct, 0)
	}
	r.Significant = significant && grown != 0
	switch {
	case !r.Significant || better == "":
	case (grown > 0) == (better == "higher"):
		r.Verdict = Improved
	default:
		r.Verdict = Worsened
	}
}

func side(s *benchmath.Sample, assume benchmath.Assumption) Side {
	sum := assume.Summary(s, confidence)
	side := Side{Center: sum.Center, N: len(s.Values), Range: "± " + sum.PctRangeString()}
	if side.Center != 0 {
		side.Spread = 100 * (slices.Max(s.Values) - slices.Min(s.Values)) / math.Abs(side.Center)
	}
	if !math.IsInf(sum.Lo, 0) && !math.IsInf(sum.Hi, 0) {
		side.Lo, side.Hi = &sum.Lo, &sum.Hi
	}
	return side
}

func (r *Row) setDelta() {
	pct := 0.0
	if r.Old.Center != r.New.Center {
		pct = 100 * (r.New.Center/r.Old.Center - 1)
	}
	if !math.IsInf(pct, 0) {
		r.DeltaPct = &pct
	}
}

// setShift sets the factor by which the samples differ, and the interval of the change. If the
// samples were taken in turns, it sets the change and its p-value, too.
func (r *Row) setShift(p pair, higherIsBetter bool) {
	of := shiftOf
	if p.turns {
		of = turnsShiftOf
	}
	s, ok := of(p.before, p.after, higherIsBetter)
	if !ok {
		return
	}
	r.shift = s
	if s.turns && !r.exact {
		change := s.estimate()
		if higherIsBetter {
			change = 1 / change
		}
		r.P, r.DeltaPct = s.chanceOfEither(), nil
		if !math.IsInf(change, 0) {
			pct := 100 * (change - 1)
			r.DeltaPct = &pct
		}
	}
	lo, hi := s.bounds((1 - confidence) / 2)
	if higherIsBetter {
		lo, hi = 1/hi, 1/lo
	}
	percent := func(factor float64) *float64 {
		if factor == 0 || math.IsInf(factor, 0) {
			return nil
		}
		pct := 100 * (factor - 1)
		return &pct
	}
	r.Lo, r.Hi = percent(lo), percent(hi)
}
