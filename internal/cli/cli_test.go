package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
)

// buffer is a bytes.Buffer that goroutines may share.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// call runs the command within the test's process.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err buffer
	code = Run(t.Context(), args, &out, &err)
	return code, out.String(), err.String()
}

// quick are flags for a run that is over at once.
func quick(more ...string) []string {
	return append([]string{"--duration=2ms", "--warmup=1ms", "--count=2", "--threads=1,2", "--http=off"}, more...)
}

// A wrong argument is named together with what would be right; the exit code is
// 2, nothing is measured, and the output file is left alone.
func TestWrongArguments(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"--thread=1", []string{"--thread,", `"--threads"`}},
		{"--threads=0", []string{"--threads", "from 1 to"}},
		{"--threads=-1", []string{"--threads", "from 1 to"}},
		{"--threads=many", []string{"--threads", "int", "many"}},
		{"--threads=2,2", []string{"--threads", "twice"}},
		{"--threads=99999", []string{"--threads", "16382"}},
		{"--threads=", []string{"--threads", "expected"}},
		{"--workload=no-such", []string{"--workload", "no-such", "read-heavy, balanced"}},
		{"--workload=begin,begin", []string{"--workload", "twice"}},
		{"--workload=", []string{"--workload", "expected"}},
		{"--engine=no-such", []string{"--engine", "no-such", "mvcc, mvcc-direct"}},
		{"--engine=mvcc,mvcc", []string{"--engine", "twice"}},
		{"--engine=floor,xsync --workload=transfer", []string{"--engine", "floor, xsync", "transfer"}},
		{"--keys=0", []string{"--keys", "1 or more"}},
		{"--keys=-1", []string{"--keys", "1 or more"}},
		{"--keys=5 --workload=counter", []string{"--keys", "from 1 to 4"}},
		{"--keys=5 --workload=disjoint", []string{"--keys", "no parameter of disjoint", "transfer"}},
		{"--theta=0.5", []string{"--theta", "zipf-read, zipf-write"}},
		{"--theta=-1 --workload=zipf-read", []string{"--theta", "0 or more"}},
		{"--theta=NaN --workload=zipf-read", []string{"--theta", "NaN"}},
		{"--theta=11 --workload=zipf-read", []string{"--theta", "from 0 to 10"}},
		{"--read-pct=101", []string{"--read-pct", "from 0 to 100"}},
		{"--read-pct=-1", []string{"--read-pct", "from 0 to 100"}},
		{"--isolation=dirty", []string{"--isolation", "serializable", "snapshot", "dirty"}},
		{"--duration=5", []string{"--duration", "duration", "5"}},
		{"--duration=0s", []string{"--duration", "above 0"}},
		{"--warmup=-1s", []string{"--warmup", "0 or more"}},
		{"--count=0", []string{"--count", "1 or more"}},
		{"--seed=abc", []string{"--seed", "uint", "abc"}},
		{"--latency-sample=-1", []string{"--latency-sample", "0 or more"}},
		{"--audit-interval=-1s", []string{"--audit-interval", "0 or more"}},
		{"--interval=0s", []string{"--interval", "above 0"}},
		{"--format=xml", []string{"--format", "bench", "xml"}},
		{"--http=0.0.0.0:0", []string{"--http", "loopback"}},
		{"--http=nonsense", []string{"--http", "127.0.0.1:6060"}},
		{"--hold --http=off", []string{"--hold", "off"}},
		{"nonsense", []string{"nonsense", "run, verify or list"}},
		{"list --keys=3", []string{"--keys"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "old.txt")
			require.NoError(t, os.WriteFile(file, []byte("precious"), 0o600))
			args := strings.Fields(c.args)
			if args[0] != "list" {
				args = append(args, "--output="+file)
			}
			code, stdout, stderr := call(t, args...)
			require.Equal(t, ExitUsage, code, stderr)
			require.Empty(t, stdout)
			for _, want := range c.want {
				require.Contains(t, stderr, want)
			}
			require.NotContains(t, stderr, "profiles:", "nothing was started")
			kept, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, "precious", string(kept))

			missing := filepath.Join(t.TempDir(), "new.txt")
			if args[0] != "list" {
				args[len(args)-1] = "--output=" + missing
			}
			call(t, args...)
			require.NoFileExists(t, missing)
		})
	}
}

func TestOutputThatCannotBeWritten(t *testing.T) {
	code, stdout, stderr := call(t, quick("--http=127.0.0.1:0", "-o", filepath.Join(t.TempDir(), "no", "such", "file"))...)
	require.Equal(t, ExitUsage, code)
	require.Contains(t, stderr, "--output")
	require.NotContains(t, stderr, "profiles:")
	require.Empty(t, stdout)
}

func TestHelpAndVersion(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"-h"}, {"run", "--help"}, {"list", "--help"}, {"--version"}} {
		code, stdout, stderr := call(t, args...)
		require.Equal(t, ExitOK, code, args)
		require.Empty(t, stderr)
		require.Contains(t, stdout, programName)
	}
	_, help, _ := call(t, "--help")
	for _, want := range []string{
		"go tool benchstat -col /engine", "go tool benchstat old.txt new.txt", "130", "mvccbench list",
		"--threads", "1,2,4,8", "--isolation", "127.0.0.1:6060", "--hold", "--latency-sample",
	} {
		require.Contains(t, help, want)
	}
	require.NotContains(t, help, "%%")
	require.NotContains(t, help, "${")
}

func TestListNamesEverything(t *testing.T) {
	code, stdout, stderr := call(t, "list")
	require.Equal(t, ExitOK, code)
	require.Empty(t, stderr)
	for _, w := range bench.Workloads() {
		require.Contains(t, stdout, "\n  "+w.Name+" ")
	}
	for _, e := range bench.Engines() {
		require.Contains(t, stdout, "\n  "+e.Name+" ")
		for _, why := range e.Lacks {
			require.Contains(t, strings.Join(strings.Fields(stdout), " "), why)
		}
	}
	for _, m := range metrics {
		require.Contains(t, stdout, "\n  "+m.unit+" ")
	}
	for line := range strings.Lines(stdout) {
		require.LessOrEqual(t, len([]rune(strings.TrimSpace(line))), 80, line)
	}
}

// broken is a writer that takes so many bytes and no more.
type broken struct{ left int }

var errFull = errors.New("no space left")

func (b *broken) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// Results that cannot be written fail the run.
func TestResultsThatCannotBeWritten(t *testing.T) {
	for _, room := range []int{0, 1_000} {
		var stderr buffer
		code := Run(t.Context(), quick("--count=100"), &broken{left: room}, &stderr)
		require.Equal(t, ExitFailed, code)
		require.Contains(t, stderr.String(), errFull.Error())
	}
}

func TestCancelledBeforeItBegins(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, err buffer
	require.Equal(t, ExitInterrupted, Run(ctx, quick(), &out, &err))
	require.Contains(t, out.String(), "# interrupted after 0 of")
	require.NotContains(t, out.String(), "\nBenchmark")
}
