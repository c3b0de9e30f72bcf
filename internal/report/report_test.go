package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/results"
)

func counts(from int64) iter.Seq2[int64, uint64] {
	return func(yield func(int64, uint64) bool) {
		for i := range int64(2000) {
			if !yield(from+i*i/100, 1) {
				return
			}
		}
	}
}

type builder struct {
	t   *testing.T
	run results.Run
}

func newBuilder(t *testing.T) *builder {
	return &builder{t, results.Run{Header: results.Header{
		Program: "mvccbench v1", Args: []string{"--engine=<b>"}, Started: time.Date(2026, 11, 21, 16, 0, 0, 0, time.UTC),
		Machine: results.Machine{Go: "go1.26.8", GOOS: "linux", GOARCH: "amd64", CPU: "A Processor", CPUs: 2, GOMAXPROCS: 2},
		Loop:    "closed", Count: 3,
	}}}
}

// add adds three samples of a combination.
func (b *builder) add(workload, title, theta, engine string, threads int, ops float64) {
	b.t.Helper()
	for i := range 3 {
		l, err := results.NewLatency(results.Service, counts(int64(1e9/ops)), 1e6)
		require.NoError(b.t, err)
		s := results.Sample{Workload: workload, Title: title, Engine: engine, Level: "serializable", Threads: threads, Index: i, Ops: uint64(ops), Wall: time.Second,
			Metrics: map[string]float64{"ops/s": ops * (1 + 0.1*float64(i)), "ns/op": 1e9 / ops, "p99-ns": 1e10 / ops, "allocs/op": 1, "aborts/op": 0},
			Latency: []results.Latency{l}}
		if theta != "" {
			s.Params = []results.Param{{Name: "theta", Value: theta}, {Name: "key-type", Value: "string"}}
		}
		b.run.Samples = append(b.run.Samples, s)
	}
	b.run.Outcome = results.Outcome{Kind: results.Complete, Done: len(b.run.Samples), Of: len(b.run.Samples)}
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

// It is planned what a reader of a sweep looks for, with the medians and extremes
// of the samples.
func TestPlan(t *testing.T) {
	sections, err := plan(sweep(t))
	require.NoError(t, err)
	got := map[string][]string{}
	for _, s := range sections {
		for _, c := range s.Charts {
			got[s.Workload] = append(got[s.Workload], c.File)
		}
	}
	of := func(title string) []string {
		return []string{title + "-throughput", title + "-latency-p99", title + "-allocs", title + "-latency-distribution"}
	}
	by := []string{"zipfread-throughput-by-theta", "zipfread-latency-p99-by-theta", "zipfread-allocs-by-theta"}
	require.Equal(t, map[string][]string{
		"transfer":  of("transfer"),
		"begin":     of("begin"),
		"zipf-read": append(append(append(by, of("zipfread-theta-0")...), of("zipfread-theta-0.5")...), of("zipfread-theta-0.99")...),
	}, got)

	c := sections[0].Charts[0]
	require.Equal(t, "Transfer: throughput", c.Title)
	require.Equal(t, axis{"goroutines", doubling, plain}, c.X)
	require.Equal(t, "mvcc", c.Series[0].Name)
	require.Len(t, c.Series[1].Points, 4)
	p := c.Series[1].Points[3]
	require.InDelta(t, 8, p.X, 0)
	require.InDelta(t, 1.6e6*1.1, p.Y, 1)
	require.InDelta(t, 1.6e6, p.Min, 1)
	require.InDelta(t, 1.6e6*1.2, p.Max, 1)
	require.Contains(t, c.Caption, "Medians of 3 samples")

	c = sections[1].Charts[0]
	require.Equal(t, "ZipfRead: throughput by theta", c.Title)
	require.Contains(t, c.Caption, "8 goroutines")
	require.Equal(t, []float64{0, 0.5, 0.99}, []float64{c.Series[0].Points[0].X, c.Series[0].Points[1].X, c.Series[0].Points[2].X})

	last := sections[0].Charts[3]
	require.Equal(t, "Transfer: latency with 8 goroutines", last.Title)
	require.InDelta(t, nine(50), last.Series[0].Points[0].X, 1e-9)
	require.InDelta(t, 1, nine(90), 1e-9)
	require.InDelta(t, 3, nine(99.9), 1e-9)
}

// One number of threads, and a swept parameter: the charts by parameter have it all.
func TestPlanOneThread(t *testing.T) {
	b := newBuilder(t)
	for _, size := range []string{"16", "64-192", "1024"} {
		b.add("ycsb-a", "YcsbA/value-size="+size, "", "mvcc", 1, 1e6)
		for i := range b.run.Samples {
			if s := &b.run.Samples[i]; s.Params == nil {
				s.Params = []results.Param{{Name: "value-size", Value: size}}
			}
		}
	}
	sections, err := plan(&b.run)
	require.NoError(t, err)
	require.Len(t, sections, 1)
	require.Len(t, sections[0].Charts, 3)
	c := sections[0].Charts[0]
	require.Equal(t, axis{"bytes of a value", doubling, plain}, c.X)
	require.Equal(t, 128.0, c.Series[0].Points[1].X, "the middle of the range")
	require.Contains(t, c.Caption, " 1 goroutine.")
}

// Every chart is well-formed, has its title, axes with their units and a legend, and
// colours that the page chooses.
func TestCharts(t *testing.T) {
	files, err := Draw(sweep(t))
	require.NoError(t, err)
	require.Len(t, files, 3+3*4+4+4+1)
	for _, f := range files[:len(files)-1] {
		text := string(f.Content)
		d := xml.NewDecoder(strings.NewReader(text))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else {
				require.NoError(t, err, f.Name)
			}
		}
		require.Contains(t, text, "<title>")
		require.Contains(t, text, ">mvcc</text>", f.Name)
		require.Contains(t, text, ">rwmutex</text>", f.Name)
		require.Contains(t, text, "var(--s0)")
		require.Contains(t, text, "prefers-color-scheme:dark")
		require.NotRegexp(t, `#01(01|02)`, text)
		require.NotContains(t, text, "NaN", f.Name)
		require.NotContains(t, text, "Inf", f.Name)
	}
	first := string(files[0].Content)
	for _, want := range []string{">goroutines</text>", ">operations per second</text>", ">500k</text>", ">2M</text>", ">8</text>"} {
		require.Contains(t, first, want)
	}
	require.Regexp(t, `rotate\(90\)">\s*<text[^>]*>operations per second</text>`, first, "beside the y axis")
	require.NotRegexp(t, `rotate\(90\)">\s*<text[^>]*>goroutines</text>`, first)
	require.NotContains(t, first, "#-", "a colour that is none")
	require.Contains(t, string(files[3].Content), ">99</text>")
	require.Regexp(t, `>\d+ µs</text>`, string(files[3].Content))
}

