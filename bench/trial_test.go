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
	"unsafe"

	"github.com/stretchr/testify/require"
)

func named(t *testing.T, workload, engine string) (Workload, EngineSpec) {
	t.Helper()
	w, ok := WorkloadByName(workload)
	require.True(t, ok, workload)
	e, ok := EngineByName(engine)
	require.True(t, ok, engine)
	return w, e
}

// Every workload on every engine that can run it, at both levels: the number of
// operations is exact and the result is correct.
func TestEveryWorkloadOnEveryEngine(t *testing.T) {
	for _, e := range Engines() {
		for _, w := range smallWorkloads() {
			if _, ok := e.Runs(w); !ok {
				continue
			}
			for _, level := range []Isolation{Serializable, Snapshot} {
				if level == Snapshot && len(e.Levels) == 0 {
					continue // it has no choice
				}
				for _, threads := range []int{1, 3} {
					if testing.Short() && threads == 1 && level == Snapshot {
						continue
					}
					if w.HasAudits() {
						w.Params.Keys = 200
					}
					tr, err := New(Config{Workload: w, Engine: e, Threads: threads, Isolation: level, Seed: 1, AuditInterval: time.Millisecond})
					require.NoError(t, err, "%s on %s", w.Name, e.Name)
					var aborts uint64
					many := uint64(10_001)
					if testing.Short() {
						many = 1_001
					}
					for _, ops := range []uint64{1, many, 2} {
						m, err := tr.RunOps(t.Context(), ops)
						require.NoError(t, err, "%s on %s at %s", w.Name, e.Name, level)
						require.Equal(t, ops, m.Ops)
						require.False(t, m.Interrupted)
						require.Positive(t, m.Wall)
						require.Equal(t, w.HasAudits(), m.Audits > 0)
						aborts += m.Aborts
					}
					require.NoError(t, tr.Verify(), "%s on %s at %s", w.Name, e.Name, level)
					if threads == 1 {
						require.Zero(t, aborts, "%s on %s at %s: nobody to conflict with", w.Name, e.Name, level)
					}
					tr.Close()
				}
			}
		}
	}
}

// What an engine is said to lack, its sessions do lack, and the other way round.
func TestLacksMatchesTheSessions(t *testing.T) {
	for _, e := range Engines() {
		for _, w := range smallNumbers() {
			why, ok := e.Runs(w)
			open := e
			open.Lacks = nil
			tr, err := New(Config{Workload: w, Engine: open, Threads: 1})
			if ok {
				require.NoError(t, err, "%s on %s", w.Name, e.Name)
				tr.Close()
				continue
			}
			require.NotEmpty(t, why)
			require.ErrorIs(t, err, errUnsupported, "%s on %s", w.Name, e.Name)
			_, err = New(Config{Workload: w, Engine: e, Threads: 1})
			require.ErrorContains(t, err, why)
		}
	}
}

// A run ends when its time is over, with the operations that are then under way. One
// takes a millisecond of the bubble's time.
func TestRunForStopsAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := paced(t, Config{Threads: 3, Seed: 1, LatencySample: 1}, always(time.Millisecond))
		defer tr.Close()
		warm, err := tr.RunFor(t.Context(), 5*time.Millisecond, false)
		require.NoError(t, err)
		require.Positive(t, warm.Ops)
		require.Zero(t, warm.Service.Count(), "a warm-up has no latencies")
		_, ok := warm.Quantile(0.5)
		require.False(t, ok)

		m, err := tr.RunFor(t.Context(), 20*time.Millisecond, true)
		require.NoError(t, err)
		require.GreaterOrEqual(t, m.Wall, 20*time.Millisecond)
		require.LessOrEqual(t, m.Wall, 21*time.Millisecond)
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

