package profiling

import (
	"net/url"
	"time"
)

// LimitClose sets how long Close of a server waits for its clients.
func LimitClose(d time.Duration) { closeTimeout = d }

// Fresh returns on how many connections of s nothing was received yet, and whether all of
// them are closed, and those that come.
func Fresh(s *Server) (n int, closed bool) {
	s.fresh.mu.Lock()
	defer s.fresh.mu.Unlock()
	return len(s.fresh.conns), s.fresh.closed
}

// Window returns the length of a capture for the parameter seconds.
func Window(maxSeconds int, seconds string, fallback time.Duration) (time.Duration, error) {
	s := &service{cfg: Config{MaxSeconds: maxSeconds}}
	return s.window(url.Values{"seconds": {seconds}}, fallback)
}

// AddForeign stores a profile that this program did not make as a capture of s,
// and returns its number.
func AddForeign(s *Service, data []byte) int {
	c := &capture{Kind: "foreign", Start: time.Now(), Data: data}
	s.service.history.add(c)
	return c.ID
}

// AddUnreadable keeps a slow operation of s whose trace cannot be read, and no
// other.
func AddUnreadable(s *Service) {
	s.service.slow.kept.add(&slowOp{Op: "torn", Took: 2, Threshold: 1, Problem: "it is torn"}, 1, 100)
}

// LiveLength is how many points the charts have.
const LiveLength = liveLength

// LimitProfiles sets how large a profile of a saved run may be uncompressed, and
// returns what it was.
func LimitProfiles(bytes int64) (before int64) {
	before, maxProfileText = maxProfileText, bytes
	return before
}

// LimitRelay sets how much of a trace is kept for a slow client, and returns what
// it was.
func LimitRelay(bytes int) (before int) {
	before, maxRelay = maxRelay, bytes
	return before
}

// LimitProfileMemory sets how much memory a profile of a saved run may take, and
// returns what it was.
func LimitProfileMemory(bytes int64) (before int64) {
	before, maxProfileMemory = maxProfileMemory, bytes
	return before
}

// Weigh returns what a profile is believed to take.
func Weigh(uncompressed []byte) int64 { return weigh(uncompressed, 0) }

// HoldRenders keeps s from rendering pages of pprof until release is called.
func HoldRenders(s *Service) (release func()) {
	for range maxRenders {
		s.service.renders <- struct{}{}
	}
	return func() {
		for range maxRenders {
			<-s.service.renders
		}
	}
}
