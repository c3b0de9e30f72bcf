package bench

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Every workload on every engine that can run it, at both levels: the number of
// operations is exact and the result is correct.
func TestEveryWorkloadOnEveryEngine(t *testing.T) {
	for _, e := range Engines() {
		levels := e.Levels
		if len(levels) == 0 {
			levels = []Isolation{""}
		}
		for _, w := range smallWorkloads() {
			if _, ok := e.Runs(w); !ok {
				continue
			}
			for _, level := range levels {
				for _, threads := range []int{1, 3} {
					if threads == 1 && level == Snapshot {
						continue
					}
					c := Config{
						Workload: w, Engine: e, Threads: threads, Isolation: level, Seed: 1,
						AuditInterval: time.Millisecond,
					}
					t.Run(c.Name(), func(t *testing.T) { runExactly(t, newTrial(t, c)) })
				}
			}
		}
	}
}

// runExactly runs some operations, then more, then few.
func runExactly(t *testing.T, tr *Trial) {
	var aborts uint64
	for _, ops := range []uint64{1, 1_001, 2} {
		m := runOps(t, tr, ops)
		require.Equal(t, ops, m.Ops)
		require.False(t, m.Interrupted)
		require.Positive(t, m.Wall)
		require.Equal(t, tr.config.Workload.HasAudits(), m.Audits > 0)
		aborts += m.Aborts
	}
	require.NoError(t, tr.Verify())
	if tr.config.Threads == 1 {
		require.Zero(t, aborts, "nobody to conflict with")
	}
}

// A run ends when its time is over, with the operations that are then under way. One
// takes a millisecond of the bubble's time.
func TestRunForStopsAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := paced(t, Config{Threads: 3, Seed: 1, LatencySample: 1}, always(time.Millisecond))
		warm, err := tr.RunFor(t.Context(), 5*time.Millisecond, false)
		require.NoError(t, err)
		require.Positive(t, warm.Ops)
		require.Zero(t, warm.Service.Count(), "a warm-up has no latencies")
		require.Zero(t, warm.Machine, "nor is it known what the machine did")
		_, ok := warm.Quantile(0.5)
		require.False(t, ok)

		m, err := tr.RunFor(t.Context(), 20*time.Millisecond, true)
		require.NoError(t, err)
		require.GreaterOrEqual(t, m.Wall, 20*time.Millisecond)
		require.LessOrEqual(t, m.Wall, 21*time.Millisecond)
		require.GreaterOrEqual(t, m.Machine.For, m.Wall)
		require.Equal(t, m.Ops, m.Service.Count())
		var counted uint64
		for _, w := range tr.workers {
			counted += w.ops
			require.Equal(t, w.ops, w.live.ops.Load())
		}
		require.Equal(t, counted, m.Ops)
		require.Equal(t, counted, tr.Live())
		require.InEpsilon(t, float64(m.Wall)/float64(m.Ops), m.NsPerOp(), 1e-9)
		require.InEpsilon(t, 1e9/m.NsPerOp(), m.OpsPerSecond(), 1e-9)
		require.NoError(t, tr.Verify())
	})
}

// interrupting is an engine whose put number n calls cancel.
func interrupting(n int64, cancel func()) EngineSpec {
	var puts atomic.Int64
	return faulty(func(s *tampered) {
		s.put = func(table int, key int64, r Record) {
			if puts.Add(1) == n {
				cancel()
			}
			s.Access.Put(table, key, r)
		}
	})
}

// Failures of the engine: an error, a panic, and operations that never end. The bubble's
// clock passes the grace period at once.
func TestEngineFailures(t *testing.T) {
	boom := errors.New("boom")
	for says, do := range map[string]func() error{
		"boom":                  func() error { return boom },
		"panic: out of order":   func() error { panic("out of order") },
		"still in an operation": nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			if do == nil {
				do = func() error { <-release; return nil }
			}
			tr := newTrial(t, Config{Workload: puts(t), Threads: 2, Engine: faulty(func(s *tampered) {
				s.do = func(bool, func(Access) error) error { return do() }
			})})
			_, err := tr.RunFor(t.Context(), time.Second, true)
			require.ErrorContains(t, err, says)
			require.Equal(t, says == "boom", errors.Is(err, boom))
			var v *Violation
			require.False(t, errors.As(err, &v), "%s is no violation", says)
			require.ErrorContains(t, err, "read-heavy")
			close(release)
			synctest.Wait()
		})
	}
}

