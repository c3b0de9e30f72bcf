package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/journey"
	"github.com/mvccmap/mvccmap/internal/results"
)

// short are flags for a journey that is over soon.
func short(more ...string) []string {
	return append([]string{"journey", "--duration=5ms", "--count=1", "--warmup=1ms", "--threads=1,2"},
		more...)
}

// rowOf returns the cells of the first line that begins with a step's name.
func rowOf(t *testing.T, text, step string) []string {
	t.Helper()
	for line := range strings.Lines(text) {
		if cells := strings.Fields(line); len(cells) > 0 && cells[0] == step {
			return cells
		}
	}
	t.Fatalf("there is no row %s in\n%s", step, text)
	return nil
}

// Every step is measured, and stands beside the figure of the post, in 80 columns; what is written
// to the file is read by benchstat and compare.
func TestJourney(t *testing.T) {
	file := filepath.Join(t.TempDir(), "journey.txt")
	stdout, stderr := succeed(t, short("-o", file)...)
	for line := range strings.Lines(stdout) {
		if !strings.HasPrefix(line, "mvccbench ") { // a command line is not broken
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 80, line)
		}
	}
	head, tail, ok := strings.Cut(stdout, "Write-heavy, 90 % puts to 4 keys")
	require.True(t, ok, stdout)
	// a busy machine may leave no time for any operation
	figure := regexp.MustCompile(`^([\d.]+[kMG]?|-)$`)
	for _, s := range journey.Steps() {
		for i, table := range []string{head, tail} {
			row := rowOf(t, table, s.Name)
			require.Len(t, row, 5, "%v", row)
			require.Regexp(t, figure, row[2], "%v", row)
			require.Regexp(t, figure, row[4], "%v", row)
			if s.Post[i][0] == 0 {
				require.Equal(t, "-", row[1])
			}
		}
	}
	require.Equal(t, []string{"58.3k", "118k"}, []string{rowOf(t, tail, "counted")[3], func() string {
		stdout, _ := succeed(t, "journey", "--step=counted", "--duration=5ms", "--count=1",
			"--threads=4", "-q")
		_, tail, _ := strings.Cut(stdout, "Write-heavy")
		return rowOf(t, tail, "counted")[1]
	}()}, "the post's figures for 2 and 4 threads")
	require.Contains(t, stderr, "[  1/100")

	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^BenchmarkWriteHeavy/retries=0/engine=counted/threads=2(-\d+)? .* ops/s`,
		string(got))
	require.Regexp(t, `(?m)^BenchmarkReadHeavy/engine=slots/threads=1(-\d+)? .* ops/s`, string(got))
	compared, _ := succeed(t, "compare", file, file)
	require.Contains(t, compared, "WriteHeavy")
}

func TestJourneyFormats(t *testing.T) {
	stdout, stderr := succeed(t, short("--step=slots,keyed-bug", "--format=markdown", "--quiet")...)
	require.Empty(t, stderr)
	require.Contains(t, stdout, "| step      | 1 post |")
	require.Regexp(t, `(?m)^\| keyed-bug \| +2.89M \|`, stdout)
	require.Less(t, strings.Index(stdout, "keyed-bug"), strings.Index(stdout, "slots  "),
		"in the order of the journey")
	require.Contains(t, stdout, "\n    mvccbench journey --duration=5ms")

	stdout, _ = succeed(t, short("--step=slots", "--format=bench", "--threads=3")...)
	require.Regexp(t, `(?m)^BenchmarkWriteHeavy/engine=slots/threads=3(-\d+)? `, stdout)
	require.NotContains(t, stdout, "post")
}

// A profile of each step becomes a picture.
func TestJourneyFlames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	var got []byte
	for d := 100 * time.Millisecond; got == nil; d *= 2 { // until the profiler has seen anything
		require.Less(t, d, watchdog, "nothing is ever sampled")
		succeed(t, "journey", "--step=list-walked", "--threads=1", "--count=1", fmt.Sprint("--duration=",
			d), "--flames", dir, "-q")
		got, _ = os.ReadFile(filepath.Join(dir, "list-walked.svg"))
	}
	require.Contains(t, string(got), "list-walked: processor time, write-heavy, 1 thread")
}

// What is wrong with the arguments is said before anything is measured.
func TestJourneyUsage(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	require.NoError(t, os.WriteFile(there, []byte("x"), 0o666))
	for _, c := range []struct {
		args string
		want []string
	}{
		{"--step=sloots", []string{"--step", "did you mean slots?"}},
		{"--step=slots,slots", []string{"--step", "twice"}},
		{"--step=", []string{"--step", "expected"}},
		{"--threads=0", []string{"--threads", "from 1 to"}},
		{"--threads=1,1", []string{"--threads", "twice"}},
		{"--count=0", []string{"--count", "1 or more"}},
		{"--duration=0s", []string{"--duration", "above 0"}},
		{"--warmup=-1s", []string{"--warmup", "0 or more"}},
		{"--format=xml", []string{"--format", "markdown", "xml"}},
		{"-o " + there, []string{"--output", "already"}},
		{"--flames " + there, []string{"--flames", "folder"}},
		{"anwsers", []string{"did you mean answers?"}},
		{"answers two-thread", []string{"did you mean two-threads?"}},
		{"answers guard guard", []string{"named twice"}},
		{"answers --count=0", []string{"--count", "1 or more"}},
		{"answers --duration=0s", []string{"--duration", "above 0"}},
		{"answers --flames " + there, []string{"--flames", "folder"}},
	} {
		refused(t, append([]string{"journey"}, strings.Fields(c.args)...), c.want...)
	}
	got, err := os.ReadFile(there)
	require.NoError(t, err)
	require.Equal(t, "x", string(got))
}

// cancelling ends a context at the first thing that is said which has the text.
type cancelling struct {
	lines
	text   string
	cancel func()
}

func (c *cancelling) Write(p []byte) (int, error) {
	if strings.Contains(string(p), c.text) {
		c.cancel()
	}
	return c.lines.Write(p)
}

// Ctrl-C: what was measured is printed, and what was under way is not.
func TestJourneyInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e := &env{Program: mvccbench(), ctx: ctx, stdout: new(bytes.Buffer), stderr: new(bytes.Buffer)}
	steps, err := (&journeySteps{Step: []string{"slots", "mvcc"}}).named()
	require.NoError(t, err)
	r := &journeyRun{journeySteps: &journeySteps{Threads: []int{1}, Quiet: true}, env: e, steps: steps}
	r.run.Header = results.Header{Count: 1, Duration: 5e6}
	open := steps[1].Engine.New
	steps[1].Engine.New = func(s bench.Setup[uint64]) (bench.Engine[uint64], error) {
		cancel() // in the middle of the third of four samples
		return open(s)
	}
	require.ErrorIs(t, r.measure(), context.Canceled)
	require.Len(t, r.run.Samples, 2)
	var out bytes.Buffer
	require.NoError(t, r.print(&out))
	require.Contains(t, out.String(), "slots")
	require.NotContains(t, out.String(), "\nmvcc ")
	require.Contains(t, out.String(), "NOTE: interrupted after 2 of 4 samples")

	code, stdout, stderr := callWith(ctx, short()...)
	require.Equal(t, ExitInterrupted, code, stderr)
	require.Contains(t, stdout, "NOTE: interrupted after 0 of 100 samples")

	// Answers are printed one by one.
	ctx, cancel = context.WithCancel(t.Context())
	said := &cancelling{text: "two-threads: ", cancel: cancel}
	var answers bytes.Buffer
	code = Run(ctx, []string{"journey", "answers", "--duration=5ms", "--count=1"}, &answers, said)
	require.Equal(t, ExitInterrupted, code)
	require.Contains(t, said.String(), "interrupted after 0 of 7 questions")
}

func callWith(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs lines
	code = Run(ctx, args, &out, &errs)
	return code, out.String(), errs.String()
}

// forgetting is a map that loses what is put.
type forgetting struct{ bench.Session[uint64] }

func (f forgetting) Put(string, uint64) error { return nil }

// A step that loses an update has no figures, and the run ends with an error of its own.
func TestJourneyViolated(t *testing.T) {
	e := &env{Program: mvccbench(), ctx: t.Context(), stdout: new(bytes.Buffer),
		stderr: new(bytes.Buffer)}
	steps, err := (&journeySteps{Step: []string{"slots"}}).named()
	require.NoError(t, err)
	steps[0].Engine = sessions("slots", steps[0].Engine,
		func(s bench.Session[uint64]) bench.Session[uint64] {
			return forgetting{s}
		})
	r := &journeyRun{journeySteps: &journeySteps{Threads: []int{1}, Quiet: true}, env: e, steps: steps}
	r.run.Header = results.Header{Count: 1, Duration: 5e6}
	err = r.measure()
	require.Equal(t, ExitViolated, exitCode(err), "%v", err)
	require.Equal(t, results.Violated, r.run.Outcome.Kind)
}

// Each question has figures and a sentence.
func TestJourneyAnswers(t *testing.T) {
	dir := t.TempDir()
	stdout, stderr := succeed(t, "journey", "answers", "--duration=20ms", "--count=1",
		"--format=markdown", "--flames", dir)
	for _, q := range questions() {
		require.Contains(t, stdout, "**"+q.name+"**: "+q.asks[:10])
		require.Contains(t, stderr, q.name+": ")
	}
	require.FileExists(t, filepath.Join(dir, "two-threads.svg"))
	stdout, _ = succeed(t, "journey", "answers", "guard", "-q", "--duration=20ms", "--count=1")
	require.NotContains(t, stdout, "two-threads: ")
	require.Regexp(t, `(?m)^wrong +[\d.]+[kM]? +[\d,]+$`, stdout)
}
