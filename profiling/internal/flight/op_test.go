package flight

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/testload"
	"github.com/mvccmap/mvccmap/profiling/internal/capture"
	"github.com/mvccmap/mvccmap/profiling/internal/slow"
)

// loneFlight is a flight without a recorder or a goroutine.
func loneFlight(t *testing.T, cfg Config) *flight {
	t.Helper()
	cfg, err := cfg.WithDefaults()
	require.NoError(t, err)
	f := &flight{cfg: cfg, kept: new(capture.History[*Slow]), phase: func() string {
		return ""
	}}
	f.fresh.Store(int64(time.Hour))
	return f
}

// The threshold is a percentile of the durations of operations in the last minute.
func TestThreshold(t *testing.T) {
	f := loneFlight(t, Config{Percentile: 99})
	o, now := &Op{name: "op"}, time.Now()
	for range 5 { // before the recording: no part of it
		o.Count(time.Hour, false)
	}
	r := newRecord(o, f, now)
	done := func(d time.Duration) {
		o.made().add(d)
		r.judge(d)
	}
	record := func(n int, from time.Duration) {
		for i := range n {
			done(from + time.Duration(i)*time.Microsecond)
		}
	}
	tick := func(d time.Duration) {
		now = now.Add(d)
		r.tick(now, f.cfg)
	}
	record(999, time.Millisecond)
	tick(time.Second)
	require.Zero(t, r.last.Threshold, "too few to know the percentile")
	require.EqualValues(t, 999, r.last.Count)
	require.EqualValues(t, 1, r.last.Missing)
	done(time.Hour)
	require.Zero(t, r.slow.Load())

	tick(time.Second)
	require.EqualValues(t, 1000, r.last.Count)
	require.Zero(t, r.last.Missing)
	require.InEpsilon(t, time.Millisecond+989*time.Microsecond, r.last.Threshold, .01)
	require.InEpsilon(t, 1500*time.Microsecond, r.last.P50, .01)
	require.Equal(t, time.Hour, r.last.Max)
	done(r.last.Threshold)
	require.Zero(t, r.slow.Load(), "as long as the threshold is not longer")
	done(2 * r.last.Threshold)
	require.EqualValues(t, 1, r.slow.Load())
	require.Equal(t, "op", f.best.Load().Op)

	// Durations are forgotten after a minute or so.
	for range 4 * recentSteps {
		record(300, 100*time.Millisecond)
		tick(recentStep / 2)
	}
	require.Less(t, r.last.Count, uint64(300*2*(recentSteps+2)))
	require.Greater(t, r.last.Threshold, 100*time.Millisecond)
	require.Greater(t, r.last.P50, 100*time.Millisecond)
	for range 2 * recentSteps {
		tick(recentStep)
	}
	require.Zero(t, r.last.Count)
	require.Zero(t, r.last.Threshold)

	// A fixed duration holds from the start.
	f = loneFlight(t, Config{Above: time.Second})
	r = newRecord(o, f, now)
	done(time.Second)
	require.Nil(t, f.best.Load())
	done(time.Second + 1)
	require.NotNil(t, f.best.Load())
	r.tick(now, f.cfg)
	require.Equal(t, time.Second, r.last.Threshold)
}

// Of several slow operations the slowest for its kind is kept, unless it is too
// old.
func TestSlowestIsChosen(t *testing.T) {
	f := loneFlight(t, Config{})
	long := newRecord(&Op{name: "long"}, f, time.Now())
	short := newRecord(&Op{name: "short"}, f, time.Now())
	offer := func(r *record, d, threshold time.Duration) time.Duration {
		f.offer(r, d, threshold)
		return f.best.Load().Took
	}
	require.EqualValues(t, 20, offer(long, 20, 10))
	require.EqualValues(t, 30, offer(long, 30, 10))
	require.EqualValues(t, 30, offer(long, 29, 10))
	require.EqualValues(t, 30, offer(short, 2, 1))
	short.slow.Store(10)
	require.EqualValues(t, 4, offer(short, 4, 1), "ten of its kind lose more")
	require.EqualValues(t, 4, offer(long, 39, 10))
	short.turns.Add(1)
	require.EqualValues(t, 11, offer(long, 11, 10), "one of the other kind was kept already")
	require.EqualValues(t, 11, offer(short, 90, 1))
	f.fresh.Store(0)
	require.EqualValues(t, 2, offer(short, 2, 1), "the other is too old")
}

