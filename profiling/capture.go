package profiling

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"time"

	"github.com/google/pprof/profile"
)

// A kind is a profile that the index offers.
type kind struct {
	Name  string
	About string
	// Change tells that the profile counts events since the program started,
	// so that its growth during a window is of interest.
	Change bool
}

// cpuKind is the one kind that is not a [pprof.Profile] of the runtime.
const cpuKind = "cpu"

// kinds returns the profiles of this program: the runtime's in the order of
// their use, then those that the program or a newer runtime adds.
func kinds() []kind {
	list := []kind{
		{Name: cpuKind, About: "where processor time goes"},
		{Name: "heap", About: "live objects as of the last garbage collection"},
		{Name: "allocs", About: "everything allocated since the start", Change: true},
		{Name: "mutex", About: "who holds locks that others wait for", Change: true},
		{Name: "block", About: "who waits for locks, channels and conditions", Change: true},
		{Name: "goroutine", About: "what every goroutine does now"},
		{Name: "threadcreate", About: "what made the runtime start threads"},
	}
	known := make(map[string]bool, len(list))
	for _, k := range list {
		known[k.Name] = true
	}
	for _, p := range pprof.Profiles() {
		if !known[p.Name()] {
			list = append(list, kind{Name: p.Name(), About: "a profile of this program"})
		}
	}
	return list
}

// window returns the length of the capture that query asks for: its parameter
// seconds, or fallback without one, and at most the configured bound. Zero
// means a snapshot.
func (s *service) window(query url.Values, fallback time.Duration) (time.Duration, error) {
	longest := time.Duration(s.cfg.MaxSeconds) * time.Second
	text := query.Get("seconds")
	if text == "" {
		return min(fallback, longest), nil
	}
	sec, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || !(sec > 0) {
		return 0, refuse(http.StatusBadRequest, "seconds must be a number above 0, not %q", text)
	}
	if sec >= longest.Seconds() {
		return longest, nil
	}
	return max(time.Duration(sec*float64(time.Second)), 1), nil
}

// take captures the named profile: during d, or as it is now if d is 0. It
// returns at once when ctx ends, with an error. The profile has the phase and
// the label as comments, which every pprof page and report shows. With gc, a
// heap profile is taken after a garbage collection.
func (s *service) take(ctx context.Context, name string, d time.Duration, gc bool, label string) (*capture, error) {
	c := &capture{Kind: name, Phase: s.currentPhase().Label, Label: label, Start: time.Now(), Window: d}
	var p *profile.Profile
	var err error
	switch {
	case name == cpuKind:
		p, err = takeCPU(ctx, d, s.cfg.Capturing)
	case d > 0:
		p, err = takeChange(ctx, name, d)
	default:
		if gc && name == "heap" {
			runtime.GC()
		}
		p, err = takeSnapshot(name)
	}
	if err == nil {
		err = s.finish(c, p)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// finish stores p in c, whose Phase is that of the start.
func (s *service) finish(c *capture, p *profile.Profile) error {
	if after := s.currentPhase().Label; after != c.Phase {
		c.Phase += " → " + after
	}
	if c.Phase != "" {
		p.Comments = append(p.Comments, "Phase: "+c.Phase)
	}
	if c.Label != "" {
		p.Comments = append(p.Comments, "Label: "+c.Label)
	}
	var buf bytes.Buffer
	if err := p.Write(&buf); err != nil {
		return err
	}
	c.Data, c.Empty = buf.Bytes(), isEmpty(p)
	return nil
}

// isEmpty reports whether pprof's pages would have nothing to show of p: no
// sample has a value of the type that they show at first. A heap profile
// without live objects is an example.
func isEmpty(p *profile.Profile) bool {
	shown := len(p.SampleType) - 1
	for i, t := range p.SampleType {
		if t.Type == p.DefaultSampleType {
			shown = i
		}
	}
	return !slices.ContainsFunc(p.Sample, func(s *profile.Sample) bool { return s.Value[shown] != 0 })
}

// takeCPU profiles the processor during d, and calls capturing before and after
// that.
func takeCPU(ctx context.Context, d time.Duration, capturing func(bool)) (*profile.Profile, error) {
	leave, err := cpuGate.enter(d)
	if err != nil {
		return nil, err
	}
	defer leave()
	if capturing != nil {
		capturing(true)
		defer capturing(false)
	}
	var buf bytes.Buffer
	if err := pprof.StartCPUProfile(&buf); err != nil {
		return nil, refuse(http.StatusConflict, "the program itself is taking a CPU profile: %v", err)
	}
	err = sleep(ctx, d)
	pprof.StopCPUProfile()
	if err != nil {
		return nil, err
	}
	return profile.ParseData(buf.Bytes())
}

// takeChange returns what the named profile gained during d. Entries that did
// not change are left out.
func takeChange(ctx context.Context, name string, d time.Duration) (*profile.Profile, error) {
	leave, err := windowGate.enter(d)
	if err != nil {
		return nil, err
	}
	defer leave()
	before, err := takeSnapshot(name)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := sleep(ctx, d); err != nil {
		return nil, err
	}
	after, err := takeSnapshot(name)
	if err != nil {
		return nil, err
	}
	p, err := gainOf(before, after)
	if err != nil {
		return nil, err
	}
	p.TimeNanos = start.UnixNano()
	p.DurationNanos = time.Since(start).Nanoseconds()
	return p, nil
}

// takeSnapshot returns the named profile of the runtime as it is now.
func takeSnapshot(name string) (*profile.Profile, error) {
	rp, err := lookup(name)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if err := rp.WriteTo(&buf, 0); err != nil {
		return nil, err
	}
	return profile.ParseData(buf.Bytes())
}

// lookup finds a profile of the runtime or the program by name.
func lookup(name string) (*pprof.Profile, error) {
	p := pprof.Lookup(name)
	if p == nil {
		return nil, refuse(http.StatusNotFound, "this program has no profile named %q", name)
	}
	return p, nil
}

// sleep waits for d, or until ctx ends and then returns a refusal, which
// reaches the client if it was the server that ended ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return refuse(http.StatusServiceUnavailable, "capture cancelled: %v", context.Cause(ctx))
	}
}
