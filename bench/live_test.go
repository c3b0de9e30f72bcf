package bench

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The live figures show how a run goes on: operations, aborts, times, from zero with each run, and
// in the end exactly the measurement.
func TestReadLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := paced(t, Config{Threads: 2, LatencySample: 1}, always(time.Millisecond))
		var l, before Live
		require.False(t, tr.ReadLive(&l), "nothing runs")
		require.Zero(t, tr.Elapsed())

		_, err := tr.RunFor(t.Context(), 100*time.Millisecond, false)
		require.NoError(t, err)
		require.True(t, tr.ReadLive(&l))
		require.False(t, l.Measured)
		require.Equal(t, 1, l.Run)
		require.EqualValues(t, tr.Live(), l.Ops)
		require.Zero(t, l.Service.Count(), "a warm-up times nothing")

		done := make(chan Measurement)
		go func() {
			m, err := tr.RunOps(t.Context(), 2_000)
			require.NoError(t, err)
			done <- m
		}()
		for i := range 9 {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			require.True(t, tr.ReadLive(&l))
			require.True(t, l.Measured)
			require.Equal(t, 2, l.Run)
			require.Equal(t, time.Duration(i+1)*100*time.Millisecond, l.Elapsed)
			require.Equal(t, l.Elapsed, tr.Elapsed())
			require.InDelta(t, 200*(i+1), l.Ops, 4)
			require.Equal(t, 2*l.Ops, l.Aborts)
			require.Equal(t, l.Ops, l.Service.Count())
			require.Equal(t, l.Service, l.Response)
			recent := l.Response.Since(before.Response)
			require.Equal(t, l.Ops-before.Ops, recent.Count())
			require.Equal(t, time.Millisecond, recent.Max())
			before, l = l, before
		}
		m := <-done
		require.True(t, tr.ReadLive(&l))
		require.Equal(t, m.Ops, l.Ops)
		require.Equal(t, m.Aborts, l.Aborts)
		require.Equal(t, m.Service.Count(), l.Service.Count())

		runOps(t, tr, 2)
		require.True(t, tr.ReadLive(&l))
		require.Equal(t, 3, l.Run)
		require.EqualValues(t, 2, l.Ops)
		require.EqualValues(t, 4, l.Aborts)
		require.EqualValues(t, 2, l.Service.Count())
	})
}

// Watching while goroutines come and go: nothing races, and nothing goes down
// within a run.
func TestReadLiveWhileRunning(t *testing.T) {
	_, e := named(t, "read-heavy", "rwmutex")
	for _, threads := range []int{2, maxRecorders + 50} {
		tr := newTrial(t, Config{Workload: halves(t), Engine: e, Threads: threads, LatencySample: 1})
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			var l, before Live
			for {
				select {
				case <-stop:
					return
				default:
				}
				if !tr.ReadLive(&l) {
					continue
				}
				if l.Run == before.Run && (l.Ops < before.Ops || l.Service.Count() < before.Service.Count()) {
					t.Errorf("went down from %d to %d operations, %d to %d timed", before.Ops, l.Ops,
						before.Service.Count(), l.Service.Count())
				}
				l, before = before, l
			}
		}()
		for range 3 {
			m := runOps(t, tr, 20_000)
			require.EqualValues(t, 20_000, m.Service.Count())
		}
		close(stop)
		<-stopped
		require.NoError(t, tr.Verify())
	}
}

// An operation that was given up counts as an error and not as an operation; the
// run goes on, and ends in time even if nothing ever commits.
func TestGivingUp(t *testing.T) {
	w := puts(t)
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []Config{
			{LatencySample: 1}, {LatencySample: 7}, {LatencySample: NoLatency}, {Rate: 2_000},
		} {
			for _, nth := range []int{1, 3} {
				c.Workload, c.Threads, c.Attempts = w, 2, 5
				attempts := 0
				c.Engine = faulty(func(s *tampered) {
					gives := every(nth)
					s.do = func(readOnly bool, fn func(Access) error) error {
						time.Sleep(time.Millisecond)
						if gives() {
							return ErrGaveUp
						}
						return s.done(readOnly, fn)
					}
				})
				open := c.Engine.New
				c.Engine.New = func(setup Setup) (Engine, error) {
					attempts = setup.Attempts
					return open(setup)
				}
				tr := unspun(newTrial(t, c))
				require.Equal(t, 5, attempts)
				m, err := tr.RunFor(t.Context(), 900*time.Millisecond-time.Microsecond, true)
				require.NoError(t, err)
				all := m.Ops + m.Errors
				if nth == 1 {
					require.Zero(t, m.Ops)
				}
				require.EqualValues(t, 1_800, all)
				require.InDelta(t, all/uint64(nth), m.Errors, 2)
				require.InEpsilon(t, float64(m.Errors)/m.Wall.Seconds(), m.ErrorsPerSecond(), 1e-9)
				require.NoError(t, tr.Verify())
				var l Live
				require.True(t, tr.ReadLive(&l))
				require.Equal(t, m.Errors, l.Errors)

				m = runOps(t, tr, 300)
				require.EqualValues(t, 300, m.Ops+m.Errors)
			}
		}
	})
}

// The use of the process meanwhile is that of the run: collections, their cost,
// allocations to the last object, context switches.
func TestUsage(t *testing.T) {
	const ops, size, pieces = 400, 64 << 10, 4
	tr := newTrial(t, Config{Workload: puts(t), Threads: 2, Engine: faulty(func(s *tampered) {
		var kept [pieces][]byte
		s.put = func(table int, key int64, r Record) {
			for i := range kept {
				kept[i] = make([]byte, size)
			}
			s.Access.Put(table, key, r)
		}
	})})
	m := runOps(t, tr, ops)
	require.InEpsilon(t, ops*pieces*size, m.Bytes, 0.05)
	require.InDelta(t, pieces+1, m.AllocsPerOp(), 0.5, "one is that of the tampered session")
	require.Positive(t, m.GCs)
	require.Positive(t, m.GCPause)
	require.GreaterOrEqual(t, m.GCShare, 0.0)
	require.LessOrEqual(t, m.GCShare, 1.0)
	if n, ok := m.SwitchesPerOp(); ok {
		require.InDelta(t, float64(m.Switches)/ops, n, 1e-9)
	}
	require.Equal(t, 0.25, gcTime{gc: 2, total: 10}.share(gcTime{gc: 1, total: 6}))
	require.Zero(t, gcTime{gc: 2, total: 10}.share(gcTime{gc: 2, total: 10}),
		"no collection, no account")
}
