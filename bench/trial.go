package bench

import (
	"errors"
	"fmt"
	"runtime/pprof"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Config describes the work of a [Trial].
type Config struct {
	Workload  Workload
	Engine    EngineSpec
	Threads   int       // goroutines, from 1 to MaxThreads; an auditor comes on top
	Isolation Isolation // empty means Serializable

	// Swept are the keys that [Config.Labels] has even if the value is the default, because other
	// samples have other values. Optional.
	Swept []string

	// Seed seeds every random choice, together with Sample, the goroutine's
	// number and the kind of choice: equal configurations make equal choices,
	// and two engines in the same sample are given the same.
	Seed   uint64
	Sample int

	// LatencySample is how many operations there are for each one that is timed, or [NoLatency].
	// Zero chooses it by the time of the warm-up, so that reading the clock takes less than a
	// hundredth of the time. In an open loop it times every operation.
	LatencySample int

	// Rate is how many operations per second are to be done, each when it is due: an open loop. Those
	// that are due wait in one queue for whichever goroutine is free. Zero is a closed loop, in which
	// each goroutine starts its next operation when the last has ended.
	Rate float64

	// Arrival says how the operations of an open loop follow each other. Empty
	// means [FixedArrivals].
	Arrival Arrival

	// Attempts is how often, at most, an operation is attempted until it
	// commits; then it is given up, which counts as an error. Zero means
	// without end.
	Attempts int

	// AuditInterval is the time from one audit to the next, for workloads that
	// have them. Zero means that they follow each other without a pause.
	AuditInterval time.Duration

	// Options are the options of the transactional map, for engines that are such a map.
	Options mvcc.Options
}

// NoLatency is the value of [Config.LatencySample] with which no operation is
// timed, and in a closed loop the clock is not read at all.
const NoLatency = -1

// MaxRate is the highest [Config.Rate].
const MaxRate = 1e9

// DefaultAuditInterval is the interval of front ends unless told otherwise.
// Audits at a fixed rate are the same load for every engine; audits without a
// pause take as much of the machine as they can get.
const DefaultAuditInterval = 10 * time.Millisecond

func (c Config) validate() error {
	switch {
	case c.Engine.New == nil:
		return errors.New("bench: no engine given")
	case c.Workload.Name == "":
		return errors.New("bench: no workload given")
	case c.Threads < 1 || c.Threads > MaxThreads:
		return fmt.Errorf("bench: from 1 to %d threads, not %d", MaxThreads, c.Threads)
	case c.LatencySample < NoLatency:
		return fmt.Errorf("bench: negative latency sample %d", c.LatencySample)
	case !(c.Rate >= 0 && c.Rate <= MaxRate): // also refuses NaN
		return fmt.Errorf("bench: from 0 to %.0f operations per second, not %v", MaxRate, c.Rate)
	case c.Arrival != "" && c.Arrival != FixedArrivals && c.Arrival != PoissonArrivals:
		return fmt.Errorf("bench: unknown arrivals %q; expected %s or %s", c.Arrival,
			FixedArrivals, PoissonArrivals)
	case c.Attempts < 0:
		return fmt.Errorf("bench: negative number of attempts %d", c.Attempts)
	}
	if err := c.Workload.validate(); err != nil {
		return err
	}
	if why, ok := c.Engine.Runs(c.Workload); !ok {
		return fmt.Errorf("bench: engine %s cannot run %s: %s", c.Engine.Name, c.Workload.Name, why)
	}
	return nil
}

// A Trial is one engine, filled, under one workload. Its methods are called one
// at a time: any number of runs with [Trial.RunFor] or [Trial.RunOps], then
// [Trial.Verify], then [Trial.Close].
type Trial struct {
	config    Config
	model     *Model
	engine    Engine
	runner    Session // used between runs
	txs       []*Tx   // of the goroutines
	pin       *pinned // open until the end; nil if there is none
	census    *census // nil if the workload does not report memory
	workers   []*worker
	queue     *queue // of an open loop
	times     []*recorders
	audits    *auditWorker // nil if the workload has none
	every     int          // operations for each one that is timed, or NoLatency
	started   instant      // when the run began
	measured  atomic.Bool  // the run keeps times
	runs      atomic.Int64 // twice the number of runs begun; odd while one begins
	stop      stopFlag
	labels    pprof.LabelSet      // the profiler labels of the goroutines
	failure   error               // the first; nothing runs any more
	grace     time.Duration       // how long an operation under way may take to end
	around    func() func()       // see Around; may be nil
	watch     func(time.Duration) // see Watch; may be nil
	labelling labelling           // of operations
}

// defaultGrace is so long that only an engine that hangs exceeds it.
const defaultGrace = 30 * time.Second

// stopFlag is read by every goroutine before each operation and written once a
// run; nothing else may lie in its cache lines.
type stopFlag struct {
	_ [128]byte
	atomic.Bool
	_ [128]byte
}

// instant is a time by clock that one goroutine sets and others read.
type instant struct{ ns atomic.Int64 }

func (i *instant) load() time.Duration   { return time.Duration(i.ns.Load()) }
func (i *instant) store(t time.Duration) { i.ns.Store(int64(t)) }

// New fills a new engine, checks that it holds the records it was filled with,
// and prepares the goroutines' records. It takes time and memory in proportion
// to the number of keys.
func New(config Config) (*Trial, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	config.Isolation = config.Level()
	t := &Trial{config: config, every: config.LatencySample, grace: defaultGrace}
	switch {
	case t.every == 0 && config.Rate > 0:
		t.every = 1
	case t.every == 0:
		t.every = firstSample
	}
	t.model = config.Workload.model()
	t.model.seed = config.Seed
	for _, prepare := range t.model.prepare {
		prepare()
	}
	t.times = newRecorders(config.Threads, config.Rate > 0, len(t.model.operationNames()))
	t.labels = pprof.Labels(
		"workload", config.Workload.Name, "engine", config.Engine.Name, "threads",
		strconv.Itoa(config.Threads))
	if config.Workload.ReportsMemory() {
		t.census = newCensus(t.versions)
	}
	err := t.fill()
	if err == nil {
		err = t.start()
	}
	if err != nil {
		t.Close()
		return nil, t.failed(err)
	}
	return t, nil
}

// start makes the workers and the auditor, if there is one.
func (t *Trial) start() (err error) {
	t.queue = newQueue(t)
	for i := range t.config.Threads {
		s := t.engine.Session(i)
		t.txs = append(t.txs, newTx(t, i, s))
		t.workers = append(t.workers, newWorker(t, i, s, t.txs[i]))
	}
	t.audits, err = t.newAuditor()
	return err
}

// Around sets a function, begin, that each measured run calls just before it starts: the map is
// filled and warm, the goroutines wait, and garbage has been collected. When the last operation of
// the run has ended, also if the run fails, it calls end. The time of both calls is not measured:
// they are for profiles of the measured part and nothing else. Call Around before the run.
func (t *Trial) Around(begin func() (end func())) { t.around = begin }

// Watch makes the goroutines call ended after each operation of a measured run that is timed, with
// the time that the operation took, for finding out why one was slow. The time that ended takes
// does not count for this operation; in an open loop it makes the next one late. With
// [Config.LatencySample] 1 every operation is timed. Call Watch before the run.
func (t *Trial) Watch(ended func(took time.Duration)) { t.watch = ended }

// Close closes everything that is open in the engine, and then the engine.
func (t *Trial) Close() {
	if t.pin != nil {
		t.pin.done()
	}
	if t.engine != nil {
		t.engine.Close()
	}
}

// versions returns how many versions the engine holds; ok is false if it does not say.
func (t *Trial) versions() (n int, ok bool) {
	if v, ok := t.engine.(Versioner); ok {
		return v.Versions(), true
	}
	return 0, false
}

// MapStats returns the statistics of the map or database under test, or of one of its tables, as in
// "/orders"; zero if it has none. It may be called by any goroutine once the map has been filled,
// and costs as much as [mvcc.Map.Stats].
func (t *Trial) MapStats(table string) (s mvcc.Stats) {
	e, ok := t.engine.(interface {
		sources() map[string]func() mvcc.Stats
	})
	if !ok {
		return s
	}
	if stats := e.sources()[table]; stats != nil {
		s = stats()
	}
	return s
}

// Violation is the error of a run that an engine has not served correctly. The figures of such a
// run are worthless.
type Violation struct {
	Workload string
	Engine   string
	Threads  int
	Detail   string
}

// Error implements error.
func (v *Violation) Error() string {
	return fmt.Sprintf("verification violated: workload %s, engine %s, %d threads: %s",
		v.Workload, v.Engine, v.Threads, v.Detail)
}

// violation is the finding of a check; the [Trial] makes a [*Violation] of it.
type violation struct {
	key    string
	detail string
}

func (v *violation) Error() string {
	if v.key == "" {
		return v.detail
	}
	return v.key + " " + v.detail
}

func wrong(key, format string, args ...any) error {
	return &violation{key: key, detail: fmt.Sprintf(format, args...)}
}

// failed wraps an error that an operation or a check returned.
func (t *Trial) failed(err error) error {
	w, e, n := t.config.Workload.Name, t.config.Engine.Name, t.config.Threads
	if v, ok := errors.AsType[*violation](err); ok {
		return &Violation{Workload: w, Engine: e, Threads: n, Detail: v.Error()}
	}
	return fmt.Errorf("bench: workload %s, engine %s, %d threads: %w", w, e, n, err)
}

// Verify checks the records that the goroutines have left behind against their
// knowledge of them, as the package comment says. It returns nil, a
// [*Violation], or the failure that ended the last run. It takes time in
// proportion to the number of keys times goroutines.
func (t *Trial) Verify() error {
	if t.failure != nil {
		return t.failure
	}
	err := t.verifyAll()
	if err == nil && t.pin != nil {
		err = t.pin.verify()
	}
	if err != nil {
		t.failure = t.failed(err)
	}
	return t.failure
}
