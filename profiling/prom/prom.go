// Package prom exports the statistics of maps and operations to Prometheus, in its text format. It
// does not use the client of Prometheus: a module that requires this one need not know that client.
//
// A service of package profiling serves them at /metrics. Without a service this line does:
//
//	http.Handle("/metrics", prom.Handler(map[string]func() mvcc.Stats{"accounts": accounts.Stats}, nil, nil))
//
// The metrics of maps are the fields of [mvcc.Stats]. They are named mvccmap_..., and have the
// name of the map as label "map". A table of a [mvcc.DB] has those few that are its own, named
// mvccmap_table_...: so a sum over all maps counts nothing twice.
// Operations are a histogram, operation_duration_seconds, and a counter, operation_errors_total,
// with label "operation". A dashboard for Grafana that shows both is in dashboard.json beside this
// file.
package prom

import (
	"bytes"
	"maps"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
	"github.com/mvccmap/mvccmap/internal/seam/figures"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Handler answers with the metrics of the maps, of operations, of the Go runtime and of the
// process, as far as the system tells the latter. A function of sources is [mvcc.Map.Stats] of a
// map, or returns those of the map in use at present. If it returns zero Stats, there is no map to
// show. Each is called once for each request, by one goroutine at a time. Operations may be nil.
// Values are figures of other things, by the names that become their label "of". Each function of
// values is called once for each request, maybe by several goroutines at a time, and returns
// figures of the same metrics each time.
func Handler(
	sources map[string]func() mvcc.Stats, operations func() []Operation,
	values map[string]func() []Value,
) http.Handler {
	return &exporter{
		values:     maps.Clone(values),
		sources:    maps.Clone(sources),
		names:      slices.Sorted(maps.Keys(sources)),
		last:       map[string]mvcc.Stats{},
		operations: operations,
	}
}

// An exporter is the handler of some maps.
type exporter struct {
	sources map[string]func() mvcc.Stats
	names   []string

	operations func() []Operation
	values     map[string]func() []Value

	mu      sync.Mutex
	last    map[string]mvcc.Stats // of the previous request, of the maps that there were
	ofMaps  humanize.Names
	ofOther humanize.Names // of the operations
}

// ServeHTTP implements [http.Handler].
func (e *exporter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	var t text
	e.writeMaps(&t)
	if e.operations != nil {
		writeOperations(&t, e.valid(e.operations()))
	}
	writeValues(&t, e.values)
	writeRuntime(&t)
	writeProcess(&t)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Write(t.Bytes())
}

// writeMaps writes the metrics of the maps, metric by metric, as the format wants it.
func (e *exporter) writeMaps(t *text) {
	stats, labels := e.read()
	for _, ofTables := range []bool{false, true} {
		prefix := "mvccmap_"
		if ofTables {
			prefix += "table_" // the database counts it already
		}
		for _, f := range figures.All() {
			if f.Metric == "" || ofTables && !f.Table {
				continue
			}
			for _, name := range e.names {
				if s, ok := stats[name]; ok && figures.OfTable(s) == ofTables {
					t.head(prefix+f.Metric, kindOf(f.Metric), f.Help)
					t.value(prefix+f.Metric, f.Of(s), "map", labels[name], f.Label, f.Value)
				}
			}
		}
	}
}

// valid gives operations names that are UTF-8: a series that is there twice spoils all metrics.
func (e *exporter) valid(list []Operation) []Operation {
	e.mu.Lock()
	defer e.mu.Unlock()
	list = slices.Clone(list)
	for i := range list {
		list[i].Name = e.ofOther.Valid(list[i].Name)
	}
	return list
}

// read returns the statistics of the maps that there are, and their names that are UTF-8.
func (e *exporter) read() (now map[string]mvcc.Stats, labels map[string]string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now, labels = map[string]mvcc.Stats{}, map[string]string{}
	for _, name := range e.names {
		s := e.sources[name]()
		if s.Epoch == 0 {
			continue // there is no map at present, and the next will be another one
		}
		// Commits may fall by the few that are under way and fail. To Prometheus a counter that
		// falls has begun anew, and all of it would count as growth, which is right only for
		// another map.
		if last := e.last[name]; last.Epoch <= s.Epoch {
			s.Commits = max(s.Commits, last.Commits)
		}
		now[name], labels[name] = s, e.ofMaps.Valid(name)
	}
	e.last = now
	return now, labels
}

// started is when the process began, but for the first milliseconds.
var started = time.Now()

// writeProcess writes the metrics of the process, under the names that all clients of
// Prometheus give them. All but one are read from /proc, and left out where there is none.
func writeProcess(t *text) {
	t.one("process_start_time_seconds", "Unix time at which the process began.",
		float64(started.UnixNano())/1e9)
	stat, _ := os.ReadFile("/proc/self/stat")
	// The second field is the name of the program, which may hold anything.
	if fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]); len(fields) > 21 {
		field := func(n int) float64 { return number(string(fields[n-3])) }
		t.one("process_cpu_seconds_total",
			"Processor time, of the program and of the system for it.",
			(field(14)+field(15))/100) // a tick of Linux is a hundredth of a second
		t.one("process_virtual_memory_bytes", "Virtual memory.", field(23))
		t.one("process_resident_memory_bytes", "Resident memory.",
			field(24)*float64(os.Getpagesize()))
	}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		t.one("process_open_fds", "Open file descriptors.", float64(len(files)))
	}
	limits, _ := os.ReadFile("/proc/self/limits")
	for line := range strings.Lines(string(limits)) {
		if rest, ok := strings.CutPrefix(line, "Max open files "); ok {
			t.one("process_max_fds", "Most open file descriptors.", number(rest))
		}
		if rest, ok := strings.CutPrefix(line, "Max address space "); ok {
			t.one("process_virtual_memory_max_bytes", "Most virtual memory.", number(rest))
		}
	}
}

// number returns the number that s begins with, or the largest one, for no limit.
func number(s string) float64 {
	first, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	v, err := strconv.ParseUint(first, 10, 64)
	if err != nil {
		return math.MaxUint64
	}
	return float64(v)
}
