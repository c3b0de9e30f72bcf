package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/bench/bars"
	"github.com/mvccmap/mvccmap/internal/results"
)

// plan says what to measure and for how long.
type plan struct {
	count                int
	each                 time.Duration
	memoryKeys, scanKeys int
	run                  *regexp.Regexp
	profile              string // file for a CPU profile, or empty

	cpuShare float64 // how much of the CPUs there is to be had, if it is known
	cpuKnown bool
}

// figure is what one measurement of a side found.
type figure struct {
	value  float64 // nanoseconds of an operation, or bytes of a key
	allocs float64 // of an operation
}

// outcome is a measured row.
type outcome struct {
	row        bars.Row
	ours, base float64 // medians
	ratio      float64 // ours to base, or of the speeds
	low, high  float64 // the smallest and largest ratio of two measurements that followed each other
	allocs     float64
}

// report measures the rows one after the other and prints them to out; what is
// going on goes to log.
func (p plan) report(rows []bars.Row, out, log io.Writer) error {
	fmt.Fprintf(out, "Performance bars: %d x %v of each side, alternated, medians; %s %s/%s, GOMAXPROCS %d\n",
		p.count, p.each, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	if p.cpuKnown {
		fmt.Fprintf(out, "The process could have %.0f %% of its CPUs.\n", 100*p.cpuShare)
	}
	if p.cpuKnown && p.cpuShare < 0.9 {
		fmt.Fprintln(out, "Other programs are busy on this machine: the figures are not to be relied on.")
	}
	var done []outcome
	all := func() (err error) {
		done, err = p.measureAll(rows, log)
		return err
	}
	var err error
	if p.profile == "" {
		err = all()
	} else {
		err = profiled(p.profile, all)
	}
	if err != nil {
		return err
	}
	printTable(out, done, p)
	if p.profile == "" {
		return nil
	}
	return explain(out, p.profile, done)
}

// measureAll measures the rows that were asked for.
func (p plan) measureAll(rows []bars.Row, log io.Writer) (done []outcome, err error) {
	for _, row := range rows {
		if p.run != nil && !p.run.MatchString(row.Name()) {
			continue
		}
		fmt.Fprintf(log, "measuring %s, %s against %s\n", row.Name(), row.Ours.Name, row.Base.Name)
		o, err := p.measure(row)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", row.Name(), err)
		}
		done = append(done, o)
	}
	return done, nil
}

// measure measures the sides of a row in turn.
func (p plan) measure(row bars.Row) (outcome, error) {
	count := p.count
	if row.Kind == bars.Memory {
		count = min(count, 3) // what is weighed hardly differs
	}
	sides := []bars.Side{row.Ours, row.Base}
	figures := make([][]figure, len(sides))
	ops := make([]int, len(sides))
	for i := range count {
		for j := range sides {
			if i%2 == 1 { // neither side is always the first
				j = len(sides) - 1 - j
			}
			f, err := p.once(row, sides[j], &ops[j])
			if err != nil {
				return outcome{}, fmt.Errorf("%s: %w", sides[j].Name, err)
			}
			figures[j] = append(figures[j], f)
		}
	}
	values := func(side int) (v []float64) {
		for _, f := range figures[side] {
			v = append(v, f.value)
		}
		return v
	}
	ours, base := values(0), values(1)
	o := outcome{row: row, ours: results.Median(ours), base: results.Median(base), low: math.Inf(1)}
	ratio := func(ours, base float64) float64 {
		if row.Kind == bars.Speed {
			return base / ours // times, so the other way round
		}
		return ours / base
	}
	o.ratio = ratio(o.ours, o.base)
	for i := range ours {
		r := ratio(ours[i], base[i])
		o.low, o.high = min(o.low, r), max(o.high, r)
	}
	var allocs []float64
	for _, f := range figures[0] {
		allocs = append(allocs, f.allocs)
	}
	o.allocs = results.Median(allocs)
	return o, nil
}

