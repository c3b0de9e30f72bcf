package results

import (
	"cmp"
	"math"
	"slices"
)

// A Regression is a row that has become worse.
type Regression struct {
	Unit string
	Row
}

// A Judgement says of a comparison whether something has become worse.
//
// A row has become worse if two things hold. The change is significant, also for the number of rows
// that are judged (Holm, A simple sequentially rejective multiple test procedure, 1979). And the
// medians differ by more than the tolerance plus the whole range of the samples, of the side where
// that is larger: two runs of one program differ by more than their samples tell, because the
// machine does not stay the same for a minute. The ranges say how restless it is.
type Judgement struct {
	Units     []string
	Rows      int          // those of these units
	Decidable int          // those of them with enough samples for a difference to be found
	Needed    int          // this many samples on each side are enough
	Worse     []Regression // table by table
}

// headline are the units that are judged unless others are asked for: the first of them that
// both sides have.
var headline = []string{"ops/s", "sec/op"}

// Judge looks for rows that have become worse by more than pct percent: in throughput or, if there
// is none, the time of an operation; in all units of the comparison if asked for, or if it has
// neither of the two.
func (c *Comparison) Judge(pct float64, all bool) Judgement {
	tables := c.Tables
	for _, unit := range headline {
		i := slices.IndexFunc(tables, func(t Table) bool { return t.Unit == unit })
		if i >= 0 && !all {
			tables = tables[i : i+1]
			break
		}
	}
	var j Judgement
	var chances []float64
	for _, t := range tables {
		j.Units = append(j.Units, t.Unit)
		for _, r := range t.Rows {
			chances = append(chances, r.P)
		}
	}
	j.Rows = len(chances)
	j.Needed = SamplesFor(c.Alpha / float64(max(j.Rows, 1)))
	significant := holm(chances, c.Alpha)
	for _, t := range tables {
		for _, r := range t.Rows {
			yes := significant[0]
			significant = significant[1:]
			least := SmallestP(r.Old.N, r.New.N)
			exact := least > c.Alpha && !r.Undecidable // every difference in this unit counts
			if exact || least*float64(j.Rows) <= c.Alpha {
				j.Decidable++
			}
			if yes && r.Verdict == Worsened && math.Abs(r.Delta) > pct+max(r.Old.Spread, r.New.Spread) {
				j.Worse = append(j.Worse, Regression{t.Unit, r})
			}
		}
	}
	return j
}

// holm reports which of the p-values are significant at level alpha, all together.
func holm(p []float64, alpha float64) []bool {
	yes := make([]bool, len(p))
	for k, i := range ascending(p) {
		if p[i] > alpha/float64(len(p)-k) {
			break
		}
		yes[i] = true
	}
	return yes
}

// ascending returns the indexes of list, that of the smallest value first.
func ascending(list []float64) []int {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(list[a], list[b]) })
	return order
}
