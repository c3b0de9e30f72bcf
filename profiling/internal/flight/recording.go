// Package flight records an execution trace, and keeps it when an operation was slow.
package flight

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
	"github.com/mvccmap/mvccmap/profiling/internal/capture"
	"github.com/mvccmap/mvccmap/profiling/internal/slow"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// A Config says which operations are slow, and how much of them is kept.
type Config struct {
	Percentile    float64
	Above, MinAge time.Duration
	MaxBytes      int
	Every         time.Duration
	Keep          int
}

// maxBytes is the largest size of a trace.
const maxBytes = 256 << 20

// WithDefaults returns c with its zero fields filled in, and an error that names an invalid one.
func (c Config) WithDefaults() (Config, error) {
	c.Percentile = cmp.Or(c.Percentile, 99.9)
	if c.MinAge <= 0 {
		c.MinAge = 5 * time.Second
	}
	if c.MaxBytes <= 0 {
		c.MaxBytes = 10_000_000
	}
	c.MaxBytes = min(c.MaxBytes, maxBytes)
	if c.Every <= 0 {
		c.Every = 3 * time.Second
	}
	if c.Keep <= 0 {
		c.Keep = 8
	}
	switch {
	case !(c.Percentile > 0 && c.Percentile < 100):
		return c, fmt.Errorf("percentile must be above 0 and below 100, not %v", c.Percentile)
	case c.Above < 0:
		return c, fmt.Errorf("the duration above which operations are slow must not be "+
			"negative, and it is %v", c.Above)
	}
	return c, nil
}

// A Recording has the slow operations of a service. Its methods may be called from several
// goroutines.
type Recording struct {
	Phase func() string // of the program, at present
	Kept  capture.History[*Slow]

	turn   sync.Mutex // held to start or stop, which may take seconds; locked before mu
	closed bool       // under turn

	mu     sync.Mutex
	ops    map[string]*Op
	names  humanize.Names
	cfg    Config
	flight *flight // nil while nothing is recorded
	failed error   // why the last start was none
	last   outcome // of the last recording that has ended
}

// maxOps bounds the memory of Ops in a program with names from outside: each takes up to half a
// megabyte.
const maxOps = 200

// Op returns the Op of that name or, beyond maxOps, one for all other names.
func (s *Recording) Op(name string) *Op {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.ops[name]; o != nil {
		return o
	}
	if len(s.ops) >= maxOps {
		name = "other operations"
		if o := s.ops[name]; o != nil {
			return o
		}
	}
	o := &Op{name: s.names.Valid(name)}
	if s.ops == nil {
		s.ops = map[string]*Op{}
	}
	s.ops[name] = o
	if s.flight != nil {
		s.flight.record(o)
	}
	return o
}

// Ops returns all Ops, by name.
func (s *Recording) Ops() []*Op {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Op, 0, len(s.ops))
	for _, name := range slices.Sorted(maps.Keys(s.ops)) {
		list = append(list, s.ops[name])
	}
	return list
}

