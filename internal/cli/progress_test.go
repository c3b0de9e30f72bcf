package cli

import (
	"os"
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
	steps, _ := bench.Sweep{Workloads: []bench.Workload{w}, Engines: []bench.EngineSpec{a, b}, Threads: []int{4}, Count: 1}.Steps()
	require.Len(t, steps, 2)
	return steps
}

// On a pipe there are plain lines, one an interval; what runs, how fast, what is
// next and how long it will take.
func TestProgressLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := twoSteps(t)
		var out buffer
		p := newProgress(&out, time.Second, 10*time.Second)
		p.start(steps[0], &steps[1])
		require.Equal(t, "[1/2] transfer, mvcc, 4 threads, sample 1; next rwmutex; 20s left\n", out.String())
		ops := uint64(0)
		p.running(func() uint64 { ops += 1_500_000; return ops })
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.Len(t, lines, 3)
		require.Equal(t, "[1/2] transfer, mvcc, 4 threads, sample 1, 1.50M ops/s; next rwmutex; 18s left", lines[2])
		time.Sleep(7500 * time.Millisecond)
		p.start(steps[1], nil)
		synctest.Wait()
		time.Sleep(500 * time.Millisecond)
		p.note("a note")
		time.Sleep(time.Second)
		synctest.Wait()
		p.close()
		require.Contains(t, out.String(), "\na note\n")
		require.Contains(t, out.String(), "[2/2] transfer, rwmutex, 4 threads, sample 1; last one; ")
		require.NotContains(t, out.String(), "\x1b")
		require.NotContains(t, out.String(), "\r")
	})
}

// On a terminal there is one line, which is redrawn and taken away at the end.
func TestProgressRedraws(t *testing.T) {
	for _, colour := range []bool{false, true} {
		steps := twoSteps(t)
		var out buffer
		p := newProgress(&out, time.Hour, time.Second)
		p.terminal, p.colour = true, colour
		p.start(steps[0], &steps[1])
		p.note("a note")
		p.start(steps[1], nil)
		p.close()
		text := out.String()
		require.Equal(t, 1, strings.Count(text, "\n"), "only the note: %q", text)
		require.Contains(t, text, "\r\x1b[Ka note\n")
		require.True(t, strings.HasSuffix(text, "\r\x1b[K"))
		require.Equal(t, colour, strings.Contains(text, "\x1b[2m"))
	}
}

func TestColourAndTerminal(t *testing.T) {
	require.False(t, isTerminal(&buffer{}))
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer f.Close()
	require.False(t, isTerminal(f))
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device, as a terminal is
	require.NoError(t, err)
	defer device.Close()
	for _, c := range []struct {
		term, noColor    string
		terminal, colour bool
	}{{"xterm", "", true, true}, {"xterm", "1", true, false}, {"dumb", "", false, false}} {
		t.Setenv("TERM", c.term)
		t.Setenv("NO_COLOR", c.noColor)
		p := newProgress(device, time.Hour, time.Second)
		require.Equal(t, c.terminal, p.terminal)
		require.Equal(t, c.colour, p.colour)
		p.close()
	}
}

func TestSummary(t *testing.T) {
	var s summary
	var out buffer
	s.print(&out)
	require.Empty(t, out.String())
	for _, step := range twoSteps(t) {
		for _, ops := range []uint64{100, 200, 400} {
			if step.Config.Engine.Name == "rwmutex" {
				ops *= 3
			}
			s.add(step.Config, bench.Measurement{Ops: ops, Wall: time.Second})
		}
	}
	s.print(&out)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 4)
	require.Regexp(t, `^workload +threads +engine +ops/s +± +ns/op +p99 +aborts/op +vs first$`, lines[1])
	require.Regexp(t, `^Transfer +4 +mvcc +200 +75 % +5000000 +- +0$`, lines[2])
	require.Regexp(t, `^ +rwmutex +600 +75 % +1666667 +- +0 +3.00 x$`, lines[3])
}

func TestNumbersForPeople(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 1.234: "1.23", 9.996: "10.0", 99.96: "100", 999.4: "999", 999.6: "1.00k", 12_345: "12.3k", 1.5e6: "1.50M", 2.25e9: "2.25G"} {
		require.Equal(t, want, short(v))
	}
	for v, want := range map[float64]string{12: "12 ns", 999.6: "1.00 µs", 1_500: "1.50 µs", 2.5e6: "2.50 ms", 3e9: "3.00 s"} {
		require.Equal(t, want, shortTime(v))
	}
	four := metric{digits: -1}
	for v, want := range map[float64]string{0: "0", 12.3456: "12.35", 0.000123456: "0.0001235", 123456: "123456", 100: "100", 1.5: "1.5"} {
		require.Equal(t, want, four.format(v))
	}
	require.Equal(t, "0", metric{digits: 2}.format(0.001))
	require.Equal(t, "1.5", metric{digits: 2}.format(1.5))
}
