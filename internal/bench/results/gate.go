package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// The outcomes of a [Judgement].
const (
	Passed     = "passed"
	GateFailed = "failed"
	CannotTell = "cannot tell"
)

// A Regression is a row that has become worse, or may have.
type Regression struct {
	Unit string `json:"unit"`
	Row
}

// A Judgement says of a comparison whether something has become worse by more than a tolerance.
//
// It failed if a row has surely become worse by more: its lower confidence bound is beyond the
// tolerance, considering how many rows are judged (Holm). It passed if surely no row has become
// worse by twice the tolerance: all upper confidence bounds are below twice the tolerance, and no
// estimate of a significant change is beyond the tolerance. Otherwise the Judgement cannot tell:
// samples are too few, too far from each other, or missing.
type Judgement struct {
	Outcome string       `json:"outcome"`
	Pct     float64      `json:"pct"` // the tolerance
	Units   []string     `json:"units"`
	Rows    int          `json:"rows"`             // those of these units that are judged
	Worse   []Regression `json:"worse,omitempty"`  // in the order of the tables
	Open    []Regression `json:"open,omitempty"`   // rows of which it cannot be told
	Doubts  []string     `json:"doubts,omitempty"` // missing benchmarks
}

// The units in which a benchmark is judged unless others are asked for: the first group of which
// the benchmark has a unit. For operations at a given rate these are response times, and whether
// the map kept up: the number of operations was given.
var headlines = [][]string{{"response-p50-sec", "response-p99-sec", achieved}, {"ops/s"}, {"sec/op"}}

// pacedHeadline are the units of operations at a given rate.
var pacedHeadline = headlines[0]

// judged are the rows of a table that are judged.
type judged struct {
	*Table
	rows    []Row
	missing []string // benchmarks to be judged that have figures on the old side only
}

// judged returns the rows that are judged: all rows or, of each benchmark, those of its headline;
// of a benchmark without a headline, all rows.
func (c *Comparison) judged(all bool) []judged {
	var list []judged
	done := map[string]bool{} // by benchmark: it has its headline
	add := func(t *Table) {
		j := judged{Table: t}
		for _, r := range t.Rows {
			if !done[r.Name] {
				j.rows = append(j.rows, r)
			}
		}
		for _, name := range t.Missing {
			if !done[name] {
				j.missing = append(j.missing, name)
			}
		}
		if t.Better != "" && len(j.rows)+len(j.missing) > 0 {
			list = append(list, j)
		}
	}
	rest := make([]*Table, len(c.Tables))
	for i := range c.Tables {
		rest[i] = &c.Tables[i]
	}
	if !all {
		for _, units := range headlines {
			var now []string
			for _, unit := range units {
				at := slices.IndexFunc(rest, func(t *Table) bool { return t.Unit == unit })
				if at < 0 {
					continue
				}
				add(rest[at])
				for _, r := range rest[at].Rows {
					now = append(now, r.Name)
				}
				rest = slices.Delete(rest, at, at+1)
			}
			for _, name := range now { // those of a group are judged together
				done[name] = true
			}
		}
	}
	for _, t := range rest {
		add(t)
	}
	return list
}

// Judge looks for rows that have become worse by more than pct percent: in all units of the
// comparison, or in the headline of each benchmark.
func (c *Comparison) Judge(pct float64, all bool) *Judgement {
	j := &Judgement{Outcome: Passed, Pct: pct, Doubts: slices.Clone(c.Doubts)}
	for _, name := range c.OnlyOld {
		j.doubt("%s is in %s only", name, c.Old)
	}
	tables := c.judged(all)
	var atAll, chances []float64
	for _, t := range tables {
		j.Units = append(j.Units, t.Unit)
		for _, name := range t.missing {
			j.doubt("%s has %s in %s only", name, t.Unit, c.Old)
		}
		limit := t.limit(pct)
		if math.IsInf(limit, 0) {
			j.doubt("%s cannot fall by more than %v %%", t.Unit, pct)
		}
		for _, r := range t.rows {
			atAll = append(atAll, r.chance(1))
			chances = append(chances, r.chance(limit))
		}
	}
	for _, unit := range pacedHeadline {
		if slices.Contains(c.onlyOldUnits, unit) && !all {
			j.doubt("%s is in %s only", unit, c.Old)
		}
	}
	if j.Rows = len(chances); j.Rows == 0 {
		j.doubt("of no unit in both results it is known which way is better")
	}
	slower, worse, i := holm(atAll, c.Alpha), holm(chances, c.Alpha), 0
	for _, t := range tables {
		limit := t.limit(pct)
		for _, r := range t.rows {
			switch {
			case worse[i]:
				j.Worse = append(j.Worse, Regression{t.Unit, r})
			case !r.fine(limit, c.Alpha), slower[i] && r.shift.estimate() > limit:
				j.Open = append(j.Open, Regression{t.Unit, r})
			}
			i++
		}
	}
	switch {
	case len(j.Worse) > 0:
		j.Outcome = GateFailed
	case len(j.Open)+len(j.Doubts) > 0:
		j.Outcome = CannotTell
	}
	return j
}

func (j *Judgement) doubt(format string, args ...any) {
	j.Doubts = append(j.Doubts, fmt.Sprintf(format, args...))
}

// limit returns the factor by which a figure is worse if it is worse by pct percent.
func (t *Table) limit(pct float64) float64 {
	switch {
	case t.Better == "lower":
		return 1 + pct/100
	case pct < 100:
		return 1 / (1 - pct/100)
	}
	return math.Inf(1)
}

// chance returns the p-value of the claim that a row is worse by a factor of more than limit.
func (r *Row) chance(limit float64) float64 {
	switch {
	case r.shift.factors == nil:
		return 1
	case !r.exact:
		return r.shift.chance(limit)
	case r.shift.estimate() > limit:
		return 0
	}
	return 1
}

// fine reports whether a row surely is not worse by a factor of limit squared.
func (r *Row) fine(limit, alpha float64) bool {
	switch {
	case r.shift.factors == nil:
		return false
	case r.exact:
		return true
	}
	_, most := r.shift.bounds(alpha)
	return most <= limit*limit
}

// holm reports which of the p-values are significant at level alpha, all together.
func holm(p []float64, alpha float64) []bool {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	yes := make([]bool, len(p))
	for k, i := range order {
		if p[i] > alpha/float64(len(p)-k) {
			break
		}
		yes[i] = true
	}
	return yes
}
