package contention

import (
	"cmp"
	"slices"
	"time"
)

// A Report says where goroutines waited during a window. It marshals to JSON
// with times in nanoseconds. It must not be changed by several goroutines.
type Report struct {
	Source string        `json:"source"` // "block and mutex profiles" or "execution trace"
	Start  time.Time     `json:"start"`
	Window time.Duration `json:"window_ns"` // 0: since the program started

	// Waits has the waits of goroutines by site, the longest total first.
	Waits []Site `json:"waits"`

	// Exact says that P99 and Max are known, and every wait that began was recorded.
	Exact bool `json:"exact"`
	// Off names the profiles of the runtime whose rates are off, so that they have nothing new.
	Off []string `json:"off,omitempty"`
	// Truncated says that the trace grew too large and the window ended early.
	Truncated bool `json:"truncated,omitempty"`
	// Events is how many events of a trace were read, Bytes how long it was.
	Events int `json:"events,omitempty"`
	Bytes  int `json:"bytes,omitempty"`
	// Sites is how many sites there were; Waits has at most MaxSites.
	Sites int `json:"sites"`
	// Nowhere is for how long goroutines waited at places that the trace does not have.
	Nowhere time.Duration `json:"nowhere_ns,omitempty"`

	places []*Place // of the waits, for Profile
}

// A Site is a line of code at which goroutines waited, for one kind of wait.
type Site struct {
	Kind Kind   `json:"kind"`
	Func string `json:"func"`
	File string `json:"file"`
	Line int    `json:"line"`

	Count   int64         `json:"count"`
	Total   time.Duration `json:"total_ns"`
	Average time.Duration `json:"avg_ns"`
	P99     time.Duration `json:"p99_ns,omitempty"` // 0 if unknown
	Max     time.Duration `json:"max_ns,omitempty"` // 0 if unknown

	// Idle says that the goroutines of this site waited from before the start of the window until
	// after its end. A site has either only such goroutines or none.
	Idle bool `json:"idle,omitempty"`
	// Work says that the goroutines of this site wait for work, as far as that can be told: see
	// [Crew]. A site has either only such goroutines or none.
	Work bool `json:"work,omitempty"`
	// Waiting is how many goroutines were still waiting when the window ended. Count and the times
	// include these waits, until the end of the window.
	Waiting int `json:"waiting,omitempty"`

	// Stacks has the stacks with the longest totals, at most MaxStacks.
	Stacks []Stack `json:"stacks"`
}

// A Stack is how execution came to a site, leaf first.
type Stack struct {
	Count  int64         `json:"count"`
	Total  time.Duration `json:"total_ns"`
	Frames []Frame       `json:"frames"`
}

// A Frame is a function in a stack.
type Frame struct {
	Func string `json:"func"`
	File string `json:"file"`
	Line int    `json:"line"`

	PC uint64 `json:"-"`
}

// MaxSites is how many sites Waits of a [Report] has at most, and
// MaxStacks how many stacks a [Site] has.
const (
	MaxSites  = 300
	MaxStacks = 4
)

// A Place is a stack, with the tallies of its waits.
type Place struct {
	frames  []Frame // leaf first
	site    Frame
	tallies map[wait]*tally
}

// A wait has the properties that all waits of one tally share.
type wait struct {
	kind Kind
	idle bool
}

// A tally sums up the waits of one kind on one stack.
type tally struct {
	count   int64
	total   time.Duration
	waiting int
	work    bool
	each    []time.Duration // every wait, if the source has them
}

func newPlace(frames []Frame) *Place {
	return &Place{
		frames: frames, site: siteOf(frames), tallies: map[wait]*tally{},
	}
}

// Frames returns the stack, leaf first, nil if p is.
func (p *Place) Frames() []Frame {
	if p == nil {
		return nil
	}
	return p.frames
}

// Site returns the frame that a person would look at, an empty one if p is nil.
func (p *Place) Site() Frame {
	if p == nil {
		return Frame{}
	}
	return p.site
}

// siteOf returns the frame of a stack, innermost first, at which a reader would look: the innermost
// for which isPlumbing is false, or the outermost if there is none.
func siteOf(frames []Frame) Frame {
	for _, f := range frames {
		if !isPlumbing(f.Func) {
			return f
		}
	}
	if len(frames) == 0 {
		return Frame{Func: "(unknown)"}
	}
	return frames[len(frames)-1]
}

func (p *Place) tally(w wait) *tally {
	t := p.tallies[w]
	if t == nil {
		t = new(tally)
		p.tallies[w] = t
	}
	return t
}

// list makes r a report of the waits at places, and marks those of goroutines that wait for work.
func (r *Report) list(places []*Place) {
	crew := NewCrew(r.Window)
	for _, p := range places {
		for w, t := range p.tallies {
			crew.Add(w.kind, p.frames, t.total)
		}
	}
	for _, p := range places {
		for w, t := range p.tallies {
			t.work = crew.WaitsForWork(w.kind, p.frames)
		}
	}
	all := sites(places)
	r.places, r.Sites, r.Waits = places, len(all), slices.Clip(all[:min(len(all), MaxSites)])
}

// sites sums tallies up by kind and site, the longest total first.
func sites(places []*Place) []Site {
	type key struct {
		wait
		work bool
		fn   string
		line int
	}
	type group struct {
		Site
		each []time.Duration
	}
	groups := map[key]*group{}
	for _, p := range places {
		for w, t := range p.tallies {
			k := key{w, t.work, p.site.Func, p.site.Line}
			g := groups[k]
			if g == nil {
				at := p.site
				g = &group{Site: Site{
					Kind: w.kind, Idle: w.idle, Work: t.work, Func: at.Func, File: at.File, Line: at.Line,
				}}
				groups[k] = g
			}
			g.Count += t.count
			g.Total += t.total
			g.Waiting += t.waiting
			g.each = append(g.each, t.each...)
			g.Stacks = append(g.Stacks, Stack{Count: t.count, Total: t.total, Frames: p.frames})
		}
	}
	list := make([]Site, 0, len(groups))
	for _, g := range groups {
		if g.Count > 0 {
			g.Average = g.Total / time.Duration(g.Count)
		}
		if len(g.each) > 0 {
			slices.Sort(g.each)
			g.Max = g.each[len(g.each)-1]
			g.P99 = g.each[(len(g.each)*99+99)/100-1]
		}
		slices.SortFunc(g.Stacks, func(a, b Stack) int { return cmp.Compare(b.Total, a.Total) })
		g.Stacks = slices.Clone(g.Stacks[:min(len(g.Stacks), MaxStacks)])
		list = append(list, g.Site)
	}
	slices.SortFunc(list, func(a, b Site) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Func, b.Func), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}
