package slow

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

// verdict says in words what took most of the time.
func (r *Report) verdict() string {
	var b strings.Builder
	if !r.Complete() {
		fmt.Fprintf(&b, "The trace does not reach back to the start of the operation: "+
			"it has only the last %s of %s. ", brief.Time(r.Seen), brief.Time(r.Took))
	}
	of := fmt.Sprintf(" of %s ", brief.Time(r.Seen))
	top := Wait{}
	if len(r.Waits) > 0 {
		top = r.Waits[0]
	}
	said, most := "", time.Duration(0) // what comes first is not said again
	switch {
	case r.Seen == 0:
		b.WriteString("Nothing is known of it.")
	case r.Unknown > r.Seen/2:
		b.WriteString(brief.Time(r.Unknown) + of + "are not in the trace.")
	case r.Assist > r.Seen/2 || r.Assist > r.Running && r.Assist >= top.Total:
		b.WriteString(brief.Time(r.Assist) + of + marking + ", in return for what it allocated.")
		said, most = marking, r.Assist
	case r.Running >= top.Total:
		b.WriteString(brief.Time(r.Running) + of + "running: the operation itself used the " +
			"processor. A CPU profile shows where.")
		said, most = kindWords(""), r.Running
	default:
		b.WriteString(brief.Time(top.Total) + of + top.words())
		said, most = topWait, top.Total
	}
	if r.Seen > 0 && most < r.Seen/2 {
		if what, d := r.next(said); d > 0 {
			fmt.Fprintf(&b, " Next: %s %s.", brief.Time(d), what)
		}
	}
	if r.Stopped > r.Seen/10 {
		fmt.Fprintf(&b, " The world was stopped for %s (%s).",
			brief.Time(r.Stopped), strings.Join(r.Stops, ", "))
	}
	if r.Marking > r.Seen/2 && top.Kind != contention.Sleep {
		fmt.Fprintf(&b, " The garbage collector was marking for %s.", brief.Time(r.Marking))
	}
	return b.String()
}

// Parts of the time that are no wait, beside running.
const (
	marking = "marking for the garbage collector"
	topWait = "waiting" // the first of the waits
)

// next says what took most of the time beside what was said.
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

// words says what a wait was, who ended it and what that one did meanwhile.
func (w Wait) words() string {
	var b strings.Builder
	b.WriteString(kindWords(w.Kind))
	if w.Kind == contention.Scheduler {
		var others []string
		for _, o := range w.Others {
			name := brief.Func(o.Site.Func)
			if name == "" {
				name = "unknown code"
			}
			who := fmt.Sprintf("goroutine %d", o.Goroutine)
			if o.Goroutines > 1 {
				who = fmt.Sprintf("%d goroutines", o.Goroutines)
			}
			others = append(others, fmt.Sprintf("%s (%s, %s)", name, who, brief.Time(o.Total)))
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
		fmt.Fprintf(&b, ", in %d waits of at most %s", w.Count, brief.Time(w.Max))
	}
	k := w.Waker
	switch {
	case k == nil, k.Goroutine < 0, k.Site.Func == "", strings.HasPrefix(k.Site.Func, "runtime."):
		k = nil
	case w.Kind == contention.Mutex || w.Kind == contention.RWMutex:
		fmt.Fprintf(&b, "; it was held by goroutine %d, which released it at %s",
			k.Goroutine, place(k.Site))
	default:
		fmt.Fprintf(&b, "; goroutine %d ended it at %s", k.Goroutine, place(k.Site))
	}
	if k != nil && len(k.Meanwhile) > 0 {
		if m := k.Meanwhile[0]; m.Total > w.Max/4 {
			fmt.Fprintf(&b, " and meanwhile was %s", brief.Time(m.Total)+" "+kindWords(m.Kind))
			if m.Kind != "" && m.Kind != contention.Scheduler && m.Site.Func != "" {
				b.WriteString(" at " + place(m.Site))
			}
		}
	}
	b.WriteString(".")
	return b.String()
}

// words says what a goroutine does that waits.
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
	contention.Scheduler:   "runnable, waiting for a processor",
	contention.GCWait:      "waiting for the garbage collector",
	contention.GCAssist:    "waiting for the garbage collector",
}

func kindWords(k contention.Kind) string { return cmp.Or(words[k], "waiting") }

// place names a line of code.
func place(f contention.Frame) string {
	return fmt.Sprintf("%s:%d (%s)", path.Base(f.File), f.Line, brief.Func(f.Func))
}
