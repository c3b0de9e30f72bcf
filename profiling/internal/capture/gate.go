// Package capture takes profiles, execution traces and reports on contention, a
// bounded number at a time, and keeps some of them for the browser.
package capture

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// The runtime has one CPU profiler and one tracer per process, whatever the
// number of servers and handlers in it, so the gates belong to the process.
var (
	cpuGate    = gate{what: "CPU profile", limit: 1, status: http.StatusConflict}
	traceGate  = gate{what: "execution trace", limit: 1, status: http.StatusConflict}
	windowGate = gate{what: "timed capture", limit: 4, status: http.StatusTooManyRequests}
	// A flight recorder may record while an execution trace is taken.
	flightGate = gate{
		what: "recording of slow operations", limit: 1, status: http.StatusConflict,
	}
)

// HoldCPU keeps the CPU profiler from all others until release is called.
func HoldCPU(why string) (release func(), err error) { return cpuGate.hold(why) }

// HoldFlight keeps the flight recorder from all others until release is called.
func HoldFlight(why string) (release func(), err error) { return flightGate.hold(why) }

// Instrumented reports whether an execution trace was being taken at any time after since.
func Instrumented(since time.Time) bool {
	return traceGate.usedSince(since) || flightGate.usedSince(since)
}

// Running says in words which captures are being taken.
func Running() []string {
	var list []string
	for _, g := range []*gate{&cpuGate, &traceGate, &windowGate} {
		if text := g.state(); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// A gate admits a bounded number of captures at a time and refuses the others
// at once: a request that waited in a queue would capture another time than it
// asked for.
type gate struct {
	what   string
	limit  int
	status int // of the refusal

	mu   sync.Mutex
	held string                  // why no capture is admitted, "" if one may be
	ends map[*time.Time]struct{} // one per capture inside: when it will end
	left time.Time               // when the last one left
}

// enter admits a capture that will take d, or returns a refusal. The returned
// function must be called when the capture has ended.
func (g *gate) enter(d time.Duration) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held != "" {
		return nil, web.Refuse(g.status, "busy: %s", g.held)
	}
	if len(g.ends) >= g.limit {
		left := g.firstEnd()
		return nil, &web.Refusal{
			Status: g.status,
			Retry:  left,
			Text: fmt.Sprintf(
				"busy: %s being taken, at most %d at a time; the next can start in %s",
				g.what, g.limit, left.Round(time.Second)),
		}
	}
	end := time.Now().Add(d)
	if g.ends == nil {
		g.ends = make(map[*time.Time]struct{})
	}
	g.ends[&end] = struct{}{}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.ends, &end)
		g.left = time.Now()
	}, nil
}

// hold makes the gate refuse all captures, with the reason why, until release is called. If a
// capture is inside it returns a refusal instead.
func (g *gate) hold(why string) (release func(), err error) {
	leave, err := g.enter(0)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = why
	return func() {
		g.mu.Lock()
		g.held = ""
		g.mu.Unlock()
		leave()
	}, nil
}

// state says in words which captures are inside, or why none is admitted; "" if none is inside.
func (g *gate) state() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held != "" || len(g.ends) == 0 {
		return g.held
	}
	return fmt.Sprintf("%s, %s left", g.what, g.firstEnd().Round(time.Second))
}

// firstEnd returns how long it takes until the first capture inside ends,
// never less than a second. g.mu is held.
func (g *gate) firstEnd() time.Duration {
	var first time.Duration
	for end := range g.ends {
		if left := time.Until(*end); first == 0 || left < first {
			first = left
		}
	}
	return max(first, time.Second)
}

// usedSince reports whether a capture was inside at some time since then.
func (g *gate) usedSince(then time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.ends) > 0 || g.left.After(then)
}

// A History is a bounded list of things with numbers, which count from 1 and are
// never used again. Its methods may be called from several goroutines.
type History[T any] struct {
	mu   sync.Mutex
	last int
	list []T   // the oldest first
	ids  []int // their numbers
}

// Add stores the thing that create makes for the next number. Then it calls surplus with the list,
// the oldest thing first, and drops the thing at the returned index, until that index is negative.
func (h *History[T]) Add(create func(id int) T, surplus func(list []T) (index int)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	h.list, h.ids = append(h.list, create(h.last)), append(h.ids, h.last)
	for i := surplus(h.list); i >= 0; i = surplus(h.list) {
		h.list, h.ids = slices.Delete(h.list, i, i+1), slices.Delete(h.ids, i, i+1)
	}
}

// Get returns the thing with the given number. gone tells that it was dropped.
func (h *History[T]) Get(id int) (of T, ok, gone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.Index(h.ids, id); i >= 0 {
		return h.list[i], true, false
	}
	return of, false, 0 < id && id <= h.last
}

// NewestFirst returns the list in the order in which it is shown.
func (h *History[T]) NewestFirst() []T {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := append([]T{}, h.list...) // not nil, for JSON
	slices.Reverse(list)
	return list
}
