package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/results"
	"github.com/mvccmap/mvccmap/profiling"
)

// files returns the names in a folder, and nil if there is none.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func readProfile(t *testing.T, file string) *profile.Profile {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	p, err := profile.ParseData(data)
	require.NoError(t, err)
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
	ops := 30_000
	if raced {
		ops = 1_000
	}
	for most := 200 * ops; !try(ops); ops *= 2 {
		require.Less(t, ops, most, "the CPU profiler never sees an operation")
	}
}

// Each combination has its profiles, of its own samples only, and so has the whole
// run; those that are kept with the run are the same.
func TestProfileDir(t *testing.T) {
	store := keepRuns(t)
	const first, second = "transfer-keys=100-mvcc-threads=1.", "transfer-keys=100-mvcc-threads=2."
	var dir, stdout, stderr string
	var names []string
	untilSampled(t, func(ops int) bool {
		if store.Has("kept") {
			require.NoError(t, store.Remove("kept"))
		}
		dir = filepath.Join(t.TempDir(), "new", "profiles")
		stdout, stderr = succeed(t, counted(ops, "--workload=transfer", "--engine=mvcc", "--keys=100",
			"--profile="+dir, "--save=kept")...)
		names = files(t, dir)
		for _, name := range []string{first + "cpu.pb.gz", second + "cpu.pb.gz"} {
			if !slices.Contains(names, name) {
				return false
			}
			if p := readProfile(t, filepath.Join(dir, name)); len(labels(p, "threads")) == 0 {
				return false
			}
		}
		return true
	})
	require.Contains(t, stdout, "# PROFILED: the measured part of every sample")
	require.Contains(t, stderr, "files in "+dir)
	require.Contains(t, names, "whole-run.cpu.pb.gz")
	for _, name := range names {
		require.Regexp(t, `^[a-z0-9=.-]+\.(cpu|allocs|mutex|block)\.pb\.gz$`, name)
	}

	one, other := readProfile(t, filepath.Join(dir, first+"cpu.pb.gz")),
		readProfile(t, filepath.Join(dir, second+"cpu.pb.gz"))
	require.Equal(t, map[string]bool{"1": true}, labels(one, "threads"))
	require.Equal(t, map[string]bool{"2": true}, labels(other, "threads"))
	whole := readProfile(t, filepath.Join(dir, "whole-run.cpu.pb.gz"))
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

	saved, err := store.Get("kept")
	require.NoError(t, err)
	require.NotEmpty(t, saved.Run.Header.Profiled)
	require.Empty(t, saved.Run.Header.Instrumented, "one in a hundred does not make a run worthless")
	require.Len(t, saved.Profiles, len(names))
	for _, name := range names {
		want, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		got, err := store.Profile("kept", name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, stdout, _ = call(t, "runs")
	require.Regexp(t, fmt.Sprintf(`(?m)^kept .* 4 +complete +%d +transfer on mvcc$`, len(names)),
		stdout)
	_, stderr = succeed(t, "runs", "rm", "kept")
	require.Empty(t, files(t, store.Dir()))
}

// A folder that cannot be written, and a CPU profiler that is taken, are noticed before anything is
// measured.
func TestProfileDirWrongArguments(t *testing.T) {
	store := keepRuns(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	out := filepath.Join(t.TempDir(), "out.txt")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--profile=" + file}, "--profile: expected a folder that can be written"},
		{[]string{"--profile=" + filepath.Join(file, "x"), "--save=x"},
			"--profile: expected a folder"},
		{[]string{"--profile"}, "--profile: there is nowhere to keep the profiles; expected --save"},
		{[]string{"--profile="}, "--profile: nothing given; expected a folder"},
		{[]string{"--config", fileOf(t, "bench.json", `{"profile": true}`)}, "--profile: there is nowhere"},
	} {
		refused(t, quick(append(c.args, "-o", out)...), c.want)
	}
	recorder, err := profiling.NewRecorder("the test")
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "new")
	refused(t, quick("--profile="+dir, "-o", out),
		"--profile: busy: the test takes CPU profiles itself")
	recorder.Close()
	require.NoFileExists(t, out)
	require.NoDirExists(t, dir)
	require.Empty(t, files(t, store.Dir()))

	// After a run that failed the profiler is free again.
	refused(t, quick("--profile="+dir, "--workload=begin", "--engine=rwmutex", "-o", t.TempDir()))
	recorder, err = profiling.NewRecorder("the test")
	require.NoError(t, err)
	recorder.Close()
}

// What is in the folder from an earlier run is not taken for a profile of this one,
// and what is no profile stays.
func TestProfileDirOfAnEarlierRun(t *testing.T) {
	dir := t.TempDir()
	old := []string{
		"begin-mvcc-threads=1.mutex.pb.gz", "begin-mvcc-threads=1.cpu.pb.gz", "whole-run.cpu.pb.gz",
		"begin-mvcc-threads=2.mutex.pb.gz", "notes.txt", "whole-run.mutex.pb.gz",
	}
	for _, name := range old {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o644))
	}
	p := &sampleProfiles{dir: dir, of: map[string]*combinationProfiles{
		"begin-mvcc-threads=1": {Profiles: profiling.Profiles{"block": cpuProfile(t, 1)}, samples: 1},
	}}
	list, err := p.files()
	require.NoError(t, err)
	note, err := p.write(list)
	require.NoError(t, err)
	require.Equal(t, "profiles: 1 files in "+dir+", such as begin-mvcc-threads=1.block.pb.gz", note)
	require.Equal(t, []string{
		"begin-mvcc-threads=1.block.pb.gz", "begin-mvcc-threads=2.mutex.pb.gz", "notes.txt",
		"whole-run.mutex.pb.gz",
	}, files(t, dir))
}

