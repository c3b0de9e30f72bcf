package profiling

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A snapshot has everything that the charts are made from, as of one moment.
type snapshot struct {
	at       time.Time
	runtime  runtimeMetrics
	maps     []mvcc.Stats // in the order of the names
	workload *Workload    // nil if there is no source
}

// The units of charts, which the page knows how to write.
const (
	perSecond      = "/s"
	seconds        = "s"
	bytesUnit      = "B"
	bytesPerSecond = "B/s"
	percent        = "%"
	count          = ""
)

// A chart is one picture on the dashboard.
type chart struct {
	Title  string   `json:"title"`
	About  string   `json:"about"`
	Unit   string   `json:"unit"`
	Scale  scale    `json:"scale,omitempty"`
	Series []series `json:"series"`
}

// A scale is that of the values of a chart.
type scale string

const (
	fromZero    scale = ""
	logarithmic scale = "log"
	closeUp     scale = "close" // from the smallest value
)

// A series is one line of a chart. Its value is computed from two successive
// snapshots; NaN means that there is none, a gap in the line.
type series struct {
	Name  string `json:"name"`
	value func(prev, cur *snapshot) float64
}

// A group is a part of the dashboard under a heading of its own.
type group struct {
	Title  string  `json:"title"`
	Charts []chart `json:"charts"`
}

// gauge makes a value of one snapshot.
func gauge(of func(*snapshot) float64) func(prev, cur *snapshot) float64 {
	return func(_, cur *snapshot) float64 { return of(cur) }
}

// rate makes the growth per second of a counter, NaN after it fell.
func rate(of func(*snapshot) float64) func(prev, cur *snapshot) float64 {
	return func(prev, cur *snapshot) float64 {
		grown, dt := of(cur)-of(prev), cur.at.Sub(prev.at).Seconds()
		if !(grown >= 0) || dt <= 0 {
			return math.NaN()
		}
		return grown / dt
	}
}

// ratio makes the growth of one counter by that of another, times a factor;
// NaN if the other did not grow.
func ratio(of, by func(*snapshot) float64, factor float64) func(prev, cur *snapshot) float64 {
	return func(prev, cur *snapshot) float64 {
		a, b := of(cur)-of(prev), by(cur)-by(prev)
		if !(a >= 0) || !(b > 0) {
			return math.NaN()
		}
		return factor * a / b
	}
}

// groups returns the charts of a service with the given sources.
func groups(maps []string, workload bool) []group {
	var list []group
	if workload {
		list = append(list, group{"Workload", workloadCharts()})
	}
	for i, name := range maps {
		title := "Map"
		if name != "" {
			title += " " + name
		}
		list = append(list, group{title, mapCharts(i)})
	}
	return append(list, group{"Go runtime", runtimeCharts()})
}

func workloadCharts() []chart {
	counter := func(of func(*Workload) uint64) func(prev, cur *snapshot) float64 {
		return rate(func(s *snapshot) float64 { return float64(of(s.workload)) })
	}
	latency := func(of func(Latency) time.Duration) func(prev, cur *snapshot) float64 {
		return gauge(func(s *snapshot) float64 {
			if d := of(s.workload.Latency); d > 0 {
				return d.Seconds()
			}
			return math.NaN()
		})
	}
	return []chart{
		{"Throughput", "operations that succeeded", perSecond, fromZero, []series{
			{"ops", counter(func(w *Workload) uint64 { return w.Ops })},
		}},
		{"Latency", "of the operations of each second", seconds, logarithmic, []series{
			{"p50", latency(func(l Latency) time.Duration { return l.P50 })},
			{"p90", latency(func(l Latency) time.Duration { return l.P90 })},
			{"p99", latency(func(l Latency) time.Duration { return l.P99 })},
			{"p99.9", latency(func(l Latency) time.Duration { return l.P999 })},
			{"p99.99", latency(func(l Latency) time.Duration { return l.P9999 })},
			{"max", latency(func(l Latency) time.Duration { return l.Max })},
		}},
		{"Aborted attempts", "attempts that did not commit, and operations that failed", perSecond,
			fromZero, []series{
				{"aborts", counter(func(w *Workload) uint64 { return w.Aborts })},
				{"errors", counter(func(w *Workload) uint64 { return w.Errors })},
			}},
	}
}

