package profiling

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// healthAge is for how long an answer about the program's health is
	// given again: whoever can reach the port may ask.
	healthAge = time.Second
	// sampleAge is how old the newest sample of the charts may become.
	sampleAge = 10 * liveInterval
)

// A health knows whether the program works. Its methods may be called from
// several goroutines.
type health struct {
	check func() error
	turn  chan struct{} // holds a value while somebody checks
	at    time.Time     // of the last check, zero before
	err   error         // its result
}

func newHealth(check func() error) *health {
	return &health{check: check, turn: make(chan struct{}, 1)}
}

// now returns why the program does not work, or nil. It waits for a check, and
// for one that somebody else makes, unless ctx ends.
func (h *health) now(ctx context.Context) error {
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return errors.New("the check takes too long")
	}
	if h.at.IsZero() || time.Since(h.at) >= healthAge {
		h.err = h.ask()
		h.at = time.Now()
	}
	return h.err
}

// ask makes a check. One that panics is an answer as well: otherwise everybody who
// asks would have it made again.
func (h *health) ask() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the check panicked: %v", p)
		}
	}()
	return h.check()
}

// healthy is the check of a program that has none: the service is not closed,
// and its sources answer.
func (s *service) healthy() error {
	select {
	case <-s.sampler.stopped:
		return errors.New("the service is closed")
	default:
	}
	last := s.started
	if at := s.sampler.newest(); !at.IsZero() {
		last = at
	}
	if age := time.Since(last); age > sampleAge {
		return fmt.Errorf("a source of the charts has not answered for %s", age.Round(time.Second))
	}
	return nil
}

// newest returns when the last sample was taken, zero if none was.
func (s *sampler) newest() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return time.Time{}
	}
	return s.last.at
}

// serveHealth answers 200 or 503. Whoever the guard would not let in learns
// nothing else.
func (s *service) serveHealth(w http.ResponseWriter, r *http.Request, trusted bool) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeError(w, refuse(http.StatusMethodNotAllowed, "method %s is not served, only GET and HEAD", r.Method))
		return
	}
	err := s.health.now(r.Context())
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	switch {
	case err == nil:
		fmt.Fprintln(w, "ok")
	case trusted:
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, "failing:", err)
	default:
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, "failing")
	}
}