// The page is one file that needs nothing else, and lets nothing in the run become
// markup.
func TestPage(t *testing.T) {
	run := sweep(t)
	run.Header.Instrumented = "a <trace>"
	run.Outcome = results.Outcome{Kind: results.Interrupted, Done: len(run.Samples), Of: 1000}
	dir := filepath.Join(t.TempDir(), "new", "report")
	index, err := Write(dir, run)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, IndexFile), index)
	b, err := os.ReadFile(index)
	require.NoError(t, err)
	page := string(b)
	require.NotRegexp(t, `(src|xlink:href)=`, page)
	for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if id, ok := strings.CutPrefix(m[1], "#"); ok {
			require.Contains(t, page, fmt.Sprintf(`id="%s"`, id))
			continue
		}
		require.FileExists(t, filepath.Join(dir, m[1]))
	}
	require.Equal(t, 23, strings.Count(page, "<svg"))
	require.Equal(t, 1, strings.Count(page, "--s7:#3c7a8c"), "one style sheet")
	require.Contains(t, page, "instrumented: a &lt;trace&gt;; interrupted after ")
	require.Contains(t, page, "--engine=&lt;b&gt;")
	require.Contains(t, page, "A Processor, 2 CPUs")
	require.Contains(t, page, "<td>110\u2009000</td>", "the median of the samples")
	require.Contains(t, page, "width=device-width")
	require.Contains(t, page, "default-src 'none'")

	_, err = Write(dir, run)
	require.NoError(t, err, "again into the same folder")
	_, err = Write(filepath.Join(index, "below"), run)
	require.Error(t, err)
	_, err = Write(dir, &results.Run{})
	require.ErrorIs(t, err, ErrEmpty)
}

