package profiling

import (
	"time"

	"github.com/mvccmap/mvccmap/profiling/internal/flight"
)

// LimitClose sets how long Close of a server waits for its clients.
func LimitClose(d time.Duration) { closeTimeout = d }

// LimitFarewell sets how long Close of a server waits for dashboards.
func LimitFarewell(d time.Duration) { patience = d }

// Fresh returns on how many connections of s nothing was received yet.
func Fresh(s *Server) (n int) {
	s.fresh.Range(func(any, any) bool { n++; return true })
	return n
}

// AddUnreadable keeps a slow operation of s whose trace cannot be read, and no
// other.
func AddUnreadable(s *Service) {
	c := &flight.Slow{Op: "torn", Took: 2, Threshold: 1, Problem: "it is torn"}
	flight.Keep(&s.slow.Kept, c, 1, 100)
}
