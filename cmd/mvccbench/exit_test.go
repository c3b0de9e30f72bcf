package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The gate of compare: 1 if something has become worse, 0 if not, 2 if it could
// not tell.
func TestGateExitCodes(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, samples int, ns float64, end string) string {
		var b strings.Builder
		b.WriteString("Unit ns/op better=lower\n")
		for i := range samples {
			fmt.Fprintf(&b, "BenchmarkTransfer/engine=mvcc/threads=1-2 1000 %v ns/op\n", ns+float64(i))
		}
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(b.String()+end), 0o666))
		return file
	}
	const end = "PASS\nok  \texample.com/bench\t1.000s\n"
	fast, slow, once := write("fast", 6, 100, end), write("slow", 6, 200, end), write("once", 1, 100, end)
	cut := write("cut", 6, 100, "")
	for _, c := range []struct {
		name string
		args []string
		code int
	}{
		{"slower", []string{fast, slow, "--gate"}, 1},
		{"slower, to be looked at", []string{fast, slow}, 0},
		{"faster", []string{slow, fast, "--gate"}, 0},
		{"cut short", []string{slow, cut, "--gate"}, 4},
		{"cut short, to be looked at", []string{slow, cut}, 0},
		{"one sample", []string{once, once, "--gate"}, 4},
		{"one sample, to be looked at", []string{once, once}, 0},
		{"no file", []string{fast, filepath.Join(dir, "none"), "--gate"}, 2},
	} {
		_, stderr, code := call(t, append([]string{"compare"}, c.args...)...)
		require.Equal(t, c.code, code, "%s: %s", c.name, stderr)
	}
}

// say starts cmd and returns what it says on standard error, line by line.
func say(t *testing.T, cmd *exec.Cmd) *bufio.Reader {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // if the test has failed before the end
	return bufio.NewReader(stderr)
}

// waitFor reads lines until one has the text.
func waitFor(t *testing.T, lines *bufio.Reader, text string) {
	t.Helper()
	for {
		line, err := lines.ReadString('\n')
		require.NoError(t, err, "waiting for %q", text)
		if strings.Contains(line, text) {
			return
		}
	}
}

// Ctrl-C is how serve ends: it verifies, says so, and exits with 0.
func TestServeInterrupt(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), binary, "serve", "--http=127.0.0.1:0", "--keys=100")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	lines := say(t, cmd)
	waitFor(t, lines, "end with Ctrl-C")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Equal(t, 0, exitCode(t, cmd.Wait()), string(rest))
	require.Contains(t, stdout.String(), "verified")
}

// A second Ctrl-C ends the program at once, even if it hangs: here nobody reads
// what it writes.
func TestSecondInterrupt(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	fill(t, w)
	cmd := exec.CommandContext(t.Context(), binary, "--http=127.0.0.1:0", "--duration=1h")
	cmd.Stdout = w
	lines := say(t, cmd)
	waitFor(t, lines, "profiles: ")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	waitFor(t, lines, "Ctrl-C again ends at once")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Equal(t, 130, exitCode(t, cmd.Wait()))
	require.NotContains(t, string(rest), "interrupted after", "it has not come to its end")
}
