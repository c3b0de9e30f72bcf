package results

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
)

// besideAlpha is the level at which [Compete] decides, that of [Compare] by default.
const besideAlpha = 0.05

// A Contest compares one engine of a run, its first, with each of the others, in one unit, as
// [Compare] does.
type Contest struct {
	Table
	Engines []string // the first is compared with each of the others
	Rounds  []Round
}

// A Round is a line of a [Contest]: one workload with one number of goroutines.
type Round struct {
	Title   string
	Threads int
	Medians []string // by engine; "-" of those that did not run, with [NoisyMark]
	Beside  []*Row   // by engine: the change from it to the first; nil if there is none

	noisy []bool // by engine
}

// NoisyMark marks figures that have noisy samples, and ratios of such figures.
const NoisyMark = "!"

// markOf returns the mark of a figure that is made of the samples of cells.
func markOf(cells ...*Cell) string {
	if slices.ContainsFunc(cells, func(c *Cell) bool { return c.Noisy() > 0 }) {
		return NoisyMark
	}
	return ""
}

// times returns the factor by which the first engine differs from the engine at the given index, ""
// if there is nothing to compare.
func (r *Round) times(engine int) string {
	switch {
	case r.Beside[engine] == nil:
		return ""
	case r.Beside[engine].Significant && (r.noisy[0] || r.noisy[engine]):
		return r.Beside[engine].Times() + NoisyMark
	}
	return r.Beside[engine].Times()
}

// Compete sets subject beside the other engines of cells, in each of units that they have.
func Compete(cells []*Cell, subject string, units ...string) []Contest {
	engines := []string{subject}
	for _, c := range cells {
		engines = appendNew(engines, c.Engine)
	}
	groups := Grouped(cells, func(c *Cell) Key { return Key{Title: c.Title, Threads: c.Threads} })
	var list []Contest
	for _, unit := range units {
		if c := compete(groups, engines, unit); len(c.Rounds) > 0 {
			list = append(list, c)
		}
	}
	return list
}

func compete(groups [][]*Cell, engines []string, unit string) Contest {
	c := Contest{Engines: engines}
	var pairs []pair
	var at []**Row // where the row of each pair belongs
	for _, group := range groups {
		r := Round{group[0].Title, group[0].Threads, slices.Repeat([]string{"-"}, len(engines)),
			make([]*Row, len(engines)), make([]bool, len(engines))}
		values := make([][]float64, len(engines))
		for _, cell := range group {
			i, v := slices.Index(engines, cell.Engine), cell.Values(unit)
			if len(v) == 0 {
				continue
			}
			values[i], r.Medians[i] = v, shown(unit, Median(v), humanize.Number)+markOf(cell)
			r.noisy[i] = cell.Noisy() > 0
		}
		if !slices.ContainsFunc(values, func(v []float64) bool { return len(v) > 0 }) {
			continue
		}
		for i, v := range values[1:] {
			if len(v) > 0 && len(values[0]) > 0 && Median(v) > 0 && Median(values[0]) > 0 {
				name := fmt.Sprintf("%s/engine=%s/threads=%d", r.Title, engines[i+1], r.Threads)
				pairs, at = append(pairs, pair{name: name, before: v, after: values[0]}), append(at, &r.Beside[i+1])
			}
		}
		c.Rounds = append(c.Rounds, r)
	}
	better := -1
	if m, _ := MetricByUnit(unit); m.Better == "higher" {
		better = 1
	}
	c.Table = tableOf(unit, better, benchmath.AssumeNothing, besideAlpha, pairs)
	for i := range at {
		*at[i] = &c.Table.Rows[i]
	}
	return c
}

// Rows returns the contest as a table; the first row is the header.
func (c *Contest) Rows() [][]string {
	head := []string{"", "threads", c.Engines[0]}
	for _, e := range c.Engines[1:] {
		head = append(head, e, c.Engines[0]+" has")
	}
	rows := [][]string{head}
	title := ""
	for _, r := range c.Rounds {
		row := []string{"", fmt.Sprint(r.Threads), r.Medians[0]}
		if r.Title != title {
			row[0], title = r.Title, r.Title
		}
		for i := range r.Beside[1:] {
			row = append(row, r.Medians[i+1], r.times(i+1))
		}
		rows = append(rows, row)
	}
	return rows
}

// Figure returns the name of the compared figure, for people.
func (c *Contest) Figure() string { return strings.TrimSuffix(c.Unit, "-ns") }

// Open returns how many figures do not tell the engine at the given index from the first.
func (c *Contest) Open(engine int) (n int) {
	for _, r := range c.Rounds {
		if r.Beside[engine] != nil && !r.Beside[engine].Significant {
			n++
		}
	}
	return n
}

// Where returns words for where the first engine has the verdict beside the engine at the given
// index, workload by workload, and by which factor.
func (c *Contest) Where(engine int, verdict string) string {
	var b strings.Builder
	title := ""
	for _, r := range c.Rounds {
		beside := r.Beside[engine]
		if beside == nil || beside.Verdict != verdict {
			continue
		}
		switch {
		case r.Title == title:
			b.WriteString(", ")
		case title == "":
			b.WriteString(r.Title + "/")
		default:
			b.WriteString("; " + r.Title + "/")
		}
		title = r.Title
		fmt.Fprintf(&b, "threads=%d: %s", r.Threads, r.times(engine))
	}
	return b.String()
}
