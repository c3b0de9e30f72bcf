package bench

import (
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/machine"
)

// usage has the figures of the process so far.
type usage struct {
	mem      runtime.MemStats
	cpu      time.Duration // 0 if it is not known
	switches uint64        // context switches
	known    bool          // cpu and switches are
	gc       gcTime
}

// begin reads the figures before a run, and end after it, while no operation is under way. Both
// stop the world for some microseconds, because only then are allocations counted to the last.
// Their own cost is outside of the processor time and the context switches.
func (u *usage) begin() {
	runtime.ReadMemStats(&u.mem)
	u.gc.read()
	u.cpu, u.switches, u.known = machine.Process()
}

func (u *usage) end() {
	u.cpu, u.switches, u.known = machine.Process()
	runtime.ReadMemStats(&u.mem)
	u.gc.read()
}

// gcTime is the processor time that the runtime has accounted for. It brings the
// account up to date at the end of each collection, and not in between.
type gcTime struct {
	gc    float64 // seconds taken by the collector, idle time put to use left out
	total float64 // seconds there were: GOMAXPROCS times wall time
}

func (g *gcTime) read() {
	samples := [...]metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
		{Name: "/cpu/classes/total:cpu-seconds"},
	}
	metrics.Read(samples[:])
	g.gc = seconds(samples[0]) - seconds(samples[1])
	g.total = seconds(samples[2])
}

// share returns the collector's part of the processor time that there was between
// two readings, from 0 to 1; 0 if no collection ended between them.
func (g gcTime) share(before gcTime) float64 {
	if g.total <= before.total {
		return 0
	}
	return min(max((g.gc-before.gc)/(g.total-before.total), 0), 1)
}

// seconds returns the value of s, and 0 if this runtime has no such metric.
func seconds(s metrics.Sample) float64 {
	if s.Value.Kind() != metrics.KindFloat64 {
		return 0
	}
	return s.Value.Float64()
}

// Memory is the memory of a run: at its start, at its peak, and at its end, before an open
// snapshot is closed. The peak is of samples taken at the interval of the audits.
type Memory struct {
	// HeapStart and HeapEnd are the bytes of the heap of the whole process that are in use after a
	// garbage collection. HeapPeak is the most that a collection during the run found in use, or
	// HeapStart or HeapEnd.
	HeapStart, HeapPeak, HeapEnd uint64

	// VersionsStart, VersionsPeak and VersionsEnd are how many versions the engine holds, of all
	// keys together; 0 if the engine does not say.
	VersionsStart, VersionsPeak, VersionsEnd int
}

// census finds the figures of a [Memory].
type census struct {
	versions func() (n int, ok bool)
	memory   Memory
	live     [1]metrics.Sample
}

func newCensus(versions func() (n int, ok bool)) *census {
	c := &census{versions: versions}
	c.live[0].Name = "/gc/heap/live:bytes"
	return c
}

// begin is called before a run, after a garbage collection.
func (c *census) begin() {
	heap := heapInUse()
	n, _ := c.versions()
	c.memory = Memory{HeapStart: heap, HeapPeak: heap, VersionsStart: n, VersionsPeak: n}
}

// sample is called during a run.
func (c *census) sample() error {
	metrics.Read(c.live[:])
	if c.live[0].Value.Kind() == metrics.KindUint64 {
		c.memory.HeapPeak = max(c.memory.HeapPeak, c.live[0].Value.Uint64())
	}
	if n, ok := c.versions(); ok {
		c.memory.VersionsPeak = max(c.memory.VersionsPeak, n)
	}
	return nil
}

// end is called after a run. It collects garbage.
func (c *census) end() *Memory {
	n, _ := c.versions()
	runtime.GC()
	m := c.memory
	m.HeapEnd, m.VersionsEnd = heapInUse(), n
	m.HeapPeak = max(m.HeapPeak, m.HeapEnd)
	m.VersionsPeak = max(m.VersionsPeak, n)
	return &m
}

// heapInUse returns the bytes of the heap in use, right after a collection.
func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
