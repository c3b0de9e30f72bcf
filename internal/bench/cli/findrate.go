package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/humanize"
	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// A tried is the result of a try at a rate.
type tried int

// The results of a try. Nothing is known of a rate that is too low for the figures.
const (
	kept tried = iota
	notKept
	notKnown
)

// A rateSearch looks for the highest rate at which limits are kept.
type rateSearch struct {
	apart   float64 // the ratio of two rates that are next to each other
	try     func(rate float64) (tried, error)
	confirm func(rate float64) (tried, error)
}

// rateStep ends a search: the next rate that does not do is at most so many times the one found.
const rateStep = 1.05

// steps bounds the tries of each part of a search.
const steps = 40

// find returns low, the highest rate found that was kept, and high, the lowest that was not kept;
// each is 0 if there is none. A rate is ruled out only if it is not kept in two tries in a row: the
// machine may spoil one. The error wraps errCannotTell if samples told too little to find a rate.
func (s rateSearch) find(start float64) (low, high float64, err error) {
	rate := round3(start)
	for range steps {
		got, err := s.try(rate)
		if err == nil && got == notKept {
			got, err = s.try(rate)
		}
		switch {
		case err != nil:
			return 0, high, err
		case got == notKnown:
			return 0, high, errCannotTell
		case got == kept:
			low = rate
		default:
			high = rate
		}
		switch {
		case low == 0:
			rate = high / 2
		case high == 0:
			rate = min(low*2, bench.MaxRate)
		default:
			rate = math.Sqrt(low * high)
		}
		rate = round3(rate)
		if rate < 1 || rate == low || rate == high || low > 0 && high > 0 && high/low <= s.apart {
			break
		}
	}
	for range steps {
		if low < 1 {
			break
		}
		got, err := s.confirm(low)
		switch {
		case err != nil || got == kept:
			return low, high, err
		case got == notKnown:
			return 0, high, errCannotTell
		}
		high, low = low, round3(low/s.apart)
	}
	return 0, high, nil
}

// round3 rounds to three significant digits.
func round3(v float64) float64 {
	if v <= 0 {
		return 0
	}
	// By its digits: a product of powers of ten has more of them, as 36.800000000000004.
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		panic(err) // it is a number
	}
	return rounded
}

// guess is how many tries a search takes, for the progress.
const guess = 14

// findRates searches for the rate of each combination.
func (r *runner) findRates() error {
	one := r.sweep
	one.Rates = []float64{1}
	list, _ := one.Combinations()
	each := guess + r.sweep.Count
	t := &tries{runner: r, of: each * len(list)}
	var missed, open []string
	for i, step := range list {
		t.index = i * each
		found, err := t.find(step.Config)
		switch {
		case errors.Is(err, errCannotTell):
			open = append(open, found.Of)
		case err != nil:
			return err
		case found.Rate == 0:
			missed = append(missed, found.Of)
		}
		r.out.found(found)
		r.progress.note("%s", found)
	}
	switch {
	case len(missed) > 0:
		return fmt.Errorf("--find-rate: %w: no rate found of %s", errMissed, strings.Join(missed, ", "))
	case len(open) > 0:
		return fmt.Errorf("--find-rate: %w of %s", errCannotTell, strings.Join(open, ", "))
	}
	return nil
}

// tries makes the tries of a run; it is the observer of each try.
type tries struct {
	*runner
	index, of int // samples
	config    bench.Config
	silent    bool // the sample is no result
	last      bench.Measurement
	taken     []results.Sample
}

// Start implements [bench.Observer].
func (t *tries) Start(step bench.Step, _ *bench.Step) {
	step = t.place(step)
	next := step // whichever it is: it depends on this one
	next.Config.Sample++
	t.runner.Start(step, &next)
}

// Running implements [bench.Observer].
func (t *tries) Running(step bench.Step, trial *bench.Trial) {
	if t.silent {
		for _, o := range t.observers {
			o.Running(t.place(step), trial)
		}
		return
	}
	t.runner.Running(t.place(step), trial)
}

// Done implements [bench.Observer].
func (t *tries) Done(step bench.Step, m bench.Measurement) error {
	t.last = m
	if t.silent {
		for _, o := range t.observers {
			if err := o.Done(t.place(step), m); err != nil {
				return err
			}
		}
		return nil
	}
	before := len(t.out.run.Samples)
	err := t.runner.Done(t.place(step), m)
	t.taken = append(t.taken, t.out.run.Samples[before:]...)
	return err
}

// place says which of all samples a step is.
func (t *tries) place(step bench.Step) bench.Step {
	step.Index, step.Of = t.index, max(t.of, t.index+1)
	step.Config.Sample = t.index
	return step
}

// sample takes samples of the combination at a rate, and returns them.
func (t *tries) sample(rate float64, n int) ([]results.Sample, error) {
	t.taken = nil
	for range n {
		if err := t.env.ctx.Err(); err != nil {
			return nil, context.Cause(t.env.ctx)
		}
		s, c := t.sweep, t.config
		s.Workloads, s.Engines, s.Threads = []bench.Workload{c.Workload}, []bench.EngineSpec{c.Engine},
			[]int{c.Threads}
		s.Isolations = []bench.Isolation{c.Isolation}
		s.Rates, s.Count = []float64{rate}, 1
		s.Seed += uint64(t.index)
		if err := s.Run(t.env.ctx, t); err != nil {
			return nil, err
		}
		t.index++
	}
	return t.taken, nil
}

