package slow

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

// verdict says in words where most of the time went.
func (r *Report) verdict() string {
	var b strings.Builder
	if !r.Complete() {
		fmt.Fprintf(&b, "The trace does not reach back to the start of the operation: "+
			"it has only the last %s of %s. ", humanize.Time(r.Seen), humanize.Time(r.Took))
	}
	b.WriteString(r.Lost.String())
	of := fmt.Sprintf(" of %s ", humanize.Time(r.Seen))
	top := Wait{}
	if len(r.Waits) > 0 {
		top = r.Waits[0]
	}
	said, most := "", time.Duration(0) // next does not repeat it
	off, _ := r.Off()
	switch {
	case r.Seen == 0:
		b.WriteString("Nothing is known of it.")
	case r.Unknown > r.Seen/2:
		b.WriteString(humanize.Time(r.Unknown) + of + "are not in the trace.")
	case off > r.Running/2 && off >= r.Seen/4: // whatever took longer: all does without a processor
		b.WriteString(r.runningWords(of))
		said, most = kindWords(""), r.Running
	case r.Assist > r.Seen/2 || r.Assist > r.Running && r.Assist >= top.Total:
		b.WriteString(humanize.Time(r.Assist) + of + marking + ", in return for what it allocated.")
		said, most = marking, r.Assist
	case r.Running >= top.Total:
		b.WriteString(r.runningWords(of))
		said, most = kindWords(""), r.Running
	default:
		if root := top.Root(); root.off() {
			fmt.Fprintf(&b, "Most likely %s was not on a processor for %s: it was not interrupted for "+
				"so long, which is due after 10 ms. ", root.who(), humanize.Time(root.Unbroken))
		}
		b.WriteString(humanize.Time(top.Total) + of + top.words(r.Processors))
		said, most = topWait, top.Total
	}
	if r.Seen > 0 && most < r.Seen/2 {
		if what, d := r.next(said); d > 0 {
			fmt.Fprintf(&b, " Next: %s %s.", humanize.Time(d), what)
		}
	}
	if r.Stopped > r.Seen/10 {
		fmt.Fprintf(&b, " The world was stopped for %s (%s).",
			humanize.Time(r.Stopped), strings.Join(r.Stops, ", "))
	}
	if r.Marking > r.Seen/2 && top.Kind != contention.Sleep {
		fmt.Fprintf(&b, " The garbage collector was marking for %s.", humanize.Time(r.Marking))
	}
	b.WriteString(r.machineWords())
	return b.String()
}

// runningWords describes an operation that mostly ran, as far as Go's scheduler knows.
func (r *Report) runningWords(of string) string {
	off, sure := r.Off()
	switch {
	case sure:
		return fmt.Sprintf("At least %s%snot on a processor: the system had stopped the thread, as in "+
			"%s the whole program used no more than %s of processor time.",
			humanize.Time(off), of, humanize.Time(r.Machine.For), humanize.Time(r.Used))
	case off > r.Running/2:
		return fmt.Sprintf("%s%snot on a processor, most likely: Go interrupts after 10 ms what runs, "+
			"and did not for so long. So the system had stopped the thread, or it was in code that "+
			"cannot be interrupted.", humanize.Time(off), of)
	}
	return humanize.Time(r.Running) + of + "running, as far as Go's scheduler knows: it does not see " +
		"when the system stops a thread. A CPU profile shows where, if it used the processor."
}

// Parts of the time that are no wait, beside running.
const (
	marking = "marking for the garbage collector"
	topWait = "waiting" // the first of the waits
)

// next returns the largest part of the time other than said.
func (r *Report) next(said string) (what string, d time.Duration) {
	longest := func(w string, t time.Duration) {
		if t > d && w != said {
			what, d = w, t
		}
	}
	longest(kindWords(""), r.Running)
	longest(marking, r.Assist)
	waits := r.Waits
	if said == topWait {
		waits = waits[1:]
	}
	if len(waits) > 0 && waits[0].Total > d {
		what, d = kindWords(waits[0].Kind), waits[0].Total
	}
	return what, d
}

// words names the kind of a wait, who ended it, and the activities that let it last.
func (w *Wait) words(p *Processors) string {
	var b strings.Builder
	b.WriteString(kindWords(w.Kind))
	if w.Kind == contention.Scheduler {
		b.WriteString(p.words())
		var others []string
		for _, o := range w.Others {
			name := humanize.Func(o.Site.Func)
			if name == "" {
				name = "unknown code"
			}
			others = append(others, fmt.Sprintf("%s (%s, %s)", name, o.who(), humanize.Time(o.Total)))
		}
		if len(others) > 0 {
			b.WriteString(", while there ran " + strings.Join(others, ", "))
		}
		b.WriteString(".")
		return b.String()
	}
	if w.Site.Func != "" {
		b.WriteString(" at " + place(w.Site))
	}
	if w.Count > 1 {
		fmt.Fprintf(&b, ", in %d waits of at most %s", w.Count, humanize.Time(w.Max))
	}
	it := "it"
	for ; w != nil; w, it = w.Cause, "that" {
		b.WriteString(w.because(it, p))
	}
	b.WriteString(".")
	return b.String()
}

