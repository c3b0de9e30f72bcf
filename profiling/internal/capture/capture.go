package capture

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"runtime/pprof"
	"slices"
	"strconv"
	"time"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/pprofui"
	"github.com/mvccmap/mvccmap/profiling/internal/wall"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// A Capture is one profile taken for the browser. It is immutable once it is kept.
type Capture struct {
	ID     int
	Kind   string // name of a kind
	Phase  string // of the program, "" if unknown
	Start  time.Time
	Window time.Duration // 0: a snapshot, or everything since the program started
	Empty  bool          // nothing was sampled
	Data   []byte        // gzipped profile
	// Ops is how many operations the program did in the time that the capture covers, 0 if that is
	// not known or the capture covers no time.
	Ops uint64

	// Work is for how long goroutines waited for work; pages show these goroutines only if asked.
	// Collector is for how long the garbage collector ran, in the profile of all goroutines.
	Work, Collector time.Duration

	Report *contention.Report // the source of Data, if that is about contention
}

// Captures takes captures of a program, and keeps the last of them. Its methods may
// be called from several goroutines, its fields must be set before.
type Captures struct {
	Phase     func() string // of the program, at present
	Capturing func(bool)    // called before and after CPU profiles, may be nil
	Started   time.Time
	// Operations returns how many operations the program has done so far, may be nil.
	Operations func() uint64

	Kept History[*Capture]
}

// A Kind is a profile that can be captured.
type Kind struct {
	Name  string
	About string
	// Change tells that the profile counts events since the program started,
	// so that its growth during a window is of interest.
	Change bool
	// Timed tells that the profile needs a window: it cannot be taken as of now.
	Timed bool
}

// The kinds that are no [pprof.Profile] of the runtime. Both take the one CPU profiler.
const (
	CPU  = "cpu"
	Wall = "wall"
)

// IsTimed reports whether a capture of that kind takes a window.
func IsTimed(kind string) bool { return kind == CPU || kind == Wall }

// Kinds returns the profiles of this program: the runtime's in the order of
// their use, then those that the program or a newer runtime adds.
func Kinds() []Kind {
	list := []Kind{
		{Name: CPU, About: "where processor time goes", Timed: true},
		{Name: Wall, About: "what all goroutines do, on a processor and off it", Timed: true},
		{Name: "heap", About: "live objects as of the last garbage collection"},
		{Name: "allocs", About: "everything allocated since the start", Change: true},
		{Name: "mutex", About: "who holds locks that others wait for", Change: true},
		{Name: "block", About: "what waits for locks, channels and conditions", Change: true},
		{Name: "goroutine", About: "what every goroutine does now"},
		{Name: "threadcreate", About: "what made the runtime start threads"},
	}
	for _, p := range pprof.Profiles() {
		if !slices.ContainsFunc(list, func(k Kind) bool { return k.Name == p.Name() }) {
			list = append(list, Kind{Name: p.Name(), About: "a profile of this program"})
		}
	}
	return list
}

// KindNamed returns the kind of that name, without more if there is none.
func KindNamed(name string) Kind {
	for _, k := range Kinds() {
		if k.Name == name {
			return k
		}
	}
	return Kind{Name: name}
}

// Longest bounds the length of one capture, and keep how many are kept for the browser.
const (
	Longest = 2 * time.Minute
	keep    = 32
)

// Seconds returns the length of the capture that query asks for: its parameter
// seconds, or fallback without one, and at most Longest. Zero means a snapshot.
func Seconds(query url.Values, fallback time.Duration) (time.Duration, error) {
	text := query.Get("seconds")
	if text == "" {
		return min(fallback, Longest), nil
	}
	sec, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || !(sec > 0) {
		return 0, web.Bad("seconds must be a number above 0, not %q", text)
	}
	if sec >= Longest.Seconds() {
		return Longest, nil
	}
	return max(time.Duration(sec*float64(time.Second)), 1), nil
}

// Take captures the named profile: during d, or as it is now if d is 0. When ctx ends it returns an
// error at once. The profile has the phase as a comment, which every pprof page and report shows.
func (s *Captures) Take(ctx context.Context, name string, d time.Duration) (*Capture, error) {
	c := &Capture{Kind: name, Phase: s.Phase(), Start: time.Now(), Window: d}
	before := s.done()
	var p *profile.Profile
	var err error
	switch {
	case name == CPU:
		p, err = takeCPU(ctx, d, s.Capturing, sleep)
	case name == Wall:
		p, err = takeWall(ctx, d, s.Capturing)
	case d > 0:
		p, err = takeChange(ctx, name, d)
	default:
		p, err = takeSnapshot(name)
	}
	switch of := KindNamed(name); {
	case d > 0:
		c.Ops = s.done() - before
	case of.Change:
		c.Ops = s.done()
	}
	return s.finish(c, p, err)
}

