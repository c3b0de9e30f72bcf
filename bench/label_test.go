package bench

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// Every list of a sweep is combined with every other; engines alternate, then what
// is varied, then samples; an engine that has no choice in something is measured
// once, and what is varied is in every name.
func TestSweepOfEverything(t *testing.T) {
	zipf, mvcc := named(t, "zipf-read", "mvcc")
	rwmutex, _ := EngineByName("rwmutex")
	half := zipf
	half.Params.Theta = 0.5
	steps, skips := Sweep{
		Workloads:     []Workload{half, zipf},
		Engines:       []EngineSpec{mvcc, rwmutex},
		Threads:       []int{2},
		Isolations:    []Isolation{Serializable, Snapshot},
		Count:         2,
		AuditInterval: DefaultAuditInterval,
	}.Steps()
	require.Empty(t, skips)
	var got []string
	for _, s := range steps {
		got = append(got, s.Config.Name())
	}
	once := []string{
		"ZipfRead/theta=0.5/isolation=serializable/engine=mvcc/threads=2",
		"ZipfRead/theta=0.5/engine=rwmutex/threads=2",
		"ZipfRead/theta=0.5/isolation=snapshot/engine=mvcc/threads=2",
		"ZipfRead/theta=0.9/isolation=serializable/engine=mvcc/threads=2",
		"ZipfRead/theta=0.9/engine=rwmutex/threads=2",
		"ZipfRead/theta=0.9/isolation=snapshot/engine=mvcc/threads=2",
	}
	require.Empty(t, cmp.Diff(append(once, once...), got))
	require.Equal(t, 0, steps[5].Config.Sample)
	require.Equal(t, 1, steps[6].Config.Sample)
	require.Equal(t, 12, steps[0].Of)
}

func TestNames(t *testing.T) {
	read, mvcc := named(t, "read-heavy", "mvcc")
	rwmutex, _ := EngineByName("rwmutex")
	for _, c := range []struct {
		sweep Sweep
		want  []string
	}{
		{Sweep{}, []string{"ReadHeavy/engine=mvcc/threads=1", "ReadHeavy/engine=rwmutex/threads=1"}},
		{Sweep{LatencySamples: []int{NoLatency, 0, 5}}, []string{
			"ReadHeavy/latency-sample=off/engine=mvcc/threads=1", "ReadHeavy/latency-sample=off/engine=rwmutex/threads=1",
			"ReadHeavy/latency-sample=auto/engine=mvcc/threads=1", "ReadHeavy/latency-sample=auto/engine=rwmutex/threads=1",
			"ReadHeavy/latency-sample=5/engine=mvcc/threads=1", "ReadHeavy/latency-sample=5/engine=rwmutex/threads=1"}},
		{Sweep{Rates: []float64{1_500}, Arrival: PoissonArrivals, Attempts: 3}, []string{
			"ReadHeavy/rate=1500/arrival=poisson/retries=2/engine=mvcc/threads=1", "ReadHeavy/rate=1500/arrival=poisson/retries=2/engine=rwmutex/threads=1"}},
		{Sweep{Maps: []MapOptions{{Workers: NoWorkers, Queue: 7}, {Workers: 2, Queue: 7}}}, []string{
			"ReadHeavy/gc-workers=0/gc-queue=7/engine=mvcc/threads=1", "ReadHeavy/engine=rwmutex/threads=1",
			"ReadHeavy/gc-workers=2/gc-queue=7/engine=mvcc/threads=1"}},
	} {
		s := c.sweep
		s.Workloads, s.Engines, s.Threads, s.Count = []Workload{read}, []EngineSpec{mvcc, rwmutex}, []int{1}, 1
		s.AuditInterval = DefaultAuditInterval
		steps, _ := s.Steps()
		var got []string
		for _, step := range steps {
			got = append(got, step.Config.Name())
		}
		require.Empty(t, cmp.Diff(c.want, got))
	}
}

// A workload that is meant for some number of goroutines, or to be offered so
// much, gets it unless the sweep says otherwise.
func TestSweepOfWhatAWorkloadIsMeantFor(t *testing.T) {
	w, e := named(t, "many-goroutines", "mvcc")
	s := Sweep{Workloads: []Workload{w}, Engines: []EngineSpec{e}, Count: 1}
	steps, _ := s.Steps()
	require.Len(t, steps, 1)
	require.Equal(t, w.Threads(), steps[0].Config.Threads)
	require.Equal(t, w.Rate(), steps[0].Config.Rate)
	s.Threads, s.Rates = []int{3}, []float64{0}
	steps, _ = s.Steps()
	require.Len(t, steps, 1)
	require.Equal(t, 3, steps[0].Config.Threads)
	require.Zero(t, steps[0].Config.Rate)

	w, _ = WorkloadByName("begin")
	s = Sweep{Workloads: []Workload{w}, Engines: []EngineSpec{e}, Count: 1}
	steps, _ = s.Steps()
	require.Len(t, steps, len(DefaultThreads()))
}

// A sweep of operations does exactly so many in each sample; one that leaves out
// the check at the end accepts what it would not.
func TestSweepOfOps(t *testing.T) {
	s := smallSweep(t)
	s.Duration, s.Ops = time.Hour, 1_001
	var o logObserver
	require.NoError(t, s.Run(t.Context(), &o))
	require.Len(t, o.ms, 12)
	for _, m := range o.ms {
		require.EqualValues(t, 1_001, m.Ops)
	}

	s.Engines = []EngineSpec{badEnd()}
	var v *Violation
	require.ErrorAs(t, s.Run(t.Context(), &o), &v)
	s.SkipVerify = true
	require.NoError(t, s.Run(t.Context(), &o))
}
