package wall

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/testload"
	"github.com/mvccmap/mvccmap/internal/debug/leak"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// watchdog bounds loops that end by themselves unless something is wrong.
const watchdog = time.Minute

// total returns the wall time of a state below a function.
func total(p *profile.Profile, state contention.Kind, function string) (d time.Duration) {
	for _, s := range p.Sample {
		if s.Label["state"][0] != string(state) {
			continue
		}
		for _, l := range s.Location {
			if strings.HasSuffix(l.Line[0].Function.Name, function) {
				d += time.Duration(s.Value[1])
				break
			}
		}
	}
	return d
}

// A goroutine that could run had no processor if it is not in the CPU profile, else it had one.
func TestWithoutProcessor(t *testing.T) {
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() { testload.Spin(&stop) })
	defer wg.Wait()
	defer stop.Store(true)
	const window = time.Second
	work := func(d time.Duration) *profile.Profile {
		p := contention.NewProfile(time.Time{}, window)
		add := func(d time.Duration, functions ...string) {
			var frames []contention.Frame
			for _, f := range functions {
				frames = append(frames, contention.Frame{Func: f})
			}
			sample := p.Add("", frames, 1, d)
			sample.Location = sample.Location[:len(frames)] // without the kind
		}
		add(d, "testload.Spin")
		add(window, "runtime.gcBgMarkWorker")
		add(window, "syscall.Syscall", "main.f")
		add(7, "runtime.gcAssistAlloc1", "main.f")
		add(9, "runtime.findRunnable", "runtime.mcall")
		return p.Profile
	}
	s := new(Sampler)
	require.Eventually(t, func() bool {
		*s = Sampler{stacks: map[stack]int{}}
		for range 4 {
			s.sample()
		}
		p := s.Profile(work(0), time.Now(), window)
		d := total(p, NoProcessor, "testload.Spin")
		return window-time.Microsecond < d && d <= window // in each sample, and nothing else
	}, watchdog, time.Millisecond)

	p := s.Profile(work(0), time.Now(), window)
	require.NoError(t, p.CheckValid())
	require.Equal(t, window, total(p, Collector, "runtime.gcBgMarkWorker"))
	require.EqualValues(t, 9, total(p, Runtime, "runtime.findRunnable"))
	require.EqualValues(t, 7, total(p, contention.GCAssist, "main.f"))
	require.Zero(t, total(p, Running, "main.f"), "the samples of stacks have system calls")
	p = s.Profile(work(window/4), time.Now(), window)
	require.Equal(t, window/4, total(p, Running, "testload.Spin"))
	require.InDelta(t, float64(window*3/4), float64(total(p, NoProcessor, "testload.Spin")), 1e3)
	p = s.Profile(work(window), time.Now(), window)
	require.Equal(t, window, total(p, Running, "testload.Spin"))
	require.Zero(t, total(p, NoProcessor, "testload.Spin"))
}

// A stack that is deeper than the runtime says so at its root.
func TestDeepStack(t *testing.T) {
	never := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { deep(50, never) })
	defer wg.Wait()
	defer close(never)
	require.Eventually(t, func() bool {
		s := Sampler{stacks: map[stack]int{}}
		s.sample()
		for pcs := range s.stacks {
			frames := framesOf(pcs)
			if n := len(frames); n > 0 && frames[n-1].Func == "[truncated]" { // none: it has just begun
				return n == len(stack{})+1 &&
					kindOfStack(frames) == contention.ChanReceive // once it is there
			}
		}
		return false
	}, watchdog, time.Millisecond)
}

func deep(n int, never chan struct{}) {
	if n == 0 {
		testload.Leaked(never)
		return
	}
	deep(n-1, never)
}

// A coroutine waits for another goroutine, not for a processor.
func TestCoroutine(t *testing.T) {
	defer testload.Coroutine()()
	s := Sampler{stacks: map[stack]int{}}
	s.sample()
	for pcs := range s.stacks {
		frames := framesOf(pcs)
		root := frames[len(frames)-1]
		if root.Func == "runtime.corostart" {
			require.Equal(t, contention.Coroutine, kindOfStack(frames))
			return
		}
	}
	require.Fail(t, "there is no coroutine")
}

// It samples a hundred times a second and no more often, at least once, and ends with the context.
func TestRun(t *testing.T) {
	var s Sampler
	require.NoError(t, s.Run(t.Context(), 1))
	require.Positive(t, s.samples)
	synctest.Test(t, func(t *testing.T) { // in which to sample takes no time
		s := new(Sampler)
		require.NoError(t, s.Run(t.Context(), time.Second+every/2))
		require.InDelta(t, 101, s.samples, 1)
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("nobody waits")
		time.AfterFunc(time.Second, func() { cancel(why) })
		require.ErrorIs(t, new(Sampler).Run(ctx, time.Hour), why)
	})
}
