package prom

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hist"
	"github.com/mvccmap/mvccmap/mvcc"
)

// askFor returns what h answers to a client that accepts that.
func askFor(t *testing.T, h http.Handler, accept ...string) (body, kind string) {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)
	r.Header["Accept"] = accept
	h.ServeHTTP(w, r)
	require.Equal(t, 200, w.Code)
	require.Equal(t, "Accept", w.Header().Get("Vary"))
	return w.Body.String(), w.Header().Get("Content-Type")
}

// A client has the format that it likes better, and plain text if it does not say.
func TestWhatIsAccepted(t *testing.T) {
	h := Handler(nil, nil)
	const prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6," +
		"application/openmetrics-text;version=0.0.1;q=0.5," +
		"text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
	for _, accept := range [][]string{
		{prometheus}, {"application/openmetrics-text"}, {"text/plain;q=0.5", openType},
		{"application/openmetrics-text, text/plain"}, {";;", "Application/OpenMetrics-Text"},
	} {
		_, kind := askFor(t, h, accept...)
		require.Equal(t, openType, kind, accept)
	}
	for _, accept := range [][]string{
		nil, {""}, {"*/*"}, {"text/html,application/xml;q=0.9,*/*;q=0.8"}, {"text/plain"},
		{"application/openmetrics-text;version=0.0.1"}, {"application/openmetrics-text;q=0"},
		{"application/openmetrics-text;q=0.5, text/plain;q=0.6"},
		{"application/openmetrics-text;q=much"}, {"application/openmetrics-text;version=2.0.0"},
	} {
		body, kind := askFor(t, h, accept...)
		require.Equal(t, plainType, kind, accept)
		require.NotContains(t, body, "EOF")
	}
}

var openLine = regexp.MustCompile(`^(# (HELP|TYPE) [a-z_]+ .+|# EOF|` +
	`[a-z_]+({([a-z_]+="([^"\\]|\\[\\n"])*",?)+})? \S+( # {slow="\d+"} \S+ \S+)?)$`)

// OpenMetrics has the same series, under families that are there once, and exemplars of kept
// operations in the buckets that those are in.
func TestOpenMetrics(t *testing.T) {
	var h hist.Hist
	h.Add(int64(time.Millisecond), 5)
	h.Add(int64(30*time.Millisecond), 2)
	h.Add(int64(70*time.Second), 1)
	db := mvcc.New[int, int](nil)
	defer db.Close()
	db.Store(1, 1)
	some := db.Stats()
	end := time.UnixMilli(1_700_000_000_250)
	exporter := Handler(
		map[string]func() mvcc.Stats{"a": of(some)},
		func() []Operation {
			return []Operation{{Name: "b", Latency: &h, Slow: []Slow{
				{ID: 3, Took: 30 * time.Millisecond, End: end},
				{ID: 4, Took: 31 * time.Millisecond, End: end.Add(time.Second)},
				{ID: 5, Took: 40 * time.Millisecond, End: end.Add(-time.Second)},
				{ID: 6, Took: 70 * time.Second, End: end},
			}}}
		})
	text, _ := askFor(t, exporter, "application/openmetrics-text")
	require.True(t, strings.HasSuffix(text, "\n# EOF\n"))
	families, series := map[string]string{}, map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		require.Regexp(t, openLine, line)
		if words := strings.Fields(line); words[1] == "TYPE" {
			require.NotContains(t, families, words[2])
			families[words[2]] = words[3]
			require.False(t, words[3] == "counter" && strings.HasSuffix(words[2], "_total"), line)
		} else if words[0] != "#" {
			name, _, _ := strings.Cut(line, " # ")
			name = name[:strings.LastIndexByte(name, ' ')]
			require.NotContains(t, series, name)
			series[name] = true
		}
	}
	require.Equal(t, "counter", families["mvccmap_commits"])
	require.Equal(t, "gauge", families["go_memstats_alloc_bytes"])
	require.Equal(t, "unknown", families["go_memstats_alloc_bytes_total"])
	require.Contains(t, text, "\nmvccmap_commits_total{map=\"a\"} 1\n")
	const bucket = `operation_duration_seconds_bucket{operation="b",le=`
	require.Contains(t, text, "\n"+bucket+`"0.05"} 7 # {slow="4"} 0.031 1700000001.250`+"\n")
	require.Contains(t, text, "\n"+bucket+`"0.02"} 5`+"\n")
	require.Contains(t, text, "\n"+bucket+`"1.0"} 7`+"\n")
	require.Contains(t, text, "\n"+bucket+`"+Inf"} 8 # {slow="6"} 70 1700000000.250`+"\n")
	require.Contains(t, text, `go_gc_duration_seconds{quantile="0.0"}`)
	require.Equal(t, 2, strings.Count(text, "{slow="))

	// Plain text has the same series, but for numbers in labels.
	plain := parse(t, ask(t, exporter))
	require.Len(t, plain, len(series))
	require.EqualValues(t, 5, plain[bucket+`"0.002"}`])
	require.EqualValues(t, 0, plain[bucket+`"0.0005"}`])
	require.EqualValues(t, 7, plain[bucket+`"1"}`])
	require.EqualValues(t, 8, plain[`operation_duration_seconds_count{operation="b"}`])
}