// Figures of all sizes have marks that can be read, and no chart fails for the
// figures in it.
func TestScales(t *testing.T) {
	for _, high := range []float64{1e-9, 0.003, 0.5, 1, 7, 99, 1234, 5e5, 2.5e6, 9.99e6, 3e9} {
		ticks := even(high)
		require.GreaterOrEqual(t, ticks[len(ticks)-1], high*0.999999)
		require.GreaterOrEqual(t, len(ticks), 4, high)
		require.LessOrEqual(t, len(ticks), 7, high)
		require.Less(t, ticks[len(ticks)-2], high*1.000001)
	}
	for v, want := range map[float64]string{0: "0", 1: "1", 2.5e6: "2.5M", 500: "500", 1000: "1k", 1024: "1024", 10240: "10.24k", 0.25: "0.25", 1e9: "1G", 0.0125: "0.0125"} {
		require.Equal(t, want, axis{}.number(v))
	}
	for v, want := range map[float64]string{1: "1 ns", 999: "999 ns", 1000: "1 µs", 2.5e6: "2.5 ms", 5e9: "5 s"} {
		require.Equal(t, want, axis{Unit: nanoseconds}.number(v))
	}
	for v, want := range map[float64][2]float64{3: {2, 5}, 1: {1, 1}, 70: {50, 100}, 999: {500, 1000}} {
		require.InDelta(t, want[0], roundDown(v), 1e-9)
		require.InDelta(t, want[1], roundUp(v), 1e-9)
	}
	for _, y := range []axis{{"y", fromZero, plain}, {"y", logarithmic, nanoseconds}} {
		for name, points := range map[string][]point{
			"one":       {{1, 5, 5, 5}},
			"one, span": {{1, 5, 1, 9}},
			"equal":     {{1, 5, 5, 5}, {2, 5, 5, 5}},
			"zeros":     {{1, 0, 0, 0}, {2, 1, 0, 2}},
			"huge":      {{1, 1e-3, 1e-3, 1e-3}, {1000, 1e12, 1e11, 1e13}},
			"many":      {{1, 1, 1, 1}, {2, 1, 1, 1}, {3, 1, 1, 1}, {64, 1, 1, 1}, {65, 1, 1, 1}},
		} {
			for _, x := range []scale{atValues, doubling, nines} {
				c := chart{Title: name, X: axis{"x", x, plain}, Y: y}
				for place := range 10 {
					c.Series = append(c.Series, series{fmt.Sprint("engine ", place), place, points})
				}
				svg, err := c.drawable().svg()
				require.NoError(t, err, name)
				require.NotContains(t, string(svg), "NaN", name)
			}
		}
	}
	low := chart{Y: axis{"y", logarithmic, plain}, Series: []series{{"a", 0, []point{{1, 0, 0, 0}}}, {"b", 1, []point{{1, 0, 0, 0}, {2, 3, 0, 5}}}}}
	require.Equal(t, []series{{"b", 1, []point{{2, 3, 3, 5}}}}, low.drawable().Series)
	_, err := chart{Title: "none"}.svg()
	require.Error(t, err)
	require.True(t, math.IsInf(nine(100), 1))
}

// Throughputs that are far apart have a logarithmic axis, since from zero the small
// ones would all be zero.
func TestThroughputsFarApart(t *testing.T) {
	for slow, want := range map[float64]axis{
		1e4: {"operations/s, logarithmic", logarithmic, plain},
		1e6: {"operations per second", fromZero, plain},
	} {
		b := newBuilder(t)
		for _, threads := range []int{1, 2} {
			b.add("begin", "Begin", "", "fast", threads, 1e7)
			b.add("begin", "Begin", "", "slow", threads, slow)
		}
		sections, err := plan(&b.run)
		require.NoError(t, err)
		for _, c := range sections[0].Charts {
			switch {
			case strings.HasSuffix(c.File, "-throughput"):
				require.Equal(t, want, c.Y)
			case strings.HasSuffix(c.File, "-allocs"):
				require.Equal(t, fromZero, c.Y.Scale)
			}
		}
	}
}

// Engines are told apart by colour and mark, as many as there are.
func TestSeriesDiffer(t *testing.T) {
	seen := map[string]int{}
	for place := range 2 * hues {
		s := series{Place: place}
		mark := s.mark()
		look := fmt.Sprintf("%v %T", mark.Color, mark.Shape)
		before, ok := seen[look]
		require.False(t, ok, "%d looks like %d", place, before)
		seen[look] = place
		require.Equal(t, mark.Color, s.line().Color)
		require.Equal(t, place >= hues, len(s.line().Dashes) > 0)
	}
}

// The legend takes nothing from the plot: a chart of many engines is taller.
func TestManyEngines(t *testing.T) {
	size := regexp.MustCompile(`viewBox="0 0 (\S+) (\S+)"`)
	heights := map[int]string{}
	for _, n := range []int{2, 3, 12} {
		c := chart{Title: "t", X: axis{"x", atValues, plain}, Y: axis{"y", fromZero, plain}}
		for place := range n {
			c.Series = append(c.Series, series{fmt.Sprint("engine ", place), place, []point{{1, 1, 1, 1}, {2, 2, 2, 2}}})
		}
		svg, err := c.svg()
		require.NoError(t, err)
		m := size.FindSubmatch(svg)
		require.NotNil(t, m, string(svg[:300]))
		heights[n] = string(m[2])
	}
	require.Equal(t, heights[2], heights[3])
	require.NotEqual(t, heights[3], heights[12])
}

// An engine has the same colour in all charts of a run, also where others are
// missing.
func TestColoursStay(t *testing.T) {
	b := newBuilder(t)
	for _, threads := range []int{1, 2} {
		for _, engine := range []string{"mvcc", "mvcc-direct", "rwmutex"} {
			b.add("begin", "Begin", "", engine, threads, 1e6)
			if engine != "mvcc-direct" {
				b.add("transfer", "Transfer", "", engine, threads, 1e6)
			}
		}
	}
	sections, err := plan(&b.run)
	require.NoError(t, err)
	require.Len(t, sections, 2)
	want := map[string]int{"mvcc": 0, "mvcc-direct": 1, "rwmutex": 2}
	for _, section := range sections {
		require.NotEmpty(t, section.Charts)
		for _, c := range section.Charts {
			for _, s := range c.Series {
				require.Equal(t, want[s.Name], s.Place, "%s in %s", s.Name, c.File)
			}
		}
	}
}
