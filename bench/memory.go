package bench

import (
	"runtime"
	"runtime/metrics"
)

// Memory is what a run held in memory: at its start, at its peak, and at its end, before an open
// snapshot is closed. The peak is of samples taken at the interval of the audits.
type Memory struct {
	// HeapStart and HeapEnd are the bytes of the heap of the whole process
	// that are in use after a garbage collection. HeapPeak is the most that a
	// collection during the run found in use, or one of these two.
	HeapStart, HeapPeak, HeapEnd uint64

	// VersionsStart, VersionsPeak and VersionsEnd are the versions of values
	// that the engine holds, those of one key counted apart; 0 if it does not
	// say.
	VersionsStart, VersionsPeak, VersionsEnd int
}

// census finds out what a [Memory] says.
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
func (c *census) sample() {
	metrics.Read(c.live[:])
	if c.live[0].Value.Kind() == metrics.KindUint64 {
		c.memory.HeapPeak = max(c.memory.HeapPeak, c.live[0].Value.Uint64())
	}
	if n, ok := c.versions(); ok {
		c.memory.VersionsPeak = max(c.memory.VersionsPeak, n)
	}
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
