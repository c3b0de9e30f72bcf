package push

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// page is what a service says, after so many operations.
func page(began, done int) string {
	return fmt.Sprintf(`# HELP process_start_time_seconds Unix time.
# TYPE process_start_time_seconds gauge
process_start_time_seconds %d.25
# HELP mvccmap_commits_total Commits.
# TYPE mvccmap_commits_total counter
mvccmap_commits_total{map="a \"b\""} %d
# HELP mvccmap_bytes Memory.
# TYPE mvccmap_bytes gauge
mvccmap_bytes{map="a"} 12.5
# HELP operation_duration_seconds What operations took.
# TYPE operation_duration_seconds histogram
operation_duration_seconds_bucket{operation="order",le="0.001"} %d
operation_duration_seconds_bucket{operation="order",le="0.01"} %d
operation_duration_seconds_bucket{operation="order",le="+Inf"} %d
operation_duration_seconds_sum{operation="order"} %d
operation_duration_seconds_count{operation="order"} %d
# HELP go_gc_duration_seconds Pauses.
# TYPE go_gc_duration_seconds summary
go_gc_duration_seconds{quantile="0.5"} 0.5
go_gc_duration_seconds_sum 3
go_gc_duration_seconds_count 4
`, began, done, done, 2*done, 3*done, 4*done, 3*done)
}

const began = 1_700_000_000 // the program, in seconds

func seconds(s float64) uint64 { return uint64(time.UnixMilli(int64(s * 1e3)).UnixNano()) }

// commits returns the one point of a counter.
func commits(t *testing.T, r request, want metricspb.AggregationTemporality) *metricspb.NumberDataPoint {
	t.Helper()
	all, _ := metricsOf(t, r)
	sum := all["mvccmap_commits_total"].GetSum()
	require.Equal(t, want, sum.AggregationTemporality)
	require.True(t, sum.IsMonotonic)
	require.Len(t, sum.DataPoints, 1)
	return sum.DataPoints[0]
}

func orders(t *testing.T, r request) *metricspb.HistogramDataPoint {
	t.Helper()
	all, _ := metricsOf(t, r)
	list := all["operation_duration_seconds"].GetHistogram().DataPoints
	require.Len(t, list, 1)
	return list[0]
}

const (
	cumulative = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	delta      = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
)

// Figures are sent with their values, labels, units and times, again and again.
func TestFigures(t *testing.T) {
	s, r := serve(t), receive(t)
	s.metrics = page(began, 10)
	before := time.Now()
	p, _ := begin(t, Config{From: s.URL + "/", Labels: map[string]string{"env": "test"},
		Metrics:      Target{URL: r.URL + "/v1/metrics", Headers: map[string]string{"X-Key": "k"}},
		MetricsEvery: 20 * time.Millisecond})
	list := r.await(t, 2)
	require.Equal(t, "/v1/metrics", list[0].path)
	require.Equal(t, "k", list[0].header.Get("X-Key"))
	all, resource := metricsOf(t, list[0])
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, "shop", resource["service.name"])
	require.Equal(t, "test", resource["env"])
	require.Contains(t, resource["service.instance.id"], host+":")

	c := commits(t, list[0], cumulative)
	require.Equal(t, 10.0, c.GetAsDouble())
	require.Equal(t, map[string]string{"map": `a "b"`}, texts(c.Attributes))
	require.Equal(t, seconds(began+.25), c.StartTimeUnixNano)
	require.Greater(t, c.TimeUnixNano, uint64(before.UnixNano()))
	require.Equal(t, "Commits.", all["mvccmap_commits_total"].Description)
	require.Equal(t, "By", all["mvccmap_bytes"].Unit)
	require.Equal(t, 12.5, all["mvccmap_bytes"].GetGauge().DataPoints[0].GetAsDouble())
	h := orders(t, list[0])
	require.Equal(t, "s", all["operation_duration_seconds"].Unit)
	require.Equal(t, []float64{.001, .01}, h.ExplicitBounds)
	require.Equal(t, []uint64{10, 10, 10}, h.BucketCounts)
	require.Equal(t, uint64(30), h.Count)
	require.Equal(t, 40.0, h.GetSum())
	require.Equal(t, seconds(began+.25), h.StartTimeUnixNano)
	summary := all["go_gc_duration_seconds"].GetSummary().DataPoints[0]
	require.Equal(t, 3.0, summary.Sum)
	require.Equal(t, .5, summary.QuantileValues[0].Value)

	later := commits(t, list[1], cumulative)
	require.Equal(t, 10.0, later.GetAsDouble())
	require.Equal(t, c.StartTimeUnixNano, later.StartTimeUnixNano)
	require.Greater(t, later.TimeUnixNano, c.TimeUnixNano)

	// Something that falls has begun anew, between the two pushes.
	s.says(func(s *service) { s.metrics = page(began, 3) })
	var last, fell request
	await(t, "a fall", func() bool {
		for _, one := range r.requests() {
			if last, fell = fell, one; commits(t, one, cumulative).GetAsDouble() == 3 {
				return true
			}
		}
		return false
	})
	require.Equal(t, commits(t, last, cumulative).TimeUnixNano,
		commits(t, fell, cumulative).StartTimeUnixNano)
	require.Equal(t, []uint64{3, 3, 3}, orders(t, fell).BucketCounts)
	require.NoError(t, p.Close(t.Context()))
	require.Equal(t, p.Stats().Metrics.Sent, uint64(len(r.requests())))
	require.Zero(t, p.Stats().Missed)
}