// A usual operation is explained when asked for: the next one that takes as long as most.
func TestUsualOne(t *testing.T) {
	f := loneFlight(t, Config{Above: time.Second})
	s := &Recording{flight: f, ops: map[string]*Op{"op": {name: "op"}}}
	require.Error(t, s.Usual("op"), "nothing is recorded")
	r := newRecord(s.ops["op"], f, time.Now())
	s.ops["op"].rec.Store(r)
	r.median.Store(10)
	require.NoError(t, s.Usual("op"))
	require.Error(t, s.Usual("other"))
	for _, d := range []time.Duration{9, 11, 12} {
		s.ops["op"].Watch(d)
	}
	require.EqualValues(t, 11, f.best.Load().Took)
	require.Equal(t, "op, a usual one", f.best.Load().Op)
	s.ops["op"].Watch(time.Hour)
	require.EqualValues(t, 11, f.best.Load().Took, "a slow one does not take its place")
}

// Slow operations that are not to be kept leave so many marks a second and no more.
func TestMarksAreBounded(t *testing.T) {
	var m marks
	require.False(t, m.may())
	m.left.Store(marksASecond)
	n := 0
	for range 2 * marksASecond {
		if m.may() {
			n++
		}
	}
	require.Equal(t, marksASecond, n)
	m.note(3)
	m.note(2)
	require.EqualValues(t, 3, m.longest())
	m.note(1)
	require.EqualValues(t, 3, m.longest(), "it may be in this trace too")
	require.EqualValues(t, 1, m.longest())
	require.Zero(t, m.longest())
}

// Sums go back as far as they say.
func TestTailsGrowOld(t *testing.T) {
	var l tails
	tail := func(d time.Duration) []*slow.Tail {
		return []*slow.Tail{{Op: "op", Count: 1, Took: d, Parts: []slow.Part{{Ops: 1, Total: d}}}}
	}
	now := time.Now()
	l.add(now, tail(1))
	l.add(now.Add(TailReach), tail(2))
	require.EqualValues(t, 3, l.sum()[0].Took)
	require.Len(t, l.sum()[0].Parts, 1)
	l.add(now.Add(TailReach+1), nil)
	require.EqualValues(t, 2, l.sum()[0].Took)
}

// The slowest stay. Of the operation that has most, some make room: those of another stay.
func TestKeptOps(t *testing.T) {
	var k capture.History[*Slow]
	keep := func(op string, took time.Duration, size int) {
		Keep(&k, &Slow{Op: op, Took: took, Threshold: 1, Data: make([]byte, size)}, 4, 100)
	}
	keep("rare", 2, 0)
	for i := range 8 {
		keep("often", time.Duration(100-i), 0)
	}
	var ops []string
	for _, c := range k.NewestFirst() {
		ops = append(ops, c.Op)
	}
	require.Equal(t, []string{"often", "often", "often", "rare"}, ops)

	k = capture.History[*Slow]{}
	add := func(took time.Duration, size int) { keep("", took, size) }
	ids := func() (list []int) {
		for _, c := range k.NewestFirst() {
			list = append(list, c.ID)
		}
		return list
	}
	for _, took := range []time.Duration{50, 10, 40, 20} {
		add(took, 10)
	}
	require.Equal(t, []int{4, 3, 2, 1}, ids())
	add(15, 10)
	require.Equal(t, []int{5, 4, 3, 1}, ids(), "the two slowest stay, of the others the oldest goes")
	add(11, 10)
	require.Equal(t, []int{6, 5, 3, 1}, ids())
	add(60, 10)
	add(12, 10)
	require.Equal(t, []int{8, 7, 6, 1}, ids())

	add(13, 80) // together more than a hundred bytes
	require.Equal(t, []int{9, 7, 1}, ids())
	add(14, 500)
	require.Equal(t, []int{10}, ids())
	for id, want := range map[int][2]bool{10: {true, false}, 1: {false, true}, 11: {}} {
		_, ok, gone := k.Get(id)
		require.Equal(t, want, [2]bool{ok, gone}, id)
	}
}

