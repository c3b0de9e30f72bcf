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
	balanced, xsync := named(t, "balanced", "xsync")
	return Sweep{
		Workloads: []Workload{balanced, transfer},
		Engines:   []EngineSpec{xsync, rwmutex},
		Threads:   []int{1, 2},
		Count:     2,
		Warmup:    time.Millisecond,
		Duration:  2 * time.Millisecond,
		Seed:      9,
	}
}

func stepName(s Step) string {
	return fmt.Sprintf("%d/%d %s %s threads=%d sample=%d", s.Index, s.Of, s.Config.Workload.Name, s.Config.Engine.Name, s.Config.Threads, s.Config.Sample)
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
		"0/12 balanced xsync threads=1 sample=0",
		"1/12 balanced rwmutex threads=1 sample=0",
		"2/12 balanced xsync threads=1 sample=1",
		"3/12 balanced rwmutex threads=1 sample=1",
		"4/12 balanced xsync threads=2 sample=0",
		"5/12 balanced rwmutex threads=2 sample=0",
		"6/12 balanced xsync threads=2 sample=1",
		"7/12 balanced rwmutex threads=2 sample=1",
		"8/12 transfer rwmutex threads=1 sample=0",
		"9/12 transfer rwmutex threads=1 sample=1",
		"10/12 transfer rwmutex threads=2 sample=0",
		"11/12 transfer rwmutex threads=2 sample=1",
	}
	require.Empty(t, cmp.Diff(want, got))
	require.Empty(t, cmp.Diff([]Skip{{Workload: "transfer", Engine: "xsync", Why: noMultiTx}}, skips))
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
		"start 0/4 balanced xsync threads=2 sample=0, next rwmutex", "running 0", "done 0",
		"start 1/4 balanced rwmutex threads=2 sample=0, next xsync", "running 1", "done 1",
		"start 2/4 balanced xsync threads=2 sample=1, next rwmutex", "running 2", "done 2",
		"start 3/4 balanced rwmutex threads=2 sample=1", "running 3", "done 3",
	}, o.log))
	for _, m := range o.ms {
		require.Positive(t, m.Ops)
	}
}

// An interrupted sweep hands over what the sample under way has measured.
func TestSweepInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	s := smallSweep(t)
	s.Duration = time.Hour
	s.Warmup = 0
	n := 0
	s.Engines = []EngineSpec{wrapped("canceller", func(e *rwMutexEngine, _ int) Session {
		return &hooked{over(e), func() {
			if n++; n == 1_000 {
				cancel(cause)
			}
		}}
	})}
	s.Threads = []int{1}
	var o logObserver
	require.ErrorIs(t, s.Run(ctx, &o), cause)
	require.Len(t, o.ms, 1)
	require.True(t, o.ms[0].Interrupted)
	require.Positive(t, o.ms[0].Ops)

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

// A sample is verified at its end, before the observer gets it.
func TestSweepVerifies(t *testing.T) {
	s := smallSweep(t)
	s.Engines = append(s.Engines, badEnd())
	var o logObserver
	var v *Violation
	require.ErrorAs(t, s.Run(t.Context(), &o), &v)
	require.Equal(t, "bad end", v.Engine)
	require.Len(t, o.ms, 2, "the good engines' samples")
}

func TestTitlesNameWhatDiffers(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Params
		want string
	}{
		{"read-heavy", Params{Keys: Unset, ReadPct: Unset, Theta: Unset}, "ReadHeavy"},
		{"read-heavy", Params{Keys: 4, ReadPct: 90, Theta: Unset}, "ReadHeavy"},
		{"read-heavy", Params{Keys: 16, ReadPct: 95, Theta: 0.5}, "ReadHeavy/keys=16/read-pct=95"},
		{"zipf-write", Params{Keys: Unset, ReadPct: Unset, Theta: 0.5}, "ZipfWrite/theta=0.5"},
		{"zipf-write", Params{Keys: Unset, ReadPct: Unset, Theta: 0}, "ZipfWrite/theta=0"},
		{"transfer", Params{Keys: 2, ReadPct: Unset, Theta: Unset}, "Transfer/keys=2"},
		{"disjoint", Params{Keys: 16, ReadPct: 50, Theta: 0.5}, "Disjoint"},
	} {
		w, ok := WorkloadByName(c.name)
		require.True(t, ok)
		w, err := w.With(c.p)
		require.NoError(t, err)
		require.Equal(t, c.want, w.Title())
	}
}

func TestParametersOutOfRange(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Params
	}{
		{"counter", Params{Keys: 5, ReadPct: Unset, Theta: Unset}},
		{"counter", Params{Keys: 0, ReadPct: Unset, Theta: Unset}},
		{"transfer", Params{Keys: 1, ReadPct: Unset, Theta: Unset}},
		{"read-heavy", Params{Keys: Unset, ReadPct: 101, Theta: Unset}},
		{"read-heavy", Params{Keys: Unset, ReadPct: -2, Theta: Unset}},
		{"zipf-read", Params{Keys: Unset, ReadPct: Unset, Theta: -0.5}},
		{"zipf-read", Params{Keys: Unset, ReadPct: Unset, Theta: 11}},
	} {
		w, _ := WorkloadByName(c.name)
		_, err := w.With(c.p)
		require.ErrorContains(t, err, c.name)
	}
	_, ok := WorkloadByName("no such")
	require.False(t, ok)
	_, ok = EngineByName("no such")
	require.False(t, ok)
}

func TestNamesAreUniqueAndDocumented(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range Workloads() {
		require.False(t, seen[w.Name])
		seen[w.Name] = true
		require.NotEmpty(t, w.Doc)
	}
	for _, e := range Engines() {
		require.False(t, seen[e.Name])
		seen[e.Name] = true
		require.NotEmpty(t, e.Doc)
		for name := range e.Lacks {
			_, ok := WorkloadByName(name)
			require.True(t, ok, name)
		}
	}
}
