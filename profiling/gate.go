package profiling

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// The runtime has one CPU profiler and one tracer per process, whatever the
// number of servers and handlers in it, so the gates belong to the process.
var (
	cpuGate    = gate{what: "CPU profile", limit: 1, status: http.StatusConflict}
	traceGate  = gate{what: "execution trace", limit: 1, status: http.StatusConflict}
	windowGate = gate{what: "timed capture", limit: 4, status: http.StatusTooManyRequests}
)

// A gate admits a bounded number of captures at a time and refuses the others
// at once: a queue of waiting requests would capture a time that nobody asked
// for.
type gate struct {
	what   string
	limit  int
	status int // of the refusal

	mu   sync.Mutex
	held string                  // who has it to himself, "" if nobody has
	ends map[*time.Time]struct{} // one per capture inside: when it will end
	left time.Time               // when the last one left
}

// enter admits a capture that will take d, or returns a *refusal. The returned
// function must be called when the capture has ended.
func (g *gate) enter(d time.Duration) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held != "" {
		return nil, refuse(g.status, "busy: %s", g.held)
	}
	if len(g.ends) >= g.limit {
		left := g.firstEnd()
		return nil, &refusal{
			status: g.status,
			retry:  left,
			text: fmt.Sprintf("busy: %s being taken, at most %d at a time; the next can start in %s",
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

// hold keeps all captures out until release is called, and answers them with why.
// It returns a *refusal if there is one inside.
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

// holder says who has the gate to himself, "" if nobody has.
func (g *gate) holder() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held
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

// running returns how many captures are inside and, if there is one, how long
// it takes until the first ends.
func (g *gate) running() (n int, left time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.ends) == 0 {
		return 0, 0
	}
	return len(g.ends), g.firstEnd()
}

// usedSince reports whether a capture was inside at some time since then.
func (g *gate) usedSince(then time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.ends) > 0 || g.left.After(then)
}