// Every goroutine does at least one operation, even if it gets to it too late.
func TestEverybodyRunsOnce(t *testing.T) {
	w, e := named(t, "disjoint", "rwmutex")
	tr, err := New(Config{Workload: w, Engine: e, Threads: 50})
	require.NoError(t, err)
	defer tr.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m, err := tr.RunFor(ctx, time.Hour, true)
	require.NoError(t, err)
	require.True(t, m.Interrupted)
	for _, w := range tr.workers {
		require.Positive(t, w.ops)
	}
}

// A context that ends stops the run, and what was measured is kept.
func TestInterrupt(t *testing.T) {
	w, _ := named(t, "write-heavy", "rwmutex")
	ctx, cancel := context.WithCancel(t.Context())
	var n atomic.Int64
	spec := wrapped("canceller", func(e *rwMutexEngine, _ int) Session {
		return &hooked{rwMutexSession: over(e), before: func() {
			if n.Add(1) == 5_000 {
				cancel()
			}
		}}
	})
	tr, err := New(Config{Workload: w, Engine: spec, Threads: 2})
	require.NoError(t, err)
	defer tr.Close()
	m, err := tr.RunFor(ctx, time.Hour, true)
	require.NoError(t, err)
	require.True(t, m.Interrupted)
	require.Positive(t, m.Ops)
	require.NoError(t, tr.Verify())
}

type hooked struct {
	rwMutexSession
	before func()
}

func (s *hooked) Put(key string, v uint64) error {
	s.before()
	return s.rwMutexSession.Put(key, v)
}

// Failures of the engine: an error, a panic, and operations that never end.
func TestEngineFailures(t *testing.T) {
	w, _ := named(t, "write-heavy", "rwmutex")
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		session func(e *rwMutexEngine) Session
		check   func(err error)
	}{
		"error": {
			func(e *rwMutexEngine) Session { return failing{over(e), boom} },
			func(err error) { require.ErrorIs(t, err, boom) },
		},
		"panic": {
			func(e *rwMutexEngine) Session {
				return &hooked{over(e), func() { panic("out of order") }}
			},
			func(err error) { require.ErrorContains(t, err, "panic: out of order") },
		},
	} {
		spec := wrapped(name, func(e *rwMutexEngine, _ int) Session { return c.session(e) })
		tr, err := New(Config{Workload: w, Engine: spec, Threads: 2})
		require.NoError(t, err)
		_, err = tr.RunFor(t.Context(), time.Hour, true)
		require.Error(t, err, name)
		c.check(err)
		var v *Violation
		require.False(t, errors.As(err, &v), "%s is no violation", name)
		require.ErrorContains(t, err, "write-heavy")
		tr.Close()
	}
}

// An engine that hangs is given up. The bubble's clock passes the grace period
// at once.
func TestHangingEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := WorkloadByName("write-heavy")
		release := make(chan struct{})
		spec := wrapped("hanging", func(e *rwMutexEngine, _ int) Session {
			return &hooked{over(e), func() { <-release }}
		})
		tr, err := New(Config{Workload: w, Engine: spec, Threads: 2})
		require.NoError(t, err)
		_, err = tr.RunFor(t.Context(), time.Second, true)
		require.ErrorContains(t, err, "still in an operation")
		close(release)
		synctest.Wait()
	})
}

type failing struct {
	rwMutexSession
	err error
}

func (s failing) Put(string, uint64) error { return s.err }

// An operation that was given up because the run ended is not counted, and is no
// failure.
func TestStoppedOperationIsNotCounted(t *testing.T) {
	w, _ := named(t, "counter", "rwmutex")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const threads = 2
	var stuck atomic.Int32
	spec := EngineSpec{Name: "spinning", New: func(setup Setup) (Engine, error) {
		e, err := newRWMutex(setup)
		return &wrappedEngine{e.(*rwMutexEngine), func(e *rwMutexEngine, _ int) Session {
			return &spinning{rwMutexSession: over(e), stopped: setup.Stopped, stuck: func() {
				if stuck.Add(1) == threads {
					cancel()
				}
			}}
		}}, err
	}}
	tr, err := New(Config{Workload: w, Engine: spec, Threads: threads})
	require.NoError(t, err)
	m, err := tr.RunFor(ctx, time.Hour, true)
	require.NoError(t, err)
	require.EqualValues(t, 100*threads, m.Ops)
	require.EqualValues(t, threads, m.Aborts)
	require.NoError(t, tr.Verify())
	tr.Close()
}

