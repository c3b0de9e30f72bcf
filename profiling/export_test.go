package profiling

import (
	"net/url"
	"time"
)

// GaveUp reports whether Close of the closed server s ended by its timeout.
func GaveUp(s *Server) bool { return s.gaveUp }

// Window returns the length of a capture for the parameter seconds.
func Window(maxSeconds int, seconds string, fallback time.Duration) (time.Duration, error) {
	s := newService(Config{MaxSeconds: maxSeconds})
	return s.window(url.Values{"seconds": {seconds}}, fallback)
}