// Ctrl-C: the profiles of what was measured are written.
func TestProfileDirAfterInterrupt(t *testing.T) {
	store := keepRuns(t)
	untilSampled(t, func(ops int) bool {
		if store.Has("part") {
			require.NoError(t, store.Remove("part"))
		}
		dir := t.TempDir()
		s := start(t, "--workload=transfer", "--engine=mvcc", "--keys=100", "--threads=1",
			"--count=1000", fmt.Sprint("--ops=", ops), "--warmup=1ms", "--http=off",
			"--profile="+dir, "--save=part")
		require.Eventually(t, func() bool {
			return strings.Count(s.stdout.String(), "\nBenchmark") > 1
		}, watchdog, time.Millisecond)
		require.Empty(t, files(t, dir))
		s.stop(t, ExitInterrupted)
		return slices.Contains(files(t, dir), "whole-run.cpu.pb.gz")
	})
	saved, err := store.Get("part")
	require.NoError(t, err)
	require.Equal(t, results.Interrupted, saved.Run.Outcome.Kind)
	require.NotEmpty(t, saved.Profiles)
}

// While a run profiles its samples a CPU profile in the browser is refused, and the
// reason is given; everything else is there.
func TestBrowserWhileARunIsProfiled(t *testing.T) {
	keepRuns(t)
	s := start(t, "--workload=begin", "--engine=rwmutex", "--threads=1", "--count=1000",
		"--duration=30ms", "--http=127.0.0.1:0", "--profile="+t.TempDir())
	url := s.stderr.await(t, `profiles: (http://\S+)`) + "/debug/pprof/"
	require.Contains(t, fetch(url+"profile?seconds=1"),
		"busy: mvccbench run --profile takes CPU profiles itself")
	require.Contains(t, fetch(url), "mvccbench run --profile takes CPU profiles itself")
	require.Contains(t, fetch(url+"runs/"), "None are saved")
	s.stop(t, ExitInterrupted)
}

// The address of the profiles is the first thing said. They are served while the run lasts, and with
// --hold until Ctrl-C: then the CPU profiler is the browser's, and the run is kept with its profiles.
func TestProfilesAreServed(t *testing.T) {
	store := keepRuns(t)
	s := start(t, "--workload=begin", "--engine=rwmutex", "--threads=1", "--count=1",
		"--duration=2ms", "--http=127.0.0.1:0", "--hold", "--profile", "--save=x")
	url := s.stderr.await(t, `\Aprofiles: (http://127\.0\.0\.1:\d+)\n`)
	s.stderr.await(t, "(still serving)")
	require.Contains(t, s.stdout.String(), "\nBenchmarkBegin/engine=rwmutex/threads=1")
	_, err := profile.ParseData([]byte(fetch(url + "/debug/pprof/profile?seconds=0.01")))
	require.NoError(t, err)
	require.Contains(t, fetch(url+"/debug/pprof/runs/"), `id="run-x"`, "what has just been saved")
	saved, err := store.Get("x")
	require.NoError(t, err)
	require.NotEmpty(t, saved.Run.Header.Profiled)
	s.stop(t, ExitOK) // the run was complete
	require.Empty(t, fetch(url), "the server has been closed")
}
