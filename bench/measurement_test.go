package bench

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/machine"
)

// The harness allocates nothing for an operation: B/op is the engine's alone. The
// rwmutex engine allocates nothing either.
func TestNoAllocationInTheHarness(t *testing.T) {
	for _, w := range smallWorkloads() {
		for _, every := range []int{1, 16} {
			_, e := named(t, w.Name, "rwmutex")
			if w.Params.ValueSize != (ValueSize{}) {
				w.Params.ValueSize = words // bytes are allocated
			}
			w.alone = true
			if slices.Contains([]string{"ycsb-d", "ycsb-e", "tatp"}, w.Name) {
				continue // records that are inserted take memory
			}
			tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 2, LatencySample: every})
			for i, worker := range tr.workers {
				require.Zero(t, testing.AllocsPerRun(2_000, func() {
					if err := worker.task.do(); err != nil {
						t.Error(err)
					}
				}), "%s: goroutine %d", w.Name, i)
			}
			m := runOps(t, tr, 20_000)
			// A run has a fixed cost, and the runtime's own goroutines may
			// allocate a little.
			require.Less(t, m.Allocs, uint64(500), "%s, timing one in %d", w.Name, every)
			require.NoError(t, tr.Verify())
		}
	}
}

// One operation in LatencySample is timed, at random distances, and never at the
// same key only.
func TestLatencySampling(t *testing.T) {
	w, e := named(t, "read-heavy", "rwmutex")
	for _, every := range []int{1, 4, 64} {
		const ops = 100_000
		m := runOps(t, newTrial(t, Config{Workload: w, Engine: e, Threads: 2, LatencySample: every}), ops)
		require.Equal(t, every, m.LatencySample)
		require.InEpsilon(t, ops/every, m.Service.Count(), 0.15, "one in %d", every)
		if every == 1 {
			require.EqualValues(t, ops, m.Service.Count())
		}
	}
	worker := &worker{every: 4, gaps: newRand(1)}
	seen := map[int]int{}
	for range 10_000 {
		seen[worker.gap()]++
	}
	require.Len(t, seen, 7, "distances from 1 to 7")
}

func TestSampleChosenByCost(t *testing.T) {
	require.Equal(t, firstSample, sampleFor(0, 50))
	require.Equal(t, 1, sampleFor(20_000, 50))
	for _, perOp := range []float64{1, 30, 100, 1_000, 9_000} {
		n := sampleFor(perOp, 50)
		require.True(t, n == maxSample || 2*50/float64(n) <= 0.01*perOp, "%v ns: one in %d", perOp, n)
		require.True(t, n == 1 || 2*50/float64(n-1) > 0.01*perOp, "%v ns: one in %d is too few", perOp, n)
	}

	// The warm-up chooses it, unless it was given.
	w, e := named(t, "read-heavy", "rwmutex")
	tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 1})
	_, err := tr.RunFor(t.Context(), 5*time.Millisecond, false)
	require.NoError(t, err)
	m, err := tr.RunFor(t.Context(), 5*time.Millisecond, true)
	require.NoError(t, err)
	require.Equal(t, tr.every, m.LatencySample)
}

func TestProcessorTime(t *testing.T) {
	if _, _, ok := machine.Process(); !ok {
		t.Skip("the system does not tell processor time")
	}
	w, e := named(t, "counter", "rwmutex")
	tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 1})
	var m Measurement
	for m.CPU == 0 { // until the clock of processor time has ticked
		var err error
		m, err = tr.RunFor(t.Context(), 5*time.Millisecond, true)
		require.NoError(t, err)
	}
	ns, ok := m.CPUNsPerOp()
	require.True(t, ok)
	require.InEpsilon(t, float64(m.CPU)/float64(m.Ops), ns, 1e-9)
}

// The wall time is that of the slowest goroutine, and aborts are those of the run, not
// of earlier ones.
func TestWallAndAborts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := paced(t, Config{Threads: 3}, nil)
		for i, w := range tr.workers {
			sleeperOf(w).service = always(time.Duration(10-3*i) * time.Millisecond)
		}
		for _, ops := range []uint64{3, 30, 300} {
			m := runOps(t, tr, ops)
			require.Equal(t, time.Duration(ops/3)*10*time.Millisecond, m.Wall)
			require.Equal(t, 2*ops, m.Aborts)
			require.InEpsilon(t, 2.0, m.AbortsPerOp(), 1e-9)
		}
	})
}
