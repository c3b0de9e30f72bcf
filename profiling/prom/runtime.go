package prom

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"
)

// runtimeMetrics has the metrics of the Go runtime: the name that the client of Prometheus gives
// each, and the metrics of package runtime/metrics that it is the sum of.
var runtimeMetrics = []struct{ name, sum string }{
	{"gc_gogc_percent", "/gc/gogc:percent"},
	{"gc_gomemlimit_bytes", "/gc/gomemlimit:bytes"},
	{"goroutines", "/sched/goroutines:goroutines"},
	{"sched_gomaxprocs_threads", "/sched/gomaxprocs:threads"},
	{"threads", "/sched/threads/total:threads"},
	{"memstats_alloc_bytes", "/memory/classes/heap/objects:bytes"},
	{"memstats_alloc_bytes_total", "/gc/heap/allocs:bytes"},
	{"memstats_buck_hash_sys_bytes", "/memory/classes/profiling/buckets:bytes"},
	{"memstats_frees_total", "/gc/heap/frees:objects + /gc/heap/tiny/allocs:objects"},
	{"memstats_gc_sys_bytes", "/memory/classes/metadata/other:bytes"},
	{"memstats_heap_alloc_bytes", "/memory/classes/heap/objects:bytes"},
	{"memstats_heap_idle_bytes",
		"/memory/classes/heap/released:bytes + /memory/classes/heap/free:bytes"},
	{"memstats_heap_inuse_bytes",
		"/memory/classes/heap/objects:bytes + /memory/classes/heap/unused:bytes"},
	{"memstats_heap_objects", "/gc/heap/objects:objects"},
	{"memstats_heap_released_bytes", "/memory/classes/heap/released:bytes"},
	{"memstats_heap_sys_bytes",
		"/memory/classes/heap/objects:bytes + /memory/classes/heap/unused:bytes + " +
			"/memory/classes/heap/released:bytes + /memory/classes/heap/free:bytes"},
	{"memstats_mallocs_total", "/gc/heap/allocs:objects + /gc/heap/tiny/allocs:objects"},
	{"memstats_mcache_inuse_bytes", "/memory/classes/metadata/mcache/inuse:bytes"},
	{"memstats_mcache_sys_bytes",
		"/memory/classes/metadata/mcache/inuse:bytes + /memory/classes/metadata/mcache/free:bytes"},
	{"memstats_mspan_inuse_bytes", "/memory/classes/metadata/mspan/inuse:bytes"},
	{"memstats_mspan_sys_bytes",
		"/memory/classes/metadata/mspan/inuse:bytes + /memory/classes/metadata/mspan/free:bytes"},
	{"memstats_next_gc_bytes", "/gc/heap/goal:bytes"},
	{"memstats_other_sys_bytes", "/memory/classes/other:bytes"},
	{"memstats_stack_inuse_bytes", "/memory/classes/heap/stacks:bytes"},
	{"memstats_stack_sys_bytes",
		"/memory/classes/heap/stacks:bytes + /memory/classes/os-stacks:bytes"},
	{"memstats_sys_bytes", "/memory/classes/total:bytes"},
}

// writeRuntime writes the metrics of the Go runtime. It stops nothing.
func writeRuntime(t *text) {
	var samples []metrics.Sample
	for _, m := range metrics.All() {
		if m.Kind == metrics.KindUint64 {
			samples = append(samples, metrics.Sample{Name: m.Name})
		}
	}
	metrics.Read(samples)
	values := map[string]float64{}
	for _, s := range samples {
		values[s.Name] = float64(s.Value.Uint64())
	}
	for _, m := range runtimeMetrics {
		sum, all := 0., true
		for term := range strings.SplitSeq(m.sum, " + ") {
			v, ok := values[term]
			sum, all = sum+v, all && ok
		}
		if all { // another release of Go may lack one
			t.one("go_"+m.name, "Of Go's package runtime/metrics: "+m.sum+".", sum)
		}
	}
	t.head("go_info", "gauge", "The release of Go that the program was built with.")
	t.value("go_info", 1, "version", runtime.Version())

	gc := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
	debug.ReadGCStats(&gc)
	last := 0.
	if gc.NumGC > 0 {
		last = float64(gc.LastGC.UnixNano()) / 1e9
	}
	t.one("go_memstats_last_gc_time_seconds",
		"Unix time of the last garbage collection, or 0.", last)
	const pauses = "go_gc_duration_seconds"
	t.head(pauses, "summary", "Pauses of the garbage collector, while which no goroutine runs.")
	for i, q := range []float64{0, 0.25, 0.5, 0.75, 1} {
		t.value(pauses, gc.PauseQuantiles[i].Seconds(), "quantile", textOf(q))
	}
	t.value(pauses+"_sum", gc.PauseTotal.Seconds())
	t.value(pauses+"_count", float64(gc.NumGC))
}
