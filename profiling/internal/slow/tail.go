package slow

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/pprof/profile"
	"golang.org/x/exp/trace"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

// Parts of a [Tail] that are no wait.
const (
	Running contention.Kind = ""
	// Off is time in which Go's scheduler took the operation for running, but most likely it was
	// not on a processor: it ran longer without an interruption than the scheduler lets anything.
	Off      contention.Kind = "not on a processor"
	Assist   contention.Kind = "marking for the collector"
	NotKnown contention.Kind = "not in the trace"
)

// A Tail sums up slow operations of one name: the activities of all the time that they took. It
// marshals to JSON with times in nanoseconds.
type Tail struct {
	Op    string        `json:"op"`
	Count int           `json:"count"` // operations
	Took  time.Duration `json:"took_ns"`
	// Excess is the time lost: how much more they took than as many usual ones.
	Excess time.Duration `json:"excess_ns"`
	Parts  []Part        `json:"parts"` // they are Took together; the longest first
	Lost   Lost          `json:"lost,omitzero"`
	// Delay is for how long threads of the program waited for a processor in the time For, 0 if it is
	// not known.
	Delay time.Duration `json:"run_delay_ns"`
	For   time.Duration `json:"run_delay_of_ns"`
}

// A Part is an activity of the operations of a [Tail], at one line or of a kind that has no line.
type Part struct {
	Kind  contention.Kind    `json:"kind"`
	Site  contention.Frame   `json:"site"`
	Ops   int                `json:"ops"` // how many did it
	Total time.Duration      `json:"total_ns"`
	Stack []contention.Frame `json:"stack,omitempty"` // of the longest, leaf first
	// Because has the root causes, of some waits only: the activities of the goroutines that let
	// the operations wait, the longest first.
	Because []Cause `json:"because,omitempty"`

	longest time.Duration
}

// A Cause is an activity of other goroutines while operations waited, and how long it took.
type Cause struct {
	Kind  contention.Kind  `json:"kind"` // "" if they ran
	Site  contention.Frame `json:"site"`
	Total time.Duration    `json:"total_ns"`
}

// mostCauses bounds the operations of a trace whose causes are looked for: looking takes longer the
// more goroutines there are.
const mostCauses = 200

// tailOf returns the tail of an operation that goroutine id has ended, the time ago before now.
func (f *follower) tailOf(op string, took time.Duration, id trace.GoID, ago time.Duration) *Tail {
	end := f.Now - trace.Time(ago)
	w := window{max(end-trace.Time(took), f.First), end}
	t := &Tail{Op: op, Count: 1, Took: took, Lost: f.lostIn(id, w)}
	add := func(kind contention.Kind, at *contention.Place, d time.Duration) {
		if d > 0 {
			t.add(Part{Kind: kind, Site: at.Site(), Ops: 1, Total: d, Stack: at.Frames(), longest: d})
		}
	}
	left := took
	each := func(s span) {
		d := w.overlap(s.Start, s.End)
		left -= d
		if s.State != trace.GoRunning {
			if s.Kind == contention.Scheduler {
				s.At = nil // the place says nothing about who had the processors
			}
			add(s.Kind, s.At, d)
			return
		}
		assist := f.assisted(id, window{max(s.Start, w.start), min(s.End, w.end)})
		add(Assist, nil, assist)
		if d > due {
			add(Off, nil, d-assist)
		} else {
			add(Running, nil, d-assist)
		}
	}
	if g := f.goroutines[id]; g != nil {
		for _, s := range g.spans[endsFrom(g.spans, w.start):] {
			each(s)
		}
	}
	if s, ok := f.Open[id]; ok {
		s.End = f.Now
		each(s)
	}
	add(NotKnown, nil, left)
	for i := range t.Parts {
		t.Parts[i].Ops = 1
	}
	if f.causes < mostCauses {
		f.causes++
		f.findCauses(t, id, w)
	}
	return t
}

// findCauses finds out who let the operation of t wait, in waits of a tenth of its time or more.
func (f *follower) findCauses(t *Tail, id trace.GoID, w window) {
	g := f.goroutines[id]
	if g == nil {
		return
	}
	waits := slices.Clone(g.spans[endsFrom(g.spans, w.start):])
	defer f.endAll()()
	for _, s := range waits {
		d := w.overlap(s.Start, s.End)
		if s.State != trace.GoWaiting || !handed[s.Kind] || d < t.Took/10 {
			continue
		}
		wait := Wait{Kind: s.Kind, Site: s.At.Site(), Total: d, Max: d}
		wait.during = window{max(s.Start, w.start), min(s.End, w.end)}
		f.blame(&wait, s, maxDepth)
		root := wait.Root()
		if wait.Turns == nil || root.Kind == s.Kind && root.Site == wait.Site {
			continue
		}
		t.add(Part{Kind: s.Kind, Site: wait.Site, Because: []Cause{{root.Kind, root.Site, d}}})
	}
}

// because adds causes to those of the same kind and line.
func (p *Part) because(list []Cause) {
	for _, c := range list {
		i := slices.IndexFunc(p.Because, func(q Cause) bool {
			return q.Kind == c.Kind && q.Site.Func == c.Site.Func && q.Site.Line == c.Site.Line
		})
		if i < 0 {
			p.Because = append(p.Because, c)
		} else {
			p.Because[i].Total += c.Total
		}
	}
	slices.SortFunc(p.Because, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), bySite(a.Kind, b.Kind, a.Site, b.Site))
	})
}

