package profiling

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"runtime/trace"
	"strconv"
	"strings"
	"time"
)

// Lengths of captures whose request does not say.
const (
	defaultCPUWindow   = 30 * time.Second // as net/http/pprof, which tools expect
	defaultTraceWindow = time.Second
	defaultUIWindow    = 5 * time.Second // somebody waits in front of a browser
)

// Handler returns the service that [Start] serves, to be mounted in a server
// of one's own:
//
//	h := profiling.Handler(profiling.Config{Maps: map[string]func() mvcc.Stats{"accounts": accounts.Stats}})
//	defer h.Close()
//	mux.Handle("/debug/pprof/", h)
//
// likewise /debug/vars, /metrics and /healthz, if wanted; or, with everything and
// the dashboard at the top, under any prefix:
//
//	mux.Handle("/profiling/", http.StripPrefix("/profiling", h))
//
// What cfg says about addresses and rates does not concern it: turn the mutex
// and block profiles on with [runtime.SetMutexProfileFraction] and
// [runtime.SetBlockProfileRate]. Without [Config.Token] it answers requests
// from this machine only, whatever the server listens on. A middleware between
// server and handler that wraps the [http.ResponseWriter] should have an Unwrap
// method, as [http.ResponseController] says; without one, the timeouts of the
// server cut off captures that take longer.
func Handler(cfg Config) *Service {
	cfg = cfg.withDefaults()
	s := newService(cfg)
	if cfg.Slow != nil {
		s.slow.start(*cfg.Slow) // the page says why it is off
	}
	return &Service{service: s, guard: s.guarded(cfg)}
}

// A Service is an [http.Handler] that serves profiles, charts and reports on
// contention. Create one with [Handler] or [Start]. Its methods may be called
// from several goroutines.
type Service struct {
	service *service
	guard   *guard
}

// ServeHTTP implements [http.Handler].
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.guard.ServeHTTP(w, r) }

// SetPhase says what the program does from now on, for instance the name of a
// workload. The pages show it, and captures are labelled with it. An empty
// label says that nothing particular runs. It never blocks and allocates a few
// words.
func (s *Service) SetPhase(label string) {
	s.service.phase.set.Store(&phase{Label: label, Since: time.Now()})
}

// Instrumented reports whether an execution trace was being taken by a service
// of this process at some time since then: a complete report on contention, a
// trace to download, or the recording of slow operations. It slows a program
// that does little but wake goroutines to less than half its speed, so what was
// measured meanwhile should be marked.
func (s *Service) Instrumented(since time.Time) bool {
	return traceGate.usedSince(since) || flightGate.usedSince(since)
}

// Close ends the goroutine that samples the charts and the recording of slow
// operations; after it has returned, the sources in [Config] are called for requests
// only. It waits for a source that is being called, and for a trace that is being
// read. Requests are still answered, without new points in the charts. A service that
// lives as long as the program need not be closed.
func (s *Service) Close() error {
	s.service.slow.close()
	s.service.sampler.close()
	return nil
}

// A service holds what is shared by the requests to one handler.
type service struct {
	cfg     Config
	started time.Time
	phase   phaseSource
	sampler *sampler
	history history
	waits   baseline
	slow    slowOps
	health  *health
	renders chan struct{} // holds one value per page being rendered
	reads   chan struct{} // holds one value per request that the source of runs works for
}

// newService starts a service; its sampler and slow must be closed.
func newService(cfg Config) *service {
	s := &service{
		cfg:     cfg,
		started: time.Now(),
		phase:   phaseSource{call: cfg.Phase},
		sampler: newSampler(cfg),
		history: history{limit: cfg.History},
		renders: make(chan struct{}, maxRenders),
		reads:   make(chan struct{}, maxRenders),
	}
	check := cfg.Health
	if check == nil {
		check = s.healthy
	}
	s.health = newHealth(check)
	s.slow.phase = func() string { return s.currentPhase().Label }
	return s
}

// currentPhase returns what the program does: as it was told, or else as the
// workload is called.
func (s *service) currentPhase() phase {
	if p := s.phase.now(); p.Label != "" || !p.Since.IsZero() {
		return p
	}
	if w := s.sampler.now(); w != nil {
		return phase{Label: w.Name}
	}
	return phase{}
}

// guarded returns the routes of s behind its guard.
func (s *service) guarded(cfg Config) *guard {
	hosts := make(map[string]bool, len(cfg.Hosts)+1)
	for _, h := range cfg.Hosts {
		hosts[strings.ToLower(h)] = true
	}
	if host, _, err := net.SplitHostPort(cfg.Addr); err == nil && cfg.Token != "" && host != "" {
		hosts[strings.ToLower(host)] = true
	}
	return &guard{next: s.routes(), health: s.serveHealth, hosts: hosts, token: newToken(cfg.Token)}
}

