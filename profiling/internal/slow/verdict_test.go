package slow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/machine"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

// ran is the verdict on a short run: nothing tells whether it was on a processor.
const ran = "running, as far as Go's scheduler knows: it does not see when the system stops a " +
	"thread. A CPU profile shows where, if it used the processor."

// A verdict says that the operation was not on a processor where that is known, or likely, and
// never that it was.
func TestVerdictOnRunning(t *testing.T) {
	const took = 151 * time.Millisecond
	likely := "151 ms of 151 ms not on a processor, most likely: Go interrupts after 10 ms what runs, and " +
		"did not for so long. So the system had stopped the thread, or it was in code that cannot be " +
		"interrupted."
	sure := "At least 141 ms of 151 ms not on a processor: the system had stopped the thread, as in " +
		"1.00 s the whole program used no more than 10.0 ms of processor time."
	for _, c := range []struct {
		want           string
		unbroken, used time.Duration
	}{
		{"151 ms of 151 ms " + ran, 20 * time.Millisecond, 0},
		{"151 ms of 151 ms " + ran, 60 * time.Millisecond, 0}, // not most of it
		{"151 ms of 151 ms " + ran, 20 * time.Millisecond, 100 * time.Millisecond},
		{likely, took, 0},
		{likely, took, time.Second},
		{sure, took, 10 * time.Millisecond},
		{sure, 20 * time.Millisecond, 10 * time.Millisecond},
	} {
		r := Report{Seen: took, Took: took, Running: took, Unbroken: c.unbroken, Used: c.used}
		r.Machine.For = time.Second
		require.Equal(t, c.want, r.verdict())
	}
	short := Report{Seen: took, Took: took, Running: took, Used: 1}
	short.Machine.For = took / 2
	require.Equal(t, "151 ms of 151 ms "+ran, short.verdict(), "the accounts are of a part only")
}

// Lost processors are named first, whatever took longer: those of the operation itself, and those
// of a goroutine that let it wait.
func TestVerdictNamesLostProcessorsFirst(t *testing.T) {
	const took = 200 * time.Millisecond
	wait := Wait{Kind: contention.Mutex, Count: 1, Total: 140 * time.Millisecond}
	own := Report{Seen: took, Took: took, Running: 60 * time.Millisecond, Waiting: wait.Total,
		Unbroken: 55 * time.Millisecond, Waits: []Wait{wait}}
	require.Equal(t, "55.0 ms of 200 ms not on a processor, most likely: Go interrupts after 10 ms what "+
		"runs, and did not for so long. So the system had stopped the thread, or it was in code that "+
		"cannot be interrupted. Next: 140 ms waiting for a sync.Mutex.", own.verdict())
	own.Unbroken = 30 * time.Millisecond
	require.Contains(t, own.verdict(), "140 ms of 200 ms waiting for a sync.Mutex")

	held := func(unbroken time.Duration) string {
		w := wait
		w.Total = took
		w.Waker = &Waker{Goroutine: 2, Site: contention.Frame{Func: "p.f", File: "f.go", Line: 3}}
		w.Turns = &Turns{Count: 1, Total: took, Doing: []Activity{
			{Total: took, Goroutine: 2, Goroutines: 1, Unbroken: unbroken}}}
		r := Report{Seen: took, Took: took, Waiting: took, Waits: []Wait{w}}
		return r.verdict()
	}
	const first = "Most likely goroutine 2 was not on a processor for 190 ms: it was not interrupted " +
		"for so long, which is due after 10 ms. "
	const lock = "200 ms of 200 ms waiting for a sync.Mutex; it was held by goroutine 2, which " +
		"released it at f.go:3 (p.f) and meanwhile was 200 ms running."
	require.Equal(t, first+lock, held(190*time.Millisecond))
	require.Equal(t, lock, held(35*time.Millisecond))
	require.Equal(t, lock, held(90*time.Millisecond), "it is not most of it")
}

// Where nothing took half of the time, the verdict names the two longest parts, and
// none of them twice.
func TestVerdictNamesTheNext(t *testing.T) {
	const took = 10 * time.Millisecond
	lock := func(d time.Duration) Wait { return Wait{Kind: contention.Mutex, Count: 1, Total: d} }
	doze := func(d time.Duration) Wait { return Wait{Kind: contention.Sleep, Count: 1, Total: d} }
	for want, r := range map[string]Report{
		"4.00 ms of 10.0 ms waiting for a sync.Mutex. Next: 2.60 ms running.": {
			Running: 2600 * time.Microsecond, Assist: 1900 * time.Microsecond,
			Waits: []Wait{lock(4e6), doze(1e6)},
		},
		"4.00 ms of 10.0 ms waiting for a sync.Mutex. Next: 3.00 ms sleeping.": {
			Running: 2e6, Assist: 1e6, Waits: []Wait{lock(4e6), doze(3e6)},
		},
		"4.00 ms of 10.0 ms waiting for a sync.Mutex. Next: 3.00 ms waiting for a sync.Mutex.": {
			Running: 2e6, Assist: 1e6, Waits: []Wait{lock(4e6), lock(3e6)}, // at another line
		},
		"3.00 ms of 10.0 ms marking for the garbage collector, in return for what it allocated. Next: " +
			"2.90 ms running.": {
			Running: 2900 * time.Microsecond, Assist: 3e6, Waits: []Wait{lock(1e6), doze(1e6)},
		},
		"4.00 ms of 10.0 ms " + ran + " Next: 3.50 ms marking for the garbage collector.": {
			Running: 4e6, Assist: 3500 * time.Microsecond, Waits: []Wait{lock(2e6)},
		},
		"5.95 ms of 10.0 ms are not in the trace. Next: 4.00 ms waiting for a sync.Mutex.": {
			Running: 5e4, Unknown: 5950 * time.Microsecond, Waits: []Wait{lock(4e6)},
		},
		"6.00 ms of 10.0 ms waiting for a sync.Mutex.": {Running: 4e6, Waits: []Wait{lock(6e6)}},
		"10.0 ms of 10.0 ms are not in the trace.":     {Unknown: took},
		"4.00 ms of 10.0 ms " + ran: {
			Running: 4e6, Unknown: 5e6,
		},
	} {
		r.Seen, r.Took = took, took
		require.Equal(t, want, r.verdict())
	}
}

