package profiling

import (
	"bytes"
	"context"
	"net/http"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling/contention"
)

// contentionKind is the kind of the captures that have a report on contention.
const contentionKind = "contention"

// Bounds of the execution traces that reports are made from.
const (
	maxTraceWindow = 10 * time.Second
	maxTraceBytes  = 32 << 20
)

// A waitState is what had been waited for at some time since the start of the
// program.
type waitState struct {
	at           time.Time
	block, mutex *profile.Profile
	maps         []mvcc.Stats
}

// A baseline is the state as of the last cheap report.
type baseline struct {
	mu   sync.Mutex
	last *waitState
}

func (b *baseline) swap(next *waitState) (last *waitState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last, b.last = b.last, next
	return last
}

func (b *baseline) at() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil {
		return time.Time{}
	}
	return b.last.at
}

// readWaits reads the block and mutex profiles, which takes a few milliseconds,
// and the counters of the maps.
func (s *service) readWaits() (*waitState, error) {
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

func (s *service) readMaps() []mvcc.Stats {
	list := make([]mvcc.Stats, len(s.sampler.stats))
	for i, stats := range s.sampler.stats {
		list[i] = stats()
	}
	return list
}

// reportOf makes a report of what came between two states; from may be nil.
func (s *service) reportOf(from, to *waitState) (*contention.Report, error) {
	block, mutex := to.block, to.mutex
	var before []mvcc.Stats
	start := s.started // roughly that of the program
	if from != nil {
		var err error
		if block, err = gainOf(from.block, to.block); err != nil {
			return nil, err
		}
		if mutex, err = gainOf(from.mutex, to.mutex); err != nil {
			return nil, err
		}
		before, start = from.maps, from.at
	}
	r := contention.FromProfiles(block, mutex)
	r.Start = start
	if from != nil {
		r.Window = to.at.Sub(from.at)
	}
	r.Counters = s.counters(before, to.maps)
	return r, nil
}

// gainOf returns what a profile gained from before to after, neither of which
// it changes.
func gainOf(before, after *profile.Profile) (*profile.Profile, error) {
	before = before.Copy()
	before.Scale(-1)
	return profile.Merge([]*profile.Profile{after, before})
}

// cheapWaits reports on contention by the block and mutex profiles: during d,
// or since the last such report or the start of the program.
func (s *service) cheapWaits(
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
	if last := s.waits.swap(to); sinceLast {
		from = last
	}
	return s.reportOf(from, to)
}

// tracedWaits reports on contention by an execution trace of length d, which
// ends early if it grows too large.
func (s *service) tracedWaits(ctx context.Context, d time.Duration) (*contention.Report, error) {
	leave, err := traceGate.enter(d)
	if err != nil {
		return nil, err
	}
	defer leave()
	buf := &traceBuffer{full: make(chan struct{})}
	before, start := s.readMaps(), time.Now()
	if err := trace.Start(buf); err != nil {
		return nil, refuse(http.StatusConflict,
			"the program itself is taking an execution trace: %v", err)
	}
	err = buf.fill(ctx, d)
	trace.Stop()
	if err != nil {
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

// A traceBuffer takes a trace in, and says when it is large enough. What comes
// until the tracer has stopped is taken in as well: a trace without its end
// cannot be read.
type traceBuffer struct {
	bytes.Buffer
	full chan struct{}
	once sync.Once
}

// Write implements [io.Writer]; only the tracer's goroutine calls it.
func (b *traceBuffer) Write(p []byte) (int, error) {
	n, err := b.Buffer.Write(p)
	if b.Len() >= maxTraceBytes {
		b.once.Do(func() { close(b.full) })
	}
	return n, err
}

// fill waits for d, or until the buffer is full or ctx ends.
func (b *traceBuffer) fill(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	slept := make(chan error, 1)
	go func() { slept <- sleep(ctx, d) }()
	select {
	case err := <-slept:
		return err
	case <-b.full:
		cancel()
		<-slept
		return nil
	}
}

// waitCounters has the waits that a map counts, but does not time.
var waitCounters = []string{
	"Conflicts", "Retries", "Helped", "Pushed", "Revoked", "Rivals", "Reinstalled",
	"Claims", "Expired", "Deferred", "SyncFallbacks",
}

// counters returns how the counters of the maps grew; before may be nil.
func (s *service) counters(before, after []mvcc.Stats) []contention.Counter {
	var list []contention.Counter
	figures := slices.DeleteFunc(mvcc.Figures(), func(f mvcc.Figure) bool {
		return !slices.Contains(waitCounters, f.Field)
	})
	for i, now := range after {
		for _, f := range figures {
			n := f.Of(now)
			if before != nil && before[i].Epoch <= now.Epoch && f.Of(before[i]) <= n {
				n -= f.Of(before[i]) // otherwise it is another map by now
			}
			list = append(list, contention.Counter{
				Map: s.sampler.names[i], Name: inWords(f), Count: uint64(n),
				About: strings.ToLower(f.Help[:1]) + strings.TrimSuffix(f.Help[1:], "."),
			})
		}
	}
	return list
}