// routes returns the service's own mux.
func (s *service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", s.dashboard)
	mux.HandleFunc("/debug/pprof/live", s.dashboard)
	mux.HandleFunc("/debug/pprof/live.json", s.live)
	mux.HandleFunc("/debug/pprof/assets/{name}", serveAsset)
	mux.HandleFunc("/debug/pprof/{$}", s.index)
	mux.HandleFunc("/debug/pprof", func(w http.ResponseWriter, _ *http.Request) { redirect(w, "./pprof/") })
	mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })

	mux.HandleFunc("/debug/vars", s.vars)
	mux.HandleFunc("/metrics", s.metrics)

	mux.HandleFunc("/debug/pprof/profile", ownSite(s.profile))
	mux.HandleFunc("/debug/pprof/trace", ownSite(s.trace))
	mux.HandleFunc("/debug/pprof/cmdline", func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, refuse(http.StatusNotFound, "the command line is not served: it may hold secrets"))
	})
	mux.HandleFunc("/debug/pprof/{name...}", ownSite(s.named))

	mux.HandleFunc("/debug/pprof/ui", func(w http.ResponseWriter, _ *http.Request) { redirect(w, "./") })
	mux.HandleFunc("/debug/pprof/ui/{$}", func(w http.ResponseWriter, _ *http.Request) { redirect(w, "../") })
	mux.HandleFunc("/debug/pprof/ui/new", ownSite(s.uiNew))
	mux.HandleFunc("/debug/pprof/ui/diff", s.uiDiff)
	mux.HandleFunc("/debug/pprof/contention", func(w http.ResponseWriter, _ *http.Request) { redirect(w, "./contention/") })
	mux.HandleFunc("/debug/pprof/contention/{$}", s.contentionIndex)
	mux.HandleFunc("/debug/pprof/contention/new", ownSite(s.contentionNew))
	mux.HandleFunc("/debug/pprof/contention/{id}", s.contentionReport)
	mux.HandleFunc("/debug/pprof/slow", func(w http.ResponseWriter, _ *http.Request) { redirect(w, "./slow/") })
	mux.HandleFunc("/debug/pprof/slow/{$}", s.slowIndex)
	mux.HandleFunc("/debug/pprof/slow/start", ownSite(s.slowStart))
	mux.HandleFunc("/debug/pprof/slow/stop", ownSite(s.slowStop))
	mux.HandleFunc("/debug/pprof/slow/{id}", s.slowOne)
	mux.HandleFunc("/debug/pprof/ui/{id}", func(w http.ResponseWriter, r *http.Request) {
		redirect(w, "./"+url.PathEscape(r.PathValue("id"))+"/flamegraph")
	})
	// The title of each pprof page links here: the way back to the index.
	mux.HandleFunc("/debug/pprof/ui/{id}/{$}", func(w http.ResponseWriter, _ *http.Request) { redirect(w, "../../") })
	mux.HandleFunc("/debug/pprof/ui/{id}/{view}", s.uiView)
	if s.cfg.Runs != nil {
		s.runsRoutes(mux)
	}

	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, refuse(http.StatusNotFound, "nothing at %s; the dashboard is at /, the profiles are at /debug/pprof/", r.URL.Path))
	})
	return mux
}

// metrics answers with what the program gives to Prometheus.
func (s *service) metrics(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Metrics == nil {
		writeError(w, refuse(http.StatusNotFound,
			"no metrics: the program sets no Config.Metrics; package profiling/prom makes them from its maps"))
		return
	}
	s.cfg.Metrics.ServeHTTP(w, r)
}

// profile answers with a CPU profile.
func (s *service) profile(w http.ResponseWriter, r *http.Request) {
	d, err := s.window(r.URL.Query(), defaultCPUWindow)
	if err != nil {
		writeError(w, err)
		return
	}
	s.sendCapture(w, r, cpuKind, d, "profile")
}

// sendCapture takes the named profile during d and answers with it.
func (s *service) sendCapture(w http.ResponseWriter, r *http.Request, name string, d time.Duration, file string) {
	allowTime(w, r, d)
	c, err := s.take(r.Context(), name, d, false, "")
	if err != nil {
		writeError(w, err)
		return
	}
	attach(w, file)
	w.Write(c.Data)
}

// named answers with a profile of the runtime or the program: as it is now, as
// text with debug, or its change during a window with seconds.
func (s *service) named(w http.ResponseWriter, r *http.Request) {
	name, query := r.PathValue("name"), r.URL.Query()
	p, err := lookup(name)
	if err != nil {
		writeError(w, err)
		return
	}
	debug, _ := strconv.Atoi(query.Get("debug"))
	if query.Has("seconds") {
		d, err := s.window(query, 0)
		if err == nil && debug != 0 {
			err = refuse(http.StatusBadRequest, "seconds and debug exclude each other")
		}
		if err != nil {
			writeError(w, err)
			return
		}
		s.sendCapture(w, r, name, d, name+"-delta")
		return
	}
	if gc, _ := strconv.Atoi(query.Get("gc")); gc > 0 && name == "heap" {
		runtime.GC()
	}
	if debug != 0 {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	} else {
		attach(w, name)
	}
	p.WriteTo(w, debug)
}

// trace answers with an execution trace, written while it is taken.
func (s *service) trace(w http.ResponseWriter, r *http.Request) {
	d, err := s.window(r.URL.Query(), defaultTraceWindow)
	if err != nil {
		writeError(w, err)
		return
	}
	leave, err := traceGate.enter(d)
	if err != nil {
		writeError(w, err)
		return
	}
	defer leave()
	allowTime(w, r, d)
	q := newRelay()
	if err := trace.Start(q); err != nil {
		writeError(w, refuse(http.StatusConflict, "the program itself is taking an execution trace: %v", err))
		return
	}
	ctx, end := context.WithTimeout(r.Context(), d)
	defer end()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done() // whoever ended it has the part until then
		trace.Stop()
	}()
	attach(w, "trace")
	if errors.Is(q.send(w, ended, end), errSlowClient) {
		panic(http.ErrAbortHandler) // or else half a trace would look like a whole one
	}
}

// attach announces a binary answer that a browser saves under name.
func attach(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
}

// allowTime extends the write deadline of r's connection, if its server has
// one, by d, the length of a capture.
func allowTime(w http.ResponseWriter, r *http.Request, d time.Duration) {
	if srv, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && srv.WriteTimeout > 0 {
		http.NewResponseController(w).SetWriteDeadline(time.Now().Add(srv.WriteTimeout + d))
	}
}
