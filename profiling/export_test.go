package profiling

import (
	"net"
	"net/http"
	"time"

	"github.com/mvccmap/mvccmap/profiling/internal/flight"
)

// LimitClose sets how long Close of a server waits for its clients.
func LimitClose(d time.Duration) { closeTimeout = d }

// ConnState tells s of the state of a connection, as its HTTP server does.
func ConnState(s *Server, c net.Conn, state http.ConnState) { s.http.ConnState(c, state) }

// AddUnreadable keeps a slow operation of s whose trace cannot be read, and no
// other.
func AddUnreadable(s *Service) {
	c := &flight.Slow{Op: "torn", Took: 2, Threshold: 1, Problem: "it is torn"}
	flight.Keep(&s.slow.Kept, c, 1, 100)
}
