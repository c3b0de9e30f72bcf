package results

import (
	"fmt"
	"math"
	"strings"
)

// The outcomes of a [Verdict].
const (
	NoDifference = "no difference found"
	GotWorse     = "worse"
	GotBetter    = "better"
	GotBoth      = "better and worse"
)

// A Verdict says of a comparison which way it went: which of the figures that a [Judgement] judges
// have changed, all of them considered together (Holm).
type Verdict struct {
	Outcome string       `json:"outcome"`
	Alpha   float64      `json:"alpha"`
	Units   []string     `json:"units"`
	Rows    int          `json:"rows"`
	Better  []Regression `json:"better,omitempty"` // in the order of the tables
	Worse   []Regression `json:"worse,omitempty"`  // in the order of the tables
	// MostPct is by how many percent a figure may be worse at most, with a confidence of 1 - Alpha
	// for all of them together; nil if the samples are too few to tell.
	MostPct *float64 `json:"most_pct"`
}

// Decide returns the verdict of c: in all units or, as [Comparison.Judge], in those that say most.
func (c *Comparison) Decide(all bool) *Verdict {
	v := &Verdict{Alpha: c.Alpha}
	tables := c.judged(all)
	var chances []float64
	for _, t := range tables {
		v.Units = append(v.Units, t.Unit)
		for _, r := range t.rows {
			chances = append(chances, r.P)
		}
	}
	v.Rows = len(chances)
	found, i, most := holm(chances, c.Alpha), 0, 0.0
	for _, t := range tables {
		for _, r := range t.rows {
			r.decide(found[i], t.Better, c.Alpha/float64(v.Rows))
			switch r.Verdict {
			case Improved:
				v.Better = append(v.Better, Regression{t.Unit, r})
			case Worsened:
				v.Worse = append(v.Worse, Regression{t.Unit, r})
			}
			most = max(most, r.most(t.Better, c.Alpha/float64(v.Rows)))
			i++
		}
	}
	if v.Rows > 0 && !math.IsInf(most, 0) {
		v.MostPct = &most
	}
	switch {
	case len(v.Worse) > 0 && len(v.Better) > 0:
		v.Outcome = GotBoth
	case len(v.Worse) > 0:
		v.Outcome = GotWorse
	case len(v.Better) > 0:
		v.Outcome = GotBetter
	default:
		v.Outcome = NoDifference
	}
	return v
}

// most returns by how many percent r may be worse at most, which is wrong with probability alpha.
func (r *Row) most(better string, alpha float64) float64 {
	if r.shift.factors == nil {
		return math.Inf(1)
	}
	factor := r.shift.estimate()
	if !r.exact {
		_, factor = r.shift.bounds(alpha)
	}
	if better == "higher" && !math.IsInf(factor, 0) {
		return 100 * (1 - 1/max(factor, 1))
	}
	return 100 * (max(factor, 1) - 1)
}

// String is the verdict in a line.
func (v *Verdict) String() string {
	word := "comparisons"
	if v.Rows == 1 {
		word = "comparison"
	}
	of := fmt.Sprintf("of %d %s of %s", v.Rows, word, strings.Join(v.Units, ", "))
	var what []string
	if n := len(v.Worse); n > 0 {
		what = append(what, fmt.Sprintf("%d worse", n))
	}
	if n := len(v.Better); n > 0 {
		what = append(what, fmt.Sprintf("%d better", n))
	}
	text := fmt.Sprintf("verdict: %s: %s", strings.ToUpper(v.Outcome), of)
	if len(what) > 0 {
		text += " " + strings.Join(what, ", ")
	} else {
		text += " none has changed"
	}
	switch {
	case len(v.Worse) > 0:
		return text
	case v.MostPct == nil:
		return text + "; the samples are too few to say how much worse they may be"
	}
	return text + fmt.Sprintf("; none is worse by more than %.1f %%, with %v %% confidence",
		*v.MostPct, 100*(1-v.Alpha))
}
