package profiling

import "time"

// A Workload is what a program says of the work that it does at present, for
// the dashboard. All fields are optional: a service fills in Ops and Latency, a
// program that measures one thing after the other also says how far it is.
type Workload struct {
	// Name says what runs now. It heads the dashboard and labels captures,
	// unless [Service.SetPhase] or [Config.Phase] say something else. Next is
	// what comes then.
	Name, Next string

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

// Latency has percentiles of durations. Those that are not known, such as for
// want of operations, are zero.
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

// last returns t with its last n rows.
func (t Table) last(n int) Table {
	if len(t.Rows) > n {
		t.Rows = t.Rows[len(t.Rows)-n:]
	}
	return t
}
