package capture

import (
	"context"
	"math"
	"net/url"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// contentionKind is the kind of the captures that have a report on contention.
const contentionKind = "contention"

// DefaultWindow is the length of a capture for the browser.
const DefaultWindow = 5 * time.Second

// A Mode is a way to make a report on contention: from an execution trace of some length, or from
// the gain of the block and mutex profiles, during a window or since the program started.
type Mode struct {
	Traced bool
	Window time.Duration
}

// ModeOf returns how to make the report that query asks for.
func ModeOf(query url.Values) (m Mode, err error) {
	since := query.Get("since")
	switch mode := query.Get("mode"); {
	case mode == "trace" && since != "":
		return m, web.Bad("a trace begins now: since goes with mode=profiles only")
	case mode == "trace":
		d, err := Seconds(query, time.Second)
		return Mode{Traced: true, Window: min(d, MaxTrace)}, err
	case mode != "" && mode != "profiles":
		return m, web.Bad("mode must be profiles or trace, not %q", mode)
	case since == "":
		m.Window, err = Seconds(query, DefaultWindow)
		return m, err
	case since != "start":
		return m, web.Bad("since must be start, not %q", since)
	case query.Get("seconds") != "":
		return m, web.Bad("seconds and since exclude each other")
	}
	return m, nil
}

// Waits makes a report on contention.
func (s *Captures) Waits(ctx context.Context, m Mode) (*Capture, error) {
	c := &Capture{Kind: contentionKind, Phase: s.Phase(), Start: time.Now(), Window: m.Window}
	before := s.done()
	var err error
	if m.Traced {
		c.Report, err = tracedWaits(ctx, m.Window)
	} else {
		c.Report, err = s.cheapWaits(ctx, m.Window)
	}
	if err != nil {
		return nil, err
	}
	if m.Window > 0 {
		c.Ops = s.done() - before
	}
	return s.finish(c, c.Report.Profile(), nil)
}

// A waitState has the waits from the start of the program to some time.
type waitState struct {
	at           time.Time
	block, mutex *profile.Profile
}

// readWaits reads the block and mutex profiles, which takes a few milliseconds.
func readWaits() (*waitState, error) {
	w := &waitState{at: time.Now()}
	var err error
	if w.block, err = takeSnapshot("block"); err != nil {
		return nil, err
	}
	if w.mutex, err = takeSnapshot("mutex"); err != nil {
		return nil, err
	}
	return w, nil
}

// cheapWaits reports on contention by the block and mutex profiles: during d,
// or since the start of the program.
func (s *Captures) cheapWaits(ctx context.Context, d time.Duration) (*contention.Report, error) {
	var from *waitState
	if d > 0 {
		leave, err := windowGate.enter(d)
		if err != nil {
			return nil, err
		}
		defer leave()
		if from, err = readWaits(); err != nil {
			return nil, err
		}
		if err := sleep(ctx, d); err != nil {
			return nil, err
		}
	}
	to, err := readWaits()
	if err != nil {
		return nil, err
	}
	r, err := s.reportOf(from, to)
	if err == nil {
		r.Off = Off()
	}
	return r, err
}

// reportOf makes a report of the waits between two states; from may be nil.
func (s *Captures) reportOf(from, to *waitState) (*contention.Report, error) {
	if from == nil {
		r := contention.FromProfiles(to.block, to.mutex, 0)
		r.Start = s.Started // roughly that of the program
		return r, nil
	}
	block, err := Gain(from.block, to.block)
	if err != nil {
		return nil, err
	}
	mutex, err := Gain(from.mutex, to.mutex)
	if err != nil {
		return nil, err
	}
	r := contention.FromProfiles(block, mutex, to.at.Sub(from.at))
	r.Start = from.at
	return r, nil
}

// rates counts the servers that want the runtime's mutex and block profiles on. The settings belong
// to the whole process: the first server turns a profile on, a later server may change its rate,
// and the last server to close restores it.
var rates struct {
	mu          sync.Mutex
	mutexUsers  int
	mutexBefore int // the program's own setting, to be restored
	mutexSet    int // the last setting of a server
	blockUsers  int
}

// AcquireRates turns the mutex and block profiles on with the given rates; a negative rate leaves
// its profile alone. The returned function restores both rates and must be called exactly once. A
// mutex fraction that the program itself changed meanwhile stays. The block rate cannot be read
// from the runtime; it goes back to 0, the value at which a program starts.
func AcquireRates(mutexFraction int, blockRate time.Duration) (release func()) {
	rates.mu.Lock()
	defer rates.mu.Unlock()
	if mutexFraction >= 0 {
		before := runtime.SetMutexProfileFraction(mutexFraction)
		if rates.mutexUsers == 0 {
			rates.mutexBefore = before
		}
		rates.mutexSet = mutexFraction
		rates.mutexUsers++
	}
	if blockRate >= 0 {
		runtime.SetBlockProfileRate(int(min(blockRate, math.MaxInt32)))
		rates.blockUsers++
	}
	return func() {
		rates.mu.Lock()
		defer rates.mu.Unlock()
		if mutexFraction >= 0 {
			rates.mutexUsers--
			if rates.mutexUsers == 0 && runtime.SetMutexProfileFraction(-1) == rates.mutexSet {
				runtime.SetMutexProfileFraction(rates.mutexBefore)
			}
		}
		if blockRate >= 0 {
			rates.blockUsers--
			if rates.blockUsers == 0 {
				runtime.SetBlockProfileRate(0)
			}
		}
	}
}

// Off returns the names of the profiles that record nothing at present: those whose rates are
// off. The block rate cannot be read from the runtime: its profile counts as off if no server has
// set the rate and it has never recorded anything.
func Off() []string {
	rates.mu.Lock()
	defer rates.mu.Unlock()
	var list []string
	if rates.blockUsers == 0 && pprof.Lookup("block").Count() == 0 {
		list = append(list, "block")
	}
	if runtime.SetMutexProfileFraction(-1) == 0 {
		list = append(list, "mutex")
	}
	return list
}
