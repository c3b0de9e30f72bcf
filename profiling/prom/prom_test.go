package prom

import (
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/leak"
	"github.com/mvccmap/mvccmap/internal/seam/figures"
	"github.com/mvccmap/mvccmap/mvcc"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// ask returns the answer of h.
func ask(t *testing.T, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, 200, w.Code)
	require.Equal(t, "text/plain; version=0.0.4; charset=utf-8", w.Header().Get("Content-Type"))
	return w.Body.String()
}

// of makes a source of the same statistics each time.
func of(s mvcc.Stats) func() mvcc.Stats { return func() mvcc.Stats { return s } }

var (
	headLine  = regexp.MustCompile(`^# (HELP|TYPE) ([a-z_]+) (.+)$`)
	valueLine = regexp.MustCompile(`^([a-z_]+)({([a-z_]+="([^"\\]|\\[\\n"])*",?)+})? (\S+)$`)
)

// parse returns the values in text, by name and labels, and checks its form: each metric has
// help, a type and values, in this order and in one place; counters are named so.
func parse(t *testing.T, text string) map[string]float64 {
	t.Helper()
	require.True(t, strings.HasSuffix(text, "\n"))
	values, kinds := map[string]float64{}, map[string]string{}
	var help, metric string
	n := 1 // values of the metric
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if m := headLine.FindStringSubmatch(line); m != nil {
			if m[1] == "HELP" {
				require.Positive(t, n, "%s has no values", metric)
				require.NotContains(t, kinds, m[2], "a metric in two places")
				help = m[2]
				continue
			}
			metric = m[2]
			require.Equal(t, help, metric, line)
			kinds[metric], n = m[3], 0
			require.Equal(t, m[3] == "counter", strings.HasSuffix(metric, "_total"), line)
			continue
		}
		m := valueLine.FindStringSubmatch(line)
		require.NotNil(t, m, line)
		name := m[1]
		if kinds[metric] == "summary" || kinds[metric] == "histogram" {
			name = strings.TrimSuffix(strings.TrimSuffix(name, "_sum"), "_count")
			name = strings.TrimSuffix(name, "_bucket")
		}
		require.Equal(t, metric, name, line)
		require.NotContains(t, values, m[1]+m[2], "a value twice")
		v, err := strconv.ParseFloat(m[5], 64)
		require.NoError(t, err, line)
		values[m[1]+m[2]] = v
		n++
	}
	require.Positive(t, n, "%s has no values", metric)
	return values
}

// Every field of the statistics is exported once, with its value, or is the sum of others.
func TestEveryFieldIsExported(t *testing.T) {
	var s mvcc.Stats
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.CanUint():
			f.SetUint(uint64(i + 1))
		case f.CanInt():
			f.SetInt(int64(i + 1))
		}
	}
	values := parse(t, ask(t, Handler(map[string]func() mvcc.Stats{"a": of(s), "b": of(s)}, nil, nil)))
	n := 0
	for _, f := range figures.All() {
		if f.Metric == "" {
			require.Contains(t, []string{"Conflicts", "RefreshTime"}, f.Field)
			continue
		}
		for _, labels := range []string{`{map="a"`, `{map="b"`} {
			if f.Label != "" {
				labels += "," + f.Label + `="` + f.Value + `"`
			}
			name := "mvccmap_" + f.Metric + labels + "}"
			require.Contains(t, values, name)
			require.Equal(t, f.Of(s), values[name], name)
			n++
		}
	}
	for name := range values {
		if strings.HasPrefix(name, "mvccmap_") {
			n--
		}
	}
	require.Zero(t, n, "metrics that no field has")
}

