package results

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchunit"
)

// confidence is that of the intervals of a comparison, as benchstat has it.
const confidence = 0.95

// Options say how to compare.
type Options struct {
	Alpha float64  // the level of significance, such as 0.05
	Units []string // those to compare, as printed in results or as benchstat has them; empty for all
	Force bool     // compare instrumented results with others, too
}

// A Comparison is what has changed from one set of results to another, by the
// statistics of benchstat: medians, their confidence intervals, and the
// Mann-Whitney U test. Whether a change is significant takes into account how many benchmarks are
// compared in its unit (Holm, A simple sequentially rejective multiple test procedure, 1979).
type Comparison struct {
	Old      string   `json:"old"`
	New      string   `json:"new"`
	Alpha    float64  `json:"alpha"`
	Tables   []Table  `json:"tables"`
	OnlyOld  []string `json:"only_old,omitempty"` // benchmarks that the other side does not have
	OnlyNew  []string `json:"only_new,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Doubts are why results may be missing: a side that did not come to its end, or does not say
	// that it did, or lacks some of its lines. They are among the warnings, too.
	Doubts []string `json:"doubts,omitempty"`
	// NoisyOld and NoisyNew are how many samples are noisy on each side; a warning says so, too.
	NoisyOld int `json:"noisy_old,omitempty"`
	NoisyNew int `json:"noisy_new,omitempty"`
	// Gate says whether something has become worse, if that was asked for.
	Gate *Judgement `json:"gate,omitempty"`

	onlyOldUnits []string
}

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
	// Delta is the change of the median in percent; infinite, and then left out
	// of JSON, if the old one is zero and the new one is not.
	Delta    float64  `json:"-"`
	DeltaPct *float64 `json:"delta_pct"`
	// Lo and Hi are a confidence interval of the change in percent, by the pairs of samples; nil if
	// it has no end there.
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

// Errors of [Compare]; their texts say more.
var (
	ErrInstrumented = errors.New("only one of the runs is instrumented, or in another way")
	ErrNothing      = errors.New("the results have nothing in common")
	ErrUnit         = errors.New("unknown unit")
)

// Compare compares two sets of results.
func Compare(before, after *Source, o Options) (*Comparison, error) {
	c := &Comparison{Old: before.Label, New: after.Label, Alpha: o.Alpha}
	if before.Instrumented != after.Instrumented {
		text := fmt.Sprintf("%s is %s, %s is %s", before.Label, instrumentation(before), after.Label,
			instrumentation(after))
		if !o.Force {
			return nil, fmt.Errorf("%w: %s", ErrInstrumented, text)
		}
		c.Warnings = append(c.Warnings, text+": the difference may be the instruments'")
	}
	c.Warnings = append(c.Warnings, differences(before, after)...)
	c.Warnings = append(append(c.Warnings, before.Warnings...), after.Warnings...)

	if before.Noisy+after.Noisy > 0 {
		c.NoisyOld, c.NoisyNew = before.Noisy, after.Noisy
		c.Warnings = append(c.Warnings,
			fmt.Sprintf("noisy samples: %d of %d in %s, %d of %d in %s; a difference may be the machine's",
				before.Noisy, len(before.Results), before.Label, after.Noisy, len(after.Results), after.Label))
	}
	c.Doubts = append(slices.Clone(before.Doubts), after.Doubts...)

	x, y := collect(before), collect(after)
	if across := apart(x.names, y.names); len(across) > 0 {
		for _, l := range across {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s: %s in %s, %s in %s: that is what is compared",
				l.key, cmp.Or(l.old, none), before.Label, cmp.Or(l.new, none), after.Label))
		}
		x.drop(across)
		y.drop(across)
	}
	c.OnlyOld, c.OnlyNew = onlyIn(x.names, y.names), onlyIn(y.names, x.names)
	if len(c.OnlyOld) == len(x.names) {
		return nil, fmt.Errorf("%w: %s has %s, %s has %s", ErrNothing, before.Label, some(x.names),
			after.Label, some(y.names))
	}
	c.onlyOldUnits = onlyIn(x.units, y.units)
	units, err := wanted(o.Units, x.units, y.units)
	if err != nil {
		return nil, err
	}
	meta := maps.Clone(before.Units)
	maps.Copy(meta, after.Units)
	for _, unit := range units {
		if t := compareUnit(unit, x, y, meta, o.Alpha); len(t.Rows) > 0 {
			c.Tables = append(c.Tables, t)
		}
	}
	if len(c.Tables) == 0 {
		return nil, fmt.Errorf("%w: no benchmark has figures of %s on both sides", ErrNothing,
			strings.Join(units, ", "))
	}
	if n, of := c.Decidable(); n < of {
		rows := 1
		for _, t := range c.Tables {
			rows = max(rows, len(t.Rows))
		}
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d of %d comparisons have too few samples for "+
			"any difference to be significant; %d on each side are enough", of-n, of,
			SamplesFor(o.Alpha/float64(rows))))
	}
	return c, nil
}

// onlyIn returns those of names that are not among others.
func onlyIn(names, others []string) (rest []string) {
	for _, name := range names {
		if !slices.Contains(others, name) {
			rest = append(rest, name)
		}
	}
	return rest
}

func instrumentation(s *Source) string {
	if s.Instrumented == "" {
		return "plain"
	}
	return "instrumented (" + s.Instrumented + ")"
}

func some(names []string) string {
	const few = 2
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// collected are the figures of a [Source] by benchmark and unit.
type collected struct {
	names, units []string // in the order in which they first occur
	values       map[string]map[string][]float64
}

func collect(s *Source) *collected {
	c := &collected{values: map[string]map[string][]float64{}}
	severalPkgs := strings.Contains(s.config("pkg"), ", ")
	for _, r := range s.Results {
		name := r.Name.String()
		if severalPkgs {
			name = r.GetConfig("pkg") + "." + name
		}
		if c.values[name] == nil {
			c.values[name] = map[string][]float64{}
			c.names = append(c.names, name)
		}
		for _, v := range r.Values {
			// The reader leaves the unit of a zero as it was.
			_, unit := benchunit.Tidy(1, v.Unit)
			if !slices.Contains(c.units, unit) {
				c.units = append(c.units, unit)
			}
			c.values[name][unit] = append(c.values[name][unit], v.Value)
		}
	}
	return c
}

// rank returns where a unit is among [Metrics]; unknown ones come last.
func rank(unit string) int {
	list := Metrics()
	i := slices.IndexFunc(list, func(m Metric) bool {
		_, tidy := benchunit.Tidy(1, m.Unit)
		return tidy == unit
	})
	if i < 0 {
		return len(list)
	}
	return i
}

// place returns where a unit is in a list, the end if it is not.
func place(list []string, unit string) int {
	if i := slices.Index(list, unit); i >= 0 {
		return i
	}
	return len(list)
}

// wanted returns the units to compare: those that are asked for, or all that both
// sides have.
func wanted(asked, x, y []string) ([]string, error) {
	var both []string
	for _, unit := range x {
		if slices.Contains(y, unit) {
			both = append(both, unit)
		}
	}
	slices.SortStableFunc(both, func(a, b string) int { return rank(a) - rank(b) })
	if slices.Contains(both, achieved) { // what was asked for comes after what came of it
		slices.SortStableFunc(both, func(a, b string) int {
			return cmp.Compare(place(pacedHeadline, a), place(pacedHeadline, b))
		})
	}
	if len(asked) == 0 {
		return both, nil
	}
	var list []string
	for _, unit := range asked {
		_, tidy := benchunit.Tidy(1, unit)
		if !slices.Contains(both, tidy) {
			return nil, fmt.Errorf("%w %q; both sides have %s", ErrUnit, unit, strings.Join(both, ", "))
		}
		if !slices.Contains(list, tidy) {
			list = append(list, tidy)
		}
	}
	return list, nil
}

func compareUnit(unit string, x, y *collected, meta benchfmt.UnitMetadataMap, alpha float64) Table {
	t := Table{Unit: unit}
	direction := meta.GetBetter(unit)
	switch direction {
	case +1:
		t.Better = "higher"
	case -1:
		t.Better = "lower"
	}
	assume := meta.GetAssumption(unit)
	limits := &benchmath.Thresholds{CompareAlpha: alpha}
	var sumOld, sumNew float64
	positive := 0
	for _, name := range x.names {
		a, b := x.values[name][unit], y.values[name][unit]
		if len(a) > 0 && len(b) == 0 {
			t.Missing = append(t.Missing, name)
		}
		if len(a) == 0 || len(b) == 0 {
			continue
		}
		r := compareRow(name, benchmath.NewSample(a, limits), benchmath.NewSample(b, limits), assume)
		r.setShift(a, b, direction > 0)
		if r.Old.Center > 0 && r.New.Center > 0 {
			positive++
			sumOld += math.Log(r.Old.Center)
			sumNew += math.Log(r.New.Center)
		}
		t.Rows = append(t.Rows, r)
	}
	t.decide(alpha)
	if positive > 1 {
		n := float64(positive)
		g := Row{Name: "geomean", Old: Side{Center: math.Exp(sumOld / n)},
			New: Side{Center: math.Exp(sumNew / n)}}
		g.setDelta()
		t.Geomean = &g
	}
	return t
}

func compareRow(name string, a, b *benchmath.Sample, assume benchmath.Assumption) Row {
	c := assume.Compare(a, b)
	r := Row{Name: name, Old: side(a, assume), New: side(b, assume), P: c.P}
	r.exact = assume == benchmath.AssumeExact
	r.setDelta()
	return r
}

// setShift sets by what factor the samples differ, and the interval of the change.
func (r *Row) setShift(before, after []float64, higherIsBetter bool) {
	s, ok := shiftOf(before, after, higherIsBetter)
	if !ok {
		return
	}
	r.shift = s
	lo, hi := s.bounds((1 - confidence) / 2)
	if higherIsBetter {
		lo, hi = 1/hi, 1/lo
	}
	for _, end := range []struct {
		factor float64
		pct    **float64
	}{{lo, &r.Lo}, {hi, &r.Hi}} {
		if pct := 100 * (end.factor - 1); pct > -100 && !math.IsInf(pct, 0) {
			*end.pct = &pct
		}
	}
}

// decide says which rows have changed, all together, and which way.
func (t *Table) decide(alpha float64) {
	var chances []float64
	for i := range t.Rows {
		chances = append(chances, t.Rows[i].P)
	}
	for i, yes := range holm(chances, alpha) {
		r := &t.Rows[i]
		r.Undecidable = !r.exact && SmallestP(r.Old.N, r.New.N)*float64(len(t.Rows)) > alpha
		r.Significant = yes && r.Old.Center != r.New.Center
		switch {
		case !r.Significant || t.Better == "":
		case (r.New.Center > r.Old.Center) == (t.Better == "higher"):
			r.Verdict = Improved
		default:
			r.Verdict = Worsened
		}
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
	switch {
	case r.Old.Center == r.New.Center:
		r.Delta = 0
	case r.Old.Center == 0:
		r.Delta = math.Inf(1)
		return
	default:
		r.Delta = 100 * (r.New.Center/r.Old.Center - 1)
	}
	pct := r.Delta
	r.DeltaPct = &pct
}

// SmallestP returns the smallest p-value that the two-sided U test can give with that
// many samples: if all samples of one side are above all of the other.
func SmallestP(n1, n2 int) float64 {
	orders := 1.0
	for i := 1; i <= min(n1, n2); i++ {
		orders *= float64(max(n1, n2)+i) / float64(i)
	}
	return min(2/orders, 1)
}

// Zero reports whether all figures on both sides are zero.
func (t *Table) Zero() bool {
	return !slices.ContainsFunc(t.Rows, func(r Row) bool {
		return r.Old.Center != 0 || r.New.Center != 0 || r.P != 1
	})
}

// Decidable returns how many of the rows have enough samples for a difference to be
// significant, of how many.
func (c *Comparison) Decidable() (n, of int) {
	for _, t := range c.Tables {
		for _, r := range t.Rows {
			of++
			if !r.Undecidable {
				n++
			}
		}
	}
	return n, of
}
