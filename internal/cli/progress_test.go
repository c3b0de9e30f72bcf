package cli

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
)

func twoSteps(t *testing.T) []bench.Step {
	t.Helper()
	w, _ := bench.WorkloadByName("transfer")
	a, _ := bench.EngineByName("mvcc")
	b, _ := bench.EngineByName("rwmutex")
	steps, _ := bench.Sweep{
		Workloads: []bench.Workload{w}, Engines: []bench.EngineSpec{a, b}, Threads: []int{4}, Count: 1,
		AuditInterval: bench.DefaultAuditInterval,
	}.Steps()
	require.Len(t, steps, 2)
	return steps
}

// slowTrial is a trial of a step whose operations take so long in the bubble's
// time.
func slowTrial(t *testing.T, step bench.Step, op time.Duration) *bench.Trial {
	t.Helper()
	c := step.Config
	c.Workload, _ = bench.WorkloadByName("counter")
	good, _ := bench.EngineByName("rwmutex")
	c.Engine = sessions("slow", good,
		func(s bench.Session) bench.Session {
			return doing{s, func(s bench.Session, readOnly bool, fn func(bench.Access) error) error {
				if !readOnly {
					time.Sleep(op)
				}
				return s.Do(readOnly, fn)
			}}
		})
	trial, err := bench.New(c)
	require.NoError(t, err)
	t.Cleanup(trial.Close)
	return trial
}

// On a pipe there are plain lines, one an interval; what runs, how fast, what is
// next and how long it will take.
func TestProgressLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := twoSteps(t)
		steps[0].Config.LatencySample = 1 // goroutines that time say how far they are
		trial := slowTrial(t, steps[0], time.Millisecond)
		var out lines
		p := newProgress(&out, 0, 10*time.Second)
		defer p.close()
		p.Start(steps[0], &steps[1])
		require.Equal(t, "[1/2, 20s left] transfer, mvcc, 4 threads, sample 1; next rwmutex\n",
			out.String())
		p.Running(steps[0], trial)
		_, err := trial.RunFor(t.Context(), 2500*time.Millisecond, true)
		require.NoError(t, err)
		synctest.Wait()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.Len(t, lines, 3)
		require.Regexp(t, `^\[1/2, 18s left\] transfer, mvcc, 4 threads, sample 1, (4.00k|399.|400.|3.9\dk) ops/s; next rwmutex$`, lines[2])
		time.Sleep(7500 * time.Millisecond)
		p.Start(steps[1], nil)
		synctest.Wait()
		time.Sleep(500 * time.Millisecond)
		p.note("a note")
		time.Sleep(time.Second)
		synctest.Wait()
		require.Contains(t, out.String(), "\na note\n")
		require.Regexp(t, `\[2/2, \d+s left\] transfer, rwmutex, 4 threads, sample 1; last one\n`,
			out.String())
		require.NotContains(t, out.String(), "\x1b")
		require.NotContains(t, out.String(), "\r")
	})
}

// What is left does not grow while a step is under way, even one that takes longer than those before.
func TestRemaining(t *testing.T) {
	began := time.Now()
	at := func(now time.Duration, done int, begun time.Duration) time.Duration {
		left, ok := remaining(began, began.Add(begun), began.Add(now), done, 4, 5*time.Second)
		require.True(t, ok)
		return left / time.Second
	}
	var left []time.Duration
	for _, now := range []time.Duration{0, 4, 9} {
		left = append(left, at(now*time.Second, 0, 0))
	}
	for _, now := range []time.Duration{20, 21, 29, 30, 35, 60} {
		left = append(left, at(now*time.Second, 2, 20*time.Second))
	}
	require.Equal(t, []time.Duration{20, 16, 15, 20, 19, 11, 10, 10, 10}, left)
	_, ok := remaining(began, began, began, 0, 4, 0)
	require.False(t, ok)
}

