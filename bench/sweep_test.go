package bench

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func smallSweep(t *testing.T) Sweep {
	transfer, rwmutex := named(t, "transfer", "rwmutex")
	transfer.Params.Keys = 10
	xsync, _ := EngineByName("xsync")
	return Sweep{
		Workloads: []Workload{halves(t), transfer},
		Engines:   []EngineSpec{xsync, rwmutex},
		Threads:   []int{1, 2},
		Count:     2,
		Warmup:    time.Millisecond,
		Duration:  2 * time.Millisecond,
		Seed:      9,
	}
}

func stepName(s Step) string {
	return fmt.Sprintf("%d/%d %s %s threads=%d sample=%d", s.Index, s.Of, s.Config.Workload.Name,
		s.Config.Engine.Name, s.Config.Threads, s.Config.Sample)
}

// The engines take turns within a workload and number of goroutines, and those
// that cannot run a workload are left out and named.
func TestStepsAlternate(t *testing.T) {
	steps, skips := smallSweep(t).Steps()
	var got []string
	for _, s := range steps {
		got = append(got, stepName(s))
	}
	want := []string{
		"0/12 read-heavy xsync threads=1 sample=0",
		"1/12 read-heavy rwmutex threads=1 sample=0",
		"2/12 read-heavy xsync threads=1 sample=1",
		"3/12 read-heavy rwmutex threads=1 sample=1",
		"4/12 read-heavy xsync threads=2 sample=0",
		"5/12 read-heavy rwmutex threads=2 sample=0",
		"6/12 read-heavy xsync threads=2 sample=1",
		"7/12 read-heavy rwmutex threads=2 sample=1",
		"8/12 transfer rwmutex threads=1 sample=0",
		"9/12 transfer rwmutex threads=1 sample=1",
		"10/12 transfer rwmutex threads=2 sample=0",
		"11/12 transfer rwmutex threads=2 sample=1",
	}
	require.Empty(t, cmp.Diff(want, got))
	require.Empty(t, cmp.Diff([]Skip{{Workload: "transfer", Engine: "xsync", Why: "it has no transactions over several keys"}}, skips))
}

type logObserver struct {
	log  []string
	ms   []Measurement
	done func(step Step) error
}

func (o *logObserver) Start(step Step, next *Step) {
	line := "start " + stepName(step)
	if next != nil {
		line += ", next " + next.Config.Engine.Name
	}
	o.log = append(o.log, line)
}

func (o *logObserver) Running(step Step, t *Trial) {
	t.Live()
	o.log = append(o.log, fmt.Sprint("running ", step.Index))
}

func (o *logObserver) Done(step Step, m Measurement) error {
	o.log = append(o.log, fmt.Sprint("done ", step.Index))
	o.ms = append(o.ms, m)
	if o.done != nil {
		return o.done(step)
	}
	return nil
}

func TestSweepRuns(t *testing.T) {
	var o logObserver
	s := smallSweep(t)
	s.Threads, s.Workloads = []int{2}, s.Workloads[:1]
	require.NoError(t, s.Run(t.Context(), &o))
	require.Empty(t, cmp.Diff([]string{
		"start 0/4 read-heavy xsync threads=2 sample=0, next rwmutex", "running 0", "done 0",
		"start 1/4 read-heavy rwmutex threads=2 sample=0, next xsync", "running 1", "done 1",
		"start 2/4 read-heavy xsync threads=2 sample=1, next rwmutex", "running 2", "done 2",
		"start 3/4 read-heavy rwmutex threads=2 sample=1", "running 3", "done 3",
	}, o.log))
	for _, m := range o.ms {
		require.Positive(t, m.Ops)
	}
}

// An interrupted sweep hands over the figures of the sample under way.
func TestSweepInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	s := smallSweep(t)
	s.Duration = time.Hour
	s.Warmup, s.Count = 0, 1<<40 // which are not planned one by one
	s.Engines = []EngineSpec{interrupting(1_000, func() { cancel(cause) })}
	s.Threads = []int{1}
	var o logObserver
	require.ErrorIs(t, s.Run(ctx, &o), cause)
	require.Len(t, o.ms, 1)
	require.True(t, o.ms[0].Interrupted)
	require.Positive(t, o.ms[0].Ops)
	steps, _ := s.Combinations()
	require.Len(t, steps, len(s.Workloads))

	// One that was over before it began measures nothing.
	o = logObserver{}
	require.ErrorIs(t, s.Run(ctx, &o), cause)
	require.Empty(t, o.log)
}

func TestSweepEndsWithTheObserversError(t *testing.T) {
	full := errors.New("disk full")
	o := logObserver{done: func(step Step) error {
		if step.Index == 1 {
			return full
		}
		return nil
	}}
	require.ErrorIs(t, smallSweep(t).Run(t.Context(), &o), full)
	require.Len(t, o.ms, 2)
	require.Error(t, Sweep{}.Run(t.Context(), &o))
}

// Every list of a sweep is combined with every other; engines alternate, then the
// varied parameters, then samples; an engine that has no choice in something is
// measured once, and the varied parameters are in every name.
func TestSweepOfEverything(t *testing.T) {
	zipf, mvcc := named(t, "read-heavy", "mvcc")
	rwmutex, _ := EngineByName("rwmutex")
	half := zipf
	half.Params.Theta = 0.5
	zipf.Params.Theta = 0.9
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
		"ReadHeavy/theta=0.5/isolation=serializable/engine=mvcc/threads=2",
		"ReadHeavy/theta=0.5/engine=rwmutex/threads=2",
		"ReadHeavy/theta=0.5/isolation=snapshot/engine=mvcc/threads=2",
		"ReadHeavy/theta=0.9/isolation=serializable/engine=mvcc/threads=2",
		"ReadHeavy/theta=0.9/engine=rwmutex/threads=2",
		"ReadHeavy/theta=0.9/isolation=snapshot/engine=mvcc/threads=2",
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
		{Sweep{LatencySample: NoLatency}, []string{
			"ReadHeavy/latency-sample=off/engine=mvcc/threads=1",
			"ReadHeavy/latency-sample=off/engine=rwmutex/threads=1"}},
		{Sweep{Rates: []float64{1_500}, Arrival: PoissonArrivals, Attempts: 3}, []string{
			"ReadHeavy/rate=1500/arrival=poisson/retries=2/engine=mvcc/threads=1",
			"ReadHeavy/rate=1500/arrival=poisson/retries=2/engine=rwmutex/threads=1"}},
	} {
		s := c.sweep
		s.Workloads, s.Engines, s.Threads, s.Count = []Workload{read},
			[]EngineSpec{mvcc, rwmutex}, []int{1}, 1
		s.AuditInterval = DefaultAuditInterval
		steps, _ := s.Steps()
		var got []string
		for _, step := range steps {
			got = append(got, step.Config.Name())
		}
		require.Empty(t, cmp.Diff(c.want, got))
	}
}

// A sweep of operations does exactly so many in each sample, and ends at a violation.
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
}
