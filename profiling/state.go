package profiling

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling/internal/charts"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

const (
	// healthAge is for how long an answer about the program's health is
	// given again: every client that can reach the port may ask.
	healthAge = time.Second
	// sampleAge is how old the newest sample of the charts may become.
	sampleAge = 10 * charts.Interval
)

// A health knows whether the program works. Its methods may be called from
// several goroutines.
type health struct {
	check func() error
	turn  chan struct{} // holds a value during a check
	at    time.Time     // of the last check, zero before
	err   error         // its result
}

// now returns why the program does not work, or nil. It waits for a check, also
// for that of another caller, unless ctx ends.
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

// ask makes a check. A panic is an answer as well: otherwise each request would
// make the check again.
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
func (s *Service) healthy() error {
	newest, closed := s.sampler.State()
	if closed {
		return errors.New("the service is closed")
	}
	if newest.IsZero() {
		newest = s.started
	}
	if age := time.Since(newest); age > sampleAge {
		return fmt.Errorf("a source of the charts has not answered for %s", age.Round(time.Second))
	}
	return nil
}

// serveHealth answers 200 or 503. A client that the guard would not let in learns
// nothing else.
func (s *Service) serveHealth(w http.ResponseWriter, r *http.Request, trusted bool) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return web.Refuse(http.StatusMethodNotAllowed,
			"method %s is not served, only GET and HEAD", r.Method)
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
	return nil
}

// mapsVar is the name of the variable that has the statistics of the maps.
const mapsVar = "mvccmap"

// vars answers with the variables of package expvar, if the program uses it, and
// the statistics of the maps, as one JSON object. The command line is left out:
// it may hold secrets.
//
// Package expvar is not imported here: that alone would publish the command line
// at /debug/vars of [http.DefaultServeMux], in programs that serve it to others.
// If a program does import it, the handler there is asked.
func (s *Service) vars(w http.ResponseWriter, r *http.Request) error {
	all := map[string]json.RawMessage{}
	if h := expvarHandler(); h != nil && r.Context().Value(asked{}) == nil {
		answer := new(web.Memory)
		h.ServeHTTP(answer, expvarRequest(r.Context()))
		if answer.Status >= http.StatusBadRequest {
			answer.Reset() // it is not package expvar, but perhaps this service behind its guard
			answer.WriteString("{}")
		}
		if err := json.Unmarshal(answer.Bytes(), &all); err != nil {
			return fmt.Errorf("a variable published by the program is not JSON: %w", err)
		}
		delete(all, "cmdline")
	}
	if _, taken := all[mapsVar]; !taken {
		stats := map[string]mvcc.Stats{}
		for _, m := range s.maps {
			stats[m.Name] = m.Stats()
		}
		text, err := json.Marshal(stats)
		if err != nil {
			return err
		}
		all[mapsVar] = text
	}
	return web.JSON(w, all)
}

// asked is the key of contexts in which the handler of expvar was asked already:
// in a strange program that handler leads back here.
type asked struct{}

// expvarRequest asks for what expvar has.
func expvarRequest(ctx context.Context) *http.Request {
	ctx = context.WithValue(ctx, asked{}, true)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/debug/vars", nil)
	if err != nil {
		panic(err) // the address is a constant
	}
	return r
}

// expvarHandler returns the handler of package expvar, or what the program
// registered in its place, or nil.
func expvarHandler() http.Handler {
	h, pattern := http.DefaultServeMux.Handler(expvarRequest(context.Background()))
	if !strings.HasSuffix(pattern, "/debug/vars") {
		return nil // a redirect, or a handler of everything
	}
	return h
}
