package cli

import (
	"os"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// parse reads results with the reader that benchstat uses. Nothing in them may
// be malformed.
func parse(t *testing.T, text string) (results []*benchfmt.Result, units map[string]string) {
	t.Helper()
	r := benchfmt.NewReader(strings.NewReader(text), "results")
	units = map[string]string{}
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			results = append(results, rec.Clone())
		case *benchfmt.UnitMetadata:
			units[rec.OrigUnit] = rec.Key + "=" + rec.Value
		case *benchfmt.SyntaxError:
			t.Fatalf("malformed: %v", rec)
		}
	}
	require.NoError(t, r.Err())
	return results, units
}

// value returns a result's figure in the unit as it was printed.
func value(r *benchfmt.Result, unit string) (float64, bool) {
	for _, v := range r.Values {
		if v.OrigUnit == unit {
			return v.OrigValue, true
		}
		if v.OrigUnit == "" && v.Unit == unit {
			return v.Value, true
		}
	}
	return 0, false
}

func TestOutputCanBeReadBack(t *testing.T) {
	stdout, stderr := succeed(t, counted(1_000, "--workload=read-heavy,transfer",
		"--engine=mvcc,xsync", "--latency-sample=1", "--keys=10")...)
	lines, units := parse(t, stdout)
	count := map[string]int{}
	for _, r := range lines {
		require.Positive(t, r.Iters)
		name := regexp.MustCompile(`-\d+$`).ReplaceAllString(string(r.Name), "") // GOMAXPROCS
		count[name]++
		ns, _ := value(r, "ns/op")
		rate, _ := value(r, "ops/s")
		require.InEpsilon(t, 1e9, ns*rate, 0.01, "ns/op and ops/s agree")
		for _, unit := range []string{"p50-ns", "aborts/op", "B/op", "allocs/op"} {
			_, ok := value(r, unit)
			require.True(t, ok, "%s of %s", unit, name)
		}
		_, audits := value(r, "audits/s")
		require.Equal(t, strings.HasPrefix(name, "Transfer"), audits)
	}
	require.Equal(t, map[string]int{
		"ReadHeavy/keys=10/engine=mvcc/threads=1":  2,
		"ReadHeavy/keys=10/engine=mvcc/threads=2":  2,
		"ReadHeavy/keys=10/engine=xsync/threads=1": 2,
		"ReadHeavy/keys=10/engine=xsync/threads=2": 2,
		"Transfer/keys=10/engine=mvcc/threads=1":   2,
		"Transfer/keys=10/engine=mvcc/threads=2":   2,
	}, count)
	for _, unit := range []string{"ns/op", "ops/s", "aborts/op", "B/op", "allocs/op", "gc-%",
		"ctx-switches/op"} {
		require.Contains(t, units, unit)
	}
	require.Contains(t, stdout, "# seed 1,")
	require.Contains(t, stdout, "# skipped: transfer on xsync: it has no transactions over several keys")
	require.Contains(t, stderr, "skipping transfer on xsync")
	require.Contains(t, stderr, "fewer than 6 samples")
	require.Contains(t, stderr, "ops/s: higher is better")
}

// One command sweeps several dimensions, and an open loop reports response times
// and whether the map kept up.
func TestSweepAndOpenLoop(t *testing.T) {
	stdout, _ := succeed(t, "--workload=read-heavy", "--engine=mvcc,rwmutex", "--threads=2",
		"--count=1", "--warmup=0", "--http=off",
		"--theta=0.5,0.9", "--value-size=8,16-32", "--isolation=serializable,snapshot",
		"--rate=50000", "--arrival=poisson", "--ops=2000")
	lines, _ := parse(t, stdout)
	require.Len(t, lines, 2*2*3, "rwmutex has no levels")
	for _, r := range lines {
		name := string(r.Name)
		require.Equal(t, 2_000, r.Iters)
		require.Contains(t, name, "/theta=0.")
		require.Contains(t, name, "/value-size=")
		require.Contains(t, name, "/rate=50000/arrival=poisson/")
		require.Equal(t, strings.Contains(name, "engine=mvcc"), strings.Contains(name, "/isolation="),
			name)
		for _, unit := range []string{"response-p50-ns", "response-p99-ns", "achieved-%", "backlog"} {
			_, ok := value(r, unit)
			require.True(t, ok, "%s of %s", unit, name)
		}
		service, _ := value(r, "p50-ns")
		response, _ := value(r, "response-p50-ns")
		require.GreaterOrEqual(t, response, service)
	}
}

// Response times are those of the wait, too: if all of 5000 operations of a millisecond
// are due at once, half of them wait for at least as long as 2500 others take.
func TestResponseTimesHaveTheWaitInThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := twoSteps(t)[0]
		step.Config.Threads, step.Config.Rate = 1, bench.MaxRate
		trial := slowTrial(t, step, time.Millisecond)
		m, err := trial.RunOps(t.Context(), 5_000)
		require.NoError(t, err)
		s := results.NewSample(step.Config, m)
		require.InEpsilon(t, 1e6, s.Metrics["p50-ns"], 0.005)
		require.InEpsilon(t, 2.5e9, s.Metrics["response-p50-ns"], 0.005)
		require.InEpsilon(t, 5e9, s.Metrics["response-max-ns"], 0.005)
	})
}

