package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/internal/results"
)

// allocsMet reports whether an operation of ours allocates no more than it may.
// The slack is for what the runtime allocates meanwhile.
func (o outcome) allocsMet() bool {
	return o.row.maxAllocs < 0 || o.allocs <= o.row.maxAllocs+0.05
}

// verdict says in a word whether the bar holds and the aim is reached.
func (o outcome) verdict() string {
	switch {
	case !o.row.kind.met(o.ratio, o.row.bar):
		return "missed"
	case !o.allocsMet():
		return "missed (allocs)"
	case o.row.kind.met(o.ratio, o.row.aim):
		return "met, aim too"
	}
	return "met"
}

func printTable(w io.Writer, done []outcome, p plan) {
	rows := [][]string{{"row", "ours", "", "against", "", "ratio", "from-to", "allocs", "bar",
		"aim", "verdict"}}
	missed := 0
	for _, o := range done {
		allocs := "-"
		if o.row.maxAllocs >= 0 {
			allocs = fmt.Sprintf("%.2f ≤ %g", o.allocs, o.row.maxAllocs)
		}
		verdict := o.verdict()
		if strings.HasPrefix(verdict, "missed") {
			missed++
		}
		rows = append(rows, []string{
			o.row.name, o.row.ours.name, amount(o.row.kind, o.ours), o.row.base.name,
			amount(o.row.kind, o.base),
			brief.Number(o.ratio) + " x", fmt.Sprintf("%.2f-%.2f", o.low, o.high), allocs,
			fmt.Sprintf("%s %g", o.row.kind.sign(), o.row.bar), fmt.Sprintf("%s %g", o.row.kind.sign(),
				o.row.aim), verdict,
		})
	}
	fmt.Fprintln(w)
	names := func(column int) bool { return column <= 1 || column == 3 || column == 10 }
	_ = results.Plain.Write(w, rows, names)
	fmt.Fprintf(w, "\n%d rows: %d bars met, %d missed.\n", len(done), len(done)-missed, missed)
	fmt.Fprintln(w, "The ratio is of the medians; from-to is the range over pairs of measurements "+
		"that followed each other.")
	fmt.Fprintf(w, "≤: the time or the bytes of ours may be at most so many times the other's; ≥: "+
		"its speed must be at least so many times the other's.\n")
	if p.sizes.weighs != 10_000_000 {
		fmt.Fprintf(w, "Maps were weighed with %d keys; the bars are meant for 10000000 (-keys).\n",
			p.sizes.weighs)
	}
}

// amount writes a median with its unit.
func amount(k kind, v float64) string {
	switch {
	case k == memory:
		return brief.Bytes(int64(math.Round(v)))
	case v < 99.95:
		return fmt.Sprintf("%.1f ns", v)
	}
	return brief.Time(time.Duration(math.Round(v)))
}
