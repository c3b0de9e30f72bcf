package profiling

import (
	"math"
	"time"

	"github.com/mvccmap/mvccmap/profiling/internal/charts"
)

// A Workload is what a program says of the work that it does at present, for
// the dashboard. All fields are optional: a service fills in Ops and Latency, a
// program that measures one thing after the other also says how far it is.
type Workload struct {
	// Name says what runs now. It heads the dashboard and labels captures,
	// unless [Service.SetPhase] or [Config.Phase] say something else. If
	// steps are counted it heads the dashboard in any case, so that it fits
	// what is said of them. Next is what comes after it.
	Name, Next string

	// Ended says that nothing comes any more: the last state stays on show.
	Ended bool

	// Done of Of steps have ended, and Left is how long the rest will take;
	// zero if that is not known.
	Done, Of int
	Left     time.Duration

	// Ops, Aborts and Errors count operations since some start: those that
	// succeeded, attempts that did not commit and were made again or given
	// up, and failures. The charts show their growth per second; after a
	// count that fell, they begin anew.
	Ops, Aborts, Errors uint64

	// Latency is of the operations that ended since the previous call.
	Latency Latency

	// Results has the results so far, the newest last; at most the last
	// 50 rows are shown.
	Results Table
}

// Latency has percentiles of durations. One that is not known, such as for want
// of operations, is zero.
type Latency struct {
	P50, P90, P99, P999, P9999, Max time.Duration
}

// A Table has as many cells in each row as it has columns.
type Table struct {
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// shownResults bounds the rows of results that are shown.
const shownResults = 50

// workloadCharts returns the charts of a workload.
func workloadCharts(s *charts.Source[Workload]) charts.Group {
	rate := func(name string, of func(Workload) uint64) charts.Series {
		return s.Rate(name, func(w Workload) float64 { return float64(of(w)) })
	}
	latency := func(name string, of func(Latency) time.Duration) charts.Series {
		return s.Gauge(name, func(w Workload) float64 {
			if d := of(w.Latency); d > 0 {
				return d.Seconds()
			}
			return math.NaN()
		}).Peak()
	}
	return charts.Group{Title: "Workload", Source: s, Charts: []charts.Chart{
		{Title: "Throughput", About: "operations that succeeded", Unit: charts.PerSecond,
			Series: []charts.Series{rate("ops", func(w Workload) uint64 { return w.Ops })}},
		{Title: "Latency", About: "of the operations of each second", Unit: charts.Seconds,
			Scale: charts.Logarithmic, Series: []charts.Series{
				latency("p50", func(l Latency) time.Duration { return l.P50 }),
				latency("p90", func(l Latency) time.Duration { return l.P90 }),
				latency("p99", func(l Latency) time.Duration { return l.P99 }),
				latency("p99.9", func(l Latency) time.Duration { return l.P999 }),
				latency("p99.99", func(l Latency) time.Duration { return l.P9999 }),
				latency("max", func(l Latency) time.Duration { return l.Max }),
			}},
		{Title: "Aborted attempts",
			About: "attempts that did not commit, and operations that failed",
			Unit:  charts.PerSecond, Series: []charts.Series{
				rate("aborts", func(w Workload) uint64 { return w.Aborts }),
				rate("errors", func(w Workload) uint64 { return w.Errors }),
			}},
	}}
}