// find searches for the rate of a combination.
func (t *tries) find(c bench.Config) (results.FoundRate, error) {
	t.config = c
	c.Rate = 0
	f := results.FoundRate{Of: c.Name(), Limits: namesOf(t.finding, results.Limit.String)}
	t.silent = true
	_, err := t.sample(0, 1)
	t.silent = false
	if err != nil {
		return f, err
	}
	search := rateSearch{
		apart: rateStep,
		try:   func(rate float64) (tried, error) { return t.try(&f, rate, 1) },
		confirm: func(rate float64) (tried, error) {
			f.Samples = t.sweep.Count
			return t.try(&f, rate, f.Samples)
		},
	}
	f.Rate, f.Above, err = search.find(max(t.last.OpsPerSecond()*startShare, 1))
	if f.Rate == 0 && (err == nil || errors.Is(err, errCannotTell)) {
		last := f.Tries[len(f.Tries)-1]
		f.Samples, f.Why = 0, fmt.Sprintf("at %s a second: %s", humanize.Number(last.Rate), last.What)
	}
	return f, err
}

// startShare is the share of the rate of a closed loop that is tried first.
const startShare = 0.7

// try says whether the limits are kept at a rate, by the median of n samples.
func (t *tries) try(f *results.FoundRate, rate float64, n int) (tried, error) {
	samples, err := t.sample(rate, n)
	if err != nil {
		return notKept, err
	}
	cell := &results.Cell{}
	for i := range samples {
		cell.Samples = append(cell.Samples, &samples[i])
	}
	got, what := notKept, "no operation was due" // lower rates are no rates of such samples
	if len(samples) > 0 {
		checks := cell.Check(t.finding)
		got = kept
		var texts []string
		for _, k := range checks {
			text := k.Unit + " " + k.Show(k.Median)
			switch {
			case !k.Known:
				text = "too few operations for " + k.Unit + ", which takes a longer --duration"
				got = max(got, notKnown)
			case !k.Kept:
				got = max(got, notKept)
			}
			texts = append(texts, text)
		}
		if slices.ContainsFunc(checks, func(k results.Check) bool { return k.Known && !k.Kept }) {
			got = notKept // whatever else is not known
		}
		what = strings.Join(texts, ", ")
	}
	word := map[tried]string{kept: "kept", notKept: "missed", notKnown: "cannot tell"}[got]
	this := results.RateTry{Rate: rate, Kept: got == kept, What: what}
	f.Tries = append(f.Tries, this)
	of := ""
	if n > 1 {
		of = fmt.Sprintf(", median of %d samples", n)
	}
	t.progress.note("try %d: %s operations per second%s: %s: %s", len(f.Tries), humanize.Number(rate), of,
		word, what)
	return got, nil
}

// limitFlags are the limits of a run.
type limitFlags struct {
	Threshold []string `help:"Exit with 5 unless the median of each combination keeps these limits, such as 'response-p99<1ms,achieved>=99'. The figures are those of \"list\", whose unit at the end may be left out; times are 1ms, other values numbers such as 1.5M." placeholder:"LIMIT" group:"Limits"`
	FindRate  []string `help:"Search for the highest rate at which these limits are kept, such as 'response-p99<1ms', and all that is due is begun (achieved>=99): for each combination, from what it does in a closed loop, up or down until there is a rate that does and one that does not, and then between them. The rate found is confirmed by --count samples, whose median must keep the limits, or a lower one is taken. Exit with 5 if there is none, with 4 if that cannot be told." placeholder:"LIMIT" xor:"load" group:"Limits"`
}

// errMissed is wrapped by the errors that say that a limit was not kept.
var errMissed = errors.New("missed")

// limits reads the limits of a flag. Some need operations at a given rate, which paced says.
func limits(flag string, texts []string, paced bool) ([]results.Limit, error) {
	var list []results.Limit
	for _, text := range texts {
		l, err := results.ParseLimit(text, parseNumber)
		if err != nil {
			return nil, usagef("%s: %w", flag, err)
		}
		if l.Paced() && !paced {
			return nil, usagef("%s: %s is measured at a given rate only; expected --rate or "+
				"--find-rate with it", flag, l.Unit)
		}
		list = append(list, l)
	}
	return list, nil
}

// judge says which limits a run that is over has missed, and returns an error if it has.
func (r *runner) judge(cells []*results.Cell) error {
	missed, open, all := 0, 0, 0
	for _, cell := range cells {
		for _, check := range cell.Check(r.thresholds) {
			all++
			switch {
			case !check.Known:
				open++
			case !check.Kept:
				missed++
			default:
				continue
			}
			fmt.Fprintf(r.env.stderr, "threshold: %s\n", check)
		}
	}
	switch {
	case missed > 0:
		return fmt.Errorf("thresholds: %w: %d of %d", errMissed, missed, all)
	case open > 0:
		return fmt.Errorf("thresholds: %w: %d of %d", errCannotTell, open, all)
	}
	if all > 0 && !r.cmd.Quiet {
		fmt.Fprintf(r.env.stderr, "thresholds: all kept: %s\n", strings.Join(namesOf(r.thresholds,
			results.Limit.String), ", "))
	}
	return nil
}
