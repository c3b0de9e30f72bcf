package profiling_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling"
)

// A token that can be guessed lets no client in, not even one that has it.
func TestHandlerWithShortToken(t *testing.T) {
	h := handler(t, profiling.Config{Token: "short"})
	w := request(h, "/debug/pprof/?token=short")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Contains(t, w.Body.String(), "a token of 5 characters can be guessed")
}

// A flush sends the bytes written so far, and says if it is impossible.
func TestWrapFlushes(t *testing.T) {
	h := handler(t, profiling.Config{})
	var err error
	wrapped := h.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		err = http.NewResponseController(w).Flush()
		w.WriteHeader(http.StatusInternalServerError) // too late
	}))
	w := httptest.NewRecorder()
	wrapped.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	require.NoError(t, err)
	require.True(t, w.Flushed)
	require.Equal(t, map[string]string{"GET": "1 0"}, counted(h))
	var plain struct{ http.ResponseWriter }
	plain.ResponseWriter = w
	wrapped.ServeHTTP(plain, httptest.NewRequest("GET", "/", nil))
	require.ErrorIs(t, err, http.ErrNotSupported)
}

// Names of operations that come from outside do not grow without end.
func TestOpsAreBounded(t *testing.T) {
	h := handler(t, profiling.Config{})
	for i := range 300 {
		require.NotNil(t, h.Op(fmt.Sprint("op ", i)))
	}
	require.Equal(t, "op 199", h.Op("op 199").Name())
	require.Equal(t, "other operations", h.Op("op 200").Name())
	require.Same(t, h.Op("op 200"), h.Op("op 299"))
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
			"github.com/mvccmap/mvccmap/internal/bench/results"}, d)
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
