package profiling_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling"
)

// counted returns the counts of operations in h's metrics, as "operations errors".
func counted(h http.Handler) map[string]string {
	list := map[string]string{}
	for line := range strings.Lines(request(h, "/metrics").Body.String()) {
		name, rest, _ := strings.Cut(line, "{operation=\"")
		op, value, _ := strings.Cut(rest, "\"} ")
		switch name {
		case "operation_duration_seconds_count":
			list[op] = strings.TrimSpace(value)
		case "operation_errors_total":
			list[op] += " " + strings.TrimSpace(value)
		}
	}
	return list
}

// Requests are counted by method and pattern, with their failures.
func TestWrap(t *testing.T) {
	h := profiling.Handler(profiling.Config{})
	defer h.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(w http.ResponseWriter, r *http.Request) {
		switch r.PathValue("id") {
		case "none":
			http.Error(w, "no such user", http.StatusNotFound)
		case "broken":
			http.Error(w, "broken", http.StatusInternalServerError)
		case "panic":
			panic(http.ErrAbortHandler)
		case "early":
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusBadGateway)
		default:
			io.WriteString(w, "hello")
		}
	})
	mux.HandleFunc("/any/", func(w http.ResponseWriter, _ *http.Request) {
		_, err := io.Copy(w, strings.NewReader("from a reader"))
		require.NoError(t, err)
		w.(http.Flusher).Flush()
	})
	mux.HandleFunc("/taken", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		require.NoError(t, err)
		io.WriteString(conn, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
		conn.Close()
	})
	mux.Handle("/metrics", h) // which is not counted
	srv := httptest.NewServer(h.Wrap(mux))
	defer srv.Close()
	// A client repeats a request that was cut off on a connection that it used before.
	srv.Client().Transport.(*http.Transport).DisableKeepAlives = true
	ask := func(method, path string) string {
		r, err := http.NewRequest(method, srv.URL+path, nil)
		require.NoError(t, err)
		res, err := srv.Client().Do(r)
		if err != nil {
			return "cut off"
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return fmt.Sprint(res.StatusCode, " ", strings.TrimSpace(string(text)))
	}
	require.Equal(t, "200 hello", ask("GET", "/users/1"))
	require.Equal(t, "200 hello", ask("GET", "/users/2"))
	require.Equal(t, "404 no such user", ask("GET", "/users/none"))
	require.Equal(t, "500 broken", ask("GET", "/users/broken"))
	require.Equal(t, "502", strings.TrimSpace(ask("GET", "/users/early")))
	require.Equal(t, "cut off", ask("GET", "/users/panic"))
	require.Equal(t, "200 from a reader", ask("POST", "/any/thing"))
	require.Equal(t, "204", strings.TrimSpace(ask("GET", "/taken")))
	require.Equal(t, "404 404 page not found", ask("GET", "/nowhere"))
	require.Equal(t, "405 Method Not Allowed", ask("BREW", "/users/1"))
	require.Contains(t, ask("GET", "/metrics"), "200 # HELP")
	srv.Close() // until it has returned, the last ones may not be counted
	got := counted(h)
	require.Equal(t, map[string]string{
		"GET /users/{id}": "6 3", "POST /any/": "1 0", "GET": "1 0", "other requests": "1 0",
	}, got)
}

// Names that clients make up do not grow without end.
func TestWrapBoundsNames(t *testing.T) {
	h := profiling.Handler(profiling.Config{})
	defer h.Close()
	mux := http.NewServeMux()
	for i := range 80 {
		mux.HandleFunc(fmt.Sprintf("/r%d", i), func(http.ResponseWriter, *http.Request) {})
	}
	wrapped := h.Wrap(mux)
	for i := range 80 {
		for range 2 {
			wrapped.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET",
				fmt.Sprintf("/r%d", i), nil))
		}
	}
	got := counted(h)
	require.Len(t, got, 51)
	require.Equal(t, "60 0", got["other requests"])
	require.Equal(t, "2 0", got["GET /r49"])
}

// An Op that counts is in the table and in charts of its own; one that only watches is not.
func TestOperationsOnTheDashboard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := profiling.Handler(profiling.Config{})
		defer h.Close()
		checkout := h.Op("checkout")
		h.Op("watched").Watch(time.Second)
		var none *profiling.Op
		none.Done(1)
		none.Failed(1)
		none.Watch(1)
		require.Empty(t, none.Name())
		synctest.Wait()
		time.Sleep(time.Millisecond)
		first := live(t, h, "")
		require.NotContains(t, first.Now, "operations")

		for range 5 {
			for range 10 {
				checkout.Done(2 * time.Millisecond)
			}
			checkout.Failed(20 * time.Millisecond)
			time.Sleep(time.Second)
			synctest.Wait()
		}
		a := live(t, h, fmt.Sprint("after=", first.Seq, "&boot=", first.Boot))
		require.NotEmpty(t, a.Groups, "there are other charts than before")
		for name, want := range map[string]float64{
			"Operations/checkout/operations": 11, "Operations/checkout/errors": 1,
			"Operations/checkout, latency/p50": .002, "Operations/checkout, latency/max": .02,
		} {
			c := a.column(t, name)
			require.NotNil(t, c[len(c)-1], name)
			require.InEpsilon(t, want, *c[len(c)-1], .01, name)
		}
		list := a.Now["operations"].([]any)
		require.Len(t, list, 1)
		row := list[0].(map[string]any)
		require.Equal(t, "checkout", row["name"])
		require.InEpsilon(t, 11, row["rate"], .01)
		require.InEpsilon(t, 1, row["errors"], .01)
		require.InEpsilon(t, .002, row["p50_s"], .01)
		require.InEpsilon(t, .02, row["max_s"], .01)
		require.InEpsilon(t, .04, row["busy"], .01)
		require.EqualValues(t, 55, row["total"])

		// Operations of long ago are not of late, and the charts have gaps.
		time.Sleep(time.Minute)
		synctest.Wait()
		a = live(t, h, "")
		row = a.Now["operations"].([]any)[0].(map[string]any)
		require.Zero(t, row["rate"])
		require.EqualValues(t, 55, row["total"])
		c := a.column(t, "Operations/checkout, latency/p50")
		require.Nil(t, c[len(c)-1])

		for i := range 20 {
			h.Op(fmt.Sprint("op ", i)).Done(time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		a = live(t, h, "")
		require.Len(t, a.Now["operations"], 21)
		charts := 0
		for _, g := range a.Groups {
			if g.Title == "Operations" {
				charts = len(g.Charts)
			}
		}
		require.Equal(t, 2*8, charts, "of the first eight")
	})
}