// Operations allocate nothing but their counters, once, unless they are slow.
func TestOperationsDoNotAllocate(t *testing.T) {
	o := &Op{name: "op"}
	count := func() { o.Count(time.Millisecond, true) }
	watch := func() { o.Watch(time.Millisecond) }
	require.Zero(t, testing.AllocsPerRun(100, watch))
	require.Nil(t, o.counts.Load(), "nobody wants to know")
	_, _, ok := o.Totals()
	require.False(t, ok)
	count()
	require.Zero(t, testing.AllocsPerRun(100, count))
	o.rec.Store(newRecord(o, loneFlight(t, Config{Above: time.Second}), time.Now()))
	require.Zero(t, testing.AllocsPerRun(100, count))
	require.Zero(t, testing.AllocsPerRun(100, watch))
}

func BenchmarkDone(b *testing.B) {
	for _, name := range []string{"off", "counted", "recorded"} {
		o := &Op{name: "op"}
		done := o.Watch
		switch name {
		case "counted":
			done = func(d time.Duration) { o.Count(d, false) }
		case "recorded":
			f := &flight{cfg: Config{Above: time.Hour}}
			o.rec.Store(newRecord(o, f, time.Now()))
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				d := time.Microsecond
				for pb.Next() {
					done(d)
					d = (d + 17) & 0xffff
				}
			})
		})
	}
}

// Lost traces are reported as long as the recording goes on, and after its end.
func TestLossesOutliveTheRecording(t *testing.T) {
	f := loneFlight(t, Config{})
	f.leave = func() {}
	s := &Recording{flight: f, cfg: f.cfg}
	f.drop("It was torn.")
	for _, on := range []bool{true, false} {
		st := s.State()
		require.Equal(t, on, st.On)
		require.Equal(t, 1, st.Lost)
		require.Equal(t, "It was torn.", st.Problem)
		s.Stop()
	}
}

// An operation whose turn comes too late is counted among the lost traces.
func TestTooLateIsLost(t *testing.T) {
	f := loneFlight(t, Config{})
	f.fresh.Store(int64(time.Second))
	f.best.Store(&Slow{Op: "old", End: time.Now().Add(-time.Hour)})
	f.on = true
	f.take()
	require.Equal(t, 1, f.lost)
	require.NotEmpty(t, f.problem)
}

// While the recording ends, which waits for a trace that is being read, the program goes on: it names
// operations, and its page has a state.
func TestStoppingHoldsNobodyUp(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	var first sync.Once
	s := &Recording{Phase: func() string {
		first.Do(func() { close(entered); <-leave })
		return ""
	}}
	require.NoError(t, s.Start(Config{Above: time.Nanosecond}))
	require.Eventually(t, func() bool { // an operation that comes too late is not kept
		s.Op("one").Count(time.Second, false)
		select {
		case <-entered:
			return true
		default:
			return false
		}
	}, time.Minute, time.Millisecond, "the trace is not being kept")
	stopped := make(chan struct{})
	go func() { defer close(stopped); s.Stop() }()
	testload.Await(t, 1, "(*flight).close(", "sync.Mutex.Lock")
	s.Op("two").Count(time.Second, false)
	require.False(t, s.State().On)
	close(leave)
	<-stopped
}