// An operation that was given up because the run ended is not counted, and is no
// failure.
func TestStoppedOperationIsNotCounted(t *testing.T) {
	w, _ := WorkloadByName("counter")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const threads, commits = 2, 100
	var stuck atomic.Int32
	var stopped func() bool
	spec := faulty(func(s *tampered) {
		var counted Attempts
		s.aborts = counted.Aborts
		s.do = func(readOnly bool, fn func(Access) error) error {
			counted.Tries++
			if counted.Commits < commits {
				counted.Commits++
				return s.done(readOnly, fn)
			}
			if stuck.Add(1) == threads {
				cancel()
			}
			for !stopped() {
				runtime.Gosched()
			}
			return ErrStopped
		}
	})
	open := spec.New
	spec.New = func(setup Setup) (Engine, error) {
		stopped = setup.Stopped
		return open(setup)
	}
	tr := newTrial(t, Config{Workload: w, Engine: spec, Threads: threads})
	m, err := tr.RunFor(ctx, time.Hour, true)
	require.NoError(t, err)
	require.EqualValues(t, commits*threads, m.Ops)
	require.EqualValues(t, threads, m.Aborts)
	require.NoError(t, tr.Verify())
}

// Audits go on until the run ends: at once, and then without a pause or at every
// interval.
func TestAudits(t *testing.T) {
	w, _ := WorkloadByName("transfer")
	w.Params.Keys = 100
	for interval, enough := range map[time.Duration]int{time.Hour: 1, 0: 50, time.Millisecond: 5} {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		tr := newTrial(t, Config{
			Workload: w, Threads: 1, AuditInterval: interval, Engine: faulty(func(s *tampered) {
				s.all = func(table int, visit func(int64, Record)) {
					if n++; n == enough {
						defer cancel()
					}
					s.Access.All(table, visit)
				}
			}),
		})
		m, err := tr.RunFor(ctx, time.Hour, true)
		require.NoError(t, err)
		require.EqualValues(t, n, m.Audits)
		require.GreaterOrEqual(t, n, enough)
		require.True(t, interval < time.Hour || n == 1)
		require.InEpsilon(t, float64(m.Audits)/m.Wall.Seconds(), m.AuditsPerSecond(), 1e-9)
		require.NoError(t, tr.Verify())
	}
}

// Work around a measured run begins when nothing has been done yet and ends when all
// has, also if the run is cut short; a warm-up is left alone.
func TestAround(t *testing.T) {
	w, e := named(t, "counter", "rwmutex")
	tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 2, Seed: 1})
	var begun, ended []uint64
	tr.Around(func() func() {
		begun = append(begun, tr.Live())
		return func() { ended = append(ended, tr.Live()) }
	})
	_, err := tr.RunFor(t.Context(), time.Millisecond, false)
	require.NoError(t, err)
	require.Empty(t, begun)
	runOps(t, tr, 1_000)
	runOps(t, tr, 1_000)
	require.Equal(t, []uint64{0, 0}, begun)
	require.Equal(t, []uint64{1000, 1000}, ended)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m, err := tr.RunFor(ctx, time.Hour, true)
	require.NoError(t, err)
	require.True(t, m.Interrupted)
	require.Len(t, ended, 3)
	for _, w := range tr.workers {
		require.Positive(t, w.ops, "every goroutine does one, even if it gets to it too late")
	}
}

func TestInvalidConfigs(t *testing.T) {
	w, e := named(t, "read-heavy", "rwmutex")
	for name, spoil := range map[string]func(c *Config){
		"no engine given":         func(c *Config) { c.Engine = EngineSpec{} },
		"no workload given":       func(c *Config) { c.Workload = Workload{} },
		"100000001":               func(c *Config) { c.Workload.Params.Keys = manyKeys + 1 },
		"not 0":                   func(c *Config) { c.Threads = 0 },
		"from 1 to":               func(c *Config) { c.Threads = MaxThreads + 1 },
		"negative latency sample": func(c *Config) { c.LatencySample = -2 },
		"not -1":                  func(c *Config) { c.Rate = -1 },
		"not NaN":                 func(c *Config) { c.Rate = math.NaN() },
		"not +Inf":                func(c *Config) { c.Rate = math.Inf(1) },
		"unknown arrivals":        func(c *Config) { c.Rate, c.Arrival = 1, "in bursts" },
		"number of attempts":      func(c *Config) { c.Attempts = -1 },
	} {
		c := Config{Workload: w, Engine: e, Threads: 1}
		spoil(&c)
		_, err := New(c)
		require.ErrorContains(t, err, name)
	}
}

// A session gives up after as many attempts as are allowed, or when the run is over.
func TestLimits(t *testing.T) {
	stopped := false
	l := Limits{Attempts: 3, Stopped: func() bool { return stopped }}
	require.NoError(t, l.Over(2))
	require.ErrorIs(t, l.Over(3), ErrGaveUp)
	stopped = true
	require.ErrorIs(t, l.Over(2), ErrStopped)
}
