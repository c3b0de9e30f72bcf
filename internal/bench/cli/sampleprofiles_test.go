package cli

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/results"
	"github.com/mvccmap/mvccmap/profiling"
)

func parseProfile(t *testing.T, r *results.Run, name string) *profile.Profile {
	t.Helper()
	p, err := profile.ParseData(r.Profiles[name])
	require.NoError(t, err, name)
	return p
}

// labels returns the values of a label of the samples of p.
func labels(p *profile.Profile, name string) map[string]bool {
	values := map[string]bool{}
	for _, s := range p.Sample {
		for _, v := range s.Label[name] {
			values[v] = true
		}
	}
	return values
}

// untilSampled has try run ever more transfers on engine mvcc until it reports that the
// CPU profiler has seen some. How many it takes, depends on the machine.
func untilSampled(t *testing.T, try func(ops int) bool) {
	t.Helper()
	for ops := 1_000; !try(ops); ops *= 2 {
		require.Less(t, ops, 10_000_000, "the CPU profiler never sees an operation")
	}
}

// Each combination has its profiles in the record, of its own samples only, and so has the whole run.
func TestProfilesOfSamples(t *testing.T) {
	const first, second = "transfer-keys=100-mvcc-threads=1.", "transfer-keys=100-mvcc-threads=2."
	var r *results.Run
	untilSampled(t, func(ops int) bool {
		r = record(t, counted(ops, "--workload=transfer", "--engine=mvcc", "--keys=100", "--profile")...)
		for _, name := range []string{first + "cpu.pb.gz", second + "cpu.pb.gz"} {
			if r.Profiles[name] == nil || len(labels(parseProfile(t, r, name), "threads")) == 0 {
				return false
			}
		}
		return true
	})
	for name := range r.Profiles {
		require.Regexp(t, `^[a-z0-9=.-]+\.(cpu|allocs|mutex|block)\.pb\.gz$`, name)
	}
	one, other := parseProfile(t, r, first+"cpu.pb.gz"), parseProfile(t, r, second+"cpu.pb.gz")
	require.Equal(t, map[string]bool{"1": true}, labels(one, "threads"))
	require.Equal(t, map[string]bool{"2": true}, labels(other, "threads"))
	whole := parseProfile(t, r, "whole-run.cpu.pb.gz")
	require.Equal(t, map[string]bool{"1": true, "2": true}, labels(whole, "threads"))
	require.Equal(t, one.DurationNanos+other.DurationNanos, whole.DurationNanos)
	require.Contains(t, strings.Join(one.Comments, "\n"),
		"transfer-keys=100-mvcc-threads=1: 2 samples")
	require.Contains(t, strings.Join(whole.Comments, "\n"), "whole-run: 4 samples")
	// Filling and verifying are not in it.
	for _, s := range one.Sample {
		for _, l := range s.Location {
			require.NotContains(t, l.Line[0].Function.Name, ".Verify")
		}
	}
	require.NotEmpty(t, r.Header.Profiled)
	require.Empty(t, r.Header.Instrumented, "one in a hundred does not make a run worthless")
}

// That there is nowhere for the profiles, and a CPU profiler that is taken, are noticed before
// anything is measured.
func TestProfileWrongArguments(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{{"--profile"}, {"--profile", "-o", filepath.Join(dir, "x.txt")}} {
		refused(t, quick(args...), "--profile: there is nowhere to keep the profiles; expected --output FILE.json")
	}
	recorder, err := profiling.NewRecorder("the test")
	require.NoError(t, err)
	out := filepath.Join(dir, "out.json")
	refused(t, quick("--profile", "-o", out), "--profile: busy: the test takes CPU profiles itself")
	recorder.Close()
	require.NoFileExists(t, out)

	// After a run that failed the profiler is free again.
	refused(t, quick("--profile", "--workload=counter", "-o", filepath.Join(dir, "no", "x.json")))
	recorder, err = profiling.NewRecorder("the test")
	require.NoError(t, err)
	recorder.Close()
}

// Ctrl-C: the profiles of the samples by then are kept.
func TestProfilesAfterInterrupt(t *testing.T) {
	t.Chdir(t.TempDir())
	untilSampled(t, func(ops int) bool {
		s := start(t, "--workload=transfer", "--engine=mvcc", "--keys=100", "--threads=1",
			"--count=1000", fmt.Sprint("--ops=", ops), "--warmup=1ms", "--http=off", "--profile",
			"--output=part.json")
		s.stderr.await(t, `(sample 3)`)
		s.stop(t, ExitInterrupted)
		r := loadRun(t, "part.json")
		require.NoError(t, os.Remove("part.json"))
		require.Equal(t, results.Interrupted, r.Outcome.Kind)
		return r.Profiles["whole-run.cpu.pb.gz"] != nil
	})
}

// The address of the profiles is the first thing said. While a run profiles its samples a CPU profile in the browser is refused, and the
// reason is given; everything else is there.
func TestBrowserWhileARunIsProfiled(t *testing.T) {
	s := start(t, "--workload=counter", "--engine=rwmutex", "--threads=1", "--count=1000",
		"--duration=30ms", "--http=127.0.0.1:0", "--profile", "-o", filepath.Join(t.TempDir(), "x.json"))
	url := s.stderr.await(t, `\Aprofiles: (http://127\.0\.0\.1:\d+)\n`) + "/debug/pprof/"
	require.Contains(t, fetch(url+"profile?seconds=1"),
		"busy: mvccbench run --profile takes CPU profiles itself")
	require.Contains(t, fetch(url), "mvccbench run --profile takes CPU profiles itself")
	s.stop(t, ExitInterrupted)
	require.Empty(t, fetch(url), "the server has been closed")
}

// Kept runs are shown in the browser, with the figures that the command prints.
func TestKeptRunsInTheBrowser(t *testing.T) {
	store := keepRuns(t)
	store.save("before.json", madeUp(t, 6, 2e6))
	require.NoError(t, os.Mkdir("more", 0o700))
	store.save("more/after.json", madeUp(t, 6, 1e6))
	refused(t, []string{"serve", "more", "--http=off"}, "--http: expected an address")
	s := start(t, "serve", "before.json", "more", "--http=127.0.0.1:0")
	url := s.stderr.await(t, `runs: (http://\S+/debug/pprof/runs/)\n`)
	require.Contains(t, fetch(url), `id="run-before"`)

	compared, _ := succeed(t, "compare", "before.json", "more/after.json")
	changes := regexp.MustCompile(`[+-]\d+\.\d\d%`).FindAllString(compared, -1)
	require.NotEmpty(t, changes)
	for _, change := range changes {
		require.Contains(t, html.UnescapeString(fetch(url+"compare?old=before&new=after")), change)
	}
	s.stop(t, ExitOK)
}