// Lost processor time is named as that, with the goroutines that had it, or the machine if it was
// that.
func TestVerdictOnProcessors(t *testing.T) {
	const took = 10 * time.Millisecond
	lost := func(p Processors) Report {
		return Report{Runnable: took, Processors: &p,
			Waits: []Wait{{Kind: contention.Scheduler, Count: 1, Total: took}}}
	}
	held := func(kind contention.Kind) Report {
		return Report{Waiting: took, Waits: []Wait{{Kind: contention.Mutex, Count: 1, Total: took,
			Waker: &Waker{Goroutine: 2, Site: contention.Frame{Func: "p.f", File: "f.go", Line: 3}},
			Turns: &Turns{Count: 1, Total: took,
				Doing: []Activity{{Kind: kind, Total: took, Goroutines: 1}}}}}}
	}
	running := Report{Running: took}
	stopped := lost(Processors{Of: 2, Wanted: 1, Used: 0.1, stopped: true})
	stopped.Stopped, stopped.Stops = took, []string{"GC mark termination"}
	quiet := machine.Usage{For: time.Second, Known: true, Process: 0.95, Others: 0.02}
	others := machine.Usage{For: time.Second, Known: true, Process: 0.5, Others: 0.48}
	host := machine.Usage{For: time.Second, Known: true, Process: 0.5, Steal: 0.3}
	late := machine.Usage{For: time.Second, Known: true, Process: 0.2, Most: 1,
		Hiccup: 50 * time.Millisecond}
	convoy := held(contention.Sleep)
	convoy.Waits[0].Turns.Count = 2
	for _, c := range []struct {
		report  Report
		machine machine.Usage
		want    string
	}{
		{lost(Processors{Of: 2, Wanted: 5, Used: 2}), quiet,
			"10.0 ms of 10.0 ms runnable, without a processor: 5.0 goroutines for 2 processors."},
		{lost(Processors{Of: 2, Wanted: 5, Used: 2, Collector: 1.25}), quiet,
			"10.0 ms of 10.0 ms runnable, without a processor: the collector had 1.2 of 2."},
		{lost(Processors{Of: 2, Wanted: 1.2, Used: 0.2}), quiet,
			"10.0 ms of 10.0 ms runnable, without a processor, although only 0.2 of 2 were in use." +
				" Most likely it was the machine, which did not run the thread: a processor of the program " +
				"was free."},
		{lost(Processors{Of: 2, Wanted: 3, Used: 2}), others,
			"10.0 ms of 10.0 ms runnable, without a processor: 3.0 goroutines for 2 processors." +
				" Most likely it was the machine: within 1.00 s, other programs had 48 % of the processors."},
		{lost(Processors{}), host,
			"10.0 ms of 10.0 ms runnable, without a processor." +
				" Most likely it was the machine: within 1.00 s, the host kept back 30 % of the processors."},
		{stopped, quiet,
			"10.0 ms of 10.0 ms runnable, without a processor: the world was stopped." +
				" The world was stopped for 10.0 ms (GC mark termination)."},
		{running, quiet, "10.0 ms of 10.0 ms " + ran},
		{running, late, "10.0 ms of 10.0 ms " + ran + " The machine may have held it up: within 1.00 s, a goroutine woke 50.0 ms late."},
		{held(""), others, "10.0 ms of 10.0 ms waiting for a sync.Mutex; it was held by goroutine 2, " +
			"which released it at f.go:3 (p.f)" +
			" and meanwhile was 10.0 ms running. The machine may have held it up: within 1.00 s, other " +
			"programs had 48 % of the processors."},
		{held(contention.Sleep), others,
			"10.0 ms of 10.0 ms waiting for a sync.Mutex; it was held by goroutine 2, which released it " +
				"at f.go:3 (p.f)" +
				" and meanwhile was 10.0 ms sleeping."},
		{convoy, others, "10.0 ms of 10.0 ms waiting for a sync.Mutex; it had 2 holders in turn, 5.00 ms " +
			"each, which released it at f.go:3 (p.f) and meanwhile were 100 % of the time sleeping."},
	} {
		r := c.report
		r.Seen, r.Took, r.Machine = took, took, c.machine
		require.Equal(t, c.want, r.verdict())
	}
}
