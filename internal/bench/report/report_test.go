package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/hist"
	"github.com/mvccmap/mvccmap/internal/bench/results"
)

type builder struct {
	t   *testing.T
	run results.Run
}

func newBuilder(t *testing.T) *builder {
	return &builder{t, results.Run{Header: results.Header{
		Program: "mvccbench v1", Args: []string{"--engine=<b>"},
		Started: time.Date(2026, 11, 21, 16, 0, 0, 0, time.UTC),
		Machine: results.Machine{
			Go: "go1.26.8", GOOS: "linux", GOARCH: "amd64", CPU: "A Processor", CPUs: 2, GOMAXPROCS: 2,
		},
		Loop: "closed", Count: 3,
	}}}
}

// add adds three samples of a combination.
func (b *builder) add(workload, title, theta, engine string, threads int, ops float64) {
	b.t.Helper()
	for i := range 3 {
		h := new(hist.Hist)
		for i := range int64(2000) {
			h.Add(int64(1e9/ops)+i*i/100, 1)
		}
		l := results.NewLatency(results.Service, h)
		s := results.Sample{
			Workload: workload, Title: title, Engine: engine, Level: "serializable",
			Threads: threads, Index: i, Ops: uint64(ops), Wall: time.Second,
			Metrics: map[string]float64{
				"ops/s": ops * (1 + 0.1*float64(i)), "ns/op": 1e9 / ops,
				"p99-ns": 1e10 / ops, "allocs/op": 1, "aborts/op": 0,
			},
			Latency: []results.Latency{l},
		}
		if theta != "" {
			s.Params = []results.Param{
				{Name: "theta", Value: theta},
			}
		}
		b.run.Samples = append(b.run.Samples, s)
	}
	n := len(b.run.Samples)
	b.run.Outcome = results.Outcome{Kind: results.Complete, Done: n, Of: n}
}

func sweep(t *testing.T) *results.Run {
	b := newBuilder(t)
	for _, threads := range []int{1, 2, 4, 8} {
		for e, engine := range []string{"mvcc", "rwmutex"} {
			b.add("transfer", "Transfer", "", engine, threads, 1e5*float64(threads*(1+e)))
			for _, theta := range []string{"0", "0.5", "0.99"} {
				b.add("zipf-read", "ZipfRead/theta="+theta, theta, engine, threads, 1e6*float64(1+e))
			}
		}
	}
	b.add("begin", "Begin", "", "mvcc", 8, 1e7)
	b.add("begin", "Begin", "", "rwmutex", 8, 3e7)
	return &b.run
}

// titles returns the titles of charts, without their prefix.
func titles(charts []chart, prefix string) (list []string) {
	for _, c := range charts {
		list = append(list, strings.TrimPrefix(c.Title, prefix))
	}
	return list
}

// TestPlan: the plan has the charts that a reader of a sweep looks for, with the medians and
// extremes of the samples.
func TestPlan(t *testing.T) {
	sections := plan(sweep(t))
	require.Len(t, sections, 3)
	every := []string{
		": throughput", ": latency, 99th percentile", ": allocations", ": latency with 8 goroutines",
	}
	require.Equal(t, every, titles(sections[0].Charts, "Transfer"))
	require.Equal(t, every, titles(sections[2].Charts, "Begin"))
	charts := sections[1].Charts
	require.Equal(t, []string{
		": throughput by theta", ": latency, 99th percentile by theta", ": allocations by theta",
	}, titles(charts[:3], "ZipfRead"))
	for i, theta := range []string{"0", "0.5", "0.99"} {
		require.Equal(t, every, titles(charts[3+4*i:7+4*i], "ZipfRead/theta="+theta))
	}

	c := sections[0].Charts[0]
	require.Equal(t, xAxis{Label: "goroutines", Ticks: []tick{{0, "1"}, {1, "2"}, {2, "4"}, {3, "8"}}}, c.X)
	require.Equal(t, yAxis{"/s", false}, c.Y)
	require.Equal(t, "mvcc", c.Series[0].Name)
	require.Len(t, c.Series[1].Points, 4)
	p := c.Series[1].Points[3]
	require.InDelta(t, 3, p.X, 0)
	require.InDelta(t, 1.6e6*1.1, p.Y, 1)
	require.InDelta(t, 1.6e6, p.Min, 1)
	require.InDelta(t, 1.6e6*1.2, p.Max, 1)
	require.Contains(t, c.About, "Operations per second. Medians of 3 samples")

	c = charts[0]
	require.Contains(t, c.About, "8 goroutines")
	require.Equal(t, []tick{{0, "0"}, {0.5, "0.5"}, {0.99, "0.99"}}, c.X.Ticks)

	last := sections[0].Charts[3]
	require.Equal(t, yAxis{"s", true}, last.Y)
	require.InDelta(t, nine(50), last.Series[0].Points[0].X, 1e-9)
	require.Equal(t, tick{nine(90), "90"}, last.X.Ticks[1])
	require.InDelta(t, 1, nine(90), 1e-9)
	require.InDelta(t, 3, nine(99.9), 1e-9)
	require.Less(t, last.Series[0].Points[0].Y, 1.0, "in seconds")
}