// once opens a side of a row, lets it run for about p.each, and closes it. ops is the
// number of operations that took, 0 if it is still to be found out.
func (p plan) once(row bars.Row, side bars.Side, ops *int) (f figure, err error) {
	r, err := side.Open()
	if err != nil {
		return f, err
	}
	defer func() {
		if e := r.Close(); err == nil {
			err = e
		}
	}()
	if w, ok := r.(bars.Weigher); ok {
		_, err = r.Run(context.Background(), 1)
		return figure{value: w.Bytes()}, err
	}
	if *ops == 0 {
		if *ops, err = p.calibrate(r); err != nil {
			return f, err
		}
	} else if _, err := r.Run(context.Background(), max(*ops/10, 1)); err != nil { // warm up
		return f, err
	}
	var m0, m1 runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m0)
	took, err := labelled(row, side, r, *ops)
	runtime.ReadMemStats(&m1)
	n := float64(*ops)
	return figure{value: float64(took) / n, allocs: float64(m1.Mallocs-m0.Mallocs) / n}, err
}

// calibrate returns a number of operations that takes about p.each. It comes
// nearer step by step, because some of the time may not depend on the number:
// a thousand goroutines have to be started first.
func (p plan) calibrate(r bars.Runner) (int, error) {
	for n := 1; ; {
		took, err := r.Run(context.Background(), n)
		if err != nil {
			return 0, err
		}
		if took >= p.each*7/10 || n > 1<<29 {
			return n, nil
		}
		n = max(2*n, int(float64(n)*min(float64(p.each)/float64(max(took, 1)), 100)))
	}
}

// allocsMet reports whether an operation of ours allocates no more than it may.
// The slack is for what the runtime allocates meanwhile.
func (o outcome) allocsMet() bool {
	return o.row.MaxAllocs < 0 || o.allocs <= o.row.MaxAllocs+0.05
}

// verdict says in a word whether the bar holds and the aim is reached.
func (o outcome) verdict() string {
	switch {
	case !o.row.Kind.Met(o.ratio, o.row.Bar):
		return "missed"
	case !o.allocsMet():
		return "missed (allocs)"
	case o.row.Kind.Met(o.ratio, o.row.Aim):
		return "met, aim too"
	}
	return "met"
}

func printTable(w io.Writer, done []outcome, p plan) {
	rows := [][]string{{"row", "ours", "", "against", "", "ratio", "from-to", "allocs", "bar", "aim", "verdict"}}
	missed := 0
	for _, o := range done {
		allocs := "-"
		if o.row.MaxAllocs >= 0 {
			allocs = fmt.Sprintf("%.2f ≤ %g", o.allocs, o.row.MaxAllocs)
		}
		verdict := o.verdict()
		if strings.HasPrefix(verdict, "missed") {
			missed++
		}
		rows = append(rows, []string{
			o.row.Name(), o.row.Ours.Name, amount(o.row.Kind, o.ours), o.row.Base.Name, amount(o.row.Kind, o.base),
			fmt.Sprintf("%.2f x", o.ratio), fmt.Sprintf("%.2f-%.2f", o.low, o.high), allocs,
			fmt.Sprintf("%s %g", o.row.Kind.Sign(), o.row.Bar), fmt.Sprintf("%s %g", o.row.Kind.Sign(), o.row.Aim), verdict,
		})
	}
	fmt.Fprintln(w)
	names := func(column int) bool { return column <= 1 || column == 3 || column == 10 }
	_ = results.WriteTable(w, rows, names)
	fmt.Fprintf(w, "\n%d rows: %d bars met, %d missed.\n", len(done), len(done)-missed, missed)
	fmt.Fprintln(w, "The ratio is of the medians; from-to is the range over pairs of measurements that followed each other.")
	fmt.Fprintf(w, "≤: the time or the bytes of ours may be at most so many times the other's; ≥: its speed must be at least so many times the other's.\n")
	if p.memoryKeys != 10_000_000 {
		fmt.Fprintf(w, "Maps were weighed with %d keys; the bars are meant for 10000000 (-keys).\n", p.memoryKeys)
	}
}

// amount writes a median with its unit.
func amount(k bars.Kind, v float64) string {
	switch {
	case k == bars.Memory:
		return fmt.Sprintf("%.0f B", v)
	case v >= 1e6:
		return fmt.Sprintf("%.1f ms", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.1f µs", v/1e3)
	case v >= 100:
		return fmt.Sprintf("%.0f ns", v)
	}
	return fmt.Sprintf("%.1f ns", v)
}
