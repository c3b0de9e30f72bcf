package profiling

import (
	"bufio"
	"cmp"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// maxRoutes bounds the kinds of requests that are told apart, since each takes memory.
const maxRoutes = 50

// Wrap returns a handler that has h answer, and counts each request as an operation: see [Op]. The
// name of the operation is the method and the pattern by which a [http.ServeMux] inside of h found
// its handler, such as "GET /users/{id}". It is the method alone if there was no pattern, or if a
// handler in between gave the mux another request, as [http.Request.WithContext] makes it. Beyond
// fifty names further requests are "other requests". A status of 500 or more is a failure, and so
// is a panic, which goes on.
//
// It takes some hundred nanoseconds and two allocations for each request. The [http.ResponseWriter]
// that h gets flushes and reads from files as the server's does, and [http.ResponseController]
// finds the server's behind it. A connection that is taken over, as for WebSocket, is not counted:
// how long it lives is no latency. A request that a [Service] itself answers, such as for a
// profile, is not counted either.
//
//	srv, err := profiling.Start(profiling.Config{})
//	...
//	http.ListenAndServe(":8080", srv.Wrap(mux))
func (s *Service) Wrap(h http.Handler) http.Handler { return &wrapped{service: s, next: h} }

// A wrapped handler counts requests.
type wrapped struct {
	service *Service
	next    http.Handler

	mu    sync.RWMutex
	ops   map[route]*Op
	other *Op
}

// A route is a kind of request.
type route struct{ method, pattern string }

// ServeHTTP implements [http.Handler].
func (h *wrapped) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	a := &answer{ResponseWriter: w}
	failed := true // unless it returns
	defer func() {
		if a.uncounted {
			return
		}
		took := time.Since(start)
		if op := h.op(r); failed || a.status >= http.StatusInternalServerError {
			op.Failed(took)
		} else {
			op.Done(took)
		}
	}()
	h.next.ServeHTTP(a, r)
	failed = false
}

// op returns the operation that r was.
func (h *wrapped) op(r *http.Request) *Op {
	key := route{r.Method, r.Pattern}
	h.mu.RLock()
	op := h.ops[key]
	h.mu.RUnlock()
	if op != nil {
		return op
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch op = h.ops[key]; {
	case op != nil:
		return op
	case len(h.ops) >= maxRoutes:
		if h.other == nil {
			h.other = h.service.Op("other requests")
		}
		return h.other
	case h.ops == nil:
		h.ops = map[route]*Op{}
	}
	op = h.service.Op(key.name())
	h.ops[key] = op
	return op
}

// name returns the name of a route: a pattern may already contain the method.
func (r route) name() string {
	// Only known methods: a stranger can make up any number of others.
	switch r.method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
	default:
		return "other requests"
	}
	_, path, ok := strings.Cut(r.pattern, " ")
	if !ok {
		path = r.pattern
	}
	return strings.TrimSpace(r.method + " " + path)
}

// An answer is an [http.ResponseWriter] that knows the status.
type answer struct {
	http.ResponseWriter
	status int

	uncounted bool // the connection was taken over, or a service answers itself
}

// uncount says that the request which w answers is none of the program's own work.
func uncount(w http.ResponseWriter) {
	for {
		if a, ok := w.(*answer); ok {
			a.uncounted = true
			return
		}
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return
		}
		w = u.Unwrap()
	}
}

// Unwrap is for [http.ResponseController].
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (a *answer) WriteHeader(status int) {
	if a.status < http.StatusOK { // those before are only information
		a.status = status
	}
	a.uncounted = a.uncounted || status == http.StatusSwitchingProtocols
	a.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (a *answer) Write(b []byte) (int, error) {
	a.status = cmp.Or(a.status, http.StatusOK)
	return a.ResponseWriter.Write(b)
}

// ReadFrom implements [io.ReaderFrom], with which the server sends files.
func (a *answer) ReadFrom(r io.Reader) (int64, error) {
	a.status = cmp.Or(a.status, http.StatusOK)
	return io.Copy(a.ResponseWriter, r)
}

// Flush implements [http.Flusher].
func (a *answer) Flush() { a.FlushError() }

// FlushError is for [http.ResponseController], which says whether it is possible.
func (a *answer) FlushError() error {
	a.status = cmp.Or(a.status, http.StatusOK)
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Hijack implements [http.Hijacker].
func (a *answer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(a.ResponseWriter).Hijack()
	a.uncounted = a.uncounted || err == nil
	return conn, rw, err
}
