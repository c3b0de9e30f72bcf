package bench

import (
	"context"
	"math"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// paced returns a trial in which each of the goroutines' operations takes as long as service says
// of its number, from 0, and aborts twice. It is for bubbles, where no goroutine may yield until a
// time has come: it comes only when all sleep.
func paced(t *testing.T, c Config, service func(n int) time.Duration) *Trial {
	t.Helper()
	c.Workload = puts(t)
	c.Engine = faulty(func(s *tampered) {
		mine := &sleeper{service: service}
		s.do = func(readOnly bool, fn func(Access) error) error {
			mine.begun = append(mine.begun, clock())
			time.Sleep(mine.service(mine.n))
			mine.n++
			return s.done(readOnly, fn)
		}
		s.aborts = func() uint64 { return 2 * uint64(mine.n) }
		s.sleep = mine
	})
	return unspun(newTrial(t, c))
}

// unspun returns tr without yielding.
func unspun(tr *Trial) *Trial {
	for _, w := range tr.workers {
		if w.pace != nil {
			w.pace.spin = 0
		}
	}
	return tr
}

func sleeperOf(w *worker) *sleeper { return w.session.(*tampered).sleep }

func always(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

// An engine stalls once, for 200 ms. In an open loop the response times see all of it: the
// operations that came meanwhile, or soon after, waited. The service times show a single slow
// operation, and so does a closed loop.
func TestStallIsSeen(t *testing.T) {
	const stall = 200 * time.Millisecond
	service := func(n int) time.Duration {
		if n == 5_000 {
			return stall
		}
		return time.Millisecond
	}
	quantile := func(d Distribution, q float64) time.Duration {
		v, ok := d.Quantile(q)
		require.True(t, ok)
		return v
	}
	synctest.Test(t, func(t *testing.T) {
		tr := paced(t, Config{Threads: 1, Rate: 500}, service)
		m, err := tr.RunFor(t.Context(), 40*time.Second-time.Millisecond, true)
		require.NoError(t, err)
		require.NoError(t, tr.Verify())
		require.EqualValues(t, 20_000, m.Ops)

		// One every 2 ms, 1 ms each: 99 came during the stall, after which it
		// takes as long again to be in time.
		late := 0
		for d, n := range m.Response.All() {
			if d > 1_100*time.Microsecond {
				late += int(n)
			}
		}
		require.InDelta(t, 199, late, 2)
		require.InEpsilon(t, stall, quantile(m.Response, 0.9994), 0.08)
		require.InEpsilon(t, stall/2, quantile(m.Response, 0.995), 0.02)
		require.InEpsilon(t, time.Millisecond, quantile(m.Response, 0.98), 0.01)
		require.Equal(t, stall, m.Response.Max())

		require.InEpsilon(t, time.Millisecond, quantile(m.Service, 0.9995), 0.01)
		require.Equal(t, stall, m.Service.Max())

		part, ok := m.Achieved()
		require.True(t, ok)
		require.InDelta(t, 1, part, 1e-3, "it has caught up")
		require.False(t, m.Saturated())
	})
	synctest.Test(t, func(t *testing.T) {
		tr := paced(t, Config{Threads: 1, LatencySample: 1}, service)
		m, err := tr.RunOps(t.Context(), 20_000)
		require.NoError(t, err)
		require.InEpsilon(t, time.Millisecond, quantile(m.Response, 0.9995), 0.01, "coordinated omission")
		require.Equal(t, m.Service, m.Response)
		_, ok := m.Achieved()
		require.False(t, ok)
		require.False(t, m.Saturated())
	})
}

// An engine that is too slow for the rate is saturated: the plan is not stretched,
// due operations pile up, and each operation waits longer than the one before.
func TestSaturation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := paced(t, Config{Threads: 2, Rate: 1_000}, always(4*time.Millisecond))
		m, err := tr.RunFor(t.Context(), 10*time.Second, true)
		require.NoError(t, err)
		require.InDelta(t, 5_000, m.Ops, 5)
		require.InDelta(t, 5_000, m.Backlog, 5)
		part, _ := m.Achieved()
		require.InDelta(t, 0.5, part, 1e-3)
		require.True(t, m.Saturated())
		require.InEpsilon(t, 5*time.Second, m.Response.Max(), 0.01)
		require.InEpsilon(t, 2_500*time.Millisecond, m.Response.Mean(), 0.01)
		require.Equal(t, 4*time.Millisecond, m.Service.Max())

		// The next run has a plan of its own.
		for _, w := range tr.workers {
			sleeperOf(w).service = always(3 * time.Millisecond)
		}
		m, err = tr.RunOps(t.Context(), 2)
		require.NoError(t, err)
		require.Equal(t, 3*time.Millisecond, m.Response.Max())
		require.EqualValues(t, 2, m.Backlog)
		require.False(t, m.Saturated(), "one late operation of each goroutine is no saturation")
	})
}

