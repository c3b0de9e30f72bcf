package slow

import (
	"cmp"
	"time"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

// Profile returns r as a profile of waits that ended at that time: those of the operation and,
// under "of others", what the goroutines did that let it wait. It names every line that r does.
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
