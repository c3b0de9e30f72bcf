// Package charts has the charts of the dashboard, and their values of the last ten minutes.
package charts

import (
	"context"
	"fmt"
	"math"
	"runtime/pprof"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Interval is the time between two readings of the sources. kept is how many readings a sampler
// keeps the values of: some 5 KB for each series.
const (
	Interval = time.Second
	kept     = int(10 * time.Minute / Interval)
)

// A Group is a part of the dashboard under a heading of its own, with one source.
type Group struct {
	Title  string                         `json:"title"`
	Charts []Chart                        `json:"charts"`
	Source interface{ sample(time.Time) } `json:"-"`
	// Start, if not nil, begins a measurement that ends with ctx, and returns at once.
	Start func(ctx context.Context) `json:"-"`
	// More, if not nil, returns further charts after the source was read. A group that has no
	// charts yet is not shown.
	More func() []Chart `json:"-"`
}

// A Chart is one picture.
type Chart struct {
	Title  string   `json:"title"`
	About  string   `json:"about"`
	Unit   Unit     `json:"unit"`
	Scale  Scale    `json:"scale,omitempty"`
	Series []Series `json:"series"`
	// First is the number of the column of the first series; the sampler sets it.
	First int `json:"first"`
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

// A Scale is a scale for the values of a chart.
type Scale string

// The scales.
const (
	FromZero    Scale = ""
	Logarithmic Scale = "log"
)

// A Series is one line of a chart. NaN means that there is no value: a gap.
type Series struct {
	Name  string         `json:"name"`
	Value func() float64 `json:"-"`
}

// A Source is read once a second. Series are made of its last two readings, which are equal at
// first. It has no type parameter: profiles would show that in the names of functions.
type Source struct {
	Read func() any // the functions below are given readings of this type

	mu        sync.Mutex
	prev, cur any
	at        time.Time // zero before the first
	seconds   float64   // between the two
}

func (s *Source) sample(now time.Time) {
	v := s.Read()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at.IsZero() {
		s.cur = v
	}
	s.prev, s.cur = s.cur, v
	s.seconds, s.at = now.Sub(s.at).Seconds(), now
}

// Last returns the last reading, nil before there is one.
func (s *Source) Last() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cur
}

// Now estimates a counter as of now: it assumes the growth between the last two readings to go on.
// Before the first reading it returns 0.
func Now[T any](s *Source, of func(T) uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at.IsZero() {
		return 0
	}
	prev, cur := of(s.prev.(T)), of(s.cur.(T))
	if prev == 0 || cur < prev || !(s.seconds > 0) {
		return cur
	}
	return cur + uint64(float64(cur-prev)*min(time.Since(s.at).Seconds()/s.seconds, 1))
}

// Gauge makes a value of the last reading.
func Gauge[T any](s *Source, name string, of func(T) float64) Series {
	return Series{Name: name, Value: func() float64 { return of(s.cur.(T)) }}
}

// Change makes a value of the last two readings.
func Change[T any](s *Source, name string, of func(prev, cur T) float64) Series {
	return Series{Name: name, Value: func() float64 { return of(s.prev.(T), s.cur.(T)) }}
}

// Rate makes the growth per second of a counter, NaN if it fell.
func Rate[T any](s *Source, name string, of func(T) float64) Series {
	return Change(s, name, func(prev, cur T) float64 {
		grown := of(cur) - of(prev)
		if !(grown >= 0) || s.seconds <= 0 {
			return math.NaN()
		}
		return grown / s.seconds
	})
}

// Ratio returns a series: the growth of the counter of, divided by that of the counter by, times
// factor. It is NaN while by does not grow.
func Ratio[T any](s *Source, name string, of, by func(T) float64, factor float64) Series {
	return Change(s, name, func(prev, cur T) float64 {
		a, b := of(cur)-of(prev), by(cur)-by(prev)
		if !(a >= 0) || !(b > 0) {
			return math.NaN()
		}
		return factor * a / b
	})
}

// A Sampler reads the sources each second and keeps the values of the charts. Only the callback of
// its timer calls the sources.
type Sampler struct {
	boot string // differs from sampler to sampler

	mu     sync.Mutex
	groups []Group
	series []Series        // of all charts, in the order in which they came; they only become more
	read   bool            // the sources were read
	seq    int             // of the newest row, from 1
	at     [kept]time.Time // of the rows, a ring
	rows   [kept][]float64 // the values of each row, a ring

	// The callback of timer holds turn while it reads the sources. No goroutine waits between
	// readings, as it would be in the program's block profile.
	turn  sync.Mutex
	timer *time.Timer
	stop  context.CancelFunc
}

// New returns a sampler that samples until Close.
func New(groups []Group) *Sampler {
	s := &Sampler{
		groups: groups,
		boot:   strconv.FormatInt(time.Now().UnixNano(), 36),
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	for _, g := range groups {
		s.add(g.Charts)
		if g.Start != nil {
			g.Start(ctx)
		}
	}
	s.turn.Lock() // until timer is set
	defer s.turn.Unlock()
	next := time.Now()
	s.timer = time.AfterFunc(0, func() {
		s.turn.Lock()
		defer s.turn.Unlock()
		if ctx.Err() != nil {
			return
		}
		pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels("profiling", "sampler")))
		s.sample(time.Now())
		next = next.Add(max(Interval, time.Since(next).Truncate(Interval))) // none is made up for
		s.timer.Reset(time.Until(next))
	})
	return s
}

