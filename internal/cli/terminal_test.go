package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/results"
)

// escapes are what is written to a terminal beside text, and lines that were
// redrawn.
var escapes = regexp.MustCompile("\r\x1b\\[K(?:\x1b\\[\\?7l[^\n]*?\x1b\\[\\?7h)?|\x1b\\[[0-9]*m")

// onTerminal returns what run writes to a terminal of so many columns.
func onTerminal(t *testing.T, columns int, run func(tty *os.File)) string {
	t.Helper()
	t.Setenv("TERM", "xterm")
	t.Setenv("COLUMNS", "")
	screen, tty := openTerminal(t, columns)
	said := make(chan string)
	go func() {
		var b bytes.Buffer
		buf := make([]byte, 1<<12)
		for {
			n, err := screen.Read(buf)
			b.Write(buf[:n])
			if err != nil || bytes.Contains(b.Bytes(), []byte("THE END")) {
				said <- b.String()
				return
			}
		}
	}()
	run(tty)
	_, err := tty.WriteString("THE END")
	require.NoError(t, err)
	return <-said
}

// On a terminal nothing but the line that is redrawn, which is not wrapped, is
// wider than it; what does not fit is named.
func TestFitsTheTerminal(t *testing.T) {
	for width, complete := range map[int]bool{80: false, 160: true} {
		t.Setenv("NO_COLOR", "1")
		text := onTerminal(t, width, func(tty *os.File) {
			// So many that there are quantiles to be shown.
			code := Run(t.Context(), counted(1_000, "--workload=read-heavy", "--theta=0.5",
				"--value-size=16-1024", "--engine=mvcc,mvcc-direct", "--latency-sample=1"), io.Discard, tty)
			require.Equal(t, ExitOK, code)
		})
		require.Contains(t, text, "\x1b[?7l[1/8] ", "a line that is redrawn")
		require.NotContains(t, text, "\x1b[2m", "NO_COLOR")
		plain := strings.ReplaceAll(escapes.ReplaceAllString(text, ""), "\r", "")
		require.Contains(t, plain, "\nMedians; ")
		require.Regexp(t, `(?m)^ReadHeavy/theta=0.5/value-size=16-1024(\n| +1  mvcc )`, plain)
		for line := range strings.Lines(plain) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), width, line)
		}
		require.Equal(t, !complete, strings.Contains(plain, "this terminal is too narrow"), plain)
	}
}

// medianHead is the header of the table of medians.
var medianHead = regexp.MustCompile(`(?m)^.*threads  engine .*$`)

// What is left out first is what is needed least, and it is named.
func TestNarrowMedians(t *testing.T) {
	r := madeUp(t, 3, 1e6)
	for i := range r.Samples {
		for _, m := range results.Metrics() {
			r.Samples[i].Metrics[m.Unit] = 12345
		}
	}
	widths := map[int]string{}
	for width := 200; width >= 20; width-- {
		var b strings.Builder
		require.NoError(t, writeMedians(&b, r, width))
		head := medianHead.FindString(b.String()) + " "
		require.Contains(t, head, "ops/s")
		require.Contains(t, head, "vs first")
		for _, c := range results.MedianColumns(r.Cells()) {
			_, left, _ := strings.Cut(strings.ReplaceAll(b.String(), "\n", " "), " For ")
			left, _, _ = strings.Cut(left, " this terminal")
			require.NotEqual(t, strings.Contains(head, "  "+c.Head+"  "),
				slices.Contains(strings.Split(left, ", "), c.Head), "%d: %s\n%s", width, c.Head, b.String())
		}
		widths[width] = head
	}
	require.Equal(t, widths[200], widths[140], "there is room for all")
	require.True(t, strings.HasPrefix(widths[140], "workload  threads"))
	require.True(t, strings.HasPrefix(widths[80], "  threads"),
		"the workloads have lines of their own")
	require.NotContains(t, widths[100], " p50 ")
	require.Contains(t, widths[100], " p99 ")
	require.Contains(t, widths[80], " resp p99 ")
	require.NotContains(t, widths[20], " resp p99 ")

	var b strings.Builder
	require.NoError(t, writeMedians(&b, r, anyWidth))
	require.Equal(t, widths[200], medianHead.FindString(b.String())+" ")
	require.NoError(t, writeMedians(&b, &results.Run{}, 80))
}

// runOnTerminal runs mvccbench with both outputs on a terminal of that many columns, and returns
// what was written to it.
func runOnTerminal(t *testing.T, columns int, args ...string) string {
	t.Helper()
	return onTerminal(t, columns, func(tty *os.File) {
		require.Equal(t, ExitOK, Run(t.Context(), args, tty, tty))
	})
}

