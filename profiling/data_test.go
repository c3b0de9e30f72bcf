package profiling_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling"
)

// shop is a database with two tables, an index, a reader and a watch.
func shop(t *testing.T) (db *mvcc.DB, stock *mvcc.Map[string, int]) {
	t.Helper()
	db = mvcc.NewDB(&mvcc.Options{TracePins: true, Retain: time.Hour})
	t.Cleanup(db.Close)
	stock = mvcc.NewOrderedTable[string, int](db, "stock", nil)
	orders := mvcc.NewTable[time.Time, []string](db, "orders", nil)
	_, err := mvcc.NewIndex(stock, "level", func(_ string, n int) []int { return []int{n / 10} }, nil)
	require.NoError(t, err)
	for key, n := range map[string]int{"apple": 3, "apricot": 14, "banana": 15, "<b>": 92} {
		stock.Store(key, n)
	}
	orders.Store(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), []string{"apple", "apple"})
	return db, stock
}

func TestDataPage(t *testing.T) {
	db, stock := shop(t)
	snapshot := db.Snapshot()
	defer snapshot.Close()
	stock.Store("cherry", 1)
	ctx, cancel := context.WithCancel(t.Context())
	watch := stock.Watch(ctx, &mvcc.WatchOptions[string, int]{Buffer: 77})
	defer func() {
		cancel()
		for _, err := range watch {
			require.ErrorIs(t, err, context.Canceled)
		}
	}()
	h := profiling.Handler(profiling.Config{Data: map[string]*mvcc.DB{"shop": db}})
	defer h.Close()

	page := request(h, "/debug/pprof/data/").Body.String()
	for _, want := range []string{">stock<", "time.Time", "level</td>", "3 index keys, 1 entries a record", ">77<",
		"profiling_test.TestDataPage", "see Config.Records"} {
		require.Contains(t, page, want)
	}
	require.NotContains(t, page, "records?")
	require.Contains(t, request(h, "/debug/pprof/").Body.String(), `href="data/"`)

	var list []struct {
		Name   string
		Tables []struct {
			Name, Key, Order string
			Keys             int
			Indexes          []struct{ Entries int }
		}
		Watches []struct {
			Table  string
			Buffer int
		}
		Readers []struct {
			Behind uint64 `json:"behind_epochs"`
			Began  []struct{ Function string }
		}
	}
	text := request(h, "/debug/pprof/data/?format=json").Body.Bytes()
	require.NoError(t, json.Unmarshal(text, &list))
	require.Equal(t, "stock", list[0].Tables[1].Name)
	require.Equal(t, 5, list[0].Tables[1].Keys)
	require.Equal(t, "natural", list[0].Tables[1].Order)
	require.Equal(t, 5, list[0].Tables[1].Indexes[0].Entries)
	require.Equal(t, "stock", list[0].Watches[0].Table)
	require.Positive(t, list[0].Readers[0].Behind)
	require.NotEmpty(t, list[0].Readers[0].Began)

	require.Equal(t, http.StatusForbidden,
		request(h, "/debug/pprof/data/records?database=shop&table=stock").Code)
	require.Equal(t, http.StatusBadRequest, request(h, "/debug/pprof/data/?format=xml").Code)
	none := profiling.Handler(profiling.Config{})
	defer none.Close()
	require.Contains(t, request(none, "/debug/pprof/data/").Body.String(), "see Config.Data")
	require.NotContains(t, request(none, "/debug/pprof/").Body.String(), `href="data/"`)
}

// Records are for those who have the token, and nobody else.
func TestRecordsNeedToken(t *testing.T) {
	db, _ := shop(t)
	cfg := profiling.Config{Data: map[string]*mvcc.DB{"shop": db}, Records: true}
	_, err := profiling.Start(cfg)
	require.ErrorContains(t, err, "Config.Records")
	h := profiling.Handler(cfg)
	defer h.Close()
	for _, page := range []string{"/debug/pprof/data/",
		"/debug/pprof/data/records?database=shop&table=stock"} {
		require.NotEqual(t, http.StatusOK, request(h, page).Code)
	}
	cfg.Token = secret
	guarded := profiling.Handler(cfg)
	defer guarded.Close()
	const page = "/debug/pprof/data/records?database=shop&table=stock"
	w := request(guarded, page)
	require.Equal(t, http.StatusUnauthorized, w.Code)
	require.NotContains(t, w.Body.String(), "apple")
}

