package cli

import (
	"bytes"
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
			code := Run(t.Context(), counted(1_000, "--workload=zipf-read", "--theta=0.5",
				"--value-size=16-1024", "--engine=mvcc,mvcc-direct", "--latency-sample=1"), io.Discard, tty)
			require.Equal(t, ExitOK, code)
		})
		require.Contains(t, text, "\x1b[?7l[1/8] ", "a line that is redrawn")
		require.NotContains(t, text, "\x1b[2m", "NO_COLOR")
		plain := strings.ReplaceAll(escapes.ReplaceAllString(text, ""), "\r", "")
		require.Contains(t, plain, "\nMedians; ")
		require.Regexp(t, `(?m)^ZipfRead/theta=0.5/value-size=16-1024(\n| +1  mvcc )`, plain)
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

// A remark is one line for programs and wrapped for people.
func TestRemark(t *testing.T) {
	text := strings.TrimSpace(strings.Repeat("word ", 30))
	var b strings.Builder
	remark(&b, "%s", text)
	require.Equal(t, text+"\n", b.String())
	t.Setenv("COLUMNS", "")
	screen, tty := openTerminal(t, 40)
	remark(tty, "%s", text)
	got := make([]byte, 1024)
	n, err := screen.Read(got)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(got[:n])), "\r\n")
	require.Greater(t, len(lines), 3)
	require.Equal(t, text, strings.Join(strings.Fields(strings.Join(lines, " ")), " "))
	for _, line := range lines {
		require.LessOrEqual(t, len(line), 40)
	}
}
