package profiling

import (
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling/internal/capture"
	"github.com/mvccmap/mvccmap/profiling/internal/charts"
	"github.com/mvccmap/mvccmap/profiling/internal/flight"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
	"github.com/mvccmap/mvccmap/profiling/prom"
)

// Handler returns the service that [Start] serves, to be mounted in a server
// of one's own:
//
//	maps := map[string]func() mvcc.Stats{"accounts": accounts.Stats}
//	h := profiling.Handler(profiling.Config{Maps: maps})
//	defer h.Close()
//	mux.Handle("/debug/pprof/", h) // or "/admin/debug/pprof/"
//
// The same goes for /metrics, if wanted. Or mount everything, with the dashboard at the top, under
// any prefix:
//
//	mux.Handle("/profiling/", http.StripPrefix("/profiling", h))
//
// Handler ignores the addresses and rates of cfg: turn the mutex and block profiles on with
// [runtime.SetMutexProfileFraction] and [runtime.SetBlockProfileRate]. Without [Config.Token] the
// service answers requests from this machine only, whatever the server listens on. A middleware
// between server and handler that wraps the [http.ResponseWriter] should have an Unwrap method, as
// [http.ResponseController] says; without one, the timeouts of the server cut off captures that
// take longer.
func Handler(cfg Config) *Service {
	cfg = cfg.withDefaults()
	cfg.Maps = named(cfg.Maps)
	s := &Service{cfg: cfg, started: time.Now()}
	var groups []charts.Group
	if cfg.Workload != nil {
		s.workload = &charts.Source{Read: func() any { return cfg.Workload() }}
		groups = append(groups, workloadCharts(s.workload))
	}
	s.operations.slow = &s.slow
	groups = append(groups, charts.Group{Title: "Operations", More: s.operations.more,
		Source: &charts.Source{Read: func() any { return s.operations.read() }}},
		charts.Machine(), charts.Runtime())
	for _, name := range slices.Sorted(maps.Keys(cfg.Maps)) {
		draw := charts.Map
		if isTable(name, cfg.Maps) {
			draw = charts.Table
		}
		groups = append(groups, draw(name, cfg.Maps[name]))
	}
	cfg.Values = named(cfg.Values)
	for _, name := range slices.Sorted(maps.Keys(cfg.Values)) {
		groups = append(groups, valueCharts(name, cfg.Values[name]))
	}
	s.sampler = charts.New(groups)
	if cfg.Metrics == nil {
		s.cfg.Metrics = prom.Handler(cfg.Maps, s.operations.exported, cfg.Values)
	}
	phase := func() string { return s.phase().Label }
	s.captures = capture.Captures{
		Phase: phase, Capturing: cfg.Capturing, Started: s.started, Operations: s.opsDone,
	}
	s.slow.Phase = phase
	s.guard = web.NewGuard(cfg.Addr, cfg.Hosts, cfg.Token)
	s.guard.Broken = cfg.checkToken()
	s.guard.Next = s.routes()
	s.guard.Frame = s.frame("", "", "")
	if cfg.Slow != nil {
		s.slow.Start(cfg.Slow.flight()) // the page says why it is off
	}
	return s
}

// A Service is an [http.Handler] that serves profiles, charts and reports on
// contention. Create one with [Handler] or [Start]. Its methods may be called
// from several goroutines.
type Service struct {
	cfg        Config
	started    time.Time
	guard      *web.Guard
	set        atomic.Pointer[phase] // by SetPhase; nil before the first call
	workload   *charts.Source
	sampler    *charts.Sampler
	captures   capture.Captures
	slow       flight.Recording
	operations operations
}

// ServeHTTP implements [http.Handler].
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	uncount(w)
	s.guard.ServeHTTP(w, withoutPrefix(r))
}

// pprofPath is the path below which all pages are, but the dashboard at the top.
const pprofPath = "/debug/pprof"