// A table has the metrics that are its own, and no zeros in place of the others.
func TestValuesOfATable(t *testing.T) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	stock := mvcc.NewTable[int, int](db, "stock", nil)
	_, err := mvcc.NewIndex(stock, "by value", func(_, value int) []int { return []int{value} }, nil)
	require.NoError(t, err)
	stock.Store(1, 1)
	sources := db.Sources("shop")
	values := parse(t, ask(t, Handler(sources, nil, nil)))
	require.EqualValues(t, 1, values[`mvccmap_keys{map="shop"}`], "without the entries of the index")
	require.EqualValues(t, 1, values[`mvccmap_table_keys{map="shop/stock/by value"}`])
	of := map[string]bool{}
	for name := range values {
		if metric, ok := strings.CutSuffix(name, `{map="shop/stock"}`); ok {
			of[metric] = true
		}
	}
	require.Equal(t, map[string]bool{"mvccmap_table_epoch": true, "mvccmap_table_keys": true,
		"mvccmap_table_entries": true, "mvccmap_table_size_bytes": true}, of)
	require.EqualValues(t, 1, values[`mvccmap_table_keys{map="shop/stock"}`])
	require.Contains(t, values, `mvccmap_table_conflicts_total{map="shop/stock",kind="read"}`)

	delete(sources, "shop") // tables alone
	parse(t, ask(t, Handler(sources, nil, nil)))
}

// The counter of commits does not fall while there is one map, and begins anew
// with another.
func TestCommitsDoNotFall(t *testing.T) {
	s := mvcc.Stats{MinVisible: 1}
	h := Handler(map[string]func() mvcc.Stats{"m": func() mvcc.Stats { return s }}, nil, nil)
	const absent = -1
	for _, step := range []struct {
		epoch, commits uint64
		want           float64
	}{
		{10, 7, 7}, {11, 6, 7}, {12, 7, 7}, {12, 9, 9}, {3, 2, 2}, {4, 1, 2}, {0, 0, absent}, {2, 1, 1},
		{9, 8, 8}, {0, 0, absent}, {12, 3, 3}, // another map, though it is further than the one before
	} {
		s.Epoch, s.Commits = step.epoch, step.commits
		got, ok := parse(t, ask(t, h))[`mvccmap_commits_total{map="m"}`]
		if !ok {
			got = absent
		}
		require.Equal(t, step.want, got, step)
	}
}

// The runtime has all that is asked of it, and the figures are plausible.
func TestRuntimeAndProcess(t *testing.T) {
	values := parse(t, ask(t, Handler(nil, nil, nil)))
	for _, m := range runtimeMetrics {
		require.Contains(t, values, "go_"+m.name)
	}
	require.Positive(t, values["go_goroutines"])
	require.Positive(t, values["go_threads"])
	require.Contains(t, values, `go_gc_duration_seconds{quantile="0.25"}`)
	require.Greater(t, values["go_memstats_sys_bytes"], values["go_memstats_heap_sys_bytes"])
	require.Greater(t, values["process_start_time_seconds"], 1.7e9)
	if _, err := os.Stat("/proc/self/limits"); err != nil {
		t.Skip("the system tells nothing else")
	}
	require.Greater(t, values["process_resident_memory_bytes"], 1e6)
	virtual := values["process_virtual_memory_bytes"]
	require.Greater(t, virtual, values["process_resident_memory_bytes"])
	require.GreaterOrEqual(t, values["process_virtual_memory_max_bytes"], virtual)
	require.Contains(t, values, "process_cpu_seconds_total")
	require.Greater(t, values["process_max_fds"], values["process_open_fds"])
	require.GreaterOrEqual(t, values["process_open_fds"], 3.)
}

// Values stand under their names, metric by metric, whoever has them.
func TestValues(t *testing.T) {
	values := func(n float64) func() []Value {
		return func() []Value {
			return []Value{{Metric: "shop_lag", Help: "How far behind.", Value: n},
				{Metric: "shop_commits_total", Help: "Commits.", Value: 10 * n}}
		}
	}
	got := parse(t, ask(t, Handler(nil, nil, map[string]func() []Value{"a": values(1), "b": values(2)})))
	require.Equal(t, 1.0, got[`shop_lag{of="a"}`])
	require.Equal(t, 2.0, got[`shop_lag{of="b"}`])
	require.Equal(t, 20.0, got[`shop_commits_total{of="b"}`])
}
