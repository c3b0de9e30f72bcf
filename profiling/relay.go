package profiling

import (
	"errors"
	"net/http"
	"sync"
)

// maxRelay bounds what is kept of a trace for a client that reads slowly. Tests
// lower it.
var maxRelay = 64 << 20

// A relay hands on what the runtime's tracer writes. The tracer has one goroutine
// that writes to all who trace, and for which whoever starts or stops a trace
// waits; so it must not wait for a client.
type relay struct {
	wake chan struct{} // says that there is something

	mu   sync.Mutex
	data []byte
	lost bool // the client was too slow
}

func newRelay() *relay { return &relay{wake: make(chan struct{}, 1)} }

// Write implements [io.Writer]. It never blocks.
func (q *relay) Write(p []byte) (int, error) {
	q.mu.Lock()
	if q.lost = q.lost || len(q.data)+len(p) > maxRelay; !q.lost {
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
