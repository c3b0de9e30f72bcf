package profiling_test

import (
	"encoding/json"
	"errors"
	"expvar"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling"
)

// Every client learns whether the program works, and only one that is let in why
// it does not.
func TestHealth(t *testing.T) {
	trouble := errors.New("the disk is full of secrets")
	failing := func() error { return trouble }
	for _, token := range []string{"", secret} {
		well, ill := handler(t, profiling.Config{Token: token}),
			handler(t, profiling.Config{Token: token, Health: failing})
		for name, edit := range map[string]func(*http.Request){
			"probe by address": func(r *http.Request) {
				r.Host, r.RemoteAddr = "10.1.2.3:6060", "10.9.9.9:5000"
			},
			"foreign host":    host("rebound.example"),
			"through a proxy": header("X-Forwarded-For", "192.0.2.1"),
			"other site":      browser("cross-site", "no-cors", "image"),
			"foreign origin":  header("Origin", "https://evil.example"),
		} {
			w := request(well, "/healthz", edit)
			require.Equal(t, http.StatusOK, w.Code, name)
			require.Equal(t, "ok\n", w.Body.String(), name)
			w = request(ill, "/healthz", edit)
			require.Equal(t, http.StatusServiceUnavailable, w.Code, name)
			require.Equal(t, "failing\n", w.Body.String(), name)
			require.Empty(t, w.Header().Get("WWW-Authenticate"))
			require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		}
		require.Equal(t, http.StatusServiceUnavailable, request(ill, "/healthz",
			method(http.MethodHead)).Code)
		w := request(ill, "/healthz")
		require.Equal(t, token == "", strings.Contains(w.Body.String(), "secrets"),
			"a caller without a token is a stranger")
		w = request(ill, "/healthz", header("Authorization", "Bearer "+secret))
		require.Equal(t, "failing: the disk is full of secrets\n", w.Body.String())
		w = request(well, "/healthz", method(http.MethodPost))
		require.Equal(t, http.StatusMethodNotAllowed, w.Code)
		require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
		// The others are as closed as ever.
		for _, path := range []string{"/metrics", "/debug/vars", "/healthz/",
			"/debug/pprof/slow/", "//healthz"} {
			require.NotEqual(t, http.StatusOK, request(well, path, host("rebound.example")).Code, path)
		}
	}
}

// A check is made at most once a second, and one at a time. One that panics is a result like
// another.
func TestHealthIsNotAskedTooOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls, inside atomic.Int32
		h := profiling.Handler(profiling.Config{Health: func() error {
			if inside.Add(1) != 1 {
				panic("two checks at a time")
			}
			time.Sleep(100 * time.Millisecond)
			inside.Add(-1)
			switch calls.Add(1) {
			case 1:
				return nil
			case 2:
				return errors.New("worn out")
			}
			panic("out of order")
		}})
		defer h.Close()
		ask := func(n, status int) {
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() {
					if code := request(h, "/healthz").Code; code != status {
						panic(code)
					}
				})
			}
			wg.Wait()
		}
		ask(10, http.StatusOK)
		require.EqualValues(t, 1, calls.Load())
		time.Sleep(time.Second)
		ask(10, http.StatusServiceUnavailable)
		require.EqualValues(t, 2, calls.Load())
		time.Sleep(time.Second)
		ask(10, http.StatusServiceUnavailable)
		require.EqualValues(t, 3, calls.Load())
		require.Equal(t, "failing: the check panicked: out of order\n",
			request(h, "/healthz").Body.String())
	})
}

// Without a check of its own a program works as long as its sources return.
func TestHealthOfTheSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var hanging atomic.Bool
		h := profiling.Handler(profiling.Config{Workload: func() (w profiling.Workload) {
			if hanging.Load() {
				<-hang
			}
			return w
		}})
		time.Sleep(time.Minute)
		require.Equal(t, "ok\n", request(h, "/healthz").Body.String())
		hanging.Store(true)
		time.Sleep(5 * time.Second)
		require.Equal(t, "ok\n", request(h, "/healthz").Body.String())
		time.Sleep(10 * time.Second)
		require.Contains(t, request(h, "/healthz").Body.String(),
			"failing: a source of the charts has not answered for 1")
		close(hang)
		time.Sleep(2 * time.Second)
		require.Equal(t, "ok\n", request(h, "/healthz").Body.String())
		require.NoError(t, h.Close())
		time.Sleep(time.Second)
		require.Equal(t, "failing: the service is closed\n", request(h, "/healthz").Body.String())
	})
}