// With Delta each point goes on where the last one ended that was taken: nothing is lost while the
// receiver refuses, and nothing is counted twice.
func TestDelta(t *testing.T) {
	s, r := serve(t), receive(t)
	s.metrics = page(began, 10)
	p, l := begin(t, Config{From: s.URL, Delta: true, Metrics: Target{URL: r.URL},
		MetricsEvery: 10 * time.Millisecond})
	first := r.await(t, 1)[0]
	require.Equal(t, 10.0, commits(t, first, delta).GetAsDouble())
	require.Equal(t, seconds(began+.25), commits(t, first, delta).StartTimeUnixNano)
	r.answers(status(http.StatusServiceUnavailable))
	s.says(func(s *service) { s.metrics = page(began, 17) })
	await(t, "failures", func() bool { return p.Stats().Metrics.Failed > 1 })
	r.answers(nil)
	s.says(func(s *service) { s.metrics = page(began, 30) })
	sent := p.Stats().Metrics.Sent
	await(t, "it works again", func() bool { return p.Stats().Metrics.Sent > sent+1 })
	s.says(func(s *service) { s.metrics = page(began+1000, 4) })
	sent = p.Stats().Metrics.Sent
	await(t, "news", func() bool { return p.Stats().Metrics.Sent > sent+1 })
	require.NoError(t, p.Close(t.Context()))
	require.Equal(t, 1, l.count("cannot send"))
	require.Equal(t, 1, l.count("it works again"))

	// What the receiver has refused is of no account.
	var sum float64
	var counted uint64
	end := uint64(0)
	for _, one := range r.requests() {
		c, h := commits(t, one, delta), orders(t, one)
		if one.other {
			continue
		}
		if end > 0 {
			require.Equal(t, end, c.StartTimeUnixNano)
			require.Equal(t, end, h.StartTimeUnixNano)
		}
		end = c.TimeUnixNano
		sum += c.GetAsDouble()
		counted += h.Count
		require.Equal(t, h.Count, h.BucketCounts[0]+h.BucketCounts[1]+h.BucketCounts[2])
	}
	require.Equal(t, 34.0, sum)
	require.Equal(t, uint64(3*34), counted)
}

// Each slow operation that is kept is an exemplar once, with its number and its page, also if it
// was kept late.
func TestExemplars(t *testing.T) {
	s, r := serve(t), receive(t)
	s.metrics = page(began, 10)
	kept := func(id int, more string) string {
		return fmt.Sprintf(`{"id": %d, "op": "order", "took_ns": 250000000, "end": "2020-01-02T03:04:05Z"%s}`,
			id, more)
	}
	s.slow = `{"kept": [` + kept(2, `, "report": {}`) + `, {"id": 1, "op": "other"}]}`
	p, _ := begin(t, Config{From: s.URL, Metrics: Target{URL: r.URL}, MetricsEvery: 10 * time.Millisecond})
	list := orders(t, r.await(t, 1)[0]).Exemplars
	require.Len(t, list, 1)
	require.Equal(t, .25, list[0].GetAsDouble())
	at := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	require.Equal(t, uint64(at.UnixNano()), list[0].TimeUnixNano)
	require.Equal(t, map[string]string{"slow": "2",
		"url.full": s.URL + "/debug/pprof/slow/2/flamegraph"}, texts(list[0].FilteredAttributes))
	s.says(func(s *service) { s.slow = `{"kept": [` + kept(3, "") + "," + kept(2, "") + `]}` })
	all := func() (pages []string) {
		for _, one := range r.requests() {
			for _, x := range orders(t, one).Exemplars {
				pages = append(pages, texts(x.FilteredAttributes)["url.full"][len(s.URL):])
			}
		}
		return pages
	}
	await(t, "the next", func() bool { return len(all()) > 1 })
	s.says(func(s *service) { // another program, whose numbers begin anew
		s.metrics, s.slow = page(began+1000, 10), `{"kept": [`+kept(1, "")+`]}`
	})
	await(t, "the first of another program", func() bool { return len(all()) > 2 })
	r.await(t, len(r.requests())+2)
	require.NoError(t, p.Close(t.Context()))
	require.Equal(t, []string{"/debug/pprof/slow/2/flamegraph", "/debug/pprof/slow/3.json",
		"/debug/pprof/slow/1.json"}, all())
}

// What the service does not give, and what the receiver does not take, is counted and said.
func TestWhatIsMissing(t *testing.T) {
	s, r := serve(t), receive(t)
	p, l := begin(t, Config{From: s.URL, Metrics: Target{URL: r.URL}, MetricsEvery: 10 * time.Millisecond})
	await(t, "pages missed", func() bool { return p.Stats().Missed > 2 })
	require.Equal(t, 1, l.count("push: missed"))
	require.Equal(t, 1, l.count("it is in use"))
	r.answers(func(w http.ResponseWriter, _ *http.Request) {
		// ExportMetricsServiceResponse{PartialSuccess{RejectedDataPoints: 7, ErrorMessage: "too old"}}
		w.Write([]byte("\x0a\x0b\x08\x07\x12\x07too old"))
	})
	s.says(func(s *service) { s.metrics = page(began, 10) })
	r.await(t, 2)
	await(t, "rejections", func() bool { return p.Stats().Metrics.Rejected >= 14 })
	require.Positive(t, l.count(`why="too old"`))
	require.Zero(t, p.Stats().Metrics.Dropped)
	s.says(func(s *service) { s.metrics = "" })
	require.ErrorContains(t, p.Close(t.Context()), "it is in use")
}
