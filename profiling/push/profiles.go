package push

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// A taken is a profile, and the time that it covers: none if it is a snapshot.
type taken struct {
	kind  string
	p     *profile.Profile
	start time.Time
	end   time.Time
}

// rounds has the profiles that grow, as they were.
type rounds struct {
	before map[string]taken // by kind
}

// grows are the kinds that count since the program began.
var grows = []string{"allocs", "mutex", "block"}

// valuesOf are the values that are sent of kinds that have others beside.
var valuesOf = map[string]string{"heap": "inuse_", "allocs": "alloc_"}

// pushProfiles pushes profiles until the pusher is closed, and those without a window once more
// then. Captures end with asking.
func (p *Pusher) pushProfiles(ctx, asking context.Context) {
	tick := time.NewTicker(p.cfg.ProfilesEvery)
	defer tick.Stop()
	for _, kind := range p.cfg.Kinds {
		if slices.Contains(grows, kind) {
			p.pull(ctx, kind)
		}
	}
	for {
		for _, kind := range p.cfg.Kinds {
			if isTimed(kind) && asking.Err() == nil {
				p.pushOne(asking, kind)
			}
		}
		closing := false
		select {
		case <-tick.C:
		case <-p.closing:
			closing = true
		}
		for _, kind := range p.cfg.Kinds {
			if !isTimed(kind) && ctx.Err() == nil {
				p.pushOne(ctx, kind)
			}
		}
		if closing {
			return
		}
	}
}

// pushOne takes a profile and has it sent, unless there is nothing in it.
func (p *Pusher) pushOne(ctx context.Context, kind string) {
	t, ok := p.pull(ctx, kind)
	if !ok || len(t.p.Sample) == 0 {
		return
	}
	for _, to := range []struct {
		*target
		encode func(taken) (parcel, error)
	}{{p.profiles, p.cfg.otlp}, {p.pyroscope, p.cfg.ingest}} {
		if to.target == nil {
			continue
		}
		parcel, err := to.encode(t)
		if err != nil {
			p.miss(kind, err)
			continue
		}
		to.add(parcel)
	}
}

// pull takes a profile. Of one that grows it is what came since the last time, if there was one.
func (p *Pusher) pull(ctx context.Context, kind string) (t taken, ok bool) {
	start := time.Now().Round(0) // by the clock of the wall, as it is sent
	got, err := p.source.profile(ctx, kind, p.cfg.Window)
	if err == nil && valuesOf[kind] != "" {
		err = keepValues(got, valuesOf[kind])
	}
	if err != nil {
		p.miss("profile "+kind, err)
		return t, false
	}
	now := taken{kind, got, start, time.Now().Round(0)}
	switch {
	case slices.Contains(grows, kind):
		before, was := p.rounds.before[kind]
		p.rounds.before[kind] = now
		return since(before, now), was
	case isTimed(kind) && got.TimeNanos != 0 && got.DurationNanos != 0: // the service knows better
		now.start = time.Unix(0, got.TimeNanos)
		now.end = now.start.Add(time.Duration(got.DurationNanos))
	case !isTimed(kind):
		now.start = now.end
	}
	return now, true
}

// keepValues removes the values whose names do not begin so.
func keepValues(p *profile.Profile, prefix string) error {
	var keep []int
	var types []*profile.ValueType
	for i, t := range p.SampleType {
		if strings.HasPrefix(t.Type, prefix) {
			keep, types = append(keep, i), append(types, t)
		}
	}
	if len(keep) == 0 {
		return fmt.Errorf("it has no values of %s*", prefix)
	}
	p.SampleType, p.DefaultSampleType = types, types[len(types)-1].Type
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		var values []int64
		some := false
		for _, i := range keep {
			values, some = append(values, s.Value[i]), some || s.Value[i] != 0
		}
		s.Value = values
		return !some
	})
	return nil
}

// since returns what now has more than before. If it has less it is another program, and all of it
// is new.
func since(before, now taken) taken {
	t := taken{kind: now.kind, p: now.p, start: before.end, end: now.end}
	if before.p == nil {
		return t
	}
	old := before.p.Copy()
	old.Scale(-1)
	more, err := profile.Merge([]*profile.Profile{now.p, old})
	if err != nil {
		return t // nothing in them fits together
	}
	for _, s := range more.Sample {
		if slices.Min(s.Value) < 0 {
			return t
		}
	}
	t.p = more
	return t
}