// The rate is that of the run under way, whatever was before it: the filling of the map, a warm-up.
func TestProgressRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := twoSteps(t)
		steps[0].Config.LatencySample = 1
		trial := slowTrial(t, steps[0], time.Millisecond)
		var out lines
		p := newProgress(&out, 0, 10*time.Second)
		defer p.close()
		p.Start(steps[0], &steps[1])
		time.Sleep(600 * time.Millisecond)
		p.Running(steps[0], trial)
		for _, d := range []time.Duration{500 * time.Millisecond, 3 * time.Second} { // a tick in each
			_, err := trial.RunFor(t.Context(), d, d > time.Second)
			require.NoError(t, err)
			synctest.Wait()
		}
		rates := regexp.MustCompile(`\S+ ops/s`).FindAllString(out.String(), -1)
		require.Len(t, rates, 4, out.String())
		for _, rate := range rates {
			require.Regexp(t, `^(4.00k|3.9\dk|39\d\d) `, rate)
		}
	})
}

// With a table, there is a line for each interval, under a head for each sample,
// and one for what came after the last; not one of the warm-up, and all of them
// fit into 80 columns.
func TestIntervalTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := twoSteps(t)
		steps[0].Config.Threads = 1
		steps[0].Config.LatencySample = 1
		trial := slowTrial(t, steps[0], time.Millisecond)
		var out lines
		p := newProgress(&out, time.Second, 10*time.Second)
		defer p.close()
		p.Start(steps[0], &steps[1])
		p.Running(steps[0], trial)
		run := func(d time.Duration, measure bool) bench.Measurement {
			m, err := trial.RunFor(t.Context(), d, measure)
			require.NoError(t, err)
			return m
		}
		run(3200*time.Millisecond, false)
		require.NoError(t, p.Done(steps[0], run(2700*time.Millisecond, true)))
		lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
		require.Len(t, lines, 1+2+3, out.String())
		for _, line := range lines {
			require.LessOrEqual(t, len([]rune(line)), 80, line)
			require.NotContains(t, line, "\x1b")
		}
		require.Contains(t, lines[1], "service time")
		require.Equal(t, []string{"time", "recent", "avg", "p50", "p90", "p99", "p99.9", "max", "aborts",
			"errs", "ctxsw"}, strings.Fields(lines[2]))
		for i, at := range []string{"0.8s", "1.8s", "2.7s"} {
			cells := strings.Fields(lines[3+i])
			require.Len(t, cells, 11)
			require.Equal(t, at, cells[0], out.String())
			require.Regexp(t, `^(1.00k|99\d)$`, cells[1], "recent")
			require.Regexp(t, `^(1.00k|99\d)$`, cells[2], "average")
			require.Equal(t, []string{"1.00m", "1.00m"}, cells[3:5])
			require.Equal(t, "-", cells[6], "too few operations for this")
			require.Equal(t, []string{"1.00m", "0", "0"}, cells[7:10])
		}
	})
}

// A screen is a terminal that wraps its lines anew when it becomes narrower, as most do: it knows
// what a status line writes.
type screen struct {
	t       *testing.T
	columns int
	lines   []string // each may take several rows
	at      int      // the row in which the cursor is
	raw     bool     // lines are cut off
}

// narrow makes the screen narrower. The cursor stays in the last line.
func (s *screen) narrow(columns int) {
	s.columns = columns
	s.at = len(s.rows()) - 1
}

// rows returns what is in the rows.
func (s *screen) rows() (rows []string) {
	for _, line := range s.lines {
		for len(line) > s.columns {
			rows, line = append(rows, line[:s.columns]), line[s.columns:]
		}
		rows = append(rows, line)
	}
	return rows
}

