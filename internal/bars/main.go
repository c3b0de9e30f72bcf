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
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/bench/bars"
)

func main() {
	p := defaultPlan()
	var pattern string
	flag.IntVar(&p.count, "count", p.count, "measurements of each side")
	flag.DurationVar(&p.each, "time", p.each, "length of a measurement")
	flag.IntVar(&p.memoryKeys, "keys", p.memoryKeys, "keys of the rows that weigh maps; the bars are meant for 10000000")
	flag.IntVar(&p.scanKeys, "scankeys", p.scanKeys, "keys of the rows that scan")
	flag.StringVar(&pattern, "run", "", "measure only the rows whose name matches this regular expression")
	flag.StringVar(&p.profile, "profile", "", "write a CPU profile to this `file`, labelled by row and side, and say for each missed row where our side spent its time")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "Usage: go run ./internal/bars [flags]\n\nMeasures the performance bars. Exit code 0 even if one is missed.\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 || p.count < 1 || p.each <= 0 || p.memoryKeys < 1 || p.scanKeys < 1 {
		fmt.Fprintln(os.Stderr, "bars: expected only flags, with numbers above 0")
		flag.Usage()
		os.Exit(2)
	}
	var err error
	if p.run, err = regexp.Compile(pattern); err != nil {
		fmt.Fprintf(os.Stderr, "bars: -run: %v\n", err)
		os.Exit(2)
	}
	p.cpuShare, p.cpuKnown = bench.FreeCPU(100 * time.Millisecond)
	rows := bars.Rows(bars.Options{ScanKeys: p.scanKeys, MemoryKeys: p.memoryKeys})
	if err := p.report(rows, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bars:", err)
		os.Exit(1)
	}
}

func defaultPlan() plan {
	return plan{count: 10, each: 100 * time.Millisecond, memoryKeys: 1_000_000, scanKeys: 1_000_000}
}
