package slow

import (
	"cmp"
	"time"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/internal/bench/machine"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

// A Report accounts for the time of one operation, by the states of its goroutine. It marshals to
// JSON with times in nanoseconds.
type Report struct {
	// Goroutine is the number of the goroutine in the trace, and End the time
	// at which the operation ended, from the start of the trace.
	Goroutine int64         `json:"goroutine"`
	End       time.Duration `json:"end_ns"`

	// Took is the time of the operation, Seen the part of it, at its end, that the trace has.
	// Everything else in the report is about that part; if it is shorter than Took, the trace does
	// not reach back to the start.
	Took time.Duration `json:"took_ns"`
	Seen time.Duration `json:"seen_ns"`

	// The time of the goroutine by its states; together they are Seen. Running is without Assist,
	// the time in which it had to work for the collector. Runnable is the time in which it could
	// have run, but had no processor. These are the states that Go's scheduler knows: it does not
	// know when the system stops a thread, and counts that as running.
	Running  time.Duration `json:"running_ns"`
	Assist   time.Duration `json:"gc_assist_ns"`
	Runnable time.Duration `json:"runnable_ns"`
	Waiting  time.Duration `json:"waiting_ns"`
	Syscall  time.Duration `json:"syscall_ns"`
	Unknown  time.Duration `json:"unknown_ns,omitempty"`

	// Unbroken is the longest time for which the goroutine ran without an interruption. Go's
	// scheduler interrupts it after 10 ms: much more means that it was not on a processor, or in
	// code that cannot be interrupted.
	Unbroken time.Duration `json:"unbroken_ns"`
	// Used is an upper bound of the processor time of the whole program within Machine.For, which
	// includes the operation; 0 if it is not known.
	Used time.Duration `json:"used_ns,omitempty"`

	// Waits has the waits of the goroutine, by kind and site, the longest first: waiting, system
	// calls and the time without a processor.
	Waits []Wait `json:"waits"`

	// Marking and Stopped are how much of the time Seen the collector was marking, and the world
	// was stopped. Stops has the reasons.
	Marking time.Duration `json:"gc_marking_ns"`
	Stopped time.Duration `json:"stopped_ns"`
	Stops   []string      `json:"stops,omitempty"`

	// Lost has the attempts of the operation's transactions, if conflicts were looked for.
	Lost Lost `json:"lost,omitzero"`

	// Processors has the numbers of processors present and wanted, if the longest wait, or its root
	// cause, was for a processor.
	Processors *Processors `json:"processors,omitempty"`

	// Machine is the usage of the machine around the end of the operation.
	Machine machine.Usage `json:"machine"`

	// Verdict is the report in a sentence or two.
	Verdict string `json:"verdict"`
}

// A Wait sums up the waits of one kind at one line of code.
type Wait struct {
	Kind   contention.Kind    `json:"kind"`
	Site   contention.Frame   `json:"site"`
	Stack  []contention.Frame `json:"stack,omitempty"` // of the longest, leaf first
	Count  int                `json:"count"`
	Total  time.Duration      `json:"total_ns"`
	Max    time.Duration      `json:"max_ns"`
	Others []Activity         `json:"others,omitempty"` // who ran meanwhile, if for a processor

	// Waker ended the longest wait. Turns are the goroutines that made it last. Cause is their main
	// wait, if it took most of their time and was for other goroutines.
	Waker *Waker `json:"waker,omitempty"`
	Turns *Turns `json:"turns,omitempty"`
	Cause *Wait  `json:"cause,omitempty"`

	during window // the longest
}

// A Waker made the goroutine runnable again.
type Waker struct {
	// Goroutine is its number, -1 if it was the scheduler, which looks after
	// timers and the network.
	Goroutine int64              `json:"goroutine"`
	Site      contention.Frame   `json:"site"`
	Stack     []contention.Frame `json:"stack,omitempty"`
}

// Turns are the goroutines for which another one waited, one after the other: each had waited for
// the same thing, and handed the thing on when it was done. Those of a lock are its holders.
type Turns struct {
	Count   int           `json:"count"`
	Total   time.Duration `json:"total_ns"`
	Longest time.Duration `json:"longest_ns"`
	// Doing has their activities until they handed it on, the longest first.
	Doing []Activity `json:"doing,omitempty"`
}

// Average returns for how long each goroutine had the thing, on average.
func (t *Turns) Average() time.Duration { return t.Total / time.Duration(max(t.Count, 1)) }

// Processors says how many goroutines wanted processors during a while, on average.
type Processors struct {
	Of        int     `json:"of"`        // GOMAXPROCS, 0 if it is not known
	Wanted    float64 `json:"wanted"`    // goroutines that ran, or could have
	Used      float64 `json:"used"`      // of them, those that ran, as far as the runtime knows
	Collector float64 `json:"collector"` // of them, those of the garbage collector

	stopped bool // the world was stopped for most of the time
}

// An Activity says how one or more goroutines spent a wait: they waited at one line, or ran.
type Activity struct {
	Goroutine  int64            `json:"goroutine"`      // the lowest number
	Goroutines int              `json:"goroutines"`     // how many
	Kind       contention.Kind  `json:"kind,omitempty"` // "" if it ran
	Site       contention.Frame `json:"site"`           // where it waited or stopped, if known
	Total      time.Duration    `json:"total_ns"`
	// Unbroken is the longest time for which one ran without an interruption, if they ran.
	Unbroken time.Duration `json:"unbroken_ns,omitempty"`
}

// off reports whether a's goroutine, most likely, had no processor for most of its time, although
// Go's scheduler took it for running.
func (a *Activity) off() bool {
	return a.Kind == "" && a.Unbroken > due && a.Unbroken > a.Total/2
}

// Complete reports whether the trace reaches back to the start of the operation.
func (r *Report) Complete() bool { return r.Seen >= r.Took }

// due is the longest run without an interruption that is not suspect: Go's scheduler interrupts a
// goroutine after 10 ms, and looks for such goroutines every 10 ms.
const due = 40 * time.Millisecond

// Off returns for how long the goroutine had no processor, although Go's scheduler took it for
// running. If sure, that is at least d, since the whole program used less; else d is most likely.
func (r *Report) Off() (d time.Duration, sure bool) {
	ran, all := r.Running+r.Assist, r.Machine.For >= r.Seen // the machine's usage covers all
	if r.Used > 0 && all && ran-r.Used > ran/2 {
		return ran - r.Used, true
	}
	if r.Unbroken > due {
		return r.Unbroken, false
	}
	return 0, false
}

// Root returns the root of w: the main activity of the last cause.
func (w *Wait) Root() Activity {
	for w.Cause != nil {
		w = w.Cause
	}
	if w.Turns != nil && len(w.Turns.Doing) > 0 {
		return w.Turns.Doing[0]
	}
	return Activity{Kind: w.Kind, Site: w.Site}
}

// Profile returns r as a profile of waits that ended at end: those of the operation and, under "of
// others", the activities of the goroutines that let it wait. It has each line that r names.
func (r *Report) Profile(end time.Time) *profile.Profile {
	p := contention.NewProfile(end.Add(-r.Seen), r.Seen)
	for i := range r.Waits {
		r.Waits[i].addTo(p, "")
	}
	return p.Profile
}

func (w *Wait) addTo(p *contention.Profile, whose contention.Kind) {
	p.Add(w.Kind+whose, w.Stack, int64(w.Count), w.Total)
	const others = " of others"
	if w.Waker != nil && len(w.Waker.Stack) > 0 {
		p.Add("wakes"+others, w.Waker.Stack, 1, w.Max)
	}
	list := w.Others
	if w.Turns != nil {
		list = append(list[:len(list):len(list)], w.Turns.Doing...)
	}
	for _, a := range list {
		if a.Site.Func != "" {
			p.Add(cmp.Or(a.Kind, "running")+others, []contention.Frame{a.Site}, 1, a.Total)
		}
	}
	if w.Cause != nil {
		w.Cause.addTo(p, others)
	}
}