// up leads back to the first of the lines that are redrawn.
var up = regexp.MustCompile("\r\x1b\\[[0-9]+A")

// On a terminal a run is one table that is redrawn and fits; at its end that table stands there.
func TestLiveTable(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	text := runOnTerminal(t, 80, "--workload=counter,long-reader",
		"--engine=mvcc,rwmutex,mvcc-direct,mutex,sync.Map",
		"--threads=1,2", "--count=2", "--ops=200", "--warmup=0", "--http=off")
	require.NotContains(t, text, "\nBenchmark", "raw lines are for files")
	require.NotRegexp(t, "\x1b\\[3[12]m", text, "NO_COLOR")
	require.Greater(t, len(up.FindAllString(text, -1)), 10, "it is redrawn")
	plain := strings.NewReplacer("\x1b[K", "", "\x1b[J", "", "\x1b[?7l", "", "\x1b[?7h",
		"").Replace(up.ReplaceAllString(text, "\n"))
	for line := range strings.SplitSeq(strings.ReplaceAll(plain, "\r", "\n"), "\n") {
		if !strings.HasPrefix(strings.TrimSpace(line), "[") { // it is cut, not wrapped
			require.LessOrEqual(t, utf8.RuneCountInString(line), 80, line)
		}
	}
	_, end, found := strings.Cut(plain, "GOMAXPROCS")
	require.True(t, found, plain)
	require.Equal(t, 1, strings.Count(end, "ops/s: higher is better"), end)
	require.Regexp(t, `(?m)^ +threads +mvcc +rwmutex +mvcc has`, end)
	require.Regexp(t, `\(no room for [12] more\)`, end, "a mark of noise takes room")
	require.Regexp(t, `(?m)^LongReader +1 `, end)
	require.Contains(t, end, "do not tell mvcc and rwmutex apart")
}

// With --format the format is written on a terminal, too; with --quiet only the end is.
func TestTerminalFormats(t *testing.T) {
	run := []string{"--workload=counter", "--engine=mvcc,rwmutex", "--threads=1", "--count=1",
		"--ops=200", "--warmup=0", "--http=off"}
	require.Contains(t, runOnTerminal(t, 80, append(run, "--format=bench")...),
		"\nBenchmarkCounter/engine=mvcc")
	quiet := runOnTerminal(t, 80, append(run, "--quiet")...)
	require.NotRegexp(t, up, quiet)
	require.Contains(t, quiet, "ops/s: higher is better")
	require.NotContains(t, quiet, "[1/2]")
}

// A table is cut to the height of the terminal, where what is being measured is, and to its
// width, engine by engine.
func TestStandingsFit(t *testing.T) {
	r := madeUp(t, 6, 1e6)
	for i := range 40 {
		s := r.Samples[i%len(r.Samples)]
		s.Threads, s.Engine = 100+i, fmt.Sprint("engine", i%7)
		r.Samples = append(r.Samples, s)
	}
	subject := r.Samples[0].Engine
	all := standings(r, subject, anyWidth, 1000, false)
	require.Greater(t, len(all), 20)
	few := standings(r, subject, 80, 10, false)
	require.Len(t, few, 10)
	require.Equal(t, "ops/s: higher is better (no room for 6 more)", few[0])
	require.Contains(t, few[1], "threads")
	require.Contains(t, few[9], " 139 ")
	for _, line := range few {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 80)
	}
}

// The colours say which way is good: the same word is green in one table and red in another.
func TestStandingsHaveColours(t *testing.T) {
	r := madeUp(t, 6, 1e6)
	for i := range r.Samples { // two others, both of which have half of everything
		s := &r.Samples[i]
		s.Engine, s.Metrics = "mvcc", map[string]float64{"ops/s": 2e6 + float64(i), "p99-ns": 20}
		for _, name := range []string{"other", "third"} {
			half := *s
			half.Engine, half.Metrics = name, map[string]float64{"ops/s": 1e6 + float64(i), "p99-ns": 10}
			r.Samples = append(r.Samples, half)
		}
	}
	var b bytes.Buffer
	require.NoError(t, writeStandings(&b, r, "mvcc", 100, true))
	require.Equal(t, 2, strings.Count(b.String(), "\x1b[32m2.00 x more\x1b[m"))
	require.Equal(t, 2, strings.Count(b.String(), "\x1b[31m2.00 x more\x1b[m"))
	require.Contains(t, b.String(), "Where mvcc does better than other:\n  ops/s: ")
	require.Contains(t, b.String(), "Where mvcc does worse than third:\n  p99: ")
}
