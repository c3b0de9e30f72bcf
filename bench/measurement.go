package bench

import (
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/machine"
)

// Measurement has the figures of a run of a [Trial].
type Measurement struct {
	Ops    uint64        // operations that have committed
	Aborts uint64        // attempts that did not commit and were made again
	Errors uint64        // operations that were given up; see [Config.Attempts]
	Wall   time.Duration // from the start to the end of the last operation
	CPU    time.Duration // processor time of the whole process; 0 if it is not known
	Audits uint64        // full scans made meanwhile, each of which was correct

	Bytes  uint64 // allocated on the heap, by the whole process
	Allocs uint64 // objects allocated, by the whole process

	GCs     uint32        // garbage collections that ended
	GCPause time.Duration // for which they stopped the world, in total

	// GCShare is the garbage collector's part, from 0 to 1, of the processor time, which is
	// GOMAXPROCS times wall time. Work on processors that were idle does not count. The runtime
	// updates this account when a collection ends: the figure is as of the last one, and 0 if there
	// was none.
	GCShare float64

	// Switches is how often threads of the process were switched, because they
	// waited or because another was to run. 0 if it is not known.
	Switches uint64

	// Rate is the target of an open loop, 0 in a closed one. Backlog is how many operations never
	// started, of those that were due when the first goroutine ended. With random arrivals the part
	// that was still in the queue is an estimate.
	Rate    float64
	Backlog uint64

	// Machine is the use of the machine during the run.
	Machine machine.Usage

	// Memory is the memory that the run held; nil unless [Workload.ReportsMemory].
	Memory *Memory

	// Interrupted says that the context ended before the run did. The figures
	// until then are sound.
	Interrupted bool

	// LatencySample is how many operations there were for each timed one, or
	// [NoLatency].
	LatencySample int

	// Service is how long the timed operations took, with retries and one reading of the clock; see
	// [ClockCost]. Response counts from when operations were due, and so includes the wait for
	// their turn. In a closed loop nothing is ever due, and both are the same.
	Service, Response Distribution

	// Operations has the figures of each kind of operation, if the workload has several kinds and
	// does one operation in a transaction.
	Operations []OperationMeasurement

	threads int
	known   bool // processor time and switches are
}

// NsPerOp returns wall time divided by operations, in nanoseconds.
func (m Measurement) NsPerOp() float64 { return m.perOp(float64(m.Wall)) }

// OpsPerSecond returns operations divided by wall time.
func (m Measurement) OpsPerSecond() float64 { return m.perSecond(m.Ops) }

// AbortsPerOp returns the aborted attempts for each committed operation.
func (m Measurement) AbortsPerOp() float64 { return m.perOp(float64(m.Aborts)) }

// CPUNsPerOp returns the processor time for each operation in nanoseconds. It is that of the whole
// process, with the garbage collector and the engine's background work. ok is false if it is not
// known.
func (m Measurement) CPUNsPerOp() (ns float64, ok bool) {
	return m.perOp(float64(m.CPU)), m.CPU > 0
}

// BytesPerOp returns the bytes allocated for each operation.
func (m Measurement) BytesPerOp() float64 { return m.perOp(float64(m.Bytes)) }

// AllocsPerOp returns the objects allocated for each operation.
func (m Measurement) AllocsPerOp() float64 { return m.perOp(float64(m.Allocs)) }

// AuditsPerSecond returns audits divided by wall time.
func (m Measurement) AuditsPerSecond() float64 { return m.perSecond(m.Audits) }

func (m Measurement) perSecond(n uint64) float64 {
	if m.Wall <= 0 {
		return 0
	}
	return float64(n) / m.Wall.Seconds()
}

func (m Measurement) perOp(x float64) float64 {
	if m.Ops == 0 {
		return 0
	}
	return x / float64(m.Ops)
}

// ErrorsPerSecond returns the operations that were given up, divided by wall time.
func (m Measurement) ErrorsPerSecond() float64 { return m.perSecond(m.Errors) }

// SwitchesPerOp returns the context switches for each operation. ok is false if
// they are not known.
func (m Measurement) SwitchesPerOp() (n float64, ok bool) {
	return m.perOp(float64(m.Switches)), m.known
}

// Achieved returns the part, of the operations due by the end of an open loop, that had been
// started: 1 if the engine kept up. ok is false in a closed loop.
func (m Measurement) Achieved() (part float64, ok bool) {
	begun := m.Ops + m.Errors
	if m.Rate == 0 || begun+m.Backlog == 0 {
		return 0, false
	}
	return float64(begun) / float64(begun+m.Backlog), true
}

// Saturated reports whether the engine did not keep up with the rate of an open
// loop: less than 99 % of the operations that were due had been started, and more
// were left than there are goroutines, each of which may be late with one. The
// response times are then those of the operations that got their turn, and
// would be longer the longer the run.
func (m Measurement) Saturated() bool {
	part, ok := m.Achieved()
	return ok && part < 0.99 && m.Backlog > uint64(m.threads)
}

// Quantile returns the service time that a fraction q of the timed operations did not exceed, as
// [Distribution.Quantile] of Service does.
func (m Measurement) Quantile(q float64) (latency time.Duration, ok bool) {
	return m.Service.Quantile(q)
}

// Live says how far a run of a [Trial] is. Each goroutine publishes its figures once in a while, so
// that they lag a little behind, and do not agree with each other to the last operation.
type Live struct {
	// Run counts the runs of the trial, from 1; with each, the figures start
	// from zero.
	Run int

	Measured bool          // false in a warm-up: nothing is timed
	Elapsed  time.Duration // since the run began
	Ops      uint64        // operations that have committed
	Aborts   uint64        // attempts that did not commit
	Errors   uint64        // operations that were given up

	// Service and Response are as in a [Measurement]. The next
	// [Trial.ReadLive] into the same Live overwrites them.
	Service, Response Distribution
}

// Live returns the operations committed so far in the current or last run,
// roughly: each goroutine says how far it is once in a while. It may be called
// by any goroutine, and costs a memory access for each goroutine of the trial.
func (t *Trial) Live() uint64 {
	var n uint64
	for _, w := range t.workers {
		n += w.live.ops.Load()
	}
	return n
}

// Elapsed returns how long ago the current or last run began, 0 if none has, or one is just
// beginning. It may be called by any goroutine.
func (t *Trial) Elapsed() time.Duration {
	run := t.runs.Load()
	if run == 0 || run%2 == 1 {
		return 0
	}
	if d := clock() - t.started.load(); t.runs.Load() == run {
		return d
	}
	return 0
}

// ReadLive fills l with how far the current or last run is. It may be called by
// any goroutine; no operation waits for it. It copies all counts of times, which
// takes up to a few milliseconds with many goroutines, so it is meant to be
// called about once a second. It reports false, and l is of no use, if no run
// has begun, or one is just beginning.
func (t *Trial) ReadLive(l *Live) bool {
	run := t.runs.Load()
	if run == 0 || run%2 == 1 {
		return false
	}
	l.Run = int(run / 2)
	l.Measured = t.measured.Load()
	l.Elapsed = clock() - t.started.load()
	l.Ops, l.Aborts, l.Errors = t.Live(), 0, 0
	for _, w := range t.workers {
		l.Aborts += w.live.aborts.Load()
		l.Errors += w.live.gaveUp.Load()
	}
	collect(t.times, &l.Service, &l.Response)
	return t.runs.Load() == run
}