func TestMetrics(t *testing.T) {
	m := mvcc.New[int, int](nil)
	defer m.Close()
	m.Store(1, 1)
	w := request(handler(t, profiling.Config{
		Maps: map[string]func() mvcc.Stats{"stock": m.Stats},
	}), "/metrics")
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), "\nmvccmap_commits_total{map=\"stock\"} 1\n")

	h := handler(t, profiling.Config{Token: secret,
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Write([]byte("the metrics"))
		})})
	require.Equal(t, http.StatusUnauthorized, request(h, "/metrics").Code)
	let := header("Authorization", "Bearer "+secret)
	require.Equal(t, http.StatusMisdirectedRequest, request(h, "/metrics", let,
		host("rebound.example")).Code)
	w = request(h, "/metrics", let, host("10.1.2.3"), peer("10.9.9.9:5000"))
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "the metrics", w.Body.String())
	require.Contains(t, request(h, "/debug/pprof/", let).Body.String(), `href="../../metrics"`)
}

func TestVars(t *testing.T) {
	if expvar.Get("profiling_test") == nil { // with -count
		expvar.NewInt("profiling_test").Set(42)
	}
	h := handler(t, profiling.Config{Maps: map[string]func() mvcc.Stats{
		"accounts": func() mvcc.Stats { return mvcc.Stats{Epoch: 5, Commits: 4} },
	}})
	w := request(h, "/debug/vars")
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Header().Get("Content-Type"), "application/json")
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &all))
	require.Equal(t, "42", string(all["profiling_test"]))
	require.Contains(t, all, "memstats")
	require.NotContains(t, all, "cmdline")
	require.NotContains(t, w.Body.String(), os.Args[0])
	var maps map[string]mvcc.Stats
	require.NoError(t, json.Unmarshal(all["mvccmap"], &maps))
	require.EqualValues(t, 4, maps["accounts"].Commits)
	require.Nil(t, expvar.Get("mvccmap"), "nothing is published for the whole program")
	require.Equal(t, http.StatusForbidden, request(h, "/debug/vars", peer("192.0.2.1:1")).Code)
}

// A program that serves what it asks asks only once.
func TestVarsOfThemselves(t *testing.T) {
	before := http.DefaultServeMux
	defer func() { http.DefaultServeMux = before }()
	http.DefaultServeMux = http.NewServeMux()
	h := handler(t, profiling.Config{})
	require.Equal(t, "{\n  \"mvccmap\": {}\n}\n", request(h, "/debug/vars").Body.String(),
		"without package expvar")
	http.Handle("/debug/vars", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host, r.RemoteAddr = "localhost", "127.0.0.1:1"
		h.ServeHTTP(w, r)
	}))
	require.Equal(t, "{\n  \"mvccmap\": {}\n}\n", request(h, "/debug/vars").Body.String())

	// Mounted as it is, it asks itself behind its guard, and is refused.
	for _, token := range []string{"", secret} {
		http.DefaultServeMux = http.NewServeMux()
		http.Handle("/debug/vars", handler(t, profiling.Config{Token: token}))
		w := request(http.DefaultServeMux, "/debug/vars", header("Authorization", "Bearer "+secret))
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "{\n  \"mvccmap\": {}\n}\n", w.Body.String())
	}

	http.DefaultServeMux = http.NewServeMux()
	http.HandleFunc("/debug/vars", func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("{broken"))
	})
	require.Equal(t, http.StatusInternalServerError, request(h, "/debug/vars").Code)
}

// A program that imports this package gets no handlers on http.DefaultServeMux.
func TestImports(t *testing.T) {
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/profile", "/debug/pprof/cmdline", "/"} {
		_, pattern := http.DefaultServeMux.Handler(httptest.NewRequest(http.MethodGet, path, nil))
		require.Empty(t, pattern, path)
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command")
	}
	out, err := exec.Command(tool, "list", "-deps", ".").CombinedOutput()
	require.NoError(t, err, string(out))
	deps := strings.Fields(string(out))
	require.Contains(t, deps, "github.com/mvccmap/mvccmap/profiling/internal/slow")
	for _, d := range deps {
		require.NotContains(t, []string{"expvar", "net/http/pprof", "net/http/httptest",
			"github.com/mvccmap/mvccmap/internal/results"}, d)
	}
}

func TestNoSavedRuns(t *testing.T) {
	h := handler(t, profiling.Config{})
	for _, at := range []string{"runs/", "runs/x/", "runs/compare?old=a&new=b"} {
		require.Equal(t, http.StatusNotFound, request(h, "/debug/pprof/"+at).Code, at)
	}
	for _, at := range []string{"/", "/debug/pprof/", "/debug/pprof/contention/"} {
		require.NotContains(t, request(h, at).Body.String(), "Runs</a>")
	}
}
