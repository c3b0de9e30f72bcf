package results

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// contestRun is a run of which each sample of an engine has, by unit, the given figure and noise.
func contestRun(samples int, figures map[string]map[string]float64) *Run {
	r := new(Run)
	for i := range samples {
		for _, title := range []string{"Reads", "Writes"} {
			for _, engine := range []string{"old", "mvcc", "third"} {
				m := map[string]float64{}
				for unit, v := range figures[title+" "+engine] {
					m[unit] = v * (1 + 0.01*float64((i*7+len(engine))%5))
				}
				if len(m) > 0 {
					r.Samples = append(r.Samples, Sample{Workload: strings.ToLower(title), Title: title,
						Engine: engine, Threads: 2, Index: i, Metrics: m})
				}
			}
		}
	}
	return r
}

func TestContest(t *testing.T) {
	r := contestRun(6, map[string]map[string]float64{
		"Reads old":    {"ops/s": 1e6, "p99-ns": 1000},
		"Reads mvcc":   {"ops/s": 2e6, "p99-ns": 4000},
		"Writes old":   {"ops/s": 3e6, "p99-ns": 100_000, "audits/s": 5},
		"Writes mvcc":  {"ops/s": 1e6, "p99-ns": 1000, "audits/s": 5},
		"Writes third": {"ops/s": 1e5},
	})
	list := Compete(r.Cells(), "mvcc", "ops/s", "p99-ns", "audits/s", "err/s")
	require.Len(t, list, 3, "nobody has err/s")
	require.Equal(t, [][]string{
		{"", "threads", "mvcc", "old", "mvcc has", "third", "mvcc has"},
		{"Reads", "2", "2.05M", "1.02M", "2.00 x more", "-", ""},
		{"Writes", "2", "1.02M", "3.08M", "3.00 x less", "102k", "10.1 x more"},
	}, list[0].Rows())
	require.Equal(t, [][]string{
		{"", "threads", "mvcc", "old", "mvcc has", "third", "mvcc has"},
		{"Reads", "2", "4.10 µs", "1.02 µs", "4.00 x more", "-", ""},
		{"Writes", "2", "1.02 µs", "102 µs", "100 x less", "-", ""},
	}, list[1].Rows())
	require.Equal(t, "~", list[2].Rows()[1][4])
	require.Equal(t, "Reads/threads=2: 2.00 x more", list[0].Where(1, Improved))
	require.Equal(t, "Writes/threads=2: 3.00 x less", list[0].Where(1, Worsened))
	require.Equal(t, "Writes/threads=2: 10.1 x more", list[0].Where(2, Improved))
	require.Equal(t, "Reads/threads=2: 4.00 x more", list[1].Where(1, Worsened))
	require.Equal(t, []int{0, 0, 1}, []int{list[0].Open(1), list[1].Open(1), list[2].Open(1)})
	require.Equal(t, "p99", list[1].Figure())

	// Each figure, and each ratio, of a noisy sample is marked.
	for i := range r.Samples {
		if s := &r.Samples[i]; s.Title == "Writes" && s.Engine == "old" && s.Index == 3 {
			s.Noisy = "other programs were busy"
		}
	}
	noisy := Compete(r.Cells(), "mvcc", "ops/s")[0]
	require.Equal(t, [][]string{
		{"", "threads", "mvcc", "old", "mvcc has", "third", "mvcc has"},
		{"Reads", "2", "2.05M", "1.02M", "2.00 x more", "-", ""},
		{"Writes", "2", "1.02M", "3.08M!", "3.00 x less!", "102k", "10.1 x more"},
	}, noisy.Rows())
	require.Equal(t, "Writes/threads=2: 3.00 x less!", noisy.Where(1, Worsened))
	medians := MedianRows(r.Cells())
	for i, against := range []string{"2.00 x", "0.33 x!", "0.03 x!"} { // beside old
		row := medians[[]int{2, 4, 5}[i]]
		require.Equal(t, against, row[len(row)-2], "before the noisy samples")
	}

	// The rule of decision is the one between two runs.
	row := list[0].Rounds[0].Beside[1]
	require.Equal(t, "Reads/engine=old/threads=2", row.Name)
	require.InDelta(t, 100, *row.DeltaPct, 1e-9)
	require.Equal(t, Improved, row.Verdict)
}

// With three samples no difference is significant, however large.
func TestContestOfFewSamples(t *testing.T) {
	list := Compete(contestRun(3, map[string]map[string]float64{
		"Reads old": {"ops/s": 1}, "Reads mvcc": {"ops/s": 100},
	}).Cells(), "mvcc", "ops/s")
	require.Equal(t, "~", list[0].Rows()[1][4])
	require.Equal(t, 1, list[0].Open(1))
	require.Empty(t, list[0].Where(1, Improved))
	require.Empty(t, Compete(nil, "mvcc", "ops/s"))
}

// A sample that was cut short does not count beside whole ones, nor in a comparison.
func TestInterruptedSamplesDoNotCount(t *testing.T) {
	r := testRun(t, 6, 1e6)
	last := &r.Samples[len(r.Samples)-1]
	last.Interrupted, last.Metrics["ops/s"] = true, 1
	for _, c := range r.Cells() {
		require.NotContains(t, c.Values("ops/s"), 1.0)
	}
	source, err := r.Source("x")
	require.NoError(t, err)
	require.Len(t, source.Results, len(r.Samples)-1)
	for i := range r.Samples {
		r.Samples[i].Interrupted = true
	}
	require.Len(t, r.Cells()[0].Samples, 6, "there is nothing else to be shown")
	_, err = r.Source("x")
	require.ErrorContains(t, err, "no results")
}

// If operations came at a given rate engines are compared by the response time.
func TestMediansOfAPacedRun(t *testing.T) {
	r := testRun(t, 3, 1e6)
	require.False(t, Paced(r.Cells()))
	for i := range r.Samples {
		m := r.Samples[i].Metrics
		m["ops/s"], m["achieved-%"], m["response-p99-ns"] = 1000, 100, 5000
		if r.Samples[i].Engine == "rwmutex" {
			m["response-p99-ns"] = 35_000
		}
	}
	cells := r.Cells()
	require.True(t, Paced(cells))
	rows := MedianRows(cells)
	last := len(rows[0]) - 1
	require.Equal(t, "resp vs first", rows[0][last])
	require.Equal(t, "7.00 x", rows[2][last])
	delete(r.Samples[0].Metrics, "achieved-%")
	require.True(t, Paced(r.Cells()), "one sample")
	require.False(t, Paced(nil))
}
