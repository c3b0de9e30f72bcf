package contention

import (
	"time"

	"github.com/google/pprof/profile"
)

// Profile returns the waits of r as a profile with the values waits/count and
// delay/nanoseconds. The root of every stack is the kind of wait in brackets,
// and every sample has the label "wait" with the kind; below the root [idle] are
// those who waited all the time. The profile shares nothing with r.
func (r *Report) Profile() *profile.Profile {
	b := builder{
		p: &profile.Profile{
			SampleType:        []*profile.ValueType{{Type: "waits", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}},
			DefaultSampleType: "delay",
			PeriodType:        &profile.ValueType{Type: "waits", Unit: "count"},
			Period:            1,
			DurationNanos:     int64(r.Window),
		},
		functions: map[functionKey]*profile.Function{},
		locations: map[Frame]*profile.Location{},
	}
	if !r.Start.IsZero() {
		b.p.TimeNanos = r.Start.UnixNano()
	}
	for _, s := range r.stacks {
		for w, t := range s.tallies {
			if s.site.Func == "" || t.count == 0 && t.total == 0 {
				continue
			}
			b.add(w, s.frames, t.count, t.total)
		}
	}
	return b.p
}

// A builder puts a profile together.
type builder struct {
	p         *profile.Profile
	functions map[functionKey]*profile.Function
	locations map[Frame]*profile.Location
}

type functionKey struct{ name, file string }

func (b *builder) add(w wait, frames []Frame, count int64, total time.Duration) {
	s := &profile.Sample{
		Value: []int64{count, int64(total)},
		Label: map[string][]string{"wait": {string(w.kind)}},
	}
	for _, f := range frames {
		s.Location = append(s.Location, b.location(f))
	}
	s.Location = append(s.Location, b.location(Frame{Func: "[" + string(w.kind) + "]"}))
	if w.idle {
		s.Location = append(s.Location, b.location(Frame{Func: "[idle]"}))
		s.Label["idle"] = []string{"true"}
	}
	b.p.Sample = append(b.p.Sample, s)
}

func (b *builder) location(f Frame) *profile.Location {
	if l := b.locations[f]; l != nil {
		return l
	}
	l := &profile.Location{
		ID:      uint64(len(b.p.Location) + 1),
		Address: f.PC,
		Line:    []profile.Line{{Function: b.function(f), Line: int64(f.Line)}},
	}
	b.p.Location = append(b.p.Location, l)
	b.locations[f] = l
	return l
}

func (b *builder) function(f Frame) *profile.Function {
	k := functionKey{f.Func, f.File}
	if fn := b.functions[k]; fn != nil {
		return fn
	}
	fn := &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: f.Func, SystemName: f.Func, Filename: f.File}
	b.p.Function = append(b.p.Function, fn)
	b.functions[k] = fn
	return fn
}