// Close waits until no source is called any more.
func (s *Sampler) Close() {
	s.stop()
	s.turn.Lock() // waits for a reading that is under way; the next one sees that it is to stop
	s.timer.Stop()
	s.turn.Unlock()
}

// add takes the series of further charts.
func (s *Sampler) add(list []Chart) {
	for i := range list {
		list[i].First = len(s.series)
		s.series = append(s.series, list[i].Series...)
	}
}

// sample reads the sources, and adds a row unless it is the first time.
func (s *Sampler) sample(now time.Time) {
	for _, g := range s.groups {
		g.Source.sample(now)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.read
	s.read = true
	for i := range s.groups {
		g := &s.groups[i]
		if g.More == nil {
			continue
		}
		if list := g.More(); len(list) > 0 {
			s.add(list)
			g.Charts = slices.Concat(g.Charts, list) // answers may be using the other
		}
	}
	if first {
		return
	}
	place := s.seq % kept
	row := slices.Grow(s.rows[place][:0], len(s.series))[:len(s.series)]
	for i, line := range s.series {
		row[i] = line.Value()
	}
	s.at[place], s.rows[place] = now, row
	s.seq++
}

// An Answer goes to the dashboard, which asks for one each second.
type Answer struct {
	Boot    string    `json:"boot"`
	Seq     int       `json:"seq"`
	Now     any       `json:"now"`
	Groups  []Group   `json:"groups,omitempty"` // in the first answer
	Times   []float64 `json:"times"`            // Unix time of each row, in seconds
	Columns []column  `json:"columns"`          // of each series, see Chart.First
}

// Answer returns the rows after the given one. It returns all rows, with the description of the
// charts, if boot says that the dashboard has rows of another sampler, or of fewer charts.
func (s *Sampler) Answer(after int, boot string) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := Answer{
		Boot: fmt.Sprintf("%s-%d", s.boot, len(s.series)), Seq: s.seq,
		Times: []float64{}, Columns: make([]column, len(s.series)),
	}
	if boot != a.Boot || after > s.seq {
		after = 0
	}
	if after == 0 {
		for _, g := range s.groups {
			if len(g.Charts) > 0 {
				a.Groups = append(a.Groups, g)
			}
		}
	}
	for n := max(after, s.seq-kept); n < s.seq; n++ {
		i := n % kept
		a.Times = append(a.Times, float64(s.at[i].UnixMilli())/1000)
		for k := range a.Columns {
			v := math.NaN() // of a series that came later
			if k < len(s.rows[i]) {
				v = s.rows[i][k]
			}
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
