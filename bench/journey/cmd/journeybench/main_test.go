package main

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

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench/journey"
)

// refused calls the command, which must name what is wrong and do nothing.
func refused(t *testing.T, args []string, want ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, 2, run(t.Context(), args, &out, &errs), "%v: %s", args, &errs)
	require.Empty(t, out.String())
	for _, text := range want {
		require.Contains(t, errs.String(), text, "%v", args)
	}
}

func succeed(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	require.Zero(t, run(t.Context(), args, &out, &errs), "%v: %s", args, &errs)
	return out.String(), errs.String()
}

// short are flags for steps that are over soon.
func short(more ...string) []string {
	return append([]string{"steps", "--duration=5ms", "--count=1", "--warmup=1ms", "--threads=1,2"},
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

// Every step is measured, and stands beside the figure of the post.
func TestSteps(t *testing.T) {
	stdout, stderr := succeed(t, short()...)
	head, tail, ok := strings.Cut(stdout, "Write-heavy, 90 % puts to 4 keys")
	require.True(t, ok, stdout)
	figure := regexp.MustCompile(`^[\d.]+[kMG]?$`)
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
	require.Equal(t, "58.3k", rowOf(t, tail, "counted")[3], "the post's figure for 2 threads")
	require.Contains(t, stderr, "[  1/100")
}

func TestFormats(t *testing.T) {
	stdout, stderr := succeed(t, short("--step=slots,keyed-bug", "--format=markdown", "--quiet")...)
	require.Empty(t, stderr)
	require.Contains(t, stdout, "| step      | 1 post |")
	require.Regexp(t, `(?m)^\| keyed-bug \| +2.89M \|`, stdout)
	require.Less(t, strings.Index(stdout, "keyed-bug"), strings.Index(stdout, "slots  "),
		"in the order of the journey")
	require.Contains(t, stdout, "Measured by:\n\n    journeybench ")
}

// A profile of each step becomes a picture.
func TestFlames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	for _, c := range []struct{ args, file, title string }{
		{"steps --step=list-walked --threads=1", "list-walked.svg",
			"list-walked: processor time, write-heavy, 1 thread"},
		{"answers two-threads", "two-threads.svg", "two-threads, and aborted ones stay: processor time"},
	} {
		var got []byte
		for d := 100 * time.Millisecond; got == nil; d *= 2 { // until the profiler has seen anything
			require.Less(t, d, time.Minute, "nothing is ever sampled")
			succeed(t, append(strings.Fields(c.args), "--count=1", fmt.Sprint("--duration=", d), "--flames",
				dir, "-q")...)
			got, _ = os.ReadFile(filepath.Join(dir, c.file))
		}
		require.Contains(t, string(got), c.title)
	}
}

// What is wrong with the arguments is said before anything is measured.
func TestUsage(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	require.NoError(t, os.WriteFile(there, []byte("x"), 0o666))
	for _, c := range []struct {
		args string
		want []string
	}{
		{"steps --step=sloots", []string{"--step", "unknown step"}},
		{"steps --step=slots,slots", []string{"--step", "twice"}},
		{"steps --step=", []string{"--step", "expected"}},
		{"steps --threads=0", []string{"--threads", "from 1 to"}},
		{"steps --count=0", []string{"--count", "1 or more"}},
		{"steps --duration=0s", []string{"--duration", "above 0"}},
		{"steps --warmup=-1s", []string{"--warmup", "0 or more"}},
		{"steps --format=xml", []string{"--format", "markdown", "xml"}},
		{"steps --flames " + there, []string{"--flames", "folder"}},
		{"anwsers", []string{"unexpected argument anwsers; expected one of "}},
		{"answers two-thread", []string{"unknown question"}},
		{"answers guard guard", []string{"named twice"}},
	} {
		refused(t, strings.Fields(c.args), c.want...)
	}
	got, err := os.ReadFile(there)
	require.NoError(t, err)
	require.Equal(t, "x", string(got))
}

// The help says what steps and questions there are.
func TestHelp(t *testing.T) {
	stdout, _ := succeed(t, "steps", "--help")
	require.Contains(t, stdout, "guard: A chain knows the epoch below which there is nothing to drop")
	stdout, _ = succeed(t, "answers", "--help")
	require.Contains(t, stdout, "guard: What did the guard do")
	stdout, _ = succeed(t, "list")
	require.Contains(t, stdout, "keyed-words")
}

// Each question has figures and an answer.
func TestAnswers(t *testing.T) {
	stdout, stderr := succeed(t, "answers", "--duration=20ms", "--count=1", "--format=markdown")
	for _, q := range questions {
		require.Contains(t, stdout, "**"+q.name+"**: "+q.asks[:10])
		require.Contains(t, stdout, q.says[:20])
	}
	require.Contains(t, stderr, "[ 1/")
	stdout, _ = succeed(t, "answers", "guard", "-q", "--duration=20ms", "--count=1")
	require.NotContains(t, stdout, "two-threads: ")
	require.Regexp(t, `(?m)^wrong +[\d.]+[kM]? +[\d.]+k?$`, stdout)
}

// Ctrl-C: what there is is printed.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stderr := &printing{text: "[3/4]", cancel: cancel}
	var stdout bytes.Buffer
	require.Equal(t, 130, run(ctx, []string{"answers", "guard", "--duration=5ms", "--count=2"}, &stdout,
		stderr))
	require.Contains(t, stdout.String(), "\nright")
	require.Contains(t, stdout.String(), "NOTE: interrupted after 2 of 4 samples")
}

// printing ends a context at the first thing that is printed which has the text.
type printing struct {
	text   string
	cancel func()
}

func (p *printing) Write(b []byte) (int, error) {
	if strings.Contains(string(b), p.text) {
		p.cancel()
	}
	return len(b), nil
}
