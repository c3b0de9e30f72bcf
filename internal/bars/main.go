// Command bars measures where the transactional map stands against what it is
// built from and what it replaces, and prints one table: for each row the two
// sides, their ratio, the bar that must hold, the aim beyond it, and whether they
// are met. It is a report: a missed bar does not change the exit code.
//
// The two sides of a row take turns, and the medians are compared, so that a
// machine that grows slower or faster meanwhile is equally unfair to both.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/mvccmap/mvccmap/bench"
)

func main() {
	p := plan{count: 10, each: 100 * time.Millisecond, sizes: defaultSizes(), once: benchmark}
	var pattern string
	flags := flag.NewFlagSet("bars", flag.ExitOnError)
	flags.IntVar(&p.count, "count", p.count, "measurements of each side")
	flags.DurationVar(&p.each, "time", p.each, "length of a measurement")
	flags.IntVar(&p.sizes.weighs, "keys", p.sizes.weighs,
		"keys of the rows that weigh maps; the bars are meant for 10000000")
	flags.IntVar(&p.sizes.scan, "scankeys", p.sizes.scan, "keys of the rows that scan")
	flags.StringVar(&pattern, "run", "",
		"measure only the rows whose name matches this regular expression")
	flags.StringVar(&p.profile, "profile", "",
		"write a CPU profile to this `file`, labelled by row and side: look at one of them by\n"+
			"go tool pprof -tagfocus side=store/keys=10000/goroutines=1/mvcc FILE")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), "Usage: go run ./internal/bars [flags]\n\n"+
			"Measures the performance bars. Exit code 0 even if one is missed.\n\n")
		flags.PrintDefaults()
	}
	_ = flags.Parse(os.Args[1:]) // it exits
	if flags.NArg() > 0 || p.count < 1 || p.each <= 0 || p.sizes.weighs < 1 || p.sizes.scan < 1 {
		fmt.Fprintln(os.Stderr, "bars: expected only flags, with numbers above 0")
		flags.Usage()
		os.Exit(2)
	}
	var err error
	if p.run, err = regexp.Compile(pattern); err != nil {
		fmt.Fprintf(os.Stderr, "bars: -run: %v\n", err)
		os.Exit(2)
	}
	testing.Init()
	if err := flag.Set("test.benchtime", p.each.String()); err != nil {
		panic(err) // it is a duration
	}
	p.cpuShare, p.cpuKnown = bench.FreeCPU(100 * time.Millisecond)
	if err := p.report(rows(p.sizes), os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bars:", err)
		os.Exit(1)
	}
}
