// Command bars measures where the transactional map stands against what it is
// built from and what it replaces. It prints each measurement in the Go benchmark
// format, for benchstat -col /side, and at the end for each row the ratio of the
// medians, the bar that must hold, the aim beyond it, and whether they are met. It
// is a report: a missed bar does not change the exit code.
//
// The two sides of a row take turns, so that a machine that grows slower or faster
// meanwhile is equally unfair to both.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/internal/results"
)

func main() {
	n := defaultSizes()
	flags := flag.NewFlagSet("bars", flag.ExitOnError)
	count := flags.Int("count", 10, "measurements of each side")
	each := flags.Duration("time", 100*time.Millisecond, "length of a measurement")
	flags.IntVar(&n.weighs, "keys", n.weighs,
		"keys of the rows that weigh maps; the bars are meant for 10000000")
	pattern := flags.String("run", "", "measure only the rows whose name matches this expression")
	_ = flags.Parse(os.Args[1:]) // it exits
	run, err := regexp.Compile(*pattern)
	if err != nil {
		fmt.Fprintf(os.Stderr, "bars: -run: expected a regular expression: %v\n", err)
		os.Exit(2)
	}
	if flags.NArg() > 0 || min(*count, int(*each), n.weighs) < 1 {
		fmt.Fprintln(os.Stderr, "bars: expected only flags, with numbers above 0")
		os.Exit(2)
	}
	testing.Init()
	if err := flag.Set("test.benchtime", each.String()); err != nil {
		panic(err) // it is a duration
	}
	share, _ := bench.FreeCPU(100 * time.Millisecond)
	fmt.Printf("# %d x %v of each side in turns, %s %s/%s; the process could have %s of its CPUs\n",
		*count, *each, runtime.Version(), runtime.GOOS, runtime.GOARCH, brief.Percent(share))
	if err := report(os.Stdout, rows(n), run, *count, benchmark); err != nil {
		fmt.Fprintln(os.Stderr, "bars:", err)
		os.Exit(1)
	}
}

// report measures the rows whose names match, each side so many times by once, and says how they
// stand.
func report(w io.Writer, list []row, run *regexp.Regexp, count int,
	once func(row, side) (testing.BenchmarkResult, error),
) error {
	table := [][]string{{"# row", "ratio", "allocs", "bar", "aim", "verdict"}}
	missed := 0
	for _, row := range list {
		if !run.MatchString(row.name) {
			continue
		}
		var values [2][]float64
		var allocs []float64
		for i := range count {
			if row.kind == memory && i == 3 {
				break // what is weighed hardly differs
			}
			for j := range 2 {
				if i%2 == 1 { // neither side is always the first
					j = 1 - j
				}
				side := []side{row.ours, row.base}[j]
				r, err := once(row, side)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", row.name, side.name, err)
				}
				fmt.Fprintf(w, "BenchmarkBars/%s/side=%s-%d\t%s\n", row.name, side.name,
					runtime.GOMAXPROCS(0), r)
				values[j] = append(values[j], r.Extra[row.kind.unit()])
				if j == 0 {
					allocs = append(allocs, r.Extra["allocs/op"])
				}
			}
		}
		ratio, allocated := results.Median(values[0])/results.Median(values[1]), results.Median(allocs)
		if row.kind == speed {
			ratio = 1 / ratio // they are times
		}
		verdict := row.verdict(ratio, allocated)
		if strings.HasPrefix(verdict, "missed") {
			missed++
		}
		bound := fmt.Sprintf("%.2f ≤ %g", allocated, row.maxAllocs)
		if row.maxAllocs < 0 {
			bound = "-"
		}
		table = append(table, []string{"# " + row.name, brief.Number(ratio) + " x", bound,
			fmt.Sprintf("%s %g", row.kind.sign(), row.bar), fmt.Sprintf("%s %g", row.kind.sign(), row.aim),
			verdict})
	}
	_ = results.Plain.Write(w, table, func(column int) bool { return column == 0 || column == 5 })
	_, err := fmt.Fprintf(w, "# %d rows: %d bars met, %d missed. ≤: the time or the bytes of ours may "+
		"be at most so many times the other's; ≥: its speed must be at least that.\n",
		len(table)-1, len(table)-1-missed, missed)
	return err
}

// verdict says in a word whether the bar holds and the aim is reached. The slack is for what the
// runtime allocates meanwhile.
func (r row) verdict(ratio, allocs float64) string {
	switch {
	case !r.kind.met(ratio, r.bar):
		return "missed"
	case r.maxAllocs >= 0 && allocs > r.maxAllocs+0.05:
		return "missed (allocs)"
	case r.kind.met(ratio, r.aim):
		return "met, aim too"
	}
	return "met"
}

// benchmark runs a side of a row as the Go benchmark that it is, for as long as the flag
// test.benchtime says.
func benchmark(row row, side side) (result testing.BenchmarkResult, err error) {
	result = testing.Benchmark(func(b *testing.B) {
		if err = side.bench(row.labels(b.Context(), side), b); err != nil {
			b.FailNow()
		}
	})
	if _, ok := result.Extra[row.kind.unit()]; err == nil && !ok {
		err = errors.New("the benchmark failed")
	}
	return result, err
}

// labels returns ctx with the labels of a side in profiles.
func (r row) labels(ctx context.Context, side side) context.Context {
	return pprof.WithLabels(ctx, pprof.Labels("side", r.name+"/"+side.name))
}
