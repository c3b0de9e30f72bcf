package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/history"
)

// saved writes a history of one-key operations and returns the name of the file.
func saved(t *testing.T, txs ...history.Tx) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "history.jsonl")
	f, err := os.Create(name)
	require.NoError(t, err)
	require.NoError(t, (&history.History{Kind: history.KindOneKey, Txs: txs}).Write(f))
	require.NoError(t, f.Close())
	return name
}

func TestVerifyExitCodes(t *testing.T) {
	store := history.Tx{ID: 1, Level: history.LevelOneKey, Status: history.StatusCommitted,
		Begin: 1, End: 2,
		Ops: []history.Op{{Kind: history.OpWrite, Value: 1}}}
	load := history.Tx{ID: 2, Level: history.LevelOneKey, Status: history.StatusCommitted,
		Begin: 3, End: 4,
		Ops: []history.Op{{Kind: history.OpRead, Value: 1, Present: true}}}
	short := []string{"verify", "--duration=2s", "--http=off"}
	for _, c := range []struct {
		name string
		args []string
		code int
		out  string
	}{
		{"help", []string{"verify", "--help"}, 0, "--check"},
		{"verify", short, 0, "nothing was violated"},
		{"verify with profiles", []string{"verify", "--duration=2s"}, 0, "nothing was violated"},
		{"a history that is right", []string{"verify", "--check=" + saved(t, store, load)}, 0,
			"nothing was violated"},
		{"a history that is not", []string{"verify", "--check=" + saved(t, load)}, 3, "VIOLATED: onekey"},
		{"no history", []string{"verify", "--check=" + filepath.Join(t.TempDir(), "none")}, 2, ""},
		{"unknown check", append(short, "--kind=no-such"), 2, ""},
		{"unknown flag", append(short, "--no-such-flag"), 2, ""},
		{"flag of run", append(short, "--threads=2"), 2, ""},
	} {
		stdout, stderr, code := call(t, c.args...)
		require.Equal(t, c.code, code, "%s: %s", c.name, stderr)
		require.Contains(t, stdout, c.out, c.name)
		if c.code == 2 {
			require.Empty(t, stdout, c.name)
		}
		if c.code > 0 {
			require.NotEmpty(t, stderr, c.name)
		}
	}
}

// Ctrl-C: what was checked so far is reported, and the exit code is 130.
func TestVerifyInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "verify", "--duration=1h", "--http=off",
		"--verbose", "--seed=1")
	cmd.Dir = t.TempDir()
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var said strings.Builder
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "round 2 ") {
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
		}
	}
	require.Equal(t, 130, exitCode(t, cmd.Wait()), said.String())
	require.Regexp(t, `interrupted after \d+ rounds in `, said.String())
	require.Regexp(t, `(?m)^total +[1-9]`, stdout.String())
	require.Contains(t, stdout.String(), "nothing was violated")
}