// Start starts to record, anew if it records already.
func (s *Recording) Start(cfg Config) error {
	cfg, err := cfg.WithDefaults()
	if err != nil {
		return s.fail(web.Bad("slow operations: %v", err))
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	if s.closed {
		return web.Refuse(http.StatusServiceUnavailable, "slow operations: the service is closed")
	}
	s.halt()
	f, err := newFlight(cfg, &s.Kept, s.Phase)
	if err != nil {
		return s.fail(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg, s.flight, s.failed = cfg, f, nil
	for _, o := range s.ops {
		f.record(o)
	}
	return nil
}

// fail says why the recording could not be started.
func (s *Recording) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
	return err
}

// Stop ends the recording, if there is one, and waits until it has ended.
func (s *Recording) Stop() {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.halt()
}

// Usual asks for an explanation of the next operation of that name that takes as long as most.
func (s *Recording) Usual(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.ops {
		if r := o.rec.Load(); r != nil && o.name == name {
			r.usual.Store(true)
			return nil
		}
	}
	return web.NotFound("no operation %q is recorded", name)
}

// Close is Stop for good.
func (s *Recording) Close() {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.closed = true
	s.halt()
}

// halt ends the recording, if there is one. The caller holds s.turn, but not s.mu, because halt
// waits for a trace that is being read.
func (s *Recording) halt() {
	s.mu.Lock()
	f := s.flight
	s.flight = nil
	if f != nil {
		for _, o := range s.ops {
			o.rec.Store(nil)
		}
	}
	s.mu.Unlock()
	if f != nil {
		f.close()
		s.mu.Lock()
		s.last = f.outcome
		s.mu.Unlock()
	}
}

// State is the report of a service on its slow operations.
type State struct {
	On      bool      `json:"on"`
	Failed  string    `json:"failed,omitempty"` // why it could not be turned on
	Rule    string    `json:"rule,omitempty"`   // which operations are slow, in words
	Ops     []OpState `json:"ops"`
	Lost    int       `json:"lost"` // traces that were not kept, of this or the last recording
	Problem string    `json:"problem,omitempty"`
	Kept    []*Slow   `json:"kept"` // those first by which most time is lost
	// Tails sum up slow operations by name, of the last five minutes of this or the last recording.
	Tails []*slow.Tail `json:"tails"`

	Config Config `json:"-"`
}

// OpState has the figures of one kind of operation.
type OpState struct {
	Name string `json:"name"`
	recent
	Slow uint64 `json:"slow"` // since the recording began
}

// State describes s as it is now.
func (s *Recording) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := State{On: s.flight != nil, Ops: []OpState{}, Kept: s.Kept.NewestFirst(), Config: s.cfg}
	if s.failed != nil {
		st.Failed = s.failed.Error()
	}
	of := s.last
	if f := s.flight; f != nil {
		st.Rule = s.cfg.rule()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.tails.add(time.Now(), nil)
		of = f.outcome
	}
	st.Lost, st.Problem, st.Tails = of.lost, of.problem, of.tails.sum()
	for _, name := range slices.Sorted(maps.Keys(s.ops)) {
		o := OpState{Name: s.ops[name].name}
		if r := s.ops[name].rec.Load(); r != nil {
			o.recent, o.Slow = r.last, r.slow.Load()
		}
		for _, t := range st.Tails {
			if t.Op == o.Name {
				t.Excess = max(t.Took-time.Duration(t.Count)*o.P50, 0)
			}
		}
		st.Ops = append(st.Ops, o)
	}
	slices.SortStableFunc(st.Kept, func(a, b *Slow) int { return cmp.Compare(b.Cost(), a.Cost()) })
	slices.SortStableFunc(st.Tails, func(a, b *slow.Tail) int {
		return cmp.Compare(b.Excess, a.Excess)
	})
	return st
}

// Of drops the operations of other names from st.
func (st *State) Of(op string) {
	st.Kept = slices.DeleteFunc(st.Kept, func(c *Slow) bool { return c.Op != op })
	st.Tails = slices.DeleteFunc(st.Tails, func(t *slow.Tail) bool { return t.Op != op })
}

// rule says in words which operations are slow.
func (c Config) rule() string {
	if c.Above > 0 {
		return "above " + c.Above.String()
	}
	return fmt.Sprintf("beyond p%v of the last minute", c.Percentile)
}

// marksASecond bounds the slow operations that leave a mark in the trace although they are not to
// be kept. More marks would not tell more, and take room in the trace.
const marksASecond = 1000

// marks has the figures of the operations that left marks of late.
type marks struct {
	left   atomic.Int64 // how many more may, in this second
	most   atomic.Int64 // the longest took that many nanoseconds
	before atomic.Int64 // as most, when it was last asked for
}

// may reports whether one more operation may leave a mark.
func (m *marks) may() bool { return m.left.Load() > 0 && m.left.Add(-1) >= 0 }

// note takes the duration of an operation that leaves a mark.
func (m *marks) note(d time.Duration) {
	for most := m.most.Load(); int64(d) > most && !m.most.CompareAndSwap(most, int64(d)); {
		most = m.most.Load()
	}
}

// longest returns the longest duration noted since its last call but one. A mark noted before a
// call may be missing in the trace that is read then, and be in the next one.
func (m *marks) longest() time.Duration {
	now := m.most.Swap(0)
	return time.Duration(max(now, m.before.Swap(now)))
}

// TailReach is how far back the sums of slow operations go.
const TailReach = 5 * time.Minute

// tails are sums of slow operations, of one trace each, the oldest first.
type tails []traceTails

type traceTails struct {
	at    time.Time
	tails []*slow.Tail
}

// add adds the sums of a trace, and drops those that are too old.
func (l *tails) add(now time.Time, list []*slow.Tail) {
	*l = slices.DeleteFunc(*l, func(t traceTails) bool { return now.Sub(t.at) > TailReach })
	if len(list) > 0 {
		*l = append(*l, traceTails{now, list})
	}
}

// sum returns the sums by operation.
func (l tails) sum() []*slow.Tail {
	var all []*slow.Tail
	for _, t := range l {
		all = append(all, t.tails...)
	}
	return slow.Merge(all)
}
