package bench

import (
	"errors"
	"fmt"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Config says what a [Trial] measures.
type Config struct {
	Workload  Workload
	Engine    EngineSpec
	Threads   int       // goroutines, from 1 to MaxThreads; an auditor comes on top
	Isolation Isolation // empty means Serializable

	// Seed seeds every random choice, together with Sample, the goroutine's
	// number and what is chosen: equal configurations make equal choices, and
	// two engines in the same sample are given the same.
	Seed   uint64
	Sample int

	// LatencySample is how many operations there are for each one whose
	// latency is measured. Zero chooses it by what the warm-up took, so that
	// reading the clock takes less than a hundredth of the time.
	LatencySample int

	// AuditInterval is the time from one audit to the next, for workloads that
	// have them. Zero means that they follow each other without a pause.
	AuditInterval time.Duration
}

// DefaultAuditInterval is what front ends use unless told otherwise. Audits at a
// fixed rate are the same load for every engine; audits without a pause take as
// much of the machine as they can get.
const DefaultAuditInterval = 10 * time.Millisecond

func (c Config) validate() error {
	switch {
	case c.Engine.New == nil:
		return errors.New("bench: no engine given")
	case c.Workload.Name == "":
		return errors.New("bench: no workload given")
	case c.Threads < 1 || c.Threads > MaxThreads:
		return fmt.Errorf("bench: from 1 to %d threads, not %d", MaxThreads, c.Threads)
	case c.LatencySample < 0:
		return fmt.Errorf("bench: negative latency sample %d", c.LatencySample)
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
	config  Config
	engine  Engine
	keys    []string
	runner  Session // used between runs
	workers []*worker
	audits  *auditWorker // nil if the workload has none
	every   int          // operations for each one that is timed
	stop    stopFlag
	labels  pprof.LabelSet // the profiler labels of the goroutines
	failure error          // the first; nothing runs any more
	grace   time.Duration  // how long an operation under way may take to end
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

// New fills a new engine, checks that it holds what it was filled with, and
// prepares the goroutines' records. It takes time and memory in proportion to
// the number of keys.
func New(config Config) (*Trial, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if config.Isolation == "" {
		config.Isolation = Serializable
	}
	t := &Trial{config: config, every: config.LatencySample, grace: defaultGrace}
	if t.every == 0 {
		t.every = firstSample
	}
	t.labels = pprof.Labels(
		"workload", config.Workload.Name, "engine", config.Engine.Name, "threads", strconv.Itoa(config.Threads))

	values := t.makeKeys()
	engine, err := config.Engine.New(Setup{
		// The engine keeps strings of its own, as it would in a program whose
		// keys come from somewhere else each time.
		Keys:      cloneStrings(t.keys),
		Values:    values,
		Isolation: config.Isolation,
		Stopped:   t.stop.Load,
	})
	if err != nil {
		return nil, fmt.Errorf("bench: engine %s: %w", config.Engine.Name, err)
	}
	t.engine = engine
	t.runner = engine.Session(-1)
	if err := t.checkFilled(values); err != nil {
		t.Close()
		return nil, err
	}
	if err := t.makeWorkers(); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// keyPrefix is followed by the index of the key.
const keyPrefix = "key-"

// makeKeys makes the keys and returns the values they have at first.
func (t *Trial) makeKeys() []uint64 {
	n := t.config.Workload.keyCount(t.config.Threads)
	t.keys = make([]string, n)
	values := make([]uint64, n)
	for i := range n {
		t.keys[i] = keyPrefix + strconv.Itoa(i)
		switch t.config.Workload.kind {
		case transfer:
			values[i] = openingBalance
		case counter:
		default:
			values[i] = loaded(i)
		}
	}
	return values
}

func cloneStrings(list []string) []string {
	c := make([]string, len(list))
	for i, s := range list {
		c[i] = strings.Clone(s)
	}
	return c
}

// checkFilled makes sure that it is not an empty map that will be measured.
func (t *Trial) checkFilled(values []uint64) error {
	for i, k := range t.keys {
		v, ok, err := t.runner.Get(k)
		if err != nil {
			return t.failed(err)
		}
		if !ok || v != values[i] {
			return t.violated(wrong(k, "the map was filled with %#x and gives %#x, %t", values[i], v, ok))
		}
	}
	return nil
}

// Measurement is what a run of a [Trial] took.
type Measurement struct {
	Ops    uint64        // operations that have committed
	Aborts uint64        // attempts that did not commit and were made again
	Wall   time.Duration // from the start to the end of the last operation
	CPU    time.Duration // processor time of the whole process; 0 if it is not known
	Bytes  uint64        // allocated on the heap, by the whole process
	Allocs uint64        // objects allocated, by the whole process
	Audits uint64        // full scans made meanwhile, each of which was correct

	// Interrupted says that the context ended before the run did. What was
	// measured until then is sound.
	Interrupted bool

	// LatencySample is how many operations there were for each timed one.
	LatencySample int

	latency *histogram
}

// NsPerOp returns wall time divided by operations, in nanoseconds.
func (m Measurement) NsPerOp() float64 { return m.perOp(float64(m.Wall)) }

// OpsPerSecond returns operations divided by wall time.
func (m Measurement) OpsPerSecond() float64 {
	if m.Wall <= 0 {
		return 0
	}
	return float64(m.Ops) / m.Wall.Seconds()
}

// AbortsPerOp returns the aborted attempts for each committed operation.
func (m Measurement) AbortsPerOp() float64 { return m.perOp(float64(m.Aborts)) }

// CPUNsPerOp returns the processor time of the whole process, the garbage
// collector and the engine's background work included, divided by operations, in
// nanoseconds. ok is false if it is not known.
func (m Measurement) CPUNsPerOp() (ns float64, ok bool) {
	return m.perOp(float64(m.CPU)), m.CPU > 0
}

// BytesPerOp returns the bytes allocated for each operation.
func (m Measurement) BytesPerOp() float64 { return m.perOp(float64(m.Bytes)) }

// AllocsPerOp returns the objects allocated for each operation.
func (m Measurement) AllocsPerOp() float64 { return m.perOp(float64(m.Allocs)) }

// AuditsPerSecond returns audits divided by wall time.
func (m Measurement) AuditsPerSecond() float64 {
	if m.Wall <= 0 {
		return 0
	}
	return float64(m.Audits) / m.Wall.Seconds()
}

func (m Measurement) perOp(x float64) float64 {
	if m.Ops == 0 {
		return 0
	}
	return x / float64(m.Ops)
}

// Quantile returns the latency that a fraction q of the timed operations did not
// exceed, to within half a percent. ok is false if fewer than ten timed
// operations lie beyond it: then there is nothing to say. Each latency includes
// one reading of the clock; see [ClockCost].
func (m Measurement) Quantile(q float64) (latency time.Duration, ok bool) {
	if m.latency == nil || !m.latency.Supports(q) {
		return 0, false
	}
	return time.Duration(m.latency.Quantile(q)), true
}

// Violation is the error of a run that an engine did not serve correctly. Its
// figures are worthless.
type Violation struct {
	Workload string
	Engine   string
	Threads  int
	Detail   string
}

// Error implements error.
func (v *Violation) Error() string {
	return fmt.Sprintf("verification violated: workload %s, engine %s, %d threads: %s", v.Workload, v.Engine, v.Threads, v.Detail)
}

// violated makes err, found by a check, into a *Violation.
func (t *Trial) violated(err error) error {
	return &Violation{
		Workload: t.config.Workload.Name,
		Engine:   t.config.Engine.Name,
		Threads:  t.config.Threads,
		Detail:   err.Error(),
	}
}

// failed wraps an error that an operation returned.
func (t *Trial) failed(err error) error {
	if v, ok := errors.AsType[*violation](err); ok {
		return t.violated(v)
	}
	return fmt.Errorf("bench: workload %s, engine %s, %d threads: %w",
		t.config.Workload.Name, t.config.Engine.Name, t.config.Threads, err)
}

// Live returns the operations committed so far in the current or last run,
// roughly: each goroutine says how far it is once in a while. It may be called
// by any goroutine.
func (t *Trial) Live() uint64 {
	var n uint64
	for _, w := range t.workers {
		n += w.published.Load()
	}
	return n
}

// Close ends the engine.
func (t *Trial) Close() { t.engine.Close() }
