package profiling

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/profiling/internal/capture"
	"github.com/mvccmap/mvccmap/profiling/internal/charts"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
	"github.com/mvccmap/mvccmap/profiling/prom"
)

// dashboard shows the live charts; the page asks for their data itself.
func (s *Service) dashboard(w http.ResponseWriter, r *http.Request) error {
	base := "debug/pprof/"
	if strings.HasSuffix(r.URL.Path, "/live") {
		base = ""
	}
	return web.Page(w, http.StatusOK, "dashboard.html", s.frame("Dashboard", "live", base),
		web.Data{"Kinds": capture.Kinds(), "System": systemLine()})
}

// systemLine names the Go version and the system that the program runs on.
func systemLine() string {
	return fmt.Sprintf("%s %s/%s · GOMAXPROCS %d",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
}

// liveNow is the present state of the program.
type liveNow struct {
	Phase      string  `json:"phase"`
	PhaseAge   float64 `json:"phase_age_s,omitempty"`
	Next       string  `json:"next,omitempty"`
	Done       int     `json:"done"`
	Of         int     `json:"of"`
	Left       float64 `json:"left_s,omitempty"`
	Results    *Table  `json:"results,omitempty"`
	Operations []opNow `json:"operations,omitempty"`
	Captures   string  `json:"captures,omitempty"` // being taken
	Goroutines int     `json:"goroutines"`
}

// live answers with the rows after the one that the parameter "after" names,
// or with all rows and the description of the charts.
func (s *Service) live(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	after := 0
	if text := query.Get("after"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return web.Bad("after must be the number of a row, not %q", text)
		}
		after = n
	}
	a := s.sampler.Answer(after, query.Get("boot"))
	a.Now = s.liveNow()
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("the charts: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(text)
	return nil
}

// liveNow returns the present state of the program.
func (s *Service) liveNow() liveNow {
	ph, now := s.phase(), s.now()
	n := liveNow{
		Phase: ph.Label, Goroutines: runtime.NumGoroutine(),
		Next: now.Next, Done: now.Done, Of: now.Of, Left: now.Left.Seconds(),
	}
	if now.Of > 0 && now.Name != "" && now.Name != ph.Label {
		n.Phase = now.Name // of the same moment as the steps
	} else if !ph.Since.IsZero() {
		n.PhaseAge = time.Since(ph.Since).Seconds()
	}
	n.Operations = s.operations.now()
	if list := capture.Running(); len(list) > 0 {
		n.Captures = list[0]
	}
	if t := now.Results; len(t.Columns) > 0 && len(t.Rows) > 0 {
		t.Rows = t.Rows[max(len(t.Rows)-shownResults, 0):]
		n.Results = &t
	}
	return n
}

// A Workload is the report of a program on its present work, for the dashboard. All fields are
// optional: a service fills in Ops and Latency, a program that measures one thing after the other
// also says how far it is.
type Workload struct {
	// Name names the present work. It heads the dashboard and labels captures, unless
	// [Service.SetPhase] names another. If Of is set, Name heads the dashboard in any case, since
	// Done and Of are of that work. Next is the work after it.
	Name, Next string

	// Done of Of steps have ended, and Left is how long the other steps will take; zero if not
	// known.
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

// Latency has percentiles of durations. A percentile that is not known, such as for want of
// operations, is zero.
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
func workloadCharts(s *charts.Source) charts.Group {
	rate := func(name string, of func(Workload) uint64) charts.Series {
		return charts.Rate(s, name, func(w Workload) float64 { return float64(of(w)) })
	}
	latency := func(name string, of func(Latency) time.Duration) charts.Series {
		return charts.Gauge(s, name, func(w Workload) float64 {
			if d := of(w.Latency); d > 0 {
				return d.Seconds()
			}
			return math.NaN()
		})
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

// valueCharts returns the charts of the figures of values. It calls values once, to list them.
func valueCharts(name string, values func() []prom.Value) charts.Group {
	s := &charts.Source{Read: func() any { return values() }}
	g := charts.Group{Title: name, Source: s}
	for i, v := range values() {
		if v.Chart == "" {
			continue
		}
		at := slices.IndexFunc(g.Charts, func(c charts.Chart) bool { return c.Title == v.Chart })
		if at < 0 {
			at = len(g.Charts)
			g.Charts = append(g.Charts, charts.Chart{Title: v.Chart})
		}
		c := &g.Charts[at]
		of := func(all []prom.Value) float64 {
			if i >= len(all) {
				return math.NaN()
			}
			return all[i].Value
		}
		line := charts.Gauge[[]prom.Value]
		if strings.HasSuffix(v.Metric, "_total") {
			line, c.Unit = charts.Rate[[]prom.Value], charts.PerSecond
		}
		c.Series = append(c.Series, line(s, v.Name, of))
	}
	return g
}
