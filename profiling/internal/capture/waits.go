package capture

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// contentionKind is the kind of the captures that have a report on contention.
const contentionKind = "contention"

// Bounds of the execution traces that reports are made from.
const (
	MaxTrace      = 10 * time.Second
	maxTraceBytes = 32 << 20
)

// DefaultWindow is the length of a capture for the browser.
const DefaultWindow = 5 * time.Second

// A Mode is a way to make a report on contention: from an execution trace of some
// length, or from what the block and mutex profiles gain meanwhile or have gained
// since the last such report, or since the start.
type Mode struct {
	Traced    bool
	Window    time.Duration
	sinceLast bool
}

// Mode returns how to make the report that query asks for.
func (s *Captures) Mode(query url.Values) (m Mode, err error) {
	since := query.Get("since")
	switch mode := query.Get("mode"); {
	case mode == "trace" && since != "":
		return m, web.Bad("a trace begins now: since goes with mode=profiles only")
	case mode == "trace":
		d, err := s.Seconds(query, time.Second)
		return Mode{Traced: true, Window: min(d, MaxTrace)}, err
	case mode != "" && mode != "profiles":
		return m, web.Bad("mode must be profiles or trace, not %q", mode)
	case since == "":
		m.Window, err = s.Seconds(query, DefaultWindow)
		return m, err
	case since != "start" && since != "last":
		return m, web.Bad("since must be start or last, not %q", since)
	case query.Get("seconds") != "":
		return m, web.Bad("seconds and since exclude each other")
	}
	return Mode{sinceLast: since == "last"}, nil
}

// Waits makes a report on contention.
func (s *Captures) Waits(ctx context.Context, m Mode, label string) (*Capture, error) {
	c := &Capture{
		Kind: contentionKind, Phase: s.Phase(), Label: label, Start: time.Now(), Window: m.Window,
	}
	before := s.done()
	var err error
	if m.Traced {
		c.Report, err = s.tracedWaits(ctx, m.Window)
	} else {
		c.Report, err = s.cheapWaits(ctx, m.Window, m.sinceLast)
	}
	if err != nil {
		return nil, err
	}
	if m.Window > 0 {
		c.Ops = s.done() - before
	}
	return s.finish(c, c.Report.Profile(), nil)
}

// A waitState is what had been waited for at some time since the start of the
// program.
type waitState struct {
	at           time.Time
	block, mutex *profile.Profile
	maps         []mvcc.Stats
}

// LastReport returns when the last report from profiles was made, zero if none was.
func (s *Captures) LastReport() time.Time {
	if last := s.waits.Load(); last != nil {
		return last.at
	}
	return time.Time{}
}

// readWaits reads the block and mutex profiles, which takes a few milliseconds,
// and the counters of the maps.
func (s *Captures) readWaits() (*waitState, error) {
	w := &waitState{at: time.Now()}
	var err error
	if w.block, err = takeSnapshot("block"); err != nil {
		return nil, err
	}
	if w.mutex, err = takeSnapshot("mutex"); err != nil {
		return nil, err
	}
	w.maps = s.readMaps()
	return w, nil
}

func (s *Captures) readMaps() []mvcc.Stats {
	list := make([]mvcc.Stats, len(s.Maps))
	for i, m := range s.Maps {
		list[i] = m.Stats()
	}
	return list
}

// cheapWaits reports on contention by the block and mutex profiles: during d,
// or since the last such report or the start of the program.
func (s *Captures) cheapWaits(
	ctx context.Context, d time.Duration, sinceLast bool,
) (*contention.Report, error) {
	var from *waitState
	if d > 0 {
		leave, err := windowGate.enter(d)
		if err != nil {
			return nil, err
		}
		defer leave()
		if from, err = s.readWaits(); err != nil {
			return nil, err
		}
		if err := sleep(ctx, d); err != nil {
			return nil, err
		}
	}
	to, err := s.readWaits()
	if err != nil {
		return nil, err
	}
	if last := s.waits.Swap(to); sinceLast {
		from = last
	}
	r, err := s.reportOf(from, to)
	if err == nil {
		r.Off = Off()
	}
	return r, err
}

