package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// watchdog bounds waits that end by themselves unless something hangs.
const watchdog = 5 * time.Minute

// call runs the command within the test's process.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err lines
	code = Run(t.Context(), args, &out, &err)
	return code, out.String(), err.String()
}

// succeed runs the command, which must succeed.
func succeed(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := call(t, args...)
	require.Equal(t, ExitOK, code, stderr)
	return stdout, stderr
}

// refused runs the command with arguments of which one is wrong: it says so, and starts nothing.
func refused(t *testing.T, args []string, want ...string) {
	t.Helper()
	code, stdout, stderr := call(t, args...)
	require.Equal(t, ExitUsage, code, "%v: %s", args, stderr)
	require.Empty(t, stdout, args)
	require.NotContains(t, stderr, "profiles:", "nothing was started")
	for _, w := range want {
		require.Contains(t, stderr, w, args)
	}
}

// quick are flags for a run that is over at once.
func quick(more ...string) []string {
	return append([]string{"--duration=2ms", "--warmup=1ms", "--count=2", "--threads=1,2",
		"--http=off"}, more...)
}

// counted are flags for a run of so many operations in each sample, however long they
// take.
func counted(ops int, more ...string) []string {
	return append([]string{
		fmt.Sprint("--ops=", ops), "--warmup=1ms", "--count=2", "--threads=1,2", "--http=off",
	}, more...)
}

// A wrong argument is named together with a right one; the exit code is 2, nothing is
// measured, and no file is made.
func TestWrongArguments(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"--thread=1", []string{"--thread,", `"--threads"`}},
		{"--threads=0", []string{"--threads", "from 1 to"}},
		{"--threads -1", []string{"--threads", "int", `perhaps try --threads="-1"`}},
		{"--threads=2,2", []string{"--threads", "twice"}},
		{"--threads=", []string{"--threads", "expected"}},
		{"--workload=no-such", []string{"--workload", "no-such", "read-heavy, counter"}},
		{"--workload=counter,counter", []string{"--workload", "twice"}},
		{"--workload=", []string{"--workload", "expected"}},
		{"--engine=no-such", []string{"--engine", "no-such", "mvcc, mvcc-direct"}},
		{"--engine=sync.Map,xsync --workload=transfer",
			[]string{"--engine", "sync.Map, xsync", "transfer"}},
		{"--keys=0", []string{"--keys", "1 or more"}},
		{"--theta=1 --workload=long-reader", []string{"--theta", "no parameter of long-reader", "read-heavy"}},
		{"--theta=-1 --workload=read-heavy", []string{"--theta", "0 or more"}},
		{"--theta=NaN --workload=read-heavy", []string{"--theta", "NaN"}},
		{"--theta=0.5,11 --workload=read-heavy", []string{"--theta", "from 0 to 10"}},
		{"--read-pct=101", []string{"--read-pct", "from 0 to 100"}},
		{"--txn-size=0", []string{"--txn-size", "1 or more"}},
		{"--value-size=0", []string{"--value-size", "16-1024"}},
		{"--value-size=100-10", []string{"--value-size", "16-1024", "100-10"}},
		{"--value-size=7,7-7", []string{"--value-size", "twice"}},
		{"--isolation=dirty", []string{"--isolation", "serializable", "snapshot", "dirty"}},
		{"--keys=1.5", []string{"--keys", "whole number", "1e3 or 1k", "1.5"}},
		{"--seed=-1", []string{"--seed", "0 or more"}},
		{"--threshold=ops/s", []string{"--threshold", "response-p99<1ms", "ops/s"}},
		{"--threshold=op/s>1", []string{"--threshold", "op/s", "expected one of ns/op, ops/s"}},
		{"--threshold=p99<fast", []string{"--threshold", "p99-ns", "response-p99<1ms"}},
		{"--threshold=response-p99<1ms", []string{"--threshold", "response-p99-ns", "--rate or "}},
		{"--threshold=achieved>99 --rate=0,1k", []string{"--threshold", "achieved-%", "--rate"}},
		{"--find-rate=p99", []string{"--find-rate", "response-p99<1ms"}},
		{"--find-rate=p99<1ms --rate=10k", []string{"--rate", "--find-rate", "can't be used together"}},
		{"--rate=-1", []string{"--rate", "operations per second"}},
		{"--rate=NaN", []string{"--rate", "operations per second"}},
		{"--rate=1e10", []string{"--rate", "1000000000"}},
		{"--rate=4", []string{"--rate", "--duration", "200ms"}},
		{"--arrival=poisson", []string{"--arrival", "--rate"}},
		{"--arrival=weekly --rate=100", []string{"--arrival", "fixed", "poisson", "weekly"}},
		{"--retries=-1", []string{"--retries", "0 or more"}},
		{"--duration=5", []string{"--duration", "duration", "5"}},
		{"--duration=0s", []string{"--duration", "above 0"}},
		{"--ops=0", []string{"--ops", "1 or more"}},
		{"--ops=5 --duration=1s", []string{"--ops", "--duration"}},
		{"--warmup=-1s", []string{"--warmup", "0 or more"}},
		{"--count=0", []string{"--count", "1 or more"}},
		{"--latency-sample=-1", []string{"--latency-sample", "0 or more"}},
		{"--audit-interval=-1s", []string{"--audit-interval", "0 or more"}},
		{"--interval=0s", []string{"--interval", "above 0"}},
		{"--hlog=", []string{"--hlog", "nothing given", "FILE"}},
		{"--http=0.0.0.0:0", []string{"--http", "loopback"}},
		{"--http=nonsense", []string{"--http", "127.0.0.1:6060"}},
		{"nonsense", []string{"nonsense", "run, ", "verify", "list"}},
		{"list metrics", []string{"metrics"}},
		{"list --keys=3", []string{"--keys"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "new.txt")
			args := strings.Fields(c.args)
			if args[0] != "list" {
				args = append(args, "--output="+file)
			}
			refused(t, args, c.want...)
			require.NoFileExists(t, file)
		})
	}
}

