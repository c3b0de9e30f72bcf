package contention

import (
	"time"

	"github.com/google/pprof/profile"
)

// FromProfiles makes a report of what the runtime's block and mutex profiles
// gained. The block profile says where goroutines waited, the mutex profile which
// code let them wait; either may be nil. Counts and times are estimates where the runtime
// samples; P99 and Max are unknown. Waits of this module's profiling packages
// themselves are left out: [Report.LeftOut] counts them.
func FromProfiles(block, mutex *profile.Profile) *Report {
	r := &Report{Source: "block and mutex profiles"}
	waits, left := split(stacksOf(block))
	held, released := split(stacksOf(mutex))
	for _, l := range released {
		l.Whose += ", by locks that it released"
		left = append(left, l)
	}
	r.places, r.LeftOut = waits, left
	// No other profile has the waits for locks of the runtime.
	for _, s := range held {
		if s.tallies[wait{kind: RuntimeLock}] != nil {
			r.places = append(r.places, s)
		}
	}
	all, holders := sites(waits), sites(held)
	r.Sites = len(all) + len(holders)
	r.Waits, r.Holders = longest(all), longest(holders)
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
		t := s.tally(wait{kind: kindOfStack(frames)})
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
