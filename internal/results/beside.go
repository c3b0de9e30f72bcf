package results

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"

	"github.com/mvccmap/mvccmap/internal/brief"
)

// besideAlpha is the level at which [Compete] decides, that of [Compare] by default.
const besideAlpha = 0.05

// A Contest sets one engine of a run beside the others, in one unit.
type Contest struct {
	Unit    string
	Better  string   // "more" or "less"
	Engines []string // the first is the one that the others are beside
	Rounds  []Round
}

// A Round is a line of a [Contest]: one workload with one number of goroutines.
type Round struct {
	Title   string
	Threads int
	Medians []float64 // by engine; NaN of those that did not run
	Noisy   []bool    // by engine: some of the samples are
	Results []Result  // by engine; the first has none
}

// A Result is how the first engine of a [Contest] did beside another.
type Result struct {
	// Factor is how many times more or less it had, in the direction that is better: above 1 it
	// did better. It is 0 if it is not known.
	Factor float64
	// Decided says that the difference is significant, considering how many there are in this
	// unit, as in a [Comparison].
	Decided bool
}

// Compete sets subject beside the other engines of cells, in each of units that they have.
func Compete(cells []*Cell, subject string, units ...string) []Contest {
	engines := []string{subject}
	for _, c := range cells {
		if !slices.Contains(engines, c.Engine) {
			engines = append(engines, c.Engine)
		}
	}
	var list []Contest
	for _, unit := range units {
		var chances []float64
		var decided []*bool
		metric, _ := MetricByUnit(unit)
		c := Contest{Unit: unit, Better: "less", Engines: engines}
		if metric.Better == "higher" {
			c.Better = "more"
		}
		for _, group := range grouped(cells) {
			r := Round{Title: group[0].Title, Threads: group[0].Threads, Results: make([]Result,
				len(engines)), Noisy: make([]bool, len(engines))}
			values := make([][]float64, len(engines))
			any := false
			for _, cell := range group {
				v := cell.Values(unit)
				i := slices.Index(engines, cell.Engine)
				values[i], r.Noisy[i] = v, cell.Noisy() > 0
				any = any || len(v) > 0
			}
			if !any {
				continue
			}
			for i, v := range values {
				r.Medians = append(r.Medians, math.NaN())
				if len(v) == 0 {
					continue
				}
				r.Medians[i] = Median(v)
				if i == 0 || len(values[0]) == 0 || r.Medians[i] <= 0 || r.Medians[0] <= 0 {
					continue
				}
				r.Results[i].Factor = r.Medians[0] / r.Medians[i]
				if c.Better == "less" {
					r.Results[i].Factor = 1 / r.Results[i].Factor
				}
				limits := &benchmath.Thresholds{CompareAlpha: besideAlpha}
				p := benchmath.AssumeNothing.Compare(benchmath.NewSample(values[0], limits),
					benchmath.NewSample(v, limits)).P
				chances = append(chances, p)
				decided = append(decided, &r.Results[i].Decided)
			}
			c.Rounds = append(c.Rounds, r)
		}
		for i, yes := range holm(chances, besideAlpha) {
			*decided[i] = yes
		}
		if len(c.Rounds) > 0 {
			list = append(list, c)
		}
	}
	return list
}

// grouped returns the cells of each workload and number of goroutines.
func grouped(cells []*Cell) [][]*Cell {
	var groups [][]*Cell
	for _, c := range cells {
		i := slices.IndexFunc(groups, func(g []*Cell) bool {
			return g[0].Title == c.Title && g[0].Threads == c.Threads
		})
		if i < 0 {
			i = len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
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
		row := []string{"", fmt.Sprint(r.Threads), c.mark(r, 0)}
		if r.Title != title {
			row[0], title = r.Title, r.Title
		}
		for i := range c.Engines[1:] {
			row = append(row, c.mark(r, i+1), c.Word(r.Results[i+1]))
		}
		rows = append(rows, row)
	}
	return rows
}

// NoisyMark marks figures that have noisy samples.
const NoisyMark = "!"

// mark writes the figure of an engine, marked if it is noisy.
func (c *Contest) mark(r Round, engine int) string {
	text := c.show(r.Medians[engine])
	if r.Noisy[engine] {
		text += NoisyMark
	}
	return text
}

// show writes a figure.
func (c *Contest) show(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case strings.HasSuffix(c.Unit, "-ns"):
		return nanoseconds(v)
	}
	return brief.Number(v)
}

var opposite = map[string]string{"more": "less", "less": "more"}

// Word says how a result came out, such as "1.5 x more": "~" if it is not decided.
func (c *Contest) Word(r Result) string {
	switch {
	case r.Factor == 0:
		return ""
	case !r.Decided:
		return "~"
	case r.Factor >= 1:
		return fmt.Sprintf("%s x %s", brief.Number(r.Factor), c.Better)
	}
	return fmt.Sprintf("%s x %s", brief.Number(1/r.Factor), opposite[c.Better])
}

// An Outcomes says in words where an engine did better and where worse than another.
type Outcomes struct {
	Engine, Other string
	Better, Worse []string // a line for each unit
	Open          int      // how many figures do not tell the two apart
}

// Decided returns what contests have decided about the first engine and each of the others.
func Decided(contests []Contest) []Outcomes {
	var list []Outcomes
	for e := 1; len(contests) > 0 && e < len(contests[0].Engines); e++ {
		o := Outcomes{Engine: contests[0].Engines[0], Other: contests[0].Engines[e]}
		for i := range contests {
			c := &contests[i]
			head := strings.TrimSuffix(c.Unit, "-ns") + ": "
			if won := c.spans(e, true); len(won) > 0 {
				o.Better = append(o.Better, head+strings.Join(won, "; "))
			}
			if lost := c.spans(e, false); len(lost) > 0 {
				o.Worse = append(o.Worse, head+strings.Join(lost, "; "))
			}
			for _, r := range c.Rounds {
				if r.Results[e].Factor > 0 && !r.Results[e].Decided {
					o.Open++
				}
			}
		}
		list = append(list, o)
	}
	return list
}

// spans names the rounds that the first engine won, or lost, workload by workload, and by how much.
func (c *Contest) spans(engine int, won bool) []string {
	type span struct {
		title    string
		threads  []string
		from, to float64
	}
	var list []span
	for _, r := range c.Rounds {
		res := r.Results[engine]
		if !res.Decided || (res.Factor >= 1) != won {
			continue
		}
		f := max(res.Factor, 1/res.Factor)
		if n := len(list); n == 0 || list[n-1].title != r.Title {
			list = append(list, span{title: r.Title, from: f, to: f})
		}
		s := &list[len(list)-1]
		s.threads = append(s.threads, fmt.Sprint(r.Threads))
		s.from, s.to = min(s.from, f), max(s.to, f)
	}
	word := c.Better
	if !won {
		word = opposite[word]
	}
	var texts []string
	for _, s := range list {
		by := brief.Number(s.from)
		if by != brief.Number(s.to) {
			by += " to " + brief.Number(s.to)
		}
		noun := "threads"
		if len(s.threads) == 1 && s.threads[0] == "1" {
			noun = "thread"
		}
		texts = append(texts, fmt.Sprintf("%s with %s %s, %s x %s", s.title, strings.Join(s.threads,
			", "), noun, by, word))
	}
	return texts
}
