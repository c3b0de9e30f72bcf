package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"
)

// binary is the command, built once.
var binary string

func TestMain(m *testing.M) {
	if how := os.Getenv(sideVariable); how != "" {
		os.Exit(beSide(how))
	}
	dir, err := os.MkdirTemp("", "mvccbench")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "mvccbench")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		os.Stderr.Write(out)
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	return exit.ExitCode()
}

// runCommand runs the command in a folder of its own, where it leaves nothing.
func runCommand(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir = t.TempDir()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	code = exitCode(t, cmd.Run())
	left, err := os.ReadDir(cmd.Dir)
	require.NoError(t, err)
	require.Empty(t, left, args)
	return out.String(), errs.String(), code
}

// Ctrl-C in the middle of a run: the figures by then are printed and flagged, and the
// exit code is 130.
func TestInterrupt(t *testing.T) {
	for name, c := range map[string]struct{ flags, said string }{
		"between short samples": {"--duration=5ms --warmup=1ms --count=2000 --interval=5ms", " left] "},
		"within a long sample":  {"--duration=1h --warmup=0 --interval=20ms", " ops/s"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), binary, append(strings.Fields(c.flags),
				"--workload=read-heavy", "--engine=mvcc,rwmutex", "--threads=2", "--http=127.0.0.1:0")...)
			var stdout bytes.Buffer
			cmd.Stdout = &stdout
			lines := startCommand(t, cmd)
			waitFor(t, lines, c.said)
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			said, err := io.ReadAll(lines)
			require.NoError(t, err)
			require.Equal(t, 130, exitCode(t, cmd.Wait()), string(said))

			require.Contains(t, string(said), "interrupted after ")
			require.Contains(t, string(said), "is better", "what there is, is summed up")
			require.Contains(t, stdout.String(), "\n# interrupted after ")
			if strings.HasPrefix(name, "within") {
				require.Contains(t, stdout.String(), "\n# interrupted: the next sample ran ")
			}
			n := strings.Count(stdout.String(), "\n# Benchmark") // an interrupted sample does not count
			r := benchfmt.NewReader(&stdout, "results")
			for r.Scan() {
				switch rec := r.Result().(type) {
				case *benchfmt.Result:
					n++
					require.Positive(t, rec.Iters)
				case *benchfmt.SyntaxError:
					t.Fatal(rec)
				}
			}
			require.Positive(t, n)
		})
	}
}

// startCommand starts cmd and returns its standard error, line by line.
func startCommand(t *testing.T, cmd *exec.Cmd) *bufio.Reader {
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

// Ctrl-C: the checks so far are reported, and the exit code is 130.
func TestVerifyInterrupt(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), binary, "verify", "--duration=1h", "--http=off",
		"--seed=1")
	cmd.Dir = t.TempDir()
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	lines := startCommand(t, cmd)
	waitFor(t, lines, "[5s/") // the first report but one
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	said, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Equal(t, 130, exitCode(t, cmd.Wait()), string(said))
	require.Regexp(t, `interrupted after \d+ rounds in `, string(said))
	require.Regexp(t, `(?m)^total +[1-9]`, stdout.String())
	require.Contains(t, stdout.String(), "nothing was violated")
}