// done returns how many operations the program has done, 0 if that is not known.
func (s *Captures) done() uint64 {
	if s.Operations == nil {
		return 0
	}
	return s.Operations()
}

// finish stores p in c, unless there is an error. The Phase of c is the phase at the start.
func (s *Captures) finish(c *Capture, p *profile.Profile, err error) (*Capture, error) {
	if err != nil {
		return nil, err
	}
	if after := s.Phase(); after != c.Phase {
		c.Phase += " → " + after
	}
	if c.Phase != "" {
		p.Comments = append(p.Comments, "Phase: "+c.Phase)
	}
	var buf bytes.Buffer
	if err := p.Write(&buf); err != nil {
		return nil, err
	}
	c.Data, c.Empty = buf.Bytes(), pprofui.IsEmpty(p)
	for _, sample := range p.Sample {
		d := time.Duration(sample.Value[len(sample.Value)-1])
		if sample.HasLabel(contention.WorkLabel, "true") {
			c.Work += d
		}
		if sample.HasLabel("state", string(wall.Collector)) {
			c.Collector += d
		}
	}
	return c, nil
}

// Keep stores c, which gets a number, in place of the oldest if there are too many.
func (s *Captures) Keep(c *Capture) {
	s.Kept.Add(func(id int) *Capture {
		c.ID = id
		return c
	}, func(list []*Capture) int {
		if len(list) > keep {
			return 0
		}
		return -1
	})
}

// Get returns the capture with the given number.
func (s *Captures) Get(id string) (*Capture, error) {
	n, err := strconv.Atoi(id)
	if err != nil {
		return nil, web.NotFound("a capture has a number, not %q", id)
	}
	c, ok, gone := s.Kept.Get(n)
	switch {
	case gone:
		return nil, web.Refuse(http.StatusGone,
			"capture %d is gone: only the last %d are kept", n, keep)
	case !ok:
		return nil, web.NotFound("there is no capture %d", n)
	}
	return c, nil
}

// takeCPU profiles the processor while wait runs, which takes d. It calls capturing before and
// after wait.
func takeCPU(
	ctx context.Context, d time.Duration, capturing func(bool),
	wait func(context.Context, time.Duration) error,
) (*profile.Profile, error) {
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
		return nil, web.Refuse(http.StatusConflict,
			"the program itself is taking a CPU profile: %v", err)
	}
	err = wait(ctx, d)
	pprof.StopCPUProfile()
	if err != nil {
		return nil, err
	}
	return profile.ParseData(buf.Bytes())
}

// takeWall profiles the states of all goroutines during d.
func takeWall(
	ctx context.Context, d time.Duration, capturing func(bool),
) (*profile.Profile, error) {
	var s wall.Sampler
	var start time.Time
	var took time.Duration
	cpu, err := takeCPU(ctx, d, capturing, func(ctx context.Context, d time.Duration) error {
		start = time.Now()
		defer func() { took = time.Since(start) }()
		if err := s.Run(ctx, d); err != nil {
			return cancelled(err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.Profile(cpu, start, took), nil
}

// takeChange returns the gain of the named profile during d. Entries that did not change are left
// out.
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
	p, err := Gain(before, after)
	if err != nil {
		return nil, err
	}
	p.TimeNanos, p.DurationNanos = start.UnixNano(), time.Since(start).Nanoseconds()
	return p, nil
}

// Gain returns the gain of a profile from before to after. It changes neither.
func Gain(before, after *profile.Profile) (*profile.Profile, error) {
	before = before.Copy()
	before.Scale(-1)
	return profile.Merge([]*profile.Profile{after, before})
}

// takeSnapshot returns the named profile of the runtime as it is now.
func takeSnapshot(name string) (*profile.Profile, error) {
	rp, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if err := rp.WriteTo(&buf, 0); err != nil {
		return nil, err
	}
	return profile.ParseData(buf.Bytes())
}

// Lookup finds a profile of the runtime or the program by name.
func Lookup(name string) (*pprof.Profile, error) {
	p := pprof.Lookup(name)
	if p == nil {
		return nil, web.NotFound("this program has no profile named %q", name)
	}
	return p, nil
}

// sleep waits for d, without a select, which would be in the program's block profile. If ctx ends
// first, sleep returns a refusal, which the client gets if the server ended ctx.
func sleep(ctx context.Context, d time.Duration) error {
	if err := wall.Sleep(ctx, d); err != nil {
		return cancelled(err)
	}
	return nil
}

func cancelled(cause error) error {
	return web.Refuse(http.StatusServiceUnavailable, "capture cancelled: %v", cause)
}
