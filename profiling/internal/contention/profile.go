package contention

import (
	"slices"

	"github.com/google/pprof/profile"
)

// Profile returns the waits of r as a profile with the values waits/count and
// delay/nanoseconds. The root of every stack is the kind of wait in brackets,
// and every sample has the label "wait" with the kind; below the root [idle] are
// those who waited all the time. The profile shares nothing with r.
func (r *Report) Profile() *profile.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "waits", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"},
		},
		DefaultSampleType: "delay",
		PeriodType:        &profile.ValueType{Type: "waits", Unit: "count"},
		Period:            1,
		DurationNanos:     int64(r.Window),
	}
	if !r.Start.IsZero() {
		p.TimeNanos = r.Start.UnixNano()
	}
	functions := map[[2]string]*profile.Function{} // by name and file
	function := func(name, file string) *profile.Function {
		f := functions[[2]string{name, file}]
		if f == nil {
			f = &profile.Function{
				ID: uint64(len(p.Function) + 1), Name: name, SystemName: name, Filename: file,
			}
			p.Function = append(p.Function, f)
			functions[[2]string{name, file}] = f
		}
		return f
	}
	locations := map[Frame]*profile.Location{}
	location := func(f Frame) *profile.Location {
		l := locations[f]
		if l == nil {
			l = &profile.Location{
				ID: uint64(len(p.Location) + 1), Address: f.PC,
				Line: []profile.Line{{Function: function(f.Func, f.File), Line: int64(f.Line)}},
			}
			p.Location = append(p.Location, l)
			locations[f] = l
		}
		return l
	}
	for _, s := range r.stacks {
		for w, t := range s.tallies {
			if s.site.Func == "" || t.count == 0 && t.total == 0 {
				continue
			}
			sample := &profile.Sample{
				Value: []int64{t.count, int64(t.total)},
				Label: map[string][]string{"wait": {string(w.kind)}},
			}
			frames := append(slices.Clone(s.frames), Frame{Func: "[" + string(w.kind) + "]"})
			if w.idle {
				frames = append(frames, Frame{Func: "[idle]"})
				sample.Label["idle"] = []string{"true"}
			}
			for _, f := range frames {
				sample.Location = append(sample.Location, location(f))
			}
			p.Sample = append(p.Sample, sample)
		}
	}
	return p
}
