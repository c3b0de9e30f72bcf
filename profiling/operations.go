package profiling

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/hist"
	"github.com/mvccmap/mvccmap/profiling/internal/charts"
	"github.com/mvccmap/mvccmap/profiling/internal/flight"
	"github.com/mvccmap/mvccmap/profiling/prom"
)

const (
	// chartedOps is how many operations have charts.
	chartedOps = 8
	// opsStep is how often the figures of the table begin anew: those shown are of the last one to
	// two steps.
	opsStep = 10 * time.Second
)

// operations has the recent counts of a service's Ops. Its methods may be called from several
// goroutines.
type operations struct {
	slow *flight.Recording // has the Ops

	mu   sync.Mutex
	list []*opHistory // of the Ops that were counted, in the order of their first counts
	seen map[*flight.Op]*opHistory
}

// opCounts has the counts of an Op at some time.
type opCounts struct {
	at     time.Time
	all    *hist.Hist
	errors uint64
}

// since returns the gain of c over earlier counts, and the seconds between them.
func (c opCounts) since(old opCounts) (h *hist.Hist, errors uint64, seconds float64) {
	sum := *c.all
	sum.Sub(old.all)
	return &sum, c.errors - old.errors, c.at.Sub(old.at).Seconds()
}

// An opHistory has the counts of one Op that are needed.
type opHistory struct {
	op      *flight.Op
	charted bool
	cur     opCounts
	steps   []opCounts // at the beginnings of the last two steps, the older first

	// Of the last second, for the charts.
	second  *hist.Hist
	rate    float64
	errRate float64
}

// read takes new counts. It is called once a second.
func (o *operations) read() int {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, op := range o.slow.Ops() {
		all, errors, ok := op.Totals()
		if !ok {
			continue
		}
		cur := opCounts{now, all, errors}
		h := o.seen[op]
		if h == nil {
			if o.seen == nil {
				o.seen = map[*flight.Op]*opHistory{}
			}
			// The Op began after the last reading, with nothing.
			begun := opCounts{now.Add(-charts.Interval), new(hist.Hist), 0}
			h = &opHistory{op: op, cur: begun, steps: []opCounts{begun}}
			o.seen[op], o.list = h, append(o.list, h)
		}
		var seconds float64
		var failed uint64
		h.second, failed, seconds = cur.since(h.cur)
		h.rate = float64(h.second.Count()) / seconds
		h.errRate = float64(failed) / seconds
		h.cur = cur
		if now.Sub(h.steps[len(h.steps)-1].at) >= opsStep {
			h.steps = append(h.steps, cur)
			h.steps = h.steps[max(0, len(h.steps)-2):]
		}
	}
	return len(o.list)
}

// An opNow is a row of the dashboard's table.
type opNow struct {
	Name   string  `json:"name"`
	Rate   float64 `json:"rate"`   // per second
	Errors float64 `json:"errors"` // per second
	P50    float64 `json:"p50_s"`
	P99    float64 `json:"p99_s"`
	Max    float64 `json:"max_s"`
	Busy   float64 `json:"busy"` // seconds spent in such operations, per second
	Total  uint64  `json:"total"`
}

// now returns the figures of the operations of the last ten to twenty seconds, those that took most
// of the time first.
func (o *operations) now() []opNow {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []opNow
	for _, h := range o.list {
		late, failed, seconds := h.cur.since(h.steps[0])
		n := opNow{Name: h.op.Name(), Total: h.cur.all.Count()}
		if count := late.Count(); count > 0 && seconds > 0 {
			n.Rate, n.Errors = float64(count)/seconds, float64(failed)/seconds
			n.P50, n.P99 = inSeconds(late.Quantile(.5)), inSeconds(late.Quantile(.99))
			n.Max = inSeconds(late.Max())
			n.Busy = n.Rate * late.Mean() / 1e9
		}
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b opNow) int {
		return cmp.Or(cmp.Compare(b.Busy, a.Busy), cmp.Compare(a.Name, b.Name))
	})
	return list
}

func inSeconds(ns int64) float64 { return time.Duration(ns).Seconds() }

// more returns the charts of the operations that are new: those of an operation come once it is
// counted.
func (o *operations) more() (list []charts.Chart) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, h := range o.list[:min(len(o.list), chartedOps)] {
		if !h.charted {
			h.charted = true
			list = append(list, h.charts(&o.mu)...)
		}
	}
	return list
}

// charts returns the charts of one kind of operation. Their figures are under mu.
func (h *opHistory) charts(mu *sync.Mutex) []charts.Chart {
	line := func(name string, of func() float64) charts.Series {
		return charts.Series{Name: name, Value: func() float64 {
			mu.Lock()
			defer mu.Unlock()
			return of()
		}}
	}
	latency := func(name string, of func(*hist.Hist) int64) charts.Series {
		return line(name, func() float64 {
			if h.second.Count() == 0 {
				return math.NaN()
			}
			return inSeconds(of(h.second))
		})
	}
	name := h.op.Name()
	return []charts.Chart{
		{Title: name, About: "operations that ended, and those of them that failed",
			Unit: charts.PerSecond, Series: []charts.Series{
				line("operations", func() float64 { return h.rate }),
				line("errors", func() float64 { return h.errRate }),
			}},
		{Title: name + ", latency", About: "of the operations of each second", Unit: charts.Seconds,
			Scale: charts.Logarithmic, Series: []charts.Series{
				latency("p50", func(l *hist.Hist) int64 { return l.Quantile(.5) }),
				latency("p99", func(l *hist.Hist) int64 { return l.Quantile(.99) }),
				latency("max", func(l *hist.Hist) int64 { return l.Max() }),
			}},
	}
}

// exported returns the totals of all operations since the program began, for Prometheus.
func (o *operations) exported() (list []prom.Operation) {
	for _, op := range o.slow.Ops() {
		if all, errors, ok := op.Totals(); ok {
			list = append(list, prom.Operation{Name: op.Name(), Errors: errors, Latency: all})
		}
	}
	return list
}
