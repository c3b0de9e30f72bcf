package bench

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Stage is a part of an open loop in which the rate changes evenly, or not at all.
type Stage struct {
	For      time.Duration
	From, To float64 // operations per second, by all goroutines together
}

// Stages follow each other. After the last one the rate stays as it is.
type Stages []Stage

// String returns s as it is given on the command line, as in "10s:1000,30s:1000-10000".
func (s Stages) String() string {
	var parts []string
	for _, g := range s {
		text := g.For.String() + ":" + rateText(g.From)
		if g.To != g.From {
			text += "-" + rateText(g.To)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ",")
}

func rateText(rate float64) string { return strconv.FormatFloat(rate, 'f', -1, 64) }

// Duration returns how long all stages take.
func (s Stages) Duration() (d time.Duration) {
	for _, g := range s {
		d += g.For
	}
	return d
}

// Ops returns how many operations come in all stages.
func (s Stages) Ops() (n float64) {
	for _, g := range s {
		n += g.ops(g.For)
	}
	return n
}

// Rate returns the mean rate.
func (s Stages) Rate() float64 { return s.Ops() / s.Duration().Seconds() }

// validate returns an error if s is not empty and makes no sense.
func (s Stages) validate() error {
	for _, g := range s {
		ok := func(rate float64) bool { return rate >= 0 && rate <= MaxRate }
		if g.For <= 0 || !ok(g.From) || !ok(g.To) {
			return fmt.Errorf("bench: expected stages of a time above 0 and from 0 to %.0f operations per "+
				"second, not %v", MaxRate, Stages{g})
		}
	}
	if len(s) > 0 && s.Ops() < 1 {
		return fmt.Errorf("bench: less than one operation in all stages")
	}
	return nil
}

// ops returns how many operations come in the first d of a stage.
func (g Stage) ops(d time.Duration) float64 {
	t := d.Seconds()
	return g.From*t + (g.To-g.From)*t*t/(2*g.For.Seconds())
}

// at returns when n operations have come, after the stage began.
func (g Stage) at(n float64) time.Duration {
	slope := (g.To - g.From) / g.For.Seconds()
	root := math.Sqrt(max(0, g.From*g.From+2*slope*n)) // the rate by then
	if g.From+root == 0 {
		return 0
	}
	return time.Duration(2 * n / (g.From + root) * 1e9)
}

// A clockwork says when the operations of stages are due.
type clockwork struct {
	stages Stages
	stage  int           // the one that was asked about last
	begun  time.Duration // when that begins
	before float64       // operations before it
}

// at returns when n operations have come, after the run began. n must not fall from call to call.
func (c *clockwork) at(n float64) time.Duration {
	for c.stage < len(c.stages) {
		g := c.stages[c.stage]
		all := g.ops(g.For)
		if n-c.before <= all && all > 0 {
			return c.begun + g.at(n-c.before)
		}
		c.before += all
		c.begun += g.For
		c.stage++
	}
	last := c.stages[len(c.stages)-1].To
	if last == 0 {
		return never
	}
	return c.begun + time.Duration((n-c.before)/last*1e9)
}

// never is later than any run.
const never = time.Duration(math.MaxInt64 / 4)

// due returns how many operations have come by t.
func (s Stages) due(t time.Duration) (n float64) {
	for _, g := range s {
		if t <= g.For {
			return n + g.ops(max(t, 0))
		}
		n += g.ops(g.For)
		t -= g.For
	}
	return n + s[len(s)-1].To*t.Seconds()
}