func (s *screen) Write(p []byte) (int, error) {
	text := string(p)
	s.lines = s.rows() // what is written from now on ends at the edge
	up := regexp.MustCompile("^\x1b\\[([0-9]+)A")
	for text != "" {
		if s.at == len(s.lines) {
			s.lines = append(s.lines, "")
		}
		if m := up.FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1])
			require.LessOrEqual(s.t, n, s.at, "above the screen")
			s.at, text = s.at-n, text[len(m[0]):]
			continue
		}
		cut := false
		for prefix, do := range map[string]func(){
			"\r":       func() {},
			"\n":       func() { s.at++ },
			"\x1b[K":   func() { s.lines[s.at] = "" },
			"\x1b[J":   func() { s.lines = s.lines[:s.at+1] },
			"\x1b[?7l": func() { s.raw = true },
			"\x1b[?7h": func() { s.raw = false },
		} {
			if strings.HasPrefix(text, prefix) && !cut {
				do()
				text, cut = text[len(prefix):], true
			}
		}
		if !cut {
			if len(s.lines[s.at]) < s.columns || !s.raw {
				s.lines[s.at] += text[:1]
			}
			text = text[1:]
		}
	}
	return len(p), nil
}

// After the terminal has become narrower nothing of the old lines is left above the new ones, and
// nothing else is gone.
func TestNarrowedTerminal(t *testing.T) {
	for _, table := range [][]string{nil, {"a table of", strings.Repeat("x", 70), "and more"}} {
		screen := &screen{t: t, columns: 80}
		s := newStatusLine(screen)
		s.terminal, s.columns, s.reflows = true, func() int { return screen.columns }, true
		s.note("before")
		s.mu.Lock()
		s.show("[1/2] "+strings.Repeat("first ", 30), table...)
		s.show("[1/2] "+strings.Repeat("again ", 12), table...)
		screen.narrow(33)
		s.show("[1/2] narrow", table...)
		want := []string{"before"}
		for _, line := range table {
			want = append(want, line[:min(len(line), 33)])
		}
		require.Equal(t, append(want, "[1/2] narrow"), screen.rows())
		s.show("[2/2] "+strings.Repeat("last ", 12), table...)
		screen.narrow(20)
		s.mu.Unlock()
		s.note("after")
		require.Equal(t, []string{"before", "after"}, slices.DeleteFunc(screen.rows(),
			func(row string) bool { return row == "" }))
	}
}

func TestColourAndTerminal(t *testing.T) {
	require.False(t, isTerminal(&lines{}))
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer f.Close()
	require.False(t, isTerminal(f))
	require.Equal(t, anyWidth, terminalWidth(f))
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer device.Close()
	require.False(t, isTerminal(device), "a character device, but no terminal")

	_, tty := openTerminal(t, 100)
	for _, c := range []struct {
		term, noColor    string
		terminal, colour bool
	}{{"xterm", "", true, true}, {"xterm", "1", true, false}, {"dumb", "", false, false}} {
		t.Setenv("TERM", c.term)
		t.Setenv("NO_COLOR", c.noColor)
		p := newProgress(tty, 0, time.Second)
		require.Equal(t, c.terminal, p.terminal)
		require.Equal(t, c.colour, p.colour)
		p.close()
	}
	t.Setenv("COLUMNS", "")
	require.Equal(t, 100, terminalWidth(tty))
	t.Setenv("COLUMNS", "72")
	require.Equal(t, 72, terminalWidth(tty))
	require.Equal(t, anyWidth, terminalWidth(f),
		"a file has no columns, whatever the environment says")
}

func TestTimesForPeople(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0n", 12: "12n", 999: "999n", 1_000: "1.00µ",
		1_234: "1.23µ", 99_960: "100µ", 1_500_000: "1.50m", 200 * time.Millisecond: "200m",
		3 * time.Second: "3.00s", 1000 * time.Second: "1000s"} {
		require.Equal(t, want, tiny(d))
	}
	for d, want := range map[time.Duration]string{0: "0.0s", 50 * time.Millisecond: "0.1s",
		99_900 * time.Millisecond: "99.9s", 100 * time.Second: "100s", 2 * time.Hour: "7200s"} {
		require.Equal(t, want, seconds(d, false))
	}
	for d, want := range map[time.Duration]string{50 * time.Millisecond: "0.05s",
		9_990 * time.Millisecond: "9.99s", 9_996 * time.Millisecond: "10.0s", 100 * time.Second: "100s"} {
		require.Equal(t, want, seconds(d, true))
	}
}