// TestPlanOneThread: with one number of threads and a swept parameter the charts by parameter have
// it all.
func TestPlanOneThread(t *testing.T) {
	b := newBuilder(t)
	for _, size := range []string{"16", "64-192", "1024", "1048576"} {
		b.add("ycsb-a", "YcsbA/value-size="+size, "", "mvcc", 1, 1e6)
		for i := range b.run.Samples {
			if s := &b.run.Samples[i]; s.Params == nil {
				s.Params = []results.Param{{Name: "value-size", Value: size}}
			}
		}
	}
	sections := plan(&b.run)
	require.Len(t, sections, 1)
	require.Len(t, sections[0].Charts, 3)
	c := sections[0].Charts[0]
	require.Equal(t, "bytes of a value", c.X.Label)
	require.Equal(t, []tick{{4, "16"}, {7, "128"}, {10, "1024"}, {20, "1.05M"}}, c.X.Ticks,
		"the middle of the range")
	require.Contains(t, c.About, " 1 goroutine.")
}

// drawn returns the sections that the page is to draw.
func drawn(t *testing.T, page string) (sections []section) {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).
		FindStringSubmatch(page)
	require.NotNil(t, m)
	require.NoError(t, json.Unmarshal([]byte(m[1]), &sections))
	return sections
}

// TestPage: the page is one file that needs nothing else, has everything that was planned, and lets
// nothing in the run become markup.
func TestPage(t *testing.T) {
	run := sweep(t)
	run.Header.Instrumented = "a <trace>"
	run.Outcome = results.Outcome{Kind: results.Interrupted, Done: len(run.Samples), Of: 1000}
	evil := `</script><script>alert("&")`
	for i := range run.Samples {
		if s := &run.Samples[i]; s.Engine == "rwmutex" {
			s.Engine = evil
		}
	}
	name := filepath.Join(t.TempDir(), "charts.html")
	require.NoError(t, Write(name, run))
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	page := string(b)

	planned := plan(run)
	sections := drawn(t, page)
	require.Len(t, sections, len(planned))
	for i, s := range sections {
		require.Equal(t, planned[i].Charts, s.Charts)
		require.True(t, strings.Contains(page, fmt.Sprintf(`id="charts-%d"`, i)))
		for _, c := range s.Charts {
			require.Len(t, c.Series, 2)
			require.Equal(t, evil, c.Series[1].Name)
		}
	}

	for _, want := range []string{
		"! instrumented: a &lt;trace&gt;", "! interrupted after ", "--engine=&lt;b&gt;",
		"A Processor, GOMAXPROCS 2",
		"<td>110k</td><td>∞</td>", "width=device-width", "<noscript>",
	} {
		require.True(t, strings.Contains(page, want), want)
	}
	for _, no := range []string{evil, " src=", "xlink:href=", "@import", "url("} {
		require.False(t, strings.Contains(page, no), no)
	}
	for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if id, ok := strings.CutPrefix(m[1], "#"); ok {
			require.True(t, strings.Contains(page, fmt.Sprintf(`id="%s"`, id)), id)
			continue
		}
		require.Equal(t, "data:,", m[1])
	}
	policy := regexp.MustCompile(`Policy" content="([^"]*)"`).FindStringSubmatch(page)
	require.NotNil(t, policy)
	for _, tag := range []string{"script", "style"} {
		m := regexp.MustCompile(`(?s)<`+tag+`>(.*?)</`+tag+`>`).FindAllStringSubmatch(page, -1)
		require.Len(t, m, 1, tag)
		sum := sha256.Sum256([]byte(m[0][1]))
		allowed := tag + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		require.Contains(t, strings.NewReplacer("&#39;", "'", "&#43;", "+").Replace(policy[1]), allowed)
	}
	require.True(t, strings.HasPrefix(policy[1], "default-src &#39;none&#39;"))

	require.NoError(t, Write(name, run), "again into the same file")
	require.Error(t, Write(filepath.Join(name, "below"), run))
	require.ErrorIs(t, Write(name, &results.Run{}), ErrEmpty)
}

