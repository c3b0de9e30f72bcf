package report

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// withIntervals gives the sample n intervals of a second, late by so much.
func withIntervals(s *results.Sample, n int, ops uint64, late time.Duration) {
	for i := range n {
		s.Intervals = s.Intervals.Add(results.Interval{
			End: time.Duration(i+1)*time.Second + late, Ops: ops + uint64(i),
			P50: 1000, P90: 2000, P99: int64(3000 * (i % 2)), Max: 5000,
		})
	}
}

// A run whose samples have intervals has charts of them over time, of the sample with the median
// throughput.
func TestOverTime(t *testing.T) {
	b := newBuilder(t)
	b.add("transfer", "Transfer", "", "mvcc", 1, 1e5)
	b.add("transfer", "Transfer", "", "mvcc", 2, 1e5)
	b.add("transfer", "Transfer", "", "rwmutex", 2, 1e5)
	for i := range b.run.Samples {
		s := &b.run.Samples[i]
		late := time.Duration(0)
		if s.Engine == "rwmutex" {
			late = 7 * time.Millisecond
		}
		withIntervals(s, 12, uint64(100*(1+s.Index)), late)
	}
	sections := plan(&b.run)
	require.Len(t, sections, 1)
	charts := sections[0].Charts
	n := len(charts) - 3
	require.Equal(t, []string{": throughput over time", ": times of mvcc over time",
		": times of rwmutex over time"}, titles(charts[n:], "Transfer"))
	rate := charts[n]
	require.Contains(t, rate.About, "The sample with the median throughput, 2 goroutines.")
	require.Equal(t, "s", rate.X.Unit)
	require.Equal(t, []tick{{0, "0"}, {2, "2"}, {4, "4"}, {6, "6"}, {8, "8"}, {10, "10"}, {12, "12"}},
		rate.X.Ticks)
	require.Len(t, rate.Series, 2)
	require.Equal(t, []string{"mvcc", "rwmutex"}, []string{rate.Series[0].Name, rate.Series[1].Name})
	for _, s := range rate.Series {
		require.Len(t, s.Points, 12)
		require.InDelta(t, 12, s.Points[11].X, 1e-9, "both are in one place")
		require.InDelta(t, 211, s.Points[11].Y, .01, "of the second of three samples")
	}
	require.InDelta(t, 200/1.007, rate.Series[1].Points[0].Y, .01, "the first was longer")
	times := charts[n+1]
	require.Equal(t, yAxis{"s", true}, times.Y)
	require.Len(t, times.Series, 4)
	require.InDelta(t, 2e-6, times.Series[1].Points[0].Y, 1e-12)
	require.Len(t, times.Series[2].Points, 6, "a logarithmic axis has no place for what is not known")

	page, err := Page{Saved: results.Summary("", &b.run)}.HTML()
	require.NoError(t, err)
	require.Equal(t, planned(t, drawn(t, string(page))), planned(t, sections))

	// Three engines have one chart of their times.
	b.add("transfer", "Transfer", "", "mutex", 2, 1e5)
	for i := range 3 {
		withIntervals(&b.run.Samples[9+i], 12, 100, 0)
	}
	list := plan(&b.run)[0].Charts
	require.Equal(t, []string{": throughput over time", ": p99 of the times over time"},
		titles(list[len(list)-2:], "Transfer"))
	require.Len(t, list[len(list)-1].Series, 3)
	b.run.Samples = b.run.Samples[:9]

	// Aborts have a chart if there are any, and samples without intervals none at all.
	b.run.Samples[4].Intervals[3].Aborts = 5
	require.Equal(t, "Transfer: aborts over time", plan(&b.run)[0].Charts[len(charts)].Title)
	for i := range b.run.Samples {
		b.run.Samples[i].Intervals = b.run.Samples[i].Intervals[:1]
	}
	require.Len(t, plan(&b.run)[0].Charts, n)
}

// planned returns the charts of sections.
func planned(t *testing.T, sections []section) (list []chart) {
	t.Helper()
	for _, s := range sections {
		list = append(list, s.Charts...)
	}
	return list
}

// The marks of the axis are at round numbers, whatever the sample took.
func TestMarksOfTime(t *testing.T) {
	for end, want := range map[float64]string{0.3: "0 0.05 0.1 0.15 0.2 0.25 0.3",
		1: "0 0.2 0.4 0.6 0.8 1", 4: "0 1 2 3 4", 60: "0 10 20 30 40 50 60",
		3600: "0 500 1000 1500 2000 2500 3000 3500"} {
		var labels []string
		for _, tick := range secondsOf([]series{{Points: []point{{X: end}}}}).Ticks {
			labels = append(labels, tick.Label)
		}
		require.Equal(t, want, strings.Join(labels, " "))
	}
}