// Fixed arrivals come at equal distances. Those that are due while a goroutine is busy go to the
// other one, in turn, and nothing is lost: each operation that was due was begun, or is counted.
func TestOneQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := paced(t, Config{Threads: 2, Rate: 100}, always(0))
		sleeperOf(tr.workers[1]).service = func(n int) time.Duration {
			return []time.Duration{0, 300 * time.Millisecond}[n%2]
		}
		for range 2 { // each run has a plan of its own
			m, err := tr.RunFor(t.Context(), 995*time.Millisecond, true)
			require.NoError(t, err)
			require.Equal(t, 300*time.Millisecond, m.Response.Max(), "nobody waits for one who is busy")
			from := tr.started.load()
			var begun []time.Duration
			for _, w := range tr.workers {
				s := sleeperOf(w)
				begun, s.begun = append(begun, s.begun...), nil
			}
			slices.Sort(begun)
			require.Len(t, begun, 100)
			for n, at := range begun {
				require.Equal(t, time.Duration(n)*10*time.Millisecond, at-from)
			}
			require.Zero(t, m.Backlog)
		}

		// Both are busy at the end, and one has taken an operation that is due when it is told to stop.
		for _, w := range tr.workers {
			sleeperOf(w).service = always(20 * time.Millisecond)
		}
		m, err := tr.RunFor(t.Context(), time.Second, true)
		require.NoError(t, err)
		require.EqualValues(t, m.Ops+m.Backlog, 1+uint64(tr.queue.end-tr.started.load())/1e7)
	})
	q := queue{period: 10, started: new(instant), limit: 4}
	for range 3 {
		q.take()
	}
	q.leave(45, never) // those at 30 and 40 were not taken
	q.leave(50, 20)
	_, more := q.take()
	require.False(t, more, "nothing begins after the end")
	require.EqualValues(t, 3, q.backlog)
}

// Poisson arrivals: the distances have the mean and the spread of an exponential
// distribution, and repeat with the seed.
func TestPoissonArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := func(seed uint64) []float64 {
			tr := paced(t, Config{Threads: 1, Rate: 1_000, Arrival: PoissonArrivals, Seed: seed}, always(0))
			m, err := tr.RunOps(t.Context(), 50_000)
			require.NoError(t, err)
			require.False(t, m.Saturated())
			last := tr.started.load()
			var gaps []float64
			for _, at := range sleeperOf(tr.workers[0]).begun {
				gaps = append(gaps, float64(at-last))
				last = at
			}
			return gaps
		}
		gaps := run(1)
		sum, squares, short := 0.0, 0.0, 0
		for _, g := range gaps {
			sum += g
			squares += g * g
			if g < 1e6*math.Ln2 {
				short++
			}
		}
		n := float64(len(gaps))
		mean := sum / n
		require.InEpsilon(t, 1e6, mean, 5/math.Sqrt(n))
		require.InEpsilon(t, 1e6, math.Sqrt(squares/n-mean*mean), 10/math.Sqrt(n))
		require.InDelta(t, n/2, short, 5*math.Sqrt(n)/2, "half of them are shorter than the median")
		require.Equal(t, gaps, run(1))
		require.NotEqual(t, gaps, run(2))
	})
}

// A goroutine sleeps until shortly before the time and then yields.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(Config{Rate: 1, Threads: 1})
		require.Equal(t, maxSpin, p.spin)
		many := newPacer(Config{Rate: 1e6, Threads: 10_000}) // those yield that are due so soon
		require.LessOrEqual(t, many.spin.Seconds()*1e6, float64(runtime.GOMAXPROCS(0))+1e-3)
		yields := 0
		p.yield = func() {
			yields++
			time.Sleep(10 * time.Microsecond)
		}
		var stop stopFlag
		done := make(chan struct{})
		from := clock()

		now, ok := p.wait(from+time.Second, &stop, done)
		require.True(t, ok)
		require.Equal(t, time.Second, now-from)
		require.Equal(t, 150, yields)

		now, ok = p.wait(from, &stop, done)
		require.True(t, ok, "the time has passed")
		require.Equal(t, time.Second, now-from)
		require.Equal(t, 150, yields)

		now, ok = p.wait(from+time.Second+30*time.Microsecond, &stop, done)
		require.True(t, ok, "too near to sleep")
		require.Equal(t, time.Second+30*time.Microsecond, now-from)
		require.Equal(t, 153, yields)

		p.yield = func() { stop.Store(true) }
		_, ok = p.wait(clock()+time.Millisecond, &stop, done)
		require.False(t, ok, "stopped while yielding")
		p.yield = nil
		from = clock()
		time.AfterFunc(time.Minute, func() { close(done) })
		now, ok = p.wait(from+time.Hour, &stop, done)
		require.False(t, ok, "stopped while sleeping")
		require.Equal(t, time.Minute, now-from)
	})
}

// Goroutines that wait for their time notice the end of the run, however far off
// the time is, and when another has failed.
func TestWaitingGoroutinesStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := paced(t, Config{Threads: 3, Rate: 0.001}, always(time.Second))
		m, err := tr.RunFor(t.Context(), 5*time.Second, true)
		require.NoError(t, err)
		require.EqualValues(t, 1, m.Ops)
		require.Equal(t, 5*time.Second, m.Wall)
		require.Zero(t, m.Backlog)
		require.False(t, m.Saturated())

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		m, err = tr.RunFor(ctx, time.Hour, true)
		require.NoError(t, err)
		require.True(t, m.Interrupted)
		require.LessOrEqual(t, m.Wall, 2*time.Second)

		for _, w := range tr.workers {
			sleeperOf(w).service = func(int) time.Duration { panic("out of order") }
		}
		from := clock()
		_, err = tr.RunFor(t.Context(), 24*time.Hour, true)
		require.ErrorContains(t, err, "out of order")
		require.Zero(t, clock()-from)
	})
}
