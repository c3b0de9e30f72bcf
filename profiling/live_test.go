package profiling_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/web"
	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling"
	"github.com/mvccmap/mvccmap/profiling/prom"
)

// A liveAnswer is an answer to the dashboard.
type liveAnswer struct {
	Boot   string
	Seq    int
	Now    map[string]any
	Groups []struct {
		Title  string
		Charts []struct {
			Title  string
			First  int
			Series []struct{ Name string }
		}
	}
	Times   []float64
	Columns [][]*float64
}

// live asks h for its charts.
func live(t *testing.T, h http.Handler, query string) liveAnswer {
	t.Helper()
	w := request(h, "/debug/pprof/live.json?"+query)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	var a liveAnswer
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &a))
	return a
}

// column returns the values of a series, as "group/chart/series".
func (a liveAnswer) column(t *testing.T, name string) []*float64 {
	t.Helper()
	for _, g := range a.Groups {
		for _, c := range g.Charts {
			for i, s := range c.Series {
				if g.Title+"/"+c.Title+"/"+s.Name == name {
					return a.Columns[c.First+i]
				}
			}
		}
	}
	t.Fatalf("no series %q", name)
	return nil
}

// A table has a few charts of its own.
func TestChartsOfATable(t *testing.T) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	stock := mvcc.NewTable[int, int](db, "stock", nil)
	stock.Store(1, 1)
	sources := db.Sources("shop")
	sources["other/stock"] = stock.Stats // of no database that is shown
	h := profiling.Handler(profiling.Config{Maps: sources})
	defer h.Close()
	charts := map[string][]string{}
	for _, g := range live(t, h, "").Groups {
		for _, c := range g.Charts {
			charts[g.Title] = append(charts[g.Title], c.Title)
		}
	}
	require.Equal(t, []string{"Keys", "Memory of the table", "Conflicts"}, charts["Table shop/stock"])
	require.Contains(t, charts["Map shop"], "Live versions")
	require.Contains(t, charts["Map other/stock"], "Live versions")
}

func TestLiveHistoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ops atomic.Uint64
		begin := time.Now()
		h := profiling.Handler(profiling.Config{
			Maps: map[string]func() mvcc.Stats{"m": func() mvcc.Stats {
				n := uint64(time.Since(begin) / time.Second)
				return mvcc.Stats{Epoch: 1 + 50*n, MinVisible: 1, Commits: 50 * n,
					Versions: 7, OldestPinAge: 3 * time.Second}
			}},
			Workload: func() profiling.Workload {
				return profiling.Workload{Ops: ops.Add(100), Latency: profiling.Latency{P50: time.Millisecond}}
			},
		})
		defer h.Close()
		synctest.Wait()
		require.Zero(t, live(t, h, "").Seq, "one sample makes no rate")

		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		a := live(t, h, "")
		require.Equal(t, 10, a.Seq)
		require.Len(t, a.Times, 10)
		require.InDelta(t, 1, a.Times[1]-a.Times[0], 1e-6)
		for name, want := range map[string]float64{
			"Workload/Throughput/ops":      100,
			"Workload/Latency/p50":         .001,
			"Map m/Transactions/commits":   50,
			"Map m/Live versions/versions": 7,
			"Map m/Age of oldest pin/age":  3,
		} {
			c := a.column(t, name)
			require.Len(t, c, 10, name)
			require.NotNil(t, c[9], name)
			require.InDelta(t, want, *c[9], 1e-9, name)
		}
		require.Nil(t, a.column(t, "Workload/Latency/p99")[9], "not known")

		// Only new rows.
		time.Sleep(2 * time.Second)
		synctest.Wait()
		more := live(t, h, "after=10&boot="+a.Boot)
		require.Len(t, more.Times, 2)
		require.Empty(t, more.Groups)
		require.Len(t, live(t, h, "after=10&boot=another").Times, 12, "another program")
		require.Len(t, live(t, h, "after=9999&boot="+a.Boot).Times, 12, "a row that is to come")

		time.Sleep(20 * time.Minute)
		synctest.Wait()
		a = live(t, h, "")
		require.Len(t, a.Times, 600)
		require.Equal(t, 1212, a.Seq)
		for i := 1; i < len(a.Times); i++ {
			require.Greater(t, a.Times[i], a.Times[i-1])
		}
		for _, c := range a.Columns {
			require.Len(t, c, 600)
		}
		require.InDelta(t, 100, *a.column(t, "Workload/Throughput/ops")[599], 1e-9)
	})
}

