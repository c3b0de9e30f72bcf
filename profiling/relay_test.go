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

// A client that downloads a trace and does not read it holds no other up: the runtime has one
// goroutine that writes all traces. If the trace becomes too large it is cut off, and the client can
// tell.
func TestTraceOfASlowClient(t *testing.T) {
	before := capture.MaxRelay
	defer func() { capture.MaxRelay = before }()
	capture.MaxRelay = 1 << 10
	h := handler(t, profiling.Config{})
	w := &stallingWriter{ResponseRecorder: httptest.NewRecorder(), stalled: make(chan struct{}),
		goOn: make(chan struct{})}
	release := sync.OnceFunc(func() { close(w.goOn) })
	defer release()
	aborted := make(chan any, 1)
	go func() {
		defer func() { aborted <- recover() }()
		const url = "http://localhost/debug/pprof/trace?seconds=100"
		r := httptest.NewRequest(http.MethodGet, url, nil)
		r.RemoteAddr = "127.0.0.1:1"
		h.ServeHTTP(w, r)
	}()
	<-w.stalled
	// Whatever else there is to trace, a flight recorder makes the tracer write.
	record := func() {
		if h.StartSlow(profiling.SlowConfig{Above: time.Hour}) == nil {
			h.StopSlow()
		}
	}
	returnsSoon(t, "a recording", record)
	release()
	planted.Again(t, record)
	require.Equal(t, http.ErrAbortHandler, <-aborted, "long before its end")
	require.LessOrEqual(t, w.Body.Len(), 64<<10)
}