// A map that is larger than the memory is not begun.
func TestTooLarge(t *testing.T) {
	e := &Env{Program: mvccbench(), args: []string{"--keys=100000000", "--value-size=1048576",
		"--workload=long-reader", "--threads=1"}}
	ctx, err := e.parse()
	require.NoError(t, err)
	s, _ := ctx.Selected().Target.Addr().Interface().(*runCmd).sweep(e)
	steps, _ := s.Steps()
	err = checkMemory(steps, 8e9)
	require.ErrorContains(t, err, "--keys, --value-size")
	require.ErrorContains(t, err, "105TB")
	require.ErrorContains(t, err, "8.00GB")
	require.NoError(t, checkMemory(steps, 1e15))
	require.NoError(t, checkMemory(steps, 0), "nobody knows")
	if results.Memory() > 0 {
		refused(t, e.args, "memory")
	}
}

func TestListNamesEverything(t *testing.T) {
	stdout, stderr := succeed(t, "list")
	require.Empty(t, stderr)
	entry := func(name string) {
		require.Regexp(t, `(?m)^  `+regexp.QuoteMeta(name)+`( |$)`, stdout)
	}
	for _, w := range bench.Workloads() {
		entry(w.Name)
	}
	for _, e := range bench.Engines() {
		entry(e.Name)
		require.Contains(t, strings.Join(strings.Fields(stdout), " "), e.NoSnapshots)
	}
	for _, m := range results.Metrics() {
		entry(m.Unit)
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

// Results that cannot be written fail the command.
func TestResultsThatCannotBeWritten(t *testing.T) {
	for _, c := range []struct {
		room int
		args []string
	}{{0, quick("--count=100")}, {1_000, quick("--count=100")}, {0, []string{"verify", "--http=off",
		"--duration=1ms", "--kind=onekey"}}} {
		var stderr lines
		require.Equal(t, ExitFailed, Run(t.Context(), c.args, &broken{left: c.room}, &stderr))
		require.Contains(t, stderr.String(), errFull.Error())
	}
}

// doing is a session whose Do is replaced.
type doing struct {
	bench.Session
	do func(s bench.Session, readOnly bool, fn func(bench.Access) error) error
}

func (d doing) Do(readOnly bool, fn func(bench.Access) error) error {
	return d.do(d.Session, readOnly, fn)
}
