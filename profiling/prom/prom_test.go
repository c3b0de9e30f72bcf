package prom

import (
	"fmt"
	"io"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/leak"
	"github.com/mvccmap/mvccmap/mvcc"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// distinct returns statistics of which each field has a value of its own, and
// these values as they are exported, by field.
func distinct() (mvcc.Stats, map[string]float64) {
	var s mvcc.Stats
	want := map[string]float64{}
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		switch {
		case name == "_":
		case f.Type() == reflect.TypeFor[time.Duration]():
			f.SetInt(int64(time.Duration(i+1) * time.Second))
			want[name] = float64(i + 1)
		case f.CanInt():
			f.SetInt(int64(i + 1))
			want[name] = float64(i + 1)
		default:
			f.SetUint(uint64(i + 1))
			want[name] = float64(i + 1)
		}
	}
	return s, want
}

// Every field is exported once, with its value, or is the sum of others.
func TestEveryFieldIsExported(t *testing.T) {
	s, want := distinct()
	seen := map[string]bool{}
	for _, m := range metrics {
		for _, v := range m.values {
			require.False(t, seen[v.field], "%s is exported twice", v.field)
			seen[v.field] = true
			require.Contains(t, want, v.field)
			require.Equal(t, want[v.field], v.of(s), "%s is the value of another field", v.field)
		}
	}
	for name := range want {
		_, sum := sums[name]
		require.NotEqual(t, sum, seen[name], "%s must be exported, or be among the sums", name)
	}
	for name := range sums {
		require.Contains(t, want, name)
	}
}

// Counters grow and are named so, gauges are not: the fields that Sub subtracts
// are the counters.
func TestKinds(t *testing.T) {
	s, _ := distinct()
	zero := reflect.ValueOf(s.Sub(s))
	for _, m := range metrics {
		for _, v := range m.values {
			isCounter := zero.FieldByName(v.field).IsZero()
			require.Equal(t, isCounter, m.kind == counter, m.name)
			require.Equal(t, isCounter, strings.HasSuffix(m.name, "_total"), m.name)
		}
	}
}

func TestLint(t *testing.T) {
	s, _ := distinct()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(NewCollector(map[string]func() mvcc.Stats{"a": func() mvcc.Stats { return s }, "b": func() mvcc.Stats { return s }}))
	problems, err := testutil.GatherAndLint(r)
	require.NoError(t, err)
	require.Empty(t, problems)
	n, err := testutil.GatherAndCount(r)
	require.NoError(t, err)
	_, want := distinct()
	require.Equal(t, 2*(len(want)-len(sums)), n)
}

func TestValuesOfAMap(t *testing.T) {
	m := mvcc.New[int, int](nil)
	defer m.Close()
	for i := range 10 {
		m.Store(i%4, i)
	}
	snapshot := m.Snapshot()
	defer snapshot.Close()
	c := NewCollector(map[string]func() mvcc.Stats{"accounts": m.Stats, "absent": func() mvcc.Stats { return mvcc.Stats{} }})
	require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(`
# HELP mvccmap_commits_total Commits that wrote something, one-key writes included.
# TYPE mvccmap_commits_total counter
mvccmap_commits_total{map="accounts"} 10
# HELP mvccmap_keys Keys that have a value.
# TYPE mvccmap_keys gauge
mvccmap_keys{map="accounts"} 4
# HELP mvccmap_live_transactions Transactions and snapshots that are open.
# TYPE mvccmap_live_transactions gauge
mvccmap_live_transactions{map="accounts"} 1
# HELP mvccmap_conflicts_total Commits that failed: because what was read has changed, or what was scanned, or because another writer of the same key came first.
# TYPE mvccmap_conflicts_total counter
mvccmap_conflicts_total{kind="read",map="accounts"} 0
mvccmap_conflicts_total{kind="scan",map="accounts"} 0
mvccmap_conflicts_total{kind="write",map="accounts"} 0
`), "mvccmap_commits_total", "mvccmap_keys", "mvccmap_live_transactions", "mvccmap_conflicts_total"))
}

// The counter of commits does not fall while there is one map, and begins anew
// with another.
func TestCommitsDoNotFall(t *testing.T) {
	var s mvcc.Stats
	c := NewCollector(map[string]func() mvcc.Stats{"m": func() mvcc.Stats { return s }})
	commits := func() string {
		r := prometheus.NewRegistry()
		r.MustRegister(c)
		families, err := r.Gather()
		require.NoError(t, err)
		for _, f := range families {
			if f.GetName() == "mvccmap_commits_total" {
				return fmt.Sprint(f.GetMetric()[0].GetCounter().GetValue())
			}
		}
		return "absent"
	}
	for _, step := range []struct {
		epoch, commits uint64
		want           string
	}{
		{10, 7, "7"}, {11, 6, "7"}, {12, 7, "7"}, {12, 9, "9"}, {3, 2, "2"}, {4, 1, "2"}, {0, 0, "absent"}, {2, 1, "1"},
		{9, 8, "8"}, {0, 0, "absent"}, {12, 3, "3"}, // another map, though it is further than the one before
	} {
		s.Epoch, s.Commits = step.epoch, step.commits
		require.Equal(t, step.want, commits(), step)
	}
}

func TestHandler(t *testing.T) {
	m := mvcc.New[int, int](nil)
	defer m.Close()
	m.Store(1, 1)
	w := httptest.NewRecorder()
	Handler(map[string]func() mvcc.Stats{"": m.Stats}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, 200, w.Code)
	require.Contains(t, w.Header().Get("Content-Type"), "text/plain")
	body, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	for _, want := range []string{`mvccmap_commits_total{map=""} 1`, "# TYPE mvccmap_size_bytes gauge", "go_goroutines ", "process_start_time_seconds ", "promhttp_metric_handler_errors_total"} {
		require.Contains(t, string(body), want)
	}
}

// A name that Prometheus would not take spoils nothing.
func TestStrangeNames(t *testing.T) {
	h := Handler(map[string]func() mvcc.Stats{
		"a\xffb":     func() mvcc.Stats { return mvcc.Stats{Epoch: 1} },
		"q\"\n\\<x>": func() mvcc.Stats { return mvcc.Stats{Epoch: 2} },
	})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, 200, w.Code, w.Body)
	require.Contains(t, w.Body.String(), "mvccmap_epoch{map=\"a\uFFFDb\"} 1\n")
	require.Contains(t, w.Body.String(), `mvccmap_epoch{map="q\"\n\\<x>"} 2`)
}