// because returns words for the goroutines that made the longest of the waits last, and for their
// activities. it names the thing waited for: "it", or "that" further down the chain of causes.
func (w *Wait) because(it string, p *Processors) string {
	k, t := w.Waker, w.Turns
	if k == nil || k.Goroutine < 0 || k.Site.Func == "" || strings.HasPrefix(k.Site.Func, "runtime.") {
		return ""
	}
	var b strings.Builder
	lock := w.Kind == contention.Mutex || w.Kind == contention.RWMutex
	switch several := t != nil && t.Count > 1; {
	case several && lock:
		fmt.Fprintf(&b, "; %s had %d holders in turn, %s each, which released it at %s",
			it, t.Count, humanize.Time(t.Average()), place(k.Site))
	case several:
		fmt.Fprintf(&b, "; %s passed through %d goroutines in turn, %s each, the last of which "+
			"ended the wait at %s", it, t.Count, humanize.Time(t.Average()), place(k.Site))
	case lock:
		fmt.Fprintf(&b, "; %s was held by goroutine %d, which released it at %s",
			it, k.Goroutine, place(k.Site))
	default:
		fmt.Fprintf(&b, "; goroutine %d ended %s at %s", k.Goroutine, it, place(k.Site))
	}
	if t == nil {
		return b.String()
	}
	var doing []string
	for _, a := range t.Doing {
		if a.Total <= t.Total/4 {
			break
		}
		what := humanize.Time(a.Total) + " "
		if t.Count > 1 {
			what = humanize.Percent(float64(a.Total)/float64(t.Total)) + " of the time "
		}
		what += kindWords(a.Kind)
		switch {
		case a.Kind == contention.Scheduler:
			what += p.words()
		case a.Kind != "" && a.Site.Func != "":
			what += " at " + place(a.Site)
		}
		doing = append(doing, what)
	}
	if len(doing) > 0 {
		be := "was"
		if t.Count > 1 {
			be = "were"
		}
		fmt.Fprintf(&b, " and meanwhile %s %s", be, strings.Join(doing, ", "))
	}
	return b.String()
}

// who names the goroutines of a.
func (a *Activity) who() string {
	if a.Goroutines > 1 {
		return fmt.Sprintf("%d goroutines", a.Goroutines)
	}
	return fmt.Sprintf("goroutine %d", a.Goroutine)
}

// words says why there was no processor: the world was stopped, the collector had most processors,
// some were not in use, or how many goroutines wanted one. It returns "" if nothing is known.
func (p *Processors) words() string {
	switch {
	case p == nil || p.Of == 0:
		return ""
	case p.stopped:
		return ": the world was stopped"
	case p.Collector >= float64(p.Of)/2:
		return fmt.Sprintf(": the collector had %.1f of %d", p.Collector, p.Of)
	case p.idle():
		return fmt.Sprintf(", although only %.1f of %d were in use",
			p.Used, p.Of)
	}
	plural := "s"
	if p.Of == 1 {
		plural = ""
	}
	return fmt.Sprintf(": %.1f goroutines for %d processor%s", p.Wanted, p.Of, plural)
}

// idle reports whether a processor of the program was free, so that a goroutine that could run
// should have had it. Most likely the system did not run the thread that was to take the goroutine.
func (p *Processors) idle() bool {
	return p != nil && p.Of > 0 && !p.stopped && p.Used <= float64(p.Of)-0.75
}

// machineWords says which part the machine had in the delay, if that is known.
func (r *Report) machineWords() string {
	u := r.Machine
	u.For = r.Took // a hiccup counts as a part of it
	noise, within := u.Noise(), humanize.Time(r.Machine.For)
	kind := contention.Kind("")
	if len(r.Waits) > 0 && r.Waits[0].Total > r.Running {
		kind = r.Waits[0].Root().Kind
	}
	switch {
	case kind == contention.Scheduler && noise != "":
		return fmt.Sprintf(" Most likely it was the machine: within %s, %s.", within, noise)
	case kind == contention.Scheduler && r.Processors.idle():
		return " Most likely it was the machine, which did not run the thread: a processor of the " +
			"program was free."
	case kind == "" && noise != "":
		return fmt.Sprintf(" The machine may have held it up: within %s, %s.", within, noise)
	}
	return ""
}

// words names the activity of a goroutine, by its kind of wait.
var words = map[contention.Kind]string{
	"":                     "running",
	contention.Mutex:       "waiting for a sync.Mutex",
	contention.RWMutex:     "waiting for a sync.RWMutex",
	contention.Once:        "waiting for a sync.Once",
	contention.Cond:        "waiting for a sync.Cond",
	contention.WaitGroup:   "waiting for a sync.WaitGroup",
	contention.ChanSend:    "waiting to send to a channel",
	contention.ChanReceive: "waiting to receive from a channel",
	contention.Claim:       "waiting for its turn on a key",
	contention.Select:      "waiting in a select",
	contention.Sleep:       "sleeping",
	contention.Network:     "waiting for the network",
	contention.Syscall:     "in system calls",
	contention.Scheduler:   "runnable, without a processor",
	contention.GCWait:      "waiting for the garbage collector",
	contention.GCAssist:    "waiting for the garbage collector",
}

func kindWords(k contention.Kind) string { return cmp.Or(words[k], "waiting") }

// place names a line of code.
func place(f contention.Frame) string {
	return fmt.Sprintf("%s:%d (%s)", path.Base(f.File), f.Line, humanize.Func(f.Func))
}