// spinning commits 100 times and then no more.
type spinning struct {
	rwMutexSession
	counted
	stopped func() bool
	stuck   func()
}

func (s *spinning) Aborts() uint64 { return s.counted.Aborts() }

func (s *spinning) Add(key string, delta uint64) (uint64, error) {
	s.tries++
	if s.commits == 100 {
		s.stuck()
		for !s.stopped() {
			runtime.Gosched()
		}
		return 0, ErrStopped
	}
	s.commits++
	return s.rwMutexSession.Add(key, delta)
}

// Audits go on until the run ends: at once, and then without a pause or at every
// interval.
func TestAudits(t *testing.T) {
	w, _ := named(t, "transfer", "rwmutex")
	w.Params.Keys = 100
	run := func(interval time.Duration, enough int) uint64 {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		spec := wrapped("counting", func(e *rwMutexEngine, _ int) Session {
			return &countingSums{over(e), func() {
				if n++; n == enough {
					cancel()
				}
			}}
		})
		tr, err := New(Config{Workload: w, Engine: spec, Threads: 1, AuditInterval: interval})
		require.NoError(t, err)
		defer tr.Close()
		m, err := tr.RunFor(ctx, time.Hour, true)
		require.NoError(t, err)
		require.EqualValues(t, n, m.Audits)
		require.InEpsilon(t, float64(m.Audits)/m.Wall.Seconds(), m.AuditsPerSecond(), 1e-9)
		require.NoError(t, tr.Verify())
		return m.Audits
	}
	require.EqualValues(t, 1, run(time.Hour, 1))
	require.GreaterOrEqual(t, run(0, 50), uint64(50))
	require.GreaterOrEqual(t, run(time.Millisecond, 5), uint64(5))
}

type countingSums struct {
	rwMutexSession
	audited func()
}

func (s *countingSums) Sum() (uint64, int, error) {
	defer s.audited()
	return s.rwMutexSession.Sum()
}

func TestInvalidConfigs(t *testing.T) {
	w, e := named(t, "balanced", "rwmutex")
	for name, c := range map[string]Config{
		"no engine":        {Workload: w, Threads: 1},
		"no workload":      {Engine: e, Threads: 1},
		"no threads":       {Workload: w, Engine: e},
		"too many threads": {Workload: w, Engine: e, Threads: MaxThreads + 1},
		"negative sample":  {Workload: w, Engine: e, Threads: 1, LatencySample: -2},
		"rate below 0":     {Workload: w, Engine: e, Threads: 1, Rate: -1},
		"no rate":          {Workload: w, Engine: e, Threads: 1, Rate: math.NaN()},
		"rate too high":    {Workload: w, Engine: e, Threads: 1, Rate: math.Inf(1)},
		"unknown arrivals": {Workload: w, Engine: e, Threads: 1, Rate: 1, Arrival: "in bursts"},
		"no attempts":      {Workload: w, Engine: e, Threads: 1, Attempts: -1},
	} {
		_, err := New(c)
		require.Error(t, err, name)
	}
}

// The map does not share the bytes of its keys with those who look them up, or
// comparing keys would be cheaper than it is in other programs.
func TestKeysAreNotShared(t *testing.T) {
	w, _ := WorkloadByName("balanced")
	var stored []string
	spec := EngineSpec{Name: "keeper", New: func(setup Setup) (Engine, error) {
		stored = setup.Keys
		return newRWMutex(setup)
	}}
	tr, err := New(Config{Workload: w, Engine: spec, Threads: 1})
	require.NoError(t, err)
	defer tr.Close()
	require.Equal(t, tr.keys, stored)
	for i := range stored {
		require.NotSame(t, unsafe.StringData(tr.keys[i]), unsafe.StringData(stored[i]))
	}
}