// cause returns the main activity of others while the operations waited, nil if that is not known.
func (p *Part) cause() *Cause {
	var known time.Duration
	for _, c := range p.Because {
		known += c.Total
	}
	if len(p.Because) == 0 || 2*p.Because[0].Total <= known {
		return nil
	}
	return &p.Because[0]
}

// Why names the main activity of others while the operations waited, "" if that is not known.
func (p Part) Why() string {
	c := p.cause()
	if c == nil {
		return ""
	}
	text := "while others were mostly " + kindWords(c.Kind)
	if c.Site.Func != "" && c.Kind != "" && c.Kind != contention.Scheduler {
		text += " at " + place(c.Site)
	}
	return text
}

// assisted returns for how long a goroutine worked for the collector.
func (f *follower) assisted(id trace.GoID, w window) (d time.Duration) {
	for _, r := range f.ranges {
		if r.Name == contention.AssistRange && r.Of == id {
			d += w.overlap(r.Start, r.End)
		}
	}
	if r, ok := f.Ranges[contention.RangeKey{Of: id, Name: contention.AssistRange}]; ok {
		d += w.overlap(r.Start, f.Now)
	}
	return min(d, w.overlap(w.start, w.end))
}

// add adds a part to one of the same kind and line, if there is one.
func (t *Tail) add(p Part) {
	if p.Site.Func == "(unknown)" {
		p.Site = contention.Frame{}
	}
	for i := range t.Parts {
		q := &t.Parts[i]
		if q.Kind != p.Kind || q.Site.Func != p.Site.Func || q.Site.Line != p.Site.Line {
			continue
		}
		q.Total += p.Total
		q.Ops += p.Ops
		q.because(p.Because)
		if p.longest > q.longest {
			q.longest, q.Stack = p.longest, p.Stack
		}
		return
	}
	p.Because = slices.Clone(p.Because) // which must not be changed
	t.Parts = append(t.Parts, p)
}

// Merge returns the sums of tails by the names of their operations, the longest sum first. It
// changes none of them.
func Merge(list []*Tail) []*Tail {
	sums := []*Tail{} // not nil, for JSON
	for _, t := range list {
		i := slices.IndexFunc(sums, func(s *Tail) bool { return s.Op == t.Op })
		if i < 0 {
			i, sums = len(sums), append(sums, &Tail{Op: t.Op})
		}
		sums[i].Count += t.Count
		sums[i].Took += t.Took
		sums[i].Lost.add(t.Lost)
		sums[i].Delay += t.Delay
		sums[i].For += t.For
		for _, p := range t.Parts {
			sums[i].add(p)
		}
	}
	for _, s := range sums {
		slices.SortFunc(s.Parts, func(a, b Part) int {
			return cmp.Or(-cmp.Compare(s.first(a), s.first(b)), cmp.Compare(b.Total, a.Total),
				bySite(a.Kind, b.Kind, a.Site, b.Site))
		})
	}
	slices.SortFunc(sums, func(a, b *Tail) int {
		return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.Op, b.Op))
	})
	return sums
}

// first returns 1 for a part that is named first even if others are longer, else 0: of the time off
// a processor a tenth is enough, because it makes all others longer.
func (t *Tail) first(p Part) int {
	if p.Kind == Off && p.Total >= t.Took/10 {
		return 1
	}
	return 0
}

// Share returns the share of a part in all the time.
func (t *Tail) Share(p Part) float64 { return float64(p.Total) / float64(max(t.Took, 1)) }

// said bounds the parts that a sentence names.
const said = 4

// String says how the operations spent their time: "61 % runnable, without a processor, 22 % ...".
func (t *Tail) String() string {
	text, n := t.Lost.String(), 0
	for _, p := range t.Parts {
		if n == said || t.Share(p) < 0.01 {
			break
		}
		if n++; n > 1 {
			text += ", "
		}
		text += humanize.Percent(t.Share(p)) + " " + p.Words()
		if p.Site.Func != "" {
			text += " at " + place(p.Site)
		}
		if why := p.Why(); why != "" {
			text += ", " + why
		}
	}
	if t.For > 0 {
		text += fmt.Sprintf("; on average %.1f threads of the program waited for a processor of "+
			"the machine", float64(t.Delay)/float64(t.For))
	}
	return text
}

// Words names the activity of a part, without the line.
func (p Part) Words() string {
	switch p.Kind {
	case Off, Assist, NotKnown:
		return string(p.Kind)
	}
	return kindWords(p.Kind)
}

// TailProfile returns tails as a profile, with the operation as a label.
func TailProfile(list []*Tail, end time.Time) *profile.Profile {
	p := contention.NewProfile(end, 0)
	for _, t := range list {
		for _, part := range t.Parts {
			kind := cmp.Or(part.Kind, "running")
			sample := p.Add(kind, part.Stack, int64(part.Ops), part.Total)
			sample.Label["operation"] = []string{t.Op}
			if c := part.cause(); c != nil && c.Site.Func != "" {
				others := p.Add(cmp.Or(c.Kind, "running")+" of others", []contention.Frame{c.Site}, 1, c.Total)
				others.Label["operation"] = []string{t.Op}
			}
		}
	}
	return p.Profile
}