// mapCharts returns the charts of a map. Those of single figures need but say which: unit, and
// whether it is one that grows, follow from the description.
func mapCharts(i int) []chart {
	// A map that is not there at present has statistics without an epoch.
	of := func(get func(mvcc.Stats) float64) func(*snapshot) float64 {
		return func(s *snapshot) float64 {
			if s.maps[i].Epoch == 0 {
				return math.NaN()
			}
			return get(s.maps[i])
		}
	}
	drawn := map[string]bool{}
	// lines has names and fields in turn.
	figures := func(title, about string, scale scale, lines ...string) chart {
		c := chart{Title: title, About: about, Scale: scale}
		for ; len(lines) > 0; lines = lines[2:] {
			f := figure(lines[1])
			drawn[f.Field] = true
			value := gauge(of(f.Of))
			c.Unit = f.Unit
			if f.Counter {
				value, c.Unit = rate(of(f.Of)), perSecond
			}
			c.Series = append(c.Series, series{lines[0], value})
		}
		return c
	}
	average := func(name, time, by string) series {
		return series{name, ratio(of(figure(time).Of), of(figure(by).Of), 1)}
	}
	list := []chart{
		figures("Transactions", "commits that wrote, and transactions and snapshots that ended",
			fromZero, "commits", "Commits", "ended", "Ended"),
		figures("Aborts by cause",
			"commits that failed, and transactions that were ended from outside", fromZero,
			"a read changed", "ReadConflicts", "a scan changed", "ScanConflicts",
			"a write came first", "WriteConflicts", "stalled rival", "Rivals",
			"too old", "Evicted", "leaked", "Leaked"),
		figures("Helped commits", "commits that another goroutine finished, pushed or took back",
			fromZero, "helped", "Helped", "pushed", "Pushed",
			"revoked", "Revoked", "reinstalled", "Reinstalled"),
		figures("Claims",
			"goroutines that wait for their turn on a key, and claims that are granted",
			fromZero, "waiting", "Waiting", "granted", "HeldClaims"),
		figures("Live versions",
			"versions in memory, entries of the index, and keys with a value",
			fromZero, "versions", "Versions", "entries", "Entries", "keys", "Keys"),
		figures("Memory of the map", "estimate, without what keys and values point to",
			fromZero, "map", "Bytes"),
		figures("Pruned versions", "old versions dropped", fromZero, "pruned", "Pruned"),
		figures("Epochs", "the newest epoch, and the oldest that is visible to somebody",
			closeUp, "newest", "Epoch", "min visible", "MinVisible"),
		{"Lag of min visible epoch",
			"epochs from the min visible one to the newest: what cannot be dropped yet",
			count, fromZero, []series{{"lag", gauge(of(func(s mvcc.Stats) float64 {
				return max(float64(s.Epoch)-float64(s.MinVisible), 0)
			}))}}},
		figures("Age of oldest pin", "for how long the oldest read epoch has been read",
			fromZero, "age", "OldestPinAge"),
		figures("Live readers", "open transactions and snapshots, and their distinct read epochs",
			fromZero, "transactions", "LiveTx", "read epochs", "LiveEpochs"),
		figures("Reclaim queue",
			"buckets of the index that wait to be pruned, and versions kept until a reader ends",
			fromZero, "queued", "QueueDepth", "set aside", "Aside"),
		figures("Synchronous fallbacks",
			"buckets that a committer had to prune because the queue was full",
			fromZero, "fallbacks", "SyncFallbacks"),
		figures("View refreshes", "new views of who reads what, by who asked for them", fromZero,
			"ticker", "TickRefreshes", "committers", "CommitRefreshes",
			"by hand", "ManualRefreshes"),
		{"Time of a refresh", "average of each second", seconds, fromZero, []series{
			average("ticker", "TickRefreshTime", "TickRefreshes"),
			average("committers", "CommitRefreshTime", "CommitRefreshes"),
		}},
	}
	var others []string
	for _, f := range mvcc.Figures() {
		if f.Counter && f.Metric != "" && f.Unit == "" && !drawn[f.Field] {
			others = append(others, inWords(f), f.Field)
		}
	}
	return append(list, figures("Other counters", "what no other chart has", fromZero, others...))
}

// figure returns the description of a field of [mvcc.Stats].
func figure(field string) mvcc.Figure {
	list := mvcc.Figures()
	i := slices.IndexFunc(list, func(f mvcc.Figure) bool { return f.Field == field })
	return list[i]
}

// inWords is what a figure is called where people read it.
func inWords(f mvcc.Figure) string { return strings.ReplaceAll(f.Name, "_", " ") }

func runtimeCharts() []chart {
	number := func(name string) func(*snapshot) float64 {
		return func(s *snapshot) float64 { return s.runtime.number(name) }
	}
	quantileOf := func(name string, q float64) func(prev, cur *snapshot) float64 {
		return func(prev, cur *snapshot) float64 {
			return quantile(prev.runtime.histogram(name), cur.runtime.histogram(name), q)
		}
	}
	return []chart{
		{"Heap", "live as of the last collection, in use now, and where the next collection starts",
			bytesUnit, fromZero, []series{
				{"live", gauge(number(heapLive))},
				{"in use", gauge(number(heapObjects))},
				{"goal", gauge(number(heapGoal))},
				{"all memory", gauge(number(memoryTotal))},
			}},
		{"Allocation", "bytes allocated", bytesPerSecond, fromZero, []series{
			{"bytes", rate(number(allocBytes))},
		}},
		{"Garbage collections", "collections started", perSecond, fromZero, []series{
			{"cycles", rate(number(gcCycles))},
		}},
		{"Processor time of the collector", "share of all processors, known after each collection",
			percent, fromZero, []series{
				{"collector", ratio(number(gcCPU), number(totalCPU), 100)},
				{"assists", ratio(number(assistCPU), number(totalCPU), 100)},
			}},
		{"Pauses of the collector", "while which no goroutine runs", seconds, logarithmic, []series{
			{"p50", quantileOf(gcPauses, .5)},
			{"max", quantileOf(gcPauses, 1)},
		}},
		{"Scheduler latency", "from runnable to running", seconds, logarithmic, []series{
			{"p50", quantileOf(schedLatencies, .5)},
			{"p99", quantileOf(schedLatencies, .99)},
			{"max", quantileOf(schedLatencies, 1)},
		}},
		{"Mutex wait",
			"time that goroutines waited for locks, per second of all goroutines together",
			seconds, fromZero, []series{
				{"wait", rate(number(mutexWait))},
			}},
		{"Goroutines", "by state", count, fromZero, []series{
			{"all", gauge(number(goroutines))},
			{"running", gauge(number(running))},
			{"runnable", gauge(number(runnable))},
			{"waiting", gauge(number(waiting))},
		}},
	}
}