func TestRecordsPage(t *testing.T) {
	db, stock := shop(t)
	cfg := profiling.Config{Data: map[string]*mvcc.DB{"shop": db}, Records: true, Token: secret}
	h := profiling.Handler(cfg)
	defer h.Close()
	ask := func(query string) (status int, body string) {
		w := request(h, "/debug/pprof/data/records?database=shop&"+query, func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+secret)
		})
		return w.Code, w.Body.String()
	}
	type page struct {
		Epoch   uint64
		Records []struct{ Key, Value string }
		More    bool
		Next    string
	}
	get := func(query string) (p page, keys string) {
		t.Helper()
		status, body := ask(query + "&format=json")
		require.Equal(t, http.StatusOK, status, body)
		require.NoError(t, json.Unmarshal([]byte(body), &p))
		var list []string
		for _, r := range p.Records {
			list = append(list, r.Key+"="+r.Value)
		}
		return p, strings.Join(list, " ")
	}
	const order = "2030-01-02T03:04:05Z"
	for query, want := range map[string]string{
		"table=stock":                                "<b>=92 apple=3 apricot=14 banana=15",
		"table=stock&key=apple":                      "apple=3",
		"table=stock&key=fig":                        "",
		"table=stock&prefix=ap":                      "apple=3 apricot=14",
		"table=stock&from=apricot":                   "apricot=14 banana=15",
		"table=orders":                               order + "=[apple apple]",
		"table=orders&prefix=2030":                   order + "=[apple apple]",
		"table=orders&key=" + url.QueryEscape(order): order + "=[apple apple]",
	} {
		p, keys := get(query)
		require.Equal(t, want, keys, query)
		require.False(t, p.More)
	}

	// All pages are of one moment, as long as that is there.
	first, keys := get("table=stock&limit=2&prefix=a")
	require.Equal(t, "apple=3 apricot=14", keys)
	require.False(t, first.More)
	hold := db.Snapshot()
	first, _ = get("table=stock&limit=2")
	require.True(t, first.More)
	require.Equal(t, "apricot", first.Next)
	stock.Store("apricot", 0)
	then := fmt.Sprintf("table=stock&limit=1&from=%s&epoch=%d", first.Next, first.Epoch)
	_, keys = get(then)
	require.Equal(t, "apricot=14", keys)
	_, keys = get("table=stock&key=apricot")
	require.Equal(t, "apricot=0", keys)
	_, html := ask("table=stock&limit=2")
	require.Contains(t, html, "&lt;b&gt;")
	require.NotContains(t, html, "<b>=")
	require.Contains(t, html, `id="next"`)
	hold.Close()

	// A link to a moment at which the table was not there.
	old := db.Snapshot()
	defer old.Close()
	mvcc.NewTable[int8, int](db, "made later", nil).Store(-1, 1)
	_, keys = get("table=made+later&key=-1")
	require.Equal(t, "-1=1", keys)
	for query, status := range map[string]int{
		fmt.Sprintf("table=made+later&epoch=%d", old.Epoch()): http.StatusNotFound,
		"table=nothing":                  http.StatusNotFound,
		"table=made+later&key=1x":        http.StatusBadRequest,
		"table=made+later&key=128":       http.StatusBadRequest,
		"table=stock&limit=0":            http.StatusBadRequest,
		"table=stock&limit=x":            http.StatusBadRequest,
		"table=stock&format=xml":         http.StatusBadRequest,
		"table=stock&epoch=x":            http.StatusBadRequest,
		"table=orders&from=2030":         http.StatusBadRequest,
		"table=orders&key=yesterday":     http.StatusBadRequest,
		"table=stock&database=elsewhere": http.StatusOK, // the first one counts
	} {
		got, body := ask(query)
		require.Equal(t, status, got, "%s: %s", query, body)
	}
	require.Equal(t, 1, db.Stats().LiveTx, "a snapshot was left open")
	require.Empty(t, cmp.Diff(4, stock.Len()))
}
