package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/internal/results"
)

// plan says what to measure and for how long.
type plan struct {
	count   int
	each    time.Duration
	sizes   sizes
	run     *regexp.Regexp
	profile string // file for a CPU profile, or empty

	cpuShare float64 // how much of the CPUs there is to be had, if it is known
	cpuKnown bool

	// once measures a side of a row; for tests.
	once func(row row, side side) (figure, error)
}

// figure is what one measurement of a side found.
type figure struct {
	value  float64 // nanoseconds of an operation, or bytes of a key
	allocs float64 // of an operation
}

// outcome is a measured row.
type outcome struct {
	row        row
	ours, base float64 // medians
	ratio      float64 // ours to base, or of the speeds
	low, high  float64 // the smallest and largest ratio of two measurements that followed each other
	allocs     float64
}

// report measures the rows one after the other and prints them to out; what is
// going on goes to log.
func (p plan) report(rows []row, out, log io.Writer) error {
	fmt.Fprintf(out, "Performance bars: %d x %v of each side, alternated, medians; %s %s/%s, "+
		"GOMAXPROCS %d\n",
		p.count, p.each, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	if p.cpuKnown {
		fmt.Fprintf(out, "The process could have %s of its CPUs.\n", brief.Percent(p.cpuShare))
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
	return nil
}

// profiled runs fn under the CPU profiler, with the profile written to the file
// name.
func profiled(name string, fn func() error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return err
	}
	err = fn()
	pprof.StopCPUProfile()
	return cmp.Or(err, f.Close())
}

// measureAll measures the rows that were asked for.
func (p plan) measureAll(rows []row, log io.Writer) (done []outcome, err error) {
	for _, row := range rows {
		if p.run != nil && !p.run.MatchString(row.name) {
			continue
		}
		fmt.Fprintf(log, "measuring %s, %s against %s\n", row.name, row.ours.name, row.base.name)
		o, err := p.measure(row)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", row.name, err)
		}
		done = append(done, o)
	}
	return done, nil
}

// measure measures the sides of a row in turn.
func (p plan) measure(row row) (outcome, error) {
	count := p.count
	if row.kind == memory {
		count = min(count, 3) // what is weighed hardly differs
	}
	sides := [2]side{row.ours, row.base}
	var values [2][]float64
	var allocs []float64
	for i := range count {
		for j := range sides {
			if i%2 == 1 { // neither side is always the first
				j = 1 - j
			}
			f, err := p.once(row, sides[j])
			if err != nil {
				return outcome{}, fmt.Errorf("%s: %w", sides[j].name, err)
			}
			values[j] = append(values[j], f.value)
			if j == 0 {
				allocs = append(allocs, f.allocs)
			}
		}
	}
	ratio := func(ours, base float64) float64 {
		if row.kind == speed {
			return base / ours // times, so the other way round
		}
		return ours / base
	}
	ours, base := results.Median(values[0]), results.Median(values[1])
	o := outcome{
		row: row, ours: ours, base: base, ratio: ratio(ours, base),
		low: math.Inf(1), allocs: results.Median(allocs),
	}
	for i := range count {
		r := ratio(values[0][i], values[1][i])
		o.low, o.high = min(o.low, r), max(o.high, r)
	}
	return o, nil
}

// benchmark runs a side of a row as the Go benchmark that it is, for as long as the flag
// test.benchtime says.
func benchmark(row row, side side) (f figure, err error) {
	ctx := pprof.WithLabels(context.Background(), pprof.Labels("side", row.name+"/"+side.name))
	result := testing.Benchmark(func(b *testing.B) {
		if err = side.bench(ctx, b); err != nil {
			b.FailNow()
		}
	})
	value, ok := result.Extra[row.kind.unit()]
	if err == nil && !ok {
		err = errors.New("the benchmark failed")
	}
	return figure{value, result.Extra["allocs/op"]}, err
}
