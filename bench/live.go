package bench

import (
	"time"

	"github.com/mvccmap/mvccmap/internal/machine"
)

// Live is how far a run of a [Trial] is. The figures are those that the
// goroutines have published: each does so once in a while, so they lag a little
// behind, and do not fit together to the last operation.
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

	// Switches is how often threads of the process have been switched since the
	// run began. 0 if it is not known.
	Switches uint64
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
	_, switches, _ := machine.Process()
	l.Switches = switches - min(t.switches.Load(), switches)
	return t.runs.Load() == run
}