// withoutPrefix takes the prefix before /debug/pprof out of the path, if there is one.
func withoutPrefix(r *http.Request) *http.Request {
	cut := func(path string) string {
		i := strings.Index(path+"/", pprofPath+"/")
		return path[max(i, 0):]
	}
	if path := cut(r.URL.Path); path != r.URL.Path {
		to := *r.URL
		to.Path, to.RawPath = path, cut(r.URL.RawPath)
		short := *r
		short.URL = &to
		return &short
	}
	return r
}

// SetPhase names the work of the program from now on, for instance a workload. The pages show it,
// and captures are labelled with it. An empty label says that nothing particular runs. SetPhase
// never blocks and allocates a few words.
func (s *Service) SetPhase(label string) {
	s.set.Store(&phase{Label: label, Since: time.Now()})
}

// Instrumented reports whether an execution trace was being taken by a service of this process at
// any time after since: a complete report on contention, a trace to download, or the recording of
// slow operations. A trace slows a program that does little but wake goroutines to less than half
// its speed, so measurements of that time should be marked.
func (s *Service) Instrumented(since time.Time) bool { return capture.Instrumented(since) }

// Close ends the sampling of the charts and the recording of slow operations. It waits for a source
// that is being called and for a trace that is being read. Afterwards the sources in [Config] are
// called for requests only. Requests are still answered, without new points in the charts. A
// service that lives as long as the program need not be closed.
func (s *Service) Close() error {
	s.slow.Close()
	s.sampler.Close()
	return nil
}

// named returns the sources by names that are UTF-8, as JSON and links need them.
func named[F any](sources map[string]F) map[string]F {
	var names humanize.Names
	list := map[string]F{}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		list[names.Valid(name)] = sources[name]
	}
	return list
}

// isTable reports whether the map is a table of a database, by the names of [mvcc.DB.Sources].
func isTable(name string, all map[string]func() mvcc.Stats) bool {
	for i, c := range name {
		if c == '/' && all[name[:i]] != nil {
			return true
		}
	}
	return false
}

// A phase names the work of the program, and says since when it goes on.
type phase struct {
	Label string
	Since time.Time // zero if unknown
}

// phase returns the present phase: the one set, or else one by the name of the workload.
func (s *Service) phase() phase {
	if p := s.set.Load(); p != nil {
		return *p
	}
	return phase{Label: s.now().Name}
}

// opsDone returns how many operations the program has done: those of the workload or, if there is
// none, those of all Ops.
func (s *Service) opsDone() (n uint64) {
	if s.workload != nil {
		return charts.Now(s.workload, func(w Workload) uint64 { return w.Ops })
	}
	for _, op := range s.slow.Ops() {
		if all, _, ok := op.Totals(); ok {
			n += all.Count()
		}
	}
	return n
}

// now returns the newest state of the workload, nothing if there is no source.
func (s *Service) now() (w Workload) {
	if s.workload != nil {
		w, _ = s.workload.Last().(Workload)
	}
	return w
}

func (s *Service) frame(page, here, base string) web.Frame {
	return web.Frame{
		Title: s.cfg.Title, Page: page, Base: base, Here: here, Saved: s.cfg.Runs != nil,
		Data: len(s.cfg.Data) > 0,
	}
}