// reportOf makes a report of what came between two states; from may be nil.
func (s *Captures) reportOf(from, to *waitState) (*contention.Report, error) {
	if from == nil {
		r := contention.FromProfiles(to.block, to.mutex)
		r.Start = s.Started // roughly that of the program
		r.Counters = s.counters(nil, to.maps)
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
	r := contention.FromProfiles(block, mutex)
	r.Start, r.Window = from.at, to.at.Sub(from.at)
	r.Counters = s.counters(from.maps, to.maps)
	return r, nil
}

// tracedWaits reports on contention by an execution trace of length d, which
// ends early if it grows too large.
func (s *Captures) tracedWaits(ctx context.Context, d time.Duration) (*contention.Report, error) {
	leave, err := traceGate.enter(d)
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	buf := &traceBuffer{full: func() { end(errFull) }}
	before, start := s.readMaps(), time.Now()
	if err := startTrace(buf); err != nil {
		return nil, err
	}
	err = sleep(ctx, d)
	trace.Stop()
	if err != nil && !errors.Is(context.Cause(ctx), errFull) {
		return nil, err
	}
	after := s.readMaps()
	size := buf.Len()
	r, err := contention.FromTrace(&buf.Buffer)
	if err != nil {
		return nil, err
	}
	r.Start, r.Bytes = start, size
	r.Truncated = size >= maxTraceBytes
	r.Counters = s.counters(before, after)
	return r, nil
}

// errFull is why a trace ended early, and can be read all the same.
var errFull = errors.New("the trace is large enough")

// startTrace starts an execution trace. The gate has been passed.
func startTrace(w io.Writer) error {
	if err := trace.Start(w); err != nil {
		return web.Refuse(http.StatusConflict,
			"the program itself is taking an execution trace: %v", err)
	}
	return nil
}

// A traceBuffer takes a trace in, and says when it is large enough. What comes
// until the tracer has stopped is taken in as well: a trace without its end
// cannot be read.
type traceBuffer struct {
	bytes.Buffer
	full func()
}

// Write implements [io.Writer]; only the tracer's goroutine calls it.
func (b *traceBuffer) Write(p []byte) (int, error) {
	n, err := b.Buffer.Write(p)
	if b.Len() >= maxTraceBytes {
		b.full()
	}
	return n, err
}

// waitCounters has the fields of the waits that a map counts, but does not time.
var waitCounters = []string{
	"Conflicts", "Retries", "Helped", "Pushed", "Revoked", "Rivals", "Reinstalled",
	"Claims", "ExpiredClaims", "Deferred", "SyncFallbacks",
}

// counters returns how the counters of the maps grew; before may be nil.
func (s *Captures) counters(before, after []mvcc.Stats) []contention.Counter {
	var list []contention.Counter
	for i, now := range after {
		for _, f := range mvcc.Figures() {
			if !slices.Contains(waitCounters, f.Field) || now.OfTable() && !f.Table {
				continue
			}
			n := f.Of(now)
			if before != nil && before[i].Epoch <= now.Epoch && f.Of(before[i]) <= n {
				n -= f.Of(before[i]) // otherwise it is another map by now
			}
			list = append(list, contention.Counter{
				Map: s.Maps[i].Name, Name: strings.ReplaceAll(f.Name, "_", " "), Count: uint64(n),
				About: strings.ToLower(f.Help[:1]) + strings.TrimSuffix(f.Help[1:], "."),
			})
		}
	}
	return list
}

// rates counts the servers that want the runtime's mutex and block profiles
// on. The settings belong to the whole process: the first server turns one on,
// a later one may change its value, and the last to close turns it back.
var rates struct {
	mu          sync.Mutex
	mutexUsers  int
	mutexBefore int // the program's own setting, to be restored
	mutexSet    int // what a server set last
	blockUsers  int
}

// AcquireRates turns the mutex and block profiles on with the given rates; a
// negative rate leaves its profile alone. The returned function gives both
// back and must be called exactly once. A mutex fraction that the program itself
// changed meanwhile stays. The block rate cannot be read from the runtime; it goes
// back to 0, the value at which a program starts.
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
