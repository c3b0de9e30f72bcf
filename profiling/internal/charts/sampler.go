// Package charts has what the dashboard draws: the charts, and their values of the
// last ten minutes.
package charts

import (
	"context"
	"math"
	"runtime/pprof"
	"strconv"
	"sync"
	"time"
)

// What the charts show: a value for each second of the last ten minutes.
const (
	Interval = time.Second
	Length   = 600
)

// A Group is a part of the dashboard under a heading of its own, with one source.
type Group struct {
	Title  string                         `json:"title"`
	Charts []Chart                        `json:"charts"`
	Source interface{ sample(time.Time) } `json:"-"`
	// Run, if not nil, is called in a goroutine of its own until ctx ends.
	Run func(ctx context.Context) `json:"-"`
}

// A Chart is one picture.
type Chart struct {
	Title  string   `json:"title"`
	About  string   `json:"about"`
	Unit   Unit     `json:"unit"`
	Scale  Scale    `json:"scale,omitempty"`
	Series []Series `json:"series"`
}

// A Unit is one that the page knows how to write.
type Unit string

// The units.
const (
	PerSecond      Unit = "/s"
	Seconds        Unit = "s"
	Bytes          Unit = "B"
	BytesPerSecond Unit = "B/s"
	Percent        Unit = "%"
	Count          Unit = ""
)

// A Scale is that of the values of a chart.
type Scale string

// The scales.
const (
	FromZero    Scale = ""
	Logarithmic Scale = "log"
	CloseUp     Scale = "close" // from the smallest value
)

// A Series is one line of a chart. NaN means that there is no value: a gap.
type Series struct {
	Name  string         `json:"name"`
	Value func() float64 `json:"-"`
}

// A Source is read once a second. Series are made of its last two readings.
type Source[T any] struct {
	Read func() T

	mu        sync.Mutex
	prev, cur T
	at        time.Time // zero before the first
	seconds   float64   // between the two
}

func (s *Source[T]) sample(now time.Time) {
	v := s.Read()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prev, s.cur = s.cur, v
	s.seconds, s.at = now.Sub(s.at).Seconds(), now
}

// Last returns the last reading; ok is false before there is one.
func (s *Source[T]) Last() (v T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cur, !s.at.IsZero()
}

// Gauge makes a value of the last reading.
func (s *Source[T]) Gauge(name string, of func(T) float64) Series {
	return Series{name, func() float64 { return of(s.cur) }}
}

// Change makes a value of the last two readings.
func (s *Source[T]) Change(name string, of func(prev, cur T) float64) Series {
	return Series{name, func() float64 { return of(s.prev, s.cur) }}
}

// Rate makes the growth per second of a counter, NaN after it fell.
func (s *Source[T]) Rate(name string, of func(T) float64) Series {
	return Series{name, func() float64 {
		grown := of(s.cur) - of(s.prev)
		if !(grown >= 0) || s.seconds <= 0 {
			return math.NaN()
		}
		return grown / s.seconds
	}}
}

// Ratio makes the growth of one counter by that of another, times a factor; NaN if
// the other did not grow.
func (s *Source[T]) Ratio(name string, of, by func(T) float64, factor float64) Series {
	return s.Change(name, func(prev, cur T) float64 {
		a, b := of(cur)-of(prev), by(cur)-by(prev)
		if !(a >= 0) || !(b > 0) {
			return math.NaN()
		}
		return factor * a / b
	})
}

// A Sampler reads the sources each second and keeps the values of the charts. Its
// goroutine is the only one that calls the sources.
type Sampler struct {
	groups []Group
	boot   string // differs from sampler to sampler

	mu     sync.Mutex
	newest time.Time   // when the sources were last read
	seq    int         // of the newest row, from 1
	at     []time.Time // of the rows, a ring
	rows   [][]float64 // the values of each row, a ring

	stop    context.CancelFunc
	stopped chan struct{}
}

// New returns a sampler that samples until Close.
func New(groups []Group) *Sampler {
	s := &Sampler{
		groups:  groups,
		boot:    strconv.FormatInt(time.Now().UnixNano(), 36),
		at:      make([]time.Time, Length),
		rows:    make([][]float64, Length),
		stopped: make(chan struct{}),
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	label := func() {
		pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels("profiling", "sampler")))
	}
	var others sync.WaitGroup
	for _, g := range groups {
		if g.Run != nil {
			others.Go(func() { label(); g.Run(ctx) })
		}
	}
	go func() {
		defer close(s.stopped)
		label()
		s.run(ctx)
		others.Wait()
	}()
	return s
}

// Close waits until no source is called any more.
func (s *Sampler) Close() {
	s.stop()
	<-s.stopped
}

// State returns when the sources were last read, zero if they were not, and whether
// they will be read again.
func (s *Sampler) State() (newest time.Time, closed bool) {
	select {
	case <-s.stopped:
		closed = true
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest, closed
}

func (s *Sampler) run(ctx context.Context) {
	t := time.NewTicker(Interval)
	defer t.Stop()
	s.sample(time.Now())
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			s.sample(time.Now())
		}
	}
}

// sample reads the sources, and adds a row if it is not for the first time.
func (s *Sampler) sample(now time.Time) {
	for _, g := range s.groups {
		g.Source.sample(now)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.newest.IsZero()
	s.newest = now
	if first {
		return
	}
	i := s.seq % Length
	s.at[i], s.rows[i] = now, s.rows[i][:0]
	for _, g := range s.groups {
		for _, c := range g.Charts {
			for _, line := range c.Series {
				s.rows[i] = append(s.rows[i], line.Value())
			}
		}
	}
	s.seq++
}

// An Answer is what the dashboard asks for each second.
type Answer struct {
	Boot     string    `json:"boot"`
	Seq      int       `json:"seq"`
	Length   int       `json:"length"`
	Interval float64   `json:"interval_s"`
	Now      any       `json:"now"`
	Groups   []Group   `json:"groups,omitempty"` // in the first answer
	Times    []float64 `json:"times"`            // Unix time of each row, in seconds
	Columns  []column  `json:"columns"`          // of each series, in the order of the groups
}

// Answer returns the rows after the given one, all if boot is not of this sampler,
// with the description of the charts.
func (s *Sampler) Answer(after int, boot string) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := Answer{
		Boot: s.boot, Seq: s.seq, Length: Length, Interval: Interval.Seconds(),
		Times: []float64{}, Columns: []column{},
	}
	if boot != s.boot || after > s.seq {
		after = 0
	}
	if after == 0 {
		a.Groups = s.groups
	}
	for _, g := range s.groups {
		for _, c := range g.Charts {
			for range c.Series {
				a.Columns = append(a.Columns, column{})
			}
		}
	}
	for n := max(after, s.seq-Length); n < s.seq; n++ {
		i := n % Length
		a.Times = append(a.Times, float64(s.at[i].UnixMilli())/1000)
		for k, v := range s.rows[i] {
			a.Columns[k] = append(a.Columns[k], v)
		}
	}
	return a
}

// A column marshals to short numbers, and NaN and infinities to null.
type column []float64

// MarshalJSON implements [json.Marshaler].
func (c column) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 8*len(c)+2)
	b = append(b, '[')
	for i, v := range c {
		if i > 0 {
			b = append(b, ',')
		}
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			b = append(b, "null"...)
		case v == math.Trunc(v) && math.Abs(v) < 1<<53:
			b = strconv.AppendInt(b, int64(v), 10)
		default:
			b = strconv.AppendFloat(b, v, 'g', 5, 64)
		}
	}
	return append(b, ']'), nil
}
