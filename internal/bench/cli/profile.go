package cli

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/humanize"
	"github.com/mvccmap/mvccmap/internal/bench/results"
	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling"
	"github.com/mvccmap/mvccmap/profiling/prom"
	"github.com/mvccmap/mvccmap/profiling/runs"
)

// exampleHTTP is an address that --http may name. autoHTTP takes it unless its port is taken.
const exampleHTTP = "127.0.0.1:6060"

// autoHTTP is the value of --http that leaves the port to package profiling.
const autoHTTP = "auto"

// tokenVariable names the environment variable with the token that lets other machines in. It is no
// flag, since every user of a machine sees the flags of a process.
const tokenVariable = "MVCCBENCH_TOKEN"

// databaseName is the name on the dashboard of a database under test. A map has none.
const databaseName = "database"

// exportedName is the name of a map or database under test at /metrics.
const exportedName = "benchmark"

// profiler serves profiles of the program while it runs, and shows how far it
// is. It is an observer of a sweep.
type profiler struct {
	server *profiling.Server
	board
}

// serves reports whether something is to be served on addr.
func serves(addr string) bool { return addr != "" && addr != "off" }

// A served is the content of a profiler.
type served struct {
	program, addr string
	slow          *profiling.SlowConfig // of slow operations; nil: nothing is recorded
	tables        []string              // of the database under test; none if it is a map
	kept          *results.Shelf        // runs; nil: none
}

// serve starts the profiler; nil if the address says that there is none.
func serve(of served) (*profiler, error) {
	if !serves(of.addr) {
		return nil, nil
	}
	p, err := startProfiler(of)
	if err != nil {
		return nil, usagef("--http: expected a loopback address that is free, such as %s, or auto: %w",
			exampleHTTP, err)
	}
	return p, nil
}

// startProfiler starts serving.
func startProfiler(of served) (*profiler, error) {
	p := new(profiler)
	name := ""
	if len(of.tables) > 0 {
		name = databaseName
	}
	if of.addr == autoHTTP {
		of.addr = ""
	}
	var kept http.Handler
	if of.kept != nil {
		kept = runs.Handler(of.program, of.kept)
	}
	server, err := profiling.Start(profiling.Config{
		Addr:     of.addr,
		Title:    of.program,
		Token:    os.Getenv(tokenVariable),
		Maps:     p.sources(name, of.tables),
		Workload: p.workload,
		Runs:     kept,
		Metrics:  prom.Handler(p.sources(exportedName, of.tables), p.totals.exported, nil),
		Slow:     of.slow,

		Capturing: p.capturing,
	})
	if errors.Is(err, profiling.ErrTokenRequired) {
		return nil, fmt.Errorf("%w; set %s to a random text to let those in who know it",
			err, tokenVariable)
	}
	if err != nil {
		return nil, err
	}
	p.server = server
	return p, nil
}

func (p *profiler) url() string { return p.server.URL() }

// phase names the sample that runs from now on.
func (p *profiler) phase(label string) { p.server.SetPhase(label) }

// Start implements [bench.Observer].
func (p *profiler) Start(step bench.Step, next *bench.Step) {
	p.phase(stepName(step))
	p.start(step, next)
}

// Running implements [bench.Observer].
func (p *profiler) Running(step bench.Step, t *bench.Trial) { p.running(t, step.Config) }

// Done implements [bench.Observer].
func (p *profiler) Done(step bench.Step, m bench.Measurement) error {
	p.settle()
	p.stopped()
	name := stepName(step)
	if m.Interrupted {
		name += " (interrupted)"
	}
	p.row(name, m)
	return nil
}

// running says that the map for c has been filled, and that t knows its figures. The service gets
// the times of the operations, to explain the slow ones if that is wanted, now or later.
func (p *profiler) running(t *bench.Trial, c bench.Config) {
	t.Watch(p.server.Op(operationName(c)).Watch)
	p.runs(t, operationName(c))
}

// stopped says that there is no map any more.
func (p *profiler) stopped() { p.runs(nil, "") }

// close ends the service, if there is one. Nothing depends on it any more.
func (p *profiler) close() {
	if p != nil {
		p.server.Close()
	}
}

// A board knows the state of a sweep, for the dashboard.
type board struct {
	mu      sync.Mutex
	first   time.Time // when the first step was begun
	begun   time.Time // when the one under way was
	step    bench.Step
	next    *bench.Step
	trial   *bench.Trial // nil between the samples
	doing   string       // the name of its operations
	labels  bool         // a CPU profile is being taken
	results [][]string

	totals totals
}

func (b *board) start(step bench.Step, next *bench.Step) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun = time.Now()
	if step.Index == 0 {
		b.first = b.begun
	}
	b.step, b.next, b.trial = step, next, nil
}

