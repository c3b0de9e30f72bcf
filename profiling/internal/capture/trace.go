package capture

import (
	"context"
	"errors"
	"net/http"
	"runtime/trace"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// MaxRelay bounds what is kept of a trace for a client that reads slowly. Tests
// lower it.
var MaxRelay = 64 << 20

// Trace answers with an execution trace of length d, written while it is taken.
func Trace(w http.ResponseWriter, r *http.Request, d time.Duration) error {
	leave, err := traceGate.enter(d)
	if err != nil {
		return err
	}
	defer leave()
	web.AllowTime(w, r, d)
	q := &relay{wake: make(chan struct{}, 1)}
	if err := startTrace(q); err != nil {
		return err
	}
	ctx, end := context.WithTimeout(r.Context(), d)
	defer end()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done() // if it ends early, the client has the part until then
		trace.Stop()
	}()
	web.Attach(w, "trace")
	if errors.Is(q.send(w, ended, end), errSlowClient) {
		panic(http.ErrAbortHandler) // or else half a trace would look like a whole one
	}
	return nil
}

// A relay delivers what the runtime's tracer writes. The tracer has one goroutine,
// which writes all traces of the process, and to start or stop a trace is to wait for
// it. So it must not wait for a client.
type relay struct {
	wake chan struct{} // says that there is something

	mu   sync.Mutex
	data []byte
	lost bool // the client was too slow
}

// Write implements [io.Writer]. It never blocks.
func (q *relay) Write(p []byte) (int, error) {
	q.mu.Lock()
	if q.lost = q.lost || len(q.data)+len(p) > MaxRelay; !q.lost {
		q.data = append(q.data, p...)
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return len(p), nil
}

// errSlowClient is why a trace ends early.
var errSlowClient = errors.New("the client reads too slowly")

// send writes to w what comes until ended is closed, and calls end early if w
// takes no more. It uses a second buffer in turn with q's own.
func (q *relay) send(w http.ResponseWriter, ended <-chan struct{}, end func()) (err error) {
	var data []byte
	for last := false; !last; {
		select {
		case <-q.wake:
		case <-ended:
			last = true
		}
		q.mu.Lock()
		data, q.data = q.data, data[:0]
		lost := q.lost
		q.mu.Unlock()
		if err == nil {
			_, err = w.Write(data)
		}
		if err == nil && lost {
			err = errSlowClient
		}
		if err != nil {
			end()
		}
	}
	return err
}