// A map that gives way to another leaves a gap, not a negative rate.
func TestLiveMapsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stats atomic.Pointer[mvcc.Stats]
		stats.Store(&mvcc.Stats{})
		h := profiling.Handler(profiling.Config{Maps: map[string]func() mvcc.Stats{"": func() mvcc.Stats { return *stats.Load() }}})
		defer h.Close()
		time.Sleep(time.Millisecond) // between the samples from now on
		for _, s := range []mvcc.Stats{
			{Epoch: 10, Commits: 9}, {Epoch: 30, Commits: 29}, {Epoch: 5, Commits: 4}, {},
			{Epoch: 7, Commits: 6}, {Epoch: 8, Commits: 7}, {Epoch: 9, Commits: 9, Keys: 1},
		} {
			if s.Epoch > 0 && s.Keys == 0 { // else it is a table, whose commits mean nothing
				s.MinVisible = 1
			}
			stats.Store(&s)
			time.Sleep(time.Second)
			synctest.Wait()
		}
		c := live(t, h, "").column(t, "Map/Transactions/commits")
		got := make([]string, len(c))
		for i, v := range c {
			if got[i] = "-"; v != nil {
				got[i] = fmt.Sprint(*v)
			}
		}
		require.Equal(t, []string{"-", "20", "-", "-", "-", "1", "-"}, got)
	})
}

func TestLiveSaysWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := make([][]string, 80)
		for i := range rows {
			rows[i] = []string{strconv.Itoa(i)}
		}
		var steps atomic.Bool
		steps.Store(true)
		h := profiling.Handler(profiling.Config{Workload: func() profiling.Workload {
			if !steps.Load() {
				return profiling.Workload{Name: "serving",
					Results: profiling.Table{Columns: []string{"n"}}}
			}
			return profiling.Workload{
				Name: "transfer", Next: "audit", Done: 3, Of: 9, Left: time.Minute,
				Results: profiling.Table{Columns: []string{"n"}, Rows: rows},
			}
		}})
		defer h.Close()
		synctest.Wait()
		now := live(t, h, "").Now
		require.Equal(t, "transfer", now["phase"])
		require.Equal(t, "audit", now["next"])
		require.EqualValues(t, 3, now["done"])
		require.EqualValues(t, 9, now["of"])
		require.EqualValues(t, 60, now["left_s"])
		shown := now["results"].(map[string]any)["rows"].([]any)
		require.Len(t, shown, 50)
		require.Equal(t, []any{"79"}, shown[49])
		h.SetPhase("audit")
		now = live(t, h, "").Now
		require.Equal(t, "transfer", now["phase"], "until it is known what comes next: the two fit")
		require.Equal(t, "audit", now["next"])

		steps.Store(false)
		h.SetPhase("set")
		time.Sleep(2 * time.Second)
		now = live(t, h, "").Now
		require.Equal(t, "set", now["phase"])
		require.NotContains(t, now, "results", "without rows: the page would stumble over them")
	})
}

// The library that draws is the published one, unchanged.
func TestAssets(t *testing.T) {
	for name, want := range map[string]string{
		"uplot.js":  "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"uplot.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
	} {
		text, err := web.Files.ReadFile(name)
		require.NoError(t, err)
		sum := sha256.Sum256(text)
		require.Equal(t, want, hex.EncodeToString(sum[:]), name)
	}
	h := handler(t, profiling.Config{})
	for name, kind := range map[string]string{
		"uplot.js": "text/javascript", "charts.js": "text/javascript", "dashboard.js": "text/javascript", "style.css": "text/css", "uplot.LICENSE": "text/plain",
	} {
		w := request(h, "/debug/pprof/assets/"+name)
		require.Equal(t, http.StatusOK, w.Code, name)
		require.Contains(t, w.Header().Get("Content-Type"), kind)
	}
	for _, name := range []string{"nonsense", "..%2fconfig.go", "%2e%2e%2fconfig.go", "..%5cconfig.go", "%2fetc%2fpasswd", "../pages/index.html"} {
		w := request(h, "/debug/pprof/assets/"+name)
		require.NotEqual(t, http.StatusOK, w.Code, name)
		require.NotContains(t, w.Body.String(), "package profiling")
	}
}

// Values are in /metrics and on the dashboard, in the charts that they name.
func TestValues(t *testing.T) {
	h := handler(t, profiling.Config{Values: map[string]func() []prom.Value{"shop": func() []prom.Value {
		return []prom.Value{{Metric: "shop_commits_total", Help: "Commits.", Chart: "Commits of the shop",
			Name: "commits", Value: 7}, {Metric: "shop_revision", Help: "Revision.", Value: 9}}
	}}})
	metrics := request(h, "/metrics").Body.String()
	require.Contains(t, metrics, `shop_commits_total{of="shop"} 7`)
	require.Contains(t, metrics, `shop_revision{of="shop"} 9`)
	page := request(h, "/debug/pprof/live.json").Body.String()
	require.Contains(t, page, "Commits of the shop")
}
