package contention

import (
	"slices"
	"time"

	"github.com/google/pprof/profile"
)

// Profile returns the waits of r as a profile with the values waits/count and
// delay/nanoseconds. The root of every stack is the kind of wait in brackets,
// and every sample has the label "wait" with the kind. The root [idle] has the waits
// of goroutines that waited all the time. The profile shares
// nothing with r.
func (r *Report) Profile() *profile.Profile {
	p := NewProfile(r.Start, r.Window)
	for _, s := range r.places {
		for w, t := range s.tallies {
			if t.count == 0 && t.total == 0 {
				continue
			}
			sample := p.Add(w.kind, s.frames, t.count, t.total)
			if w.idle {
				sample.Location = append(sample.Location, p.location(Frame{Func: "[idle]"}))
				sample.Label["idle"] = []string{"true"}
			}
			if t.work {
				sample.Label[WorkLabel] = []string{"true"}
			}
		}
	}
	return p.Profile
}

// A Profile is a profile of waits that is being made.
type Profile struct {
	*profile.Profile
	functions map[[2]string]*profile.Function // by name and file
	locations map[Frame]*profile.Location
}

// NewProfile returns a profile without waits.
func NewProfile(start time.Time, window time.Duration) *Profile {
	p := &Profile{
		Profile: &profile.Profile{
			SampleType: []*profile.ValueType{
				{Type: "waits", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"},
			},
			DefaultSampleType: "delay",
			PeriodType:        &profile.ValueType{Type: "waits", Unit: "count"},
			Period:            1,
			DurationNanos:     int64(window),
		},
		functions: map[[2]string]*profile.Function{},
		locations: map[Frame]*profile.Location{},
	}
	if !start.IsZero() {
		p.TimeNanos = start.UnixNano()
	}
	return p
}

// Add adds that many waits with a stack, leaf first.
func (p *Profile) Add(kind Kind, stack []Frame, count int64, total time.Duration) *profile.Sample {
	sample := &profile.Sample{
		Value: []int64{count, int64(total)},
		Label: map[string][]string{"wait": {string(kind)}},
	}
	for _, f := range append(slices.Clone(stack), Frame{Func: "[" + string(kind) + "]"}) {
		sample.Location = append(sample.Location, p.location(f))
	}
	p.Sample = append(p.Sample, sample)
	return sample
}

func (p *Profile) location(f Frame) *profile.Location {
	l := p.locations[f]
	if l == nil {
		l = &profile.Location{
			ID: uint64(len(p.Location) + 1), Address: f.PC,
			Line: []profile.Line{{Function: p.function(f.Func, f.File), Line: int64(f.Line)}},
		}
		p.Location = append(p.Location, l)
		p.locations[f] = l
	}
	return l
}

func (p *Profile) function(name, file string) *profile.Function {
	f := p.functions[[2]string{name, file}]
	if f == nil {
		f = &profile.Function{
			ID: uint64(len(p.Function) + 1), Name: name, SystemName: name, Filename: file,
		}
		p.Function = append(p.Function, f)
		p.functions[[2]string{name, file}] = f
	}
	return f
}

// FromProfiles makes a report of the growth of the runtime's block profile, and of the locks of the
// runtime, which only its mutex profile has. Either profile may be nil. Counts and times are
// estimates where the runtime samples; P99 and Max are unknown. A window of 0 is the time since the
// program started.
func FromProfiles(block, mutex *profile.Profile, window time.Duration) *Report {
	r := &Report{Source: "block and mutex profiles", Window: window}
	waits := stacksOf(block)
	for _, s := range stacksOf(mutex) {
		if s.tallies[wait{kind: RuntimeLock}] != nil {
			waits = append(waits, s)
		}
	}
	r.list(waits)
	return r
}

// stacksOf tallies a profile with the values contentions/count and
// delay/nanoseconds.
func stacksOf(p *profile.Profile) []*Place {
	if p == nil {
		return nil
	}
	var list []*Place
	for _, sample := range p.Sample {
		if len(sample.Value) < 2 || sample.Value[0] <= 0 && sample.Value[1] <= 0 {
			continue
		}
		frames := FramesOf(sample)
		s := newPlace(frames)
		t := s.tally(wait{kind: KindOf(frames)})
		t.count = max(sample.Value[0], 0)
		t.total = time.Duration(max(sample.Value[1], 0))
		list = append(list, s)
	}
	return list
}

// FramesOf returns the stack of a sample, leaf first.
func FramesOf(sample *profile.Sample) []Frame {
	var frames []Frame
	for _, loc := range sample.Location {
		for _, line := range loc.Line {
			if line.Function != nil {
				f := line.Function
				frames = append(frames, Frame{f.Name, f.Filename, int(line.Line), loc.Address})
			}
		}
	}
	return frames
}
