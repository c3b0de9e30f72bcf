package machine

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
)

// Usage is the use of the machine for a while. Shares are of all its processors, from 0 to 1.
type Usage struct {
	For     time.Duration `json:"for_ns"`
	Known   bool          `json:"known"`             // the shares are
	Process float64       `json:"process,omitempty"` // this program
	Others  float64       `json:"others,omitempty"`  // other programs, and the system's own work
	Steal   float64       `json:"steal,omitempty"`   // kept back by the host of a virtual machine
	Most    float64       `json:"most,omitempty"`    // the limit of this program, by GOMAXPROCS
	// Delay is for how long the threads of this program, added up, waited for a processor. Delayed
	// says whether that is known.
	Delay   time.Duration `json:"run_delay_ns,omitempty"`
	Delayed bool          `json:"run_delay_known,omitempty"`
	// Hiccup is the longest time by which a goroutine woke late.
	Hiccup time.Duration `json:"hiccup_ns"`
}

// leastTicks is how many ticks the system must have counted for each processor for a share to be
// known: it counts whole ticks, mostly of 10 ms, and fewer say nothing.
const leastTicks = 10

// Between returns the usage between two readings.
func Between(before, after Times, passed time.Duration) Usage {
	u := Usage{For: passed}
	if u.Delayed = after.Delay > 0; u.Delayed { // it falls when threads end
		u.Delay = time.Duration(max(after.Delay-before.Delay, 0) * 1e9)
	}
	total := after.Total - before.Total
	cpus := float64(max(after.Processors, 1))
	process := (after.Process - before.Process) / (passed.Seconds() * cpus)
	busy, steal := (after.Busy-before.Busy)/total, (after.Steal-before.Steal)/total
	if total < leastTicks*cpus || math.IsNaN(process+busy+steal) || passed <= 0 {
		return u
	}
	within := func(share float64) float64 { return math.Round(1e4*min(max(share, 0), 1)) / 1e4 }
	u.Known = true
	u.Process, u.Steal = within(process), within(steal)
	u.Others = within(busy - process)
	u.Most = within(float64(runtime.GOMAXPROCS(0)) / cpus)
	return u
}

// The rule by which a measurement is noisy: something beside the program took so much that it may
// explain a difference to another measurement. docs/profiling.md has it in words.
const (
	// noisyShare is the least share of the processors that others or the host must have taken:
	// less explains no difference that the gate of compare would find (10 %).
	noisyShare = 0.1
	// spareShare is how much of the processors must have been idle for the share of others not
	// to matter: the program could have had that much more.
	spareShare = 0.1
	// noisyHiccup is the least hiccup that counts, as a part of the measurement, and ownHiccup the
	// least that counts for any length: Go's scheduler lets a goroutine run for 10 ms, and looks
	// for such goroutines every 10 ms. So a program that wants more than its processors makes its
	// own goroutines late by 20 ms.
	noisyHiccup = 0.1
	ownHiccup   = 40 * time.Millisecond
	// ownShare is the part of its possible processor time that a program must have lacked for a
	// hiccup to count: a program that ran all the time, on all its processors, was not held up by
	// others.
	ownShare = 0.1
)

// Noise names the causes beside the program that may explain that something was slow, "" if there
// are none.
func (u Usage) Noise() string {
	var list []string
	idle := 1 - u.Process - u.Others - u.Steal
	if u.Known && u.Others >= noisyShare && idle < spareShare {
		list = append(list, fmt.Sprintf("other programs had %s of the processors", humanize.Percent(u.Others)))
	}
	if u.Known && u.Steal >= noisyShare {
		list = append(list, fmt.Sprintf("the host kept back %s of the processors", humanize.Percent(u.Steal)))
	}
	full := u.Known && u.Process >= (1-ownShare)*u.Most
	if !full && u.Hiccup >= ownHiccup && float64(u.Hiccup) >= noisyHiccup*float64(u.For) {
		list = append(list, fmt.Sprintf("a goroutine woke %s late", humanize.Time(u.Hiccup)))
	}
	return strings.Join(list, ", ")
}

// String has the usage in words.
func (u Usage) String() string {
	late := "nothing woke late"
	if u.Hiccup > 0 {
		late = "longest hiccup " + humanize.Time(u.Hiccup)
	}
	if !u.Known {
		return late
	}
	return fmt.Sprintf("of its processors this program had %s, others %s, the host kept back %s; %s",
		humanize.Percent(u.Process), humanize.Percent(u.Others), humanize.Percent(u.Steal), late)
}