// TestLogarithmic: points without a place on a logarithmic axis are left out.
func TestLogarithmic(t *testing.T) {
	b := newBuilder(t)
	b.add("begin", "Begin", "", "none", 1, 1e6)
	b.add("begin", "Begin", "", "some", 1, 1e6)
	for i, v := range []float64{0, 0, 0, 0, 3e9, 5e9} {
		b.run.Samples[i].Metrics["p99-ns"] = v
	}
	c := plan(&b.run)[0].Charts[1]
	require.Equal(t, "Begin: latency, 99th percentile", c.Title)
	require.Equal(t, []series{{"some", 1, []point{{1, 3, 3, 5}}}}, c.Series)
}

// TestThroughputsFarApart: throughputs that are far apart have a logarithmic axis, since from zero
// the small ones would all be zero.
func TestThroughputsFarApart(t *testing.T) {
	for slow, log := range map[float64]bool{1e4: true, 1e6: false} {
		b := newBuilder(t)
		for _, threads := range []int{1, 2} {
			b.add("begin", "Begin", "", "fast", threads, 1e7)
			b.add("begin", "Begin", "", "slow", threads, slow)
		}
		sections := plan(&b.run)
		c := sections[0].Charts
		require.Equal(t, yAxis{"/s", log}, c[0].Y)
		require.Equal(t, log, strings.Contains(c[0].About, "per second, logarithmic."))
		require.Equal(t, yAxis{}, c[2].Y, c[2].Title)
	}
}

// Of operations at a given rate the charts begin with the response times and the rate achieved.
func TestChartsOfAPacedRun(t *testing.T) {
	b := newBuilder(t)
	b.add("begin", "Begin", "", "mvcc", 1, 1e6)
	for _, s := range b.run.Samples {
		s.Metrics["response-p99-ns"], s.Metrics["achieved-%"] = 1e6, 100
	}
	require.Equal(t, []string{": response time, 99th percentile", ": achieved", ": throughput"},
		titles(plan(&b.run)[0].Charts, "Begin")[:3])
}

// The page of a comparison has the verdict first, the changes, the functions, and both sides of
// each engine in its charts.
func TestPageOfAComparison(t *testing.T) {
	side := func(factor float64) *results.Run {
		b := newBuilder(t)
		for range 3 { // of three samples
			b.add("transfer", "Transfer", "", "mvcc", 2, factor*1e6)
		}
		return &b.run
	}
	old, now := side(1), side(0.5)
	x, err := old.Source("main<1>")
	require.NoError(t, err)
	y, err := now.Source(".")
	require.NoError(t, err)
	c, err := results.Compare(x, y, results.Options{Alpha: 0.05, Turns: true})
	require.NoError(t, err)
	c.Verdict = c.Decide(false)
	name := filepath.Join(t.TempDir(), "ab.html")
	require.NoError(t, WriteComparison(name, Sides{Old: old, New: now, Comparison: c,
		Changes: []Change{{Of: "Transfer/threads=2", Functions: []Function{
			{Name: "spin<T>", Old: 1.25, New: 13.75}, {Name: "chance", Old: 1, New: 2, variance: 1}},
			Boxes: []Box{{Function{Name: "main", Old: 3, New: 2}, 1, 12.5, 50}}}}}))
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	page := html.UnescapeString(string(b))
	require.True(t, IsPage(name))
	verdict := strings.Index(page, "verdict: WORSE: of 1 comparison of ops/s 1 worse")
	require.Positive(t, verdict)
	require.Less(t, verdict, strings.Index(page, `<section id="workload-0">`))
	for _, want := range []string{
		"<h1>main<1> and .</h1>", "<td>spin<T></td><td>1.2</td><td>13.8</td><td>+12.5</td>",
		`<tr class="dim"><td>chance</td>`, `<svg class="flame" height="36">`,
		`<svg x="12.500%" y="18" width="50.000%" height="17"><title>main: -1.0 ns (3.0 to 2.0)</title>` +
			`<rect class="less"`,
		`"name":"mvcc old"`, `"name":"mvcc new"`,
		"<details open>\n<summary>ops/s <small>higher is better</small>",
	} {
		require.True(t, strings.Contains(page, want), want)
	}
	require.False(t, strings.Contains(page, "ZgotmplZ"))
	require.True(t, strings.Contains(string(b), "<h1>main&lt;1&gt;"), "escaped")

	require.ErrorIs(t, WriteComparison(name, Sides{Old: new(results.Run), New: new(results.Run),
		Comparison: c}), ErrEmpty)
}
