package profiling

import (
	"time"

	"github.com/mvccmap/mvccmap/profiling/internal/flight"
)

// LimitClose sets how long Close of a server waits for its clients.
func LimitClose(d time.Duration) { closeTimeout = d }

// LimitFarewell sets how long Close of a server waits for dashboards.
func LimitFarewell(d time.Duration) { patience = d }

// Fresh returns on how many connections of s nothing was received yet, and whether all of
// them are closed, and those that come.
func Fresh(s *Server) (n int, closed bool) {
	s.fresh.mu.Lock()
	defer s.fresh.mu.Unlock()
	return len(s.fresh.conns), s.fresh.closed
}

// AddUnreadable keeps a slow operation of s whose trace cannot be read, and no
// other.
func AddUnreadable(s *Service) {
	c := &flight.Slow{Op: "torn", Took: 2, Threshold: 1, Problem: "it is torn"}
	flight.Keep(&s.slow.Kept, c, 1, 100)
}