// A faulty engine ends the run with exit code 3 before its figures are printed.
func TestFaultyEngineExitsWith3(t *testing.T) {
	good, ok := bench.EngineByName("rwmutex")
	require.True(t, ok)
	for workload, fault := range map[string]func(bench.Session) bench.Session{
		"read-heavy": func(s bench.Session) bench.Session { // loses one write in 1000
			n := 0
			return doing{s, func(s bench.Session, readOnly bool, fn func(bench.Access) error) error {
				if n++; n%1000 == 0 && !readOnly {
					return s.Do(true, func(tx bench.Access) error { return fn(&lossy{tx, 0}) })
				}
				return s.Do(readOnly, fn)
			}}
		},
		"transfer": func(s bench.Session) bench.Session { // tears transfers
			return doing{s, func(s bench.Session, readOnly bool, fn func(bench.Access) error) error {
				if readOnly {
					return s.Do(true, fn)
				}
				return s.Do(false, func(tx bench.Access) error { return fn(&lossy{tx, 1}) })
			}}
		},
	} {
		// The run lasts until the fault is found.
		bad := sessions("faulty", good, fault)
		var stdout, stderr lines
		code := run(&Env{
			ctx:     t.Context(),
			stdout:  &stdout,
			stderr:  &stderr,
			Program: Program{Name: "mvccbench", Engines: append(bench.Engines(), bad)},
			args: []string{"--http=off", "--workload=" + workload, "--engine=faulty,rwmutex",
				"--threads=2", "--duration=1h", "--warmup=0", "--count=1"},
		})
		require.Equal(t, ExitViolated, code, "%s: %s", workload, stderr.String())
		require.Contains(t, stderr.String(),
			"verification violated: workload "+workload+", engine faulty")
		require.Contains(t, stdout.String(), "# verification violated")
		require.NotContains(t, stdout.String(), "engine=faulty/")
		require.NotContains(t, stderr.String(), "is better")
		results, _ := parse(t, stdout.String())
		require.Empty(t, results)
	}
}

// An engine that never gets anything done has no figures either.
func TestNothingCommitted(t *testing.T) {
	good, _ := bench.EngineByName("rwmutex")
	stuck := bench.EngineSpec{Name: "stuck", Doc: "It gives up",
		New: func(setup bench.Setup) (bench.Engine, error) {
			engine, err := good.New(setup)
			return wrapped{engine, func(s bench.Session) bench.Session {
				return doing{s, func(s bench.Session, readOnly bool, fn func(bench.Access) error) error {
					for !readOnly && !setup.Stopped() {
						runtime.Gosched()
					}
					if readOnly {
						return s.Do(true, fn)
					}
					return bench.ErrStopped
				}}
			}}, err
		}}
	var stdout, stderr lines
	code := run(&Env{
		ctx: t.Context(), stdout: &stdout, stderr: &stderr, Program: Program{Name: "mvccbench",
			Engines: []bench.EngineSpec{stuck}},
		args: []string{"--http=off", "--workload=read-heavy", "--read-pct=0", "--engine=stuck", "--threads=1",
			"--duration=2ms", "--warmup=0", "--count=1"},
	})
	require.Equal(t, ExitFailed, code)
	require.Contains(t, stderr.String(), "no operation has committed")
	require.NotContains(t, stdout.String(), "\nBenchmark")
}

// sessions returns an engine like good, whose sessions are wrapped.
func sessions(
	name string, good bench.EngineSpec,
	wrap func(bench.Session) bench.Session,
) bench.EngineSpec {
	return bench.EngineSpec{Name: name, Doc: "for tests",
		New: func(setup bench.Setup) (bench.Engine, error) {
			engine, err := good.New(setup)
			return wrapped{engine, wrap}, err
		}}
}

// wrapped is an engine with other sessions.
type wrapped struct {
	bench.Engine
	wrap func(bench.Session) bench.Session
}

func (w wrapped) Session(worker int) bench.Session { return w.wrap(w.Engine.Session(worker)) }

// lossy is a transaction that makes so many writes, and no more.
type lossy struct {
	bench.Access
	writes int
}

func (s *lossy) Put(table int, key int64, r bench.Record) {
	if s.writes--; s.writes >= 0 {
		s.Access.Put(table, key, r)
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	for sent, want := range map[os.Signal]int{os.Interrupt: ExitInterrupted,
		syscall.SIGTERM: ExitTerminated} {
		t.Run(sent.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { secondSignal(t, sent, want) })
		})
	}
}

func secondSignal(t *testing.T, sent os.Signal, want int) {
	signals := make(chan os.Signal)
	var stderr lines
	cancelled, code := false, -1
	var stop Stop
	go stop.Handle(signals, func() { cancelled = true }, &stderr, func(c int) { code = c })
	synctest.Wait()
	require.False(t, cancelled)
	signals <- sent
	synctest.Wait()
	require.True(t, cancelled)
	require.Contains(t, stderr.String(), "again")
	require.Equal(t, -1, code)
	signals <- sent
	synctest.Wait()
	require.Equal(t, want, code)
	require.Equal(t, want, stop.Code(ExitInterrupted))
	require.Equal(t, ExitViolated, stop.Code(ExitViolated))
}
