package results

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sameRuns returns runs of one program between which nothing was changed, as they were measured.
func sameRuns(t *testing.T) []*Run {
	t.Helper()
	f, err := os.Open("testdata/same.txt")
	require.NoError(t, err)
	defer f.Close()
	var runs []*Run
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		fields := strings.Fields(lines.Text())
		n, err := strconv.Atoi(fields[0])
		require.NoError(t, err)
		if n == len(runs) {
			runs = append(runs, new(Run))
		}
		for i, text := range fields[2:] {
			v, err := strconv.ParseFloat(text, 64)
			require.NoError(t, err)
			runs[n].Samples = append(runs[n].Samples, Sample{
				Title: fields[1], Engine: "e", Threads: 1, Index: i, Ops: 1,
				Metrics: map[string]float64{"ops/s": v},
			})
		}
	}
	require.NoError(t, lines.Err())
	return runs
}

// passes reports whether the gate lets after pass.
func passes(t *testing.T, before, after *Source) bool {
	t.Helper()
	c, err := Compare(before, after, Options{Alpha: 0.05, Units: []string{"ops/s"}})
	require.NoError(t, err)
	j := c.Judge(10, false)
	require.Equal(t, []string{"ops/s"}, j.Units)
	require.Equal(t, 12, j.Decidable)
	return len(j.Worse) == 0
}

// Where nothing was changed the gate lets at least 95 of 100 pass, of all pairs of runs of five
// minutes. What has really become slower it finds, as far as that machine lets it.
func TestGateOfTheSame(t *testing.T) {
	runs := sameRuns(t)
	require.Len(t, runs, 60)
	var sources []*Source
	for _, r := range runs {
		sources = append(sources, source(t, "same", r))
	}
	passed, of := 0, 0
	for i := range sources {
		for k := range sources {
			if i != k {
				of++
				if passes(t, sources[i], sources[k]) {
					passed++
				}
			}
		}
	}
	t.Logf("%d of %d pass", passed, of)
	require.GreaterOrEqual(t, float64(passed), 0.95*float64(of))

	found := 0
	for i := range len(runs) - 1 {
		slower := &Run{}
		for _, s := range runs[i+1].Samples {
			if strings.HasPrefix(s.Title, "Transfer") {
				s.Metrics = map[string]float64{"ops/s": s.Metrics["ops/s"] / 3}
			}
			slower.Samples = append(slower.Samples, s)
		}
		if !passes(t, sources[i], source(t, "slower", slower)) {
			found++
		}
	}
	t.Logf("%d of %d that became slower are found", found, len(runs)-1)
	require.Greater(t, found, 45)
}

// On a machine that is quiet little is enough.
func TestGateOfQuietRuns(t *testing.T) {
	before, after := new(Run), new(Run)
	for row := range 12 {
		for i := range 6 {
			v := 1e6 * (1 + 0.002*float64(i))
			one := Sample{Title: strconv.Itoa(row), Engine: "e", Threads: 1, Index: i, Ops: 1,
				Metrics: map[string]float64{"ops/s": v}}
			before.Samples = append(before.Samples, one)
			if row == 3 {
				v *= 0.87
			}
			one.Metrics = map[string]float64{"ops/s": v}
			after.Samples = append(after.Samples, one)
		}
	}
	c, err := Compare(source(t, "a", before), source(t, "b", after), Options{Alpha: 0.05})
	require.NoError(t, err)
	require.Len(t, c.Judge(10, false).Worse, 1)
	require.Empty(t, c.Judge(15, false).Worse)
	require.Equal(t, 6, c.Judge(10, false).Needed)
}

// 0.01 is significant as one of four at 5 %, 0.02 not as one of three, and then nothing is that
// comes after it.
func TestHolm(t *testing.T) {
	require.Equal(t, []bool{false, true, false, false}, holm([]float64{0.03, 0.01, 0.02, 0.02}, 0.05))
	require.Equal(t, []bool{true, true}, holm([]float64{0.05, 0.025}, 0.05))
	require.Empty(t, holm(nil, 0.05))
}
