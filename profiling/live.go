package profiling

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// What the charts show: a value for each second of the last ten minutes.
const (
	liveInterval = time.Second
	liveLength   = 600
)

// A sampler takes a snapshot of the sources each second and keeps the values
// of the charts. Its goroutine is the only one that calls the sources.
type sampler struct {
	names    []string // of the maps
	stats    []func() mvcc.Stats
	workload func() Workload
	groups   []group
	boot     string // differs from sampler to sampler

	mu   sync.Mutex
	last *snapshot
	seq  int         // of the newest row, from 1
	at   []time.Time // of the rows, a ring
	rows [][]float64 // the values of each row, a ring

	stop    context.CancelFunc
	stopped chan struct{}
}

// newSampler returns a sampler that samples until close.
func newSampler(cfg Config) *sampler {
	s := &sampler{
		names:    slices.Sorted(maps.Keys(cfg.Maps)),
		workload: cfg.Workload,
		boot:     strconv.FormatInt(time.Now().UnixNano(), 36),
		at:       make([]time.Time, liveLength),
		rows:     make([][]float64, liveLength),
		stopped:  make(chan struct{}),
	}
	for _, name := range s.names {
		s.stats = append(s.stats, cfg.Maps[name])
	}
	s.groups = groups(s.names, s.workload != nil)
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	go func() {
		defer close(s.stopped)
		pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels("profiling", "sampler")))
		s.run(ctx)
	}()
	return s
}

// close waits until no source is called any more.
func (s *sampler) close() {
	s.stop()
	<-s.stopped
}

func (s *sampler) run(ctx context.Context) {
	t := time.NewTicker(liveInterval)
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

// sample takes one snapshot, and adds a row if it is not the first.
func (s *sampler) sample(now time.Time) {
	cur := &snapshot{at: now, runtime: readMetrics()}
	for _, stats := range s.stats {
		cur.maps = append(cur.maps, stats())
	}
	if s.workload != nil {
		w := s.workload()
		w.Results = w.Results.last(shownResults)
		cur.workload = &w
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	prev := s.last
	s.last = cur
	if prev == nil {
		return
	}
	i := s.seq % liveLength
	row := s.rows[i][:0]
	for _, g := range s.groups {
		for _, c := range g.Charts {
			for _, line := range c.Series {
				row = append(row, line.value(prev, cur))
			}
		}
	}
	s.at[i], s.rows[i] = now, row
	s.seq++
}

// now returns the newest state of the workload, nil if there is no source.
func (s *sampler) now() *Workload {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return nil
	}
	return s.last.workload
}

// A liveAnswer is what the dashboard asks for each second.
type liveAnswer struct {
	Boot     string    `json:"boot"`
	Seq      int       `json:"seq"`
	Length   int       `json:"length"`
	Interval float64   `json:"interval_s"`
	Now      liveNow   `json:"now"`
	Groups   []group   `json:"groups,omitempty"` // in the first answer
	Times    []float64 `json:"times"`            // Unix time of each row, in seconds
	Columns  []column  `json:"columns"`          // of each series, in the order of the groups
}

// liveNow says what the program does.
type liveNow struct {
	Phase      string  `json:"phase"`
	PhaseAge   float64 `json:"phase_age_s,omitempty"`
	Next       string  `json:"next,omitempty"`
	Done       int     `json:"done"`
	Of         int     `json:"of"`
	Left       float64 `json:"left_s,omitempty"`
	Results    *Table  `json:"results,omitempty"`
	Captures   string  `json:"captures,omitempty"` // being taken
	Goroutines int     `json:"goroutines"`
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

// live answers with the rows after the one that the parameter "after" names,
// or with all rows and the description of the charts.
func (s *service) live(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	after := 0
	if text := query.Get("after"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			writeError(w, refuse(http.StatusBadRequest, "after must be the number of a row, not %q", text))
			return
		}
		after = n
	}
	ans := s.sampler.answer(after, query.Get("boot"))
	ans.Now = s.nowAnswer()
	text, err := json.Marshal(ans)
	if err != nil {
		writeError(w, fmt.Errorf("the charts: %w", err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(text)
}

// answer returns the rows after the given one, all if boot is not of this
// sampler.
func (s *sampler) answer(after int, boot string) liveAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := liveAnswer{
		Boot: s.boot, Seq: s.seq, Length: liveLength, Interval: liveInterval.Seconds(),
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
	for n := max(after, s.seq-liveLength); n < s.seq; n++ {
		i := n % liveLength
		a.Times = append(a.Times, float64(s.at[i].UnixMilli())/1000)
		for k, v := range s.rows[i] {
			a.Columns[k] = append(a.Columns[k], v)
		}
	}
	return a
}

// nowAnswer says what the program does now.
func (s *service) nowAnswer() liveNow {
	ph := s.currentPhase()
	n := liveNow{Phase: ph.Label, Goroutines: runtime.NumGoroutine()}
	if !ph.Since.IsZero() {
		n.PhaseAge = time.Since(ph.Since).Seconds()
	}
	if list := runningCaptures(); len(list) > 0 {
		n.Captures = list[0]
	}
	if w := s.sampler.now(); w != nil {
		n.Next, n.Done, n.Of, n.Left = w.Next, w.Done, w.Of, w.Left.Seconds()
		if len(w.Results.Columns) > 0 {
			n.Results = &w.Results
		}
	}
	return n
}
