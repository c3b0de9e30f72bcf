package profiling

import (
	"math"
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
		{"Aborted attempts", "attempts that did not commit, and operations that failed", perSecond, fromZero, []series{
			{"aborts", counter(func(w *Workload) uint64 { return w.Aborts })},
			{"errors", counter(func(w *Workload) uint64 { return w.Errors })},
		}},
	}
}

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
	now := func(get func(mvcc.Stats) float64) func(prev, cur *snapshot) float64 { return gauge(of(get)) }
	grow := func(get func(mvcc.Stats) uint64) func(prev, cur *snapshot) float64 {
		return rate(of(func(s mvcc.Stats) float64 { return float64(get(s)) }))
	}
	return []chart{
		{"Transactions", "commits that wrote, and transactions and snapshots that ended", perSecond, fromZero, []series{
			{"commits", grow(func(s mvcc.Stats) uint64 { return s.Commits })},
			{"ended", grow(func(s mvcc.Stats) uint64 { return s.Ended })},
		}},
		{"Aborts by cause", "commits that failed, and transactions that were ended from outside", perSecond, fromZero, []series{
			{"a read changed", grow(func(s mvcc.Stats) uint64 { return s.ReadConflicts })},
			{"a scan changed", grow(func(s mvcc.Stats) uint64 { return s.ScanConflicts })},
			{"a write came first", grow(func(s mvcc.Stats) uint64 { return s.WriteConflicts })},
			{"stalled rival", grow(func(s mvcc.Stats) uint64 { return s.Rivals })},
			{"too old", grow(func(s mvcc.Stats) uint64 { return s.Evicted })},
			{"leaked", grow(func(s mvcc.Stats) uint64 { return s.Leaked })},
		}},
		{"Helped commits", "commits that another goroutine finished, pushed or took back", perSecond, fromZero, []series{
			{"helped", grow(func(s mvcc.Stats) uint64 { return s.Helped })},
			{"pushed", grow(func(s mvcc.Stats) uint64 { return s.Pushed })},
			{"revoked", grow(func(s mvcc.Stats) uint64 { return s.Revoked })},
			{"reinstalled", grow(func(s mvcc.Stats) uint64 { return s.Reinstalled })},
		}},
		{"Claims", "goroutines that wait for their turn on a key, and claims that are granted", count, fromZero, []series{
			{"waiting", now(func(s mvcc.Stats) float64 { return float64(s.Waiting) })},
			{"granted", now(func(s mvcc.Stats) float64 { return float64(s.HeldClaims) })},
		}},
		{"Live versions", "versions in memory, entries of the index, and keys with a value", count, fromZero, []series{
			{"versions", now(func(s mvcc.Stats) float64 { return float64(s.Versions) })},
			{"entries", now(func(s mvcc.Stats) float64 { return float64(s.Entries) })},
			{"keys", now(func(s mvcc.Stats) float64 { return float64(s.Keys) })},
		}},
		{"Memory of the map", "estimate, without what keys and values point to", bytesUnit, fromZero, []series{
			{"map", now(func(s mvcc.Stats) float64 { return float64(s.Bytes) })},
		}},
		{"Pruned versions", "old versions dropped", perSecond, fromZero, []series{
			{"pruned", grow(func(s mvcc.Stats) uint64 { return s.Pruned })},
		}},
		{"Epochs", "the newest epoch, and the oldest that is visible to somebody", count, closeUp, []series{
			{"newest", now(func(s mvcc.Stats) float64 { return float64(s.Epoch) })},
			{"min visible", now(func(s mvcc.Stats) float64 { return float64(s.MinVisible) })},
		}},
		{"Lag of min visible epoch", "epochs from the min visible one to the newest: what cannot be dropped yet", count, fromZero, []series{
			{"lag", now(func(s mvcc.Stats) float64 { return max(float64(s.Epoch)-float64(s.MinVisible), 0) })},
		}},
		{"Age of oldest pin", "for how long the oldest read epoch has been read", seconds, fromZero, []series{
			{"age", now(func(s mvcc.Stats) float64 { return s.OldestPinAge.Seconds() })},
		}},
		{"Live readers", "open transactions and snapshots, and their distinct read epochs", count, fromZero, []series{
			{"transactions", now(func(s mvcc.Stats) float64 { return float64(s.LiveTx) })},
			{"read epochs", now(func(s mvcc.Stats) float64 { return float64(s.LiveEpochs) })},
		}},
		{"Reclaim queue", "buckets of the index that wait to be pruned, and versions kept until a reader ends", count, fromZero, []series{
			{"queued", now(func(s mvcc.Stats) float64 { return float64(s.QueueDepth) })},
			{"set aside", now(func(s mvcc.Stats) float64 { return float64(s.Aside) })},
		}},
		{"Synchronous fallbacks", "buckets that a committer had to prune because the queue was full", perSecond, fromZero, []series{
			{"fallbacks", grow(func(s mvcc.Stats) uint64 { return s.SyncFallbacks })},
		}},
		{"View refreshes", "new views of who reads what, by who asked for them", perSecond, fromZero, []series{
			{"ticker", grow(func(s mvcc.Stats) uint64 { return s.TickRefreshes })},
			{"committers", grow(func(s mvcc.Stats) uint64 { return s.CommitRefreshes })},
			{"by hand", grow(func(s mvcc.Stats) uint64 { return s.ManualRefreshes })},
		}},
		{"Time of a refresh", "average of each second", seconds, fromZero, []series{
			{"ticker", ratio(
				of(func(s mvcc.Stats) float64 { return s.TickRefreshTime.Seconds() }),
				of(func(s mvcc.Stats) float64 { return float64(s.TickRefreshes) }), 1)},
			{"committers", ratio(
				of(func(s mvcc.Stats) float64 { return s.CommitRefreshTime.Seconds() }),
				of(func(s mvcc.Stats) float64 { return float64(s.CommitRefreshes) }), 1)},
		}},
	}
}

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
		{"Heap", "live as of the last collection, in use now, and where the next collection starts", bytesUnit, fromZero, []series{
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
		{"Processor time of the collector", "share of all processors, known after each collection", percent, fromZero, []series{
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
		{"Mutex wait", "time that goroutines waited for locks, per second of all goroutines together", seconds, fromZero, []series{
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
