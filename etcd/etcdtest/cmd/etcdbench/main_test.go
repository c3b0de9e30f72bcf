package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/etcd/etcdtest/nemesis"
)

const program = "MVCCMAP_ETCDBENCH_ARGS"

func TestMain(m *testing.M) {
	if args := os.Getenv(program); args != "" && len(os.Args) == 1 {
		os.Args = append(os.Args, strings.Fields(args)...)
		main()
	}
	nemesis.Main()
	os.Exit(m.Run())
}

func TestUsage(t *testing.T) {
	for args, says := range map[string]string{
		"figures":                "expected the command verify",
		"verify --fault no-such": "leader-killed",
		"verify --round 0s":      "--round 0s",
		"verify now":             `"now"`,
	} {
		var stderr bytes.Buffer
		require.Equal(t, exitUsage, run(t.Context(), strings.Fields(args), nil, &stderr), args)
		require.Contains(t, stderr.String(), says)
	}
}

// verify counts the transactions that it has checked, and leaves nothing behind.
func TestVerify(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var stdout, stderr bytes.Buffer
	args := "verify --fault none,client-killed --duration 1ms --round 1s --seed 7 --out " + t.TempDir()
	require.Zero(t, run(t.Context(), strings.Fields(args), &stdout, &stderr), stderr.String())
	require.Contains(t, stderr.String(), "seed 7\n")
	require.Regexp(t, `(?m)^BenchmarkVerify/fault=client-killed/seed=\d+ 1 [1-9]`, stdout.String())
	require.Regexp(t, `[1-9]\d* transactions checked in .* from seed 7: nothing was violated`,
		stdout.String())
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// Ctrl-C ends a run, also while members are copied, and the members and their folders with it.
func TestInterrupted(t *testing.T) {
	for _, run := range []struct{ fault, files string }{
		{"leader-stopped", "nemesis*/m*/member"}, {"restored", "nemesis*/copy*/members/m*"},
	} {
		t.Run(run.fault, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			require.NoError(t, err)
			dir := t.TempDir()
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), "TMPDIR="+dir,
				program+"=verify --round 60s --out "+t.TempDir()+" --fault "+run.fault)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool {
				found, err := filepath.Glob(filepath.Join(dir, run.files))
				require.NoError(t, err)
				return len(found) == 3
			}, time.Minute, time.Millisecond)
			require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
			_ = cmd.Wait() // says with which code
			require.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode(), stderr.String())
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}