// routes returns the service's own mux.
func (s *Service) routes() http.Handler {
	const at = pprofPath
	mux := http.NewServeMux()
	for pattern, h := range map[string]web.Handler{
		"/{$}":                   s.dashboard,
		at + "/live":             s.dashboard,
		at + "/live.json":        s.live,
		at + "/assets/{name}":    web.Asset,
		at:                       web.To("./pprof/"),
		at + "/{$}":              s.index,
		at + "/profile":          web.OwnSite(s.profile),
		at + "/trace":            web.OwnSite(s.trace),
		at + "/{name...}":        web.OwnSite(s.named),
		at + "/ui":               web.To("./"),
		at + "/ui/{$}":           web.To("../"),
		at + "/ui/new":           web.OwnSite(s.uiNew),
		at + "/ui/{id}/{view}":   s.uiView,
		at + "/ui/{id}/{$}":      web.To("../../"), // where pages of pprof lead back to
		at + "/contention":       web.To("./contention/"),
		at + "/contention/{$}":   s.contentionIndex,
		at + "/contention/new":   web.OwnSite(s.contentionNew),
		at + "/contention/{id}":  s.contentionReport,
		at + "/conflicts":        web.To("./conflicts/"),
		at + "/conflicts/{$}":    web.OwnSite(s.conflicts),
		at + "/conflicts/{view}": s.conflictsView,
		at + "/slow":             web.To("./slow/"),
		at + "/slow/{$}":         s.slowIndex,
		at + "/slow/start":       web.OwnSite(s.slowStart),
		at + "/slow/usual":       web.OwnSite(s.slowUsual),
		at + "/slow/stop":        web.OwnSite(s.slowStop),
		at + "/slow/{id}":        s.slowOne,
		at + "/slow/{id}/{$}":    web.To("../"), // where pages of pprof lead back to
		at + "/slow/{id}/{view}": s.slowView,
		at + "/data":             web.To("./data/"),
		at + "/data/{$}":         s.data,
		at + "/ui/{id}": func(w http.ResponseWriter, r *http.Request) error {
			return web.Redirect(w, web.Path(r.PathValue("id"), "flamegraph"))
		},
		"/": func(_ http.ResponseWriter, r *http.Request) error {
			return web.NotFound(
				"nothing at %s; the dashboard is at the top of this service, or at %s/live, and the "+
					"profiles are at %s/", r.URL.Path, pprofPath, pprofPath)
		},
	} {
		mux.Handle(pattern, h)
	}
	mux.Handle("/metrics", s.cfg.Metrics)
	if s.cfg.Runs != nil {
		mux.Handle(at+"/runs", web.To("./runs/"))
		mux.Handle(at+"/runs/", s.cfg.Runs)
	}
	return mux
}

// Lengths of captures if the request does not say.
const (
	defaultCPUWindow   = 30 * time.Second // as net/http/pprof, which tools expect
	defaultTraceWindow = time.Second
)

// profile answers with a CPU profile.
func (s *Service) profile(w http.ResponseWriter, r *http.Request) error {
	d, err := capture.Seconds(r.URL.Query(), defaultCPUWindow)
	if err != nil {
		return err
	}
	return s.sendCapture(w, r, capture.CPU, d, "profile")
}

// sendCapture takes the named profile during d and answers with it.
func (s *Service) sendCapture(
	w http.ResponseWriter, r *http.Request, name string, d time.Duration, file string,
) error {
	web.AllowTime(w, r, d)
	c, err := s.captures.Take(r.Context(), name, d)
	if err != nil {
		return err
	}
	web.Attach(w, file)
	w.Write(c.Data)
	return nil
}

// named answers with a profile of the runtime or the program: as it is now, as
// text with debug, or its change during a window with seconds.
func (s *Service) named(w http.ResponseWriter, r *http.Request) error {
	name, query := r.PathValue("name"), r.URL.Query()
	if capture.IsTimed(name) {
		d, err := capture.Seconds(query, capture.DefaultWindow)
		if err != nil {
			return err
		}
		return s.sendCapture(w, r, name, d, name)
	}
	p, err := capture.Lookup(name)
	if err != nil {
		return err
	}
	debug, _ := strconv.Atoi(query.Get("debug"))
	if query.Has("seconds") {
		d, err := capture.Seconds(query, 0)
		if err == nil && debug != 0 {
			err = web.Bad("seconds and debug exclude each other")
		}
		if err != nil {
			return err
		}
		return s.sendCapture(w, r, name, d, name+"-delta")
	}
	if gc, _ := strconv.Atoi(query.Get("gc")); gc > 0 && name == "heap" {
		runtime.GC()
	}
	if debug != 0 {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	} else {
		web.Attach(w, name)
	}
	p.WriteTo(w, debug)
	return nil
}

// trace answers with an execution trace.
func (s *Service) trace(w http.ResponseWriter, r *http.Request) error {
	d, err := capture.Seconds(r.URL.Query(), defaultTraceWindow)
	if err != nil {
		return err
	}
	return capture.Trace(w, r, d)
}
