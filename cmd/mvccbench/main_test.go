package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// call runs the command in a folder of its own, where it leaves nothing.
func call(t *testing.T, args ...string) (stdout, stderr string, code int) {
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

func TestExitCodes(t *testing.T) {
	short := []string{"--workload=begin", "--engine=rwmutex", "--threads=1", "--count=1",
		"--duration=2ms", "--warmup=0"}
	for _, c := range []struct {
		name string
		args []string
		code int
	}{
		{"list", []string{"list"}, 0},
		{"help", []string{"--help"}, 0},
		{"run", short, 0},
		{"run without profiles", append(short, "--http="), 0},
		{"open loop", append(short, "--http=off", "--rate=100000", "--arrival=poisson"), 0},
		{"operations", append(short[:4:4], "--http=off", "--ops=100", "--warmup=0"), 0},
		{"both lengths", append(short, "--ops=100"), 2},
		{"rate of nothing", append(short, "--rate=1"), 2},
		{"nothing to sweep", append(short, "--theta=0.5"), 2},
		{"sizes upside down", append(short, "--value-size=20-10"), 2},
		{"unknown flag", []string{"--no-such-flag"}, 2},
		{"unknown engine", []string{"--engine=no-such"}, 2},
		{"output nowhere", append(short, "--output="+filepath.Join(t.TempDir(), "no", "file")), 2},
	} {
		stdout, stderr, code := call(t, c.args...)
		require.Equal(t, c.code, code, "%s: %s", c.name, stderr)
		if c.code == 0 {
			require.NotEmpty(t, stdout, c.name)
		} else {
			require.Empty(t, stdout, c.name)
			require.NotEmpty(t, stderr, c.name)
		}
	}
}

// The output device is full: the run fails, with another code than usage.
func TestFullDevice(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("no /dev/full here")
	}
	require.NoError(t, err)
	defer full.Close()
	cmd := exec.CommandContext(t.Context(), binary, "--workload=begin", "--threads=1", "--http=off")
	cmd.Stdout = full
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.Equal(t, 1, exitCode(t, cmd.Run()), stderr.String())
	require.Contains(t, stderr.String(), "no space left")
}

// Ctrl-C in the middle of a run: what was measured is printed and flagged, and
// the exit code is 130.
func TestInterrupt(t *testing.T) {
	for name, extra := range map[string][]string{
		"between short samples": {"--duration=5ms", "--count=2000", "--warmup=1ms"},
		"within a long sample":  {"--duration=1h", "--warmup=1ms", "--interval=20ms"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), binary, append([]string{
				"--workload=balanced", "--engine=mvcc,rwmutex", "--threads=2", "--http=127.0.0.1:0"},
				extra...)...)
			var all bytes.Buffer
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			stderr, err := cmd.StderrPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())

			// Wait for a result or, within a long sample, for a line of its
			// figures, which says that it runs.
			row := regexp.MustCompile(`^ *\d+\.\d+s +\S+ +\S+ `)
			said := make(chan string, 1)
			running := make(chan struct{}, 2)
			go func() {
				var b strings.Builder
				lines := bufio.NewScanner(stderr)
				for lines.Scan() {
					b.WriteString(lines.Text() + "\n")
					if row.MatchString(lines.Text()) {
						select {
						case running <- struct{}{}:
						default:
						}
					}
				}
				said <- b.String()
			}()
			results := bufio.NewReader(stdout)
			if strings.HasPrefix(name, "between") {
				for !strings.Contains(all.String(), "\nBenchmark") {
					line, err := results.ReadString('\n')
					require.NoError(t, err)
					all.WriteString(line)
				}
			} else {
				<-running
			}
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			_, err = io.Copy(&all, results)
			require.NoError(t, err)
			stderrText := <-said
			require.Equal(t, 130, exitCode(t, cmd.Wait()), stderrText)

			require.Contains(t, all.String(), "\n# interrupted after ")
			require.Contains(t, stderrText, "interrupted after ")
			require.Contains(t, stderrText, "Medians", "what there is, is summed up")
			if strings.HasPrefix(name, "within") {
				require.Contains(t, all.String(), "\n# interrupted: the next sample ran ")
			}
			n := strings.Count(all.String(), "\n# Benchmark") // an interrupted sample does not count
			r := benchfmt.NewReader(&all, "results")
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