// runs notes which trial is under way, nil for none, and the name of its operations.
func (b *board) runs(t *bench.Trial, doing string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trial, b.doing = t, doing
	if t != nil {
		t.LabelOperations(b.labels)
	}
}

// capturing notes whether a CPU profile is being taken: goroutines are then labelled with their
// operations.
func (b *board) capturing(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.labels = on
	if b.trial != nil {
		b.trial.LabelOperations(on)
	}
}

// keptResults bounds the rows of results that are kept.
const keptResults = 50

// resultColumns are the columns of a row of results.
var resultColumns = []string{"sample", "ops/s", "ns/op", "p50", "p99", "p99.9", "aborts/op",
	"B/op", "allocs/op", "process", "others", "steal", "hiccup"}

// row adds a row of results under a name.
func (b *board) row(name string, m bench.Measurement) {
	quantile := func(q float64) string {
		if d, ok := m.Quantile(q); ok {
			return humanize.Time(d)
		}
		return "–"
	}
	row := []string{
		name, humanize.Number(m.OpsPerSecond()), humanize.Number(m.NsPerOp()),
		quantile(.5), quantile(.99), quantile(.999),
		humanize.Number(m.AbortsPerOp()), humanize.Number(m.BytesPerOp()), humanize.Number(m.AllocsPerOp()),
	}
	u := m.Machine
	for _, share := range []float64{u.Process, u.Others, u.Steal} {
		text := "–"
		if u.Known {
			text = humanize.Percent(share)
		}
		row = append(row, text)
	}
	row = append(row, humanize.Time(u.Hiccup))
	if u.Noise() != "" {
		row[0] += " (noisy)"
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.results = append(b.results, row)
	if surplus := len(b.results) - keptResults; surplus > 0 {
		b.results = append(b.results[:0:0], b.results[surplus:]...)
	}
}

// sources returns functions for the statistics of the map under test, and of the tables.
func (b *board) sources(name string, tables []string) map[string]func() mvcc.Stats {
	all := map[string]func() mvcc.Stats{name: func() mvcc.Stats { return b.stats("") }}
	for _, table := range tables {
		all[name+"/"+table] = func() mvcc.Stats { return b.stats("/" + table) }
	}
	return all
}

// stats returns the statistics of the map under test, or of one of its tables; zero between samples
// and for engines without them.
func (b *board) stats(table string) mvcc.Stats {
	b.mu.Lock()
	t := b.trial
	b.mu.Unlock()
	if t == nil {
		return mvcc.Stats{}
	}
	return t.MapStats(table)
}

// workload says which sample runs and how far it is.
func (b *board) workload() profiling.Workload {
	b.mu.Lock()
	step, next := b.step, b.next
	left := remaining(b.first, b.begun, time.Now(), step.Index, step.Of)
	w := profiling.Workload{
		Done:    step.Index,
		Of:      step.Of,
		Results: profiling.Table{Columns: resultColumns, Rows: b.results[:len(b.results):len(b.results)]},
	}
	b.mu.Unlock()
	if step.Of > 0 {
		w.Name = stepName(step)
	}
	if next != nil {
		w.Next = stepName(*next)
	}
	w.Left = left
	b.settle()
	w.Ops, w.Aborts, w.Errors, w.Latency = b.totals.shown()
	return w
}

// settle counts the operations of the trial so far, if there is one. After the end of a run these
// are all of its operations.
func (b *board) settle() {
	b.mu.Lock()
	t, doing := b.trial, b.doing
	b.mu.Unlock()
	if t != nil {
		b.totals.read(t, doing)
	}
}

// slowFlags say whether slow operations are explained.
type slowFlags struct {
	Slow string `help:"Keep the execution trace around operations that take longer than this percentile of what is usual, such as 99.9, or longer than a time, such as 2ms, and say on the page /debug/pprof/slow/ what they waited for. Every operation is timed, unless --latency-sample says otherwise, and the trace slows down a workload whose goroutines wait often: the results say so." placeholder:"PCT|TIME" group:"Profiles in the browser"`
}

// config returns the configuration of the recorder, nil for none.
func (f slowFlags) config() (*profiling.SlowConfig, error) {
	if f.Slow == "" {
		return nil, nil
	}
	if d, err := time.ParseDuration(f.Slow); err == nil && d > 0 {
		return &profiling.SlowConfig{Above: d}, nil
	}
	if pct, err := strconv.ParseFloat(strings.TrimSuffix(f.Slow, "%"), 64); err == nil &&
		pct > 0 && pct < 100 {
		return &profiling.SlowConfig{Percentile: pct}, nil
	}
	return nil, usagef("--slow: expected a percentile above 0 and below 100, such as 99.9, or a "+
		"time above 0, such as 2ms, not %q", f.Slow)
}
