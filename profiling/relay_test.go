package profiling_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/planted"
	"github.com/mvccmap/mvccmap/profiling"
	"github.com/mvccmap/mvccmap/profiling/internal/capture"
)

// A stallingWriter is the answer to a client that does not read at first.
type stallingWriter struct {
	*httptest.ResponseRecorder
	once          sync.Once
	stalled, goOn chan struct{}
}

func (w *stallingWriter) Write(p []byte) (int, error) {
	w.once.Do(func() { close(w.stalled) })
	<-w.goOn
	return w.ResponseRecorder.Write(p)
}

// stallTrace asks h for a trace that is not read until release is called. What
// the handler panicked with comes from aborted.
func stallTrace(
	t *testing.T, h http.Handler, query string,
) (w *stallingWriter, release func(), aborted <-chan any) {
	t.Helper()
	w = &stallingWriter{ResponseRecorder: httptest.NewRecorder(), stalled: make(chan struct{}),
		goOn: make(chan struct{})}
	release = sync.OnceFunc(func() { close(w.goOn) })
	t.Cleanup(release)
	result := make(chan any, 1)
	go func() {
		defer func() { result <- recover() }()
		r := httptest.NewRequest(http.MethodGet, "http://localhost/debug/pprof/trace?"+query, nil)
		r.RemoteAddr = "127.0.0.1:1"
		h.ServeHTTP(w, r)
	}()
	<-w.stalled
	return w, release, result
}

// A client that downloads a trace and does not read it holds no other up: the runtime
// has one goroutine that writes all traces.
func TestStalledTraceHoldsNobodyUp(t *testing.T) {
	h := handler(t, profiling.Config{})
	require.NoError(t, h.StartSlow(profiling.SlowConfig{Above: time.Hour}))
	w, release, aborted := stallTrace(t, h, "seconds=0.01")
	returnsSoon(t, "StopSlow", h.StopSlow)
	require.Equal(t, http.StatusConflict, request(h, "/debug/pprof/trace?seconds=0.01").Code,
		"one at a time")
	release()
	require.Nil(t, <-aborted)
	require.Contains(t, w.Body.String(), "go 1.")
	require.Equal(t, http.StatusOK, request(h, "/debug/pprof/trace?seconds=0.01").Code)
}

// A trace that becomes too large for a client that does not read is cut off, and
// the client can tell.
func TestTraceOfASlowClientIsBounded(t *testing.T) {
	before := capture.MaxRelay
	defer func() { capture.MaxRelay = before }()
	capture.MaxRelay = 1 << 10
	h := handler(t, profiling.Config{})
	w, release, aborted := stallTrace(t, h, "seconds=100")
	// Whatever else there is to trace, a flight recorder makes the tracer write.
	planted.Again(t, func() {
		if h.StartSlow(profiling.SlowConfig{Above: time.Hour}) == nil {
			h.StopSlow()
		}
	})
	release()
	require.Equal(t, http.ErrAbortHandler, <-aborted, "long before its end")
	require.LessOrEqual(t, w.Body.Len(), 64<<10)
}
