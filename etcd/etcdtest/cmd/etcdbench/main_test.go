package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/etcd/etcdtest/nemesis"
	"github.com/mvccmap/mvccmap/internal/cli"
)

const program = "MVCCMAP_ETCDBENCH_ARGS"

func TestMain(m *testing.M) {
	if args := os.Getenv(program); args != "" && len(os.Args) == 1 {
		os.Args = append(os.Args, strings.Fields(args)...)
		main()
	}
	jobMain()
	nemesis.Main()
	os.Exit(m.Run())
}

func call(t *testing.T, args string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	code = run(ctx, strings.Fields(args), &out, &errs)
	return out.String(), errs.String(), code
}

// Each engine does the workloads that it has, and what it has done passes their checks. Nothing is left
// behind.
func TestEngines(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, more := range []string{
		"read-heavy,transfer,range-audit,long-reader,ycsb-d,ycsb-e,ycsb-f,smallbank --keys 100",
		"tatp --keys 10",
		"counter",
	} {
		stdout, stderr, code := call(t, "run --engine etcd,etcd-raw,etcd-stm --threads 2 --count 1 "+
			"--duration 50ms --warmup 0 --http off --quiet --audit-interval 10ms --workload "+more)
		require.Zero(t, code, stderr)
		for _, engine := range []string{"etcd", "etcd-raw", "etcd-stm"} {
			require.Contains(t, stdout, "/engine="+engine+"/")
		}
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestUsage(t *testing.T) {
	for args, says := range map[string]string{
		"list":                   "",
		"run --engine no-such":   "etcd-stm",
		"run --max-txn-ops -1":   "--max-txn-ops",
		"verify --fault no-such": "leader-killed",
		"verify --endpoints x":   "--endpoints",
		"verify --round 0s":      "--round",
		"figures --only no-such": "transfer",
		"figures --records 0":    "--records",
		"verify --engine mvcc":   "etcd",
	} {
		stdout, stderr, code := call(t, args)
		if says == "" {
			require.Zero(t, code, stderr)
			require.Contains(t, stdout, "etcd-raw")
			continue
		}
		require.Equal(t, cli.ExitUsage, code, args)
		require.Contains(t, stderr, says)
	}
}

// verify counts what it has checked.
func TestVerify(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	stdout, stderr, code := call(t, "verify --fault none,client-killed --duration 1ms --round 1s --seed 7")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "seed 7\n")
	require.Regexp(t, `(?m)^client-killed +1 +[1-9]`, stdout)
	require.Regexp(t, `[1-9]\d* transactions checked in .* from seed 7: nothing was violated`, stdout)
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// Each figure is measured, and stands in the table.
func TestFigures(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	stdout, stderr, code := call(t, "figures --duration 100ms --records 10000")
	require.Zero(t, code, stderr)
	for _, says := range []string{"transfer, p50", "Update, p99", "Load, busy", "64 writers", "one counter",
		"Sync", "lag", "applied", "leader killed", "10000 records"} {
		require.Contains(t, stdout, says)
	}
}

// Ctrl-C ends a run, and the members with it; a second one does so at once.
func TestInterrupted(t *testing.T) {
	for _, c := range []struct {
		args  string
		times int
		when  string // there are three such files
	}{
		{"run --engine etcd --workload transfer --keys 100 --threads 2 --duration 60s --http off", 1,
			"etcdbench*/m*/member"},
		{"run --engine etcd --workload transfer --keys 100 --threads 2 --duration 60s --http off", 2,
			"etcdbench*/m*/member"},
		{"verify --fault leader-killed --round 60s", 1, "nemesis*/m*/member"},
		{"verify --fault leader-stopped --round 60s", 2, "nemesis*/m*/member"},
		{"verify --fault restored --round 60s", 2, "nemesis*/copy*/members/m*"}, // while members are copied
	} {
		dir := t.TempDir()
		self, err := os.Executable()
		require.NoError(t, err)
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "TMPDIR="+dir, program+"="+c.args)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool {
			found, err := filepath.Glob(filepath.Join(dir, c.when))
			require.NoError(t, err)
			return len(found) == 3
		}, time.Minute, time.Millisecond)
		for range c.times {
			require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
			time.Sleep(50 * time.Millisecond) // signals of one kind that come together are one
		}
		_ = cmd.Wait() // says with which code
		require.Equal(t, cli.ExitInterrupted, cmd.ProcessState.ExitCode(), errs.String())
		var left []string
		gone := func() bool {
			left = nil
			_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
				left = append(left, path)
				return nil
			})
			return len(left) == 1
		}
		for end := time.Now().Add(time.Minute); !gone() && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		require.Equal(t, []string{dir}, left, "%s, interrupted %d times: it has left something", c.args, c.times)
	}
}
