package cli

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
)

func twoSteps(t *testing.T) []bench.Step {
	t.Helper()
	w, _ := bench.WorkloadByName("transfer")
	a, _ := bench.EngineByName("mvcc")
	b, _ := bench.EngineByName("rwmutex")
	steps, _ := bench.Sweep{
		Workloads: []bench.Workload{w}, Engines: []bench.EngineSpec{a, b}, Threads: []int{4}, Count: 1,
		AuditInterval: bench.DefaultAuditInterval,
	}.Steps()
	require.Len(t, steps, 2)
	return steps
}

// slowTrial is a trial of a step whose operations take so long in the bubble's
// time.
func slowTrial(t *testing.T, step bench.Step, op time.Duration) *bench.Trial {
	t.Helper()
	c := step.Config
	c.Workload, _ = bench.WorkloadByName("counter")
	good, _ := bench.EngineByName("rwmutex")
	c.Engine = sessions("slow", good,
		func(s bench.Session) bench.Session {
			return doing{s, func(s bench.Session, readOnly bool, fn func(bench.Access) error) error {
				if !readOnly {
					time.Sleep(op)
				}
				return s.Do(readOnly, fn)
			}}
		})
	trial, err := bench.New(c)
	require.NoError(t, err)
	t.Cleanup(trial.Close)
	return trial
}

// On a pipe there are plain lines, one an interval; the benchmark under way, how fast, and how
// long it will take.
func TestProgressLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := twoSteps(t)
		steps[0].Config.LatencySample = 1 // goroutines that time say how far they are
		trial := slowTrial(t, steps[0], time.Millisecond)
		var out lines
		p := newSweepProgress(&out, time.Second)
		defer p.close()
		p.Start(steps[0], &steps[1])
		require.Equal(t, "[1/2] transfer, mvcc, 4 threads, sample 1\n", out.String())
		p.Running(steps[0], trial)
		_, err := trial.RunFor(t.Context(), 2500*time.Millisecond, true)
		require.NoError(t, err)
		synctest.Wait()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.Len(t, lines, 3)
		require.Regexp(t, `^\[1/2\] transfer, mvcc, 4 threads, sample 1, (4.00k|399.|400.|3.9\dk) ops/s$`, lines[2])
		time.Sleep(7500 * time.Millisecond)
		p.Start(steps[1], nil)
		synctest.Wait()
		time.Sleep(500 * time.Millisecond)
		p.note("a note")
		time.Sleep(time.Second)
		synctest.Wait()
		require.Contains(t, out.String(), "\na note\n[2/2, 9s left] transfer, rwmutex, 4 threads, sample 1\n")
		require.NotContains(t, out.String(), "\x1b")
		require.NotContains(t, out.String(), "\r")
	})
}

// The time left does not grow while a step is under way, even one that takes longer than those
// before.
func TestRemaining(t *testing.T) {
	began := time.Now()
	var left []time.Duration
	for _, now := range []time.Duration{20, 21, 29, 30, 35, 60} {
		left = append(left, remaining(began, began.Add(20*time.Second), began.Add(now*time.Second), 2, 4)/
			time.Second)
	}
	require.Equal(t, []time.Duration{20, 19, 11, 10, 10, 10}, left)
	require.Zero(t, remaining(began, began, began, 0, 4))
}

// The rate is that of the run under way, whatever was before it: the filling of the map, a warm-up.
func TestProgressRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := twoSteps(t)
		steps[0].Config.LatencySample = 1
		trial := slowTrial(t, steps[0], time.Millisecond)
		var out lines
		p := newSweepProgress(&out, time.Second)
		defer p.close()
		p.Start(steps[0], &steps[1])
		time.Sleep(600 * time.Millisecond)
		p.Running(steps[0], trial)
		for _, d := range []time.Duration{500 * time.Millisecond, 3 * time.Second} { // a tick in each
			_, err := trial.RunFor(t.Context(), d, d > time.Second)
			require.NoError(t, err)
			synctest.Wait()
		}
		rates := regexp.MustCompile(`\S+ ops/s`).FindAllString(out.String(), -1)
		require.Len(t, rates, 4, out.String())
		for _, rate := range rates {
			require.Regexp(t, `^(4.00k|3.9\dk|39\d\d) `, rate)
		}
	})
}
