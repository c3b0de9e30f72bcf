package profiling

import (
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"time"

	"github.com/google/pprof/profile"
)

// maxRenders bounds the pages rendered at a time, so that a browser that opens
// many tabs leaves processors to the program.
const maxRenders = 2

// views has the pages of a capture that are passed on to the driver.
var views = map[string]bool{
	"flamegraph": true,
	"graph":      true,
	"peek":       true,
	"source":     true,
	"top":        true,
}

// uiPolicy lets pprof's pages run the scripts and styles they consist of, and
// nothing from elsewhere.
const uiPolicy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// uiNew takes a capture, stores it and redirects to its flame graph.
func (s *service) uiNew(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	name, fallback := query.Get("type"), time.Duration(0)
	if name == "" || name == cpuKind {
		name, fallback = cpuKind, defaultUIWindow
	}
	d, err := s.window(query, fallback)
	if err != nil {
		writeError(w, err)
		return
	}
	allowTime(w, r, d)
	gc, _ := strconv.Atoi(query.Get("gc"))
	c, err := s.take(r.Context(), name, d, gc > 0, labelOf(query))
	if err != nil {
		writeError(w, err)
		return
	}
	s.history.add(c)
	redirect(w, fmt.Sprintf("./%d/flamegraph", c.ID))
}

// uiView shows a page of a capture, or of the difference of two.
func (s *service) uiView(w http.ResponseWriter, r *http.Request) {
	sub, err := s.subject(r.PathValue("id"))
	if err != nil {
		writeError(w, err)
		return
	}
	view := r.PathValue("view")
	switch {
	case view == "download" && sub.base != nil:
		writeError(w, refuse(http.StatusNotImplemented,
			"a difference is not stored: download captures %d and %d and run go tool pprof -diff_base", sub.of.ID, sub.base.ID))
	case view == "download":
		attach(w, fmt.Sprintf("%s-%d.pb.gz", sub.of.Kind, sub.of.ID))
		w.Write(sub.of.Data)
	case views[view] && sub.empty():
		writeError(w, refuse(http.StatusNotFound, "nothing was sampled in capture %d (%s)", sub.of.ID, sub.of.Kind))
	default:
		s.showView(w, r, view, sub.profiles)
	}
}

// showView answers with a page of the profile that load returns, or of what that
// has more than a second one.
func (s *service) showView(w http.ResponseWriter, r *http.Request, view string, load func() (p, base *profile.Profile, err error)) {
	switch {
	case view == "disasm":
		writeError(w, refuse(http.StatusNotImplemented,
			"no disassembly here, since it takes other programs: download the profile and run go tool pprof -http=: on it"))
	case view == "graph" && !haveDot():
		writeError(w, refuse(http.StatusNotImplemented,
			"the graph needs the dot program of Graphviz, which is not installed here; flamegraph, top and peek work without"))
	case views[view]:
		s.render(w, r, view, load)
	default:
		writeError(w, refuse(http.StatusNotFound, "a profile has no page %q", view))
	}
}

// haveDot reports whether pprof will find the program that lays out graphs.
func haveDot() bool {
	_, err := exec.LookPath("dot")
	return err == nil
}

// render lets pprof answer with a page of what load returns. Nothing is kept
// between requests: a compressed profile is a small fraction of what its pages
// take, and making the handlers anew costs milliseconds.
func (s *service) render(w http.ResponseWriter, r *http.Request, view string, load func() (p, base *profile.Profile, err error)) {
	select {
	case s.renders <- struct{}{}:
		defer func() { <-s.renders }()
	case <-r.Context().Done():
		return
	}
	p, base, err := load()
	if err != nil {
		writeError(w, err)
		return
	}
	keepOwnFiles(p)
	makePlain(p)
	if base != nil {
		keepOwnFiles(base)
		makePlain(base)
		dropUnshared(p, base)
	}
	defer func() {
		// Pages are made for profiles that are as they should be.
		if p := recover(); p != nil {
			writeError(w, refuse(http.StatusUnprocessableEntity, "pprof cannot show this profile: %v", p))
		}
	}()
	handlers, err := uiHandlers(p, base)
	if err != nil {
		writeError(w, err)
		return
	}
	h := handlers["/"+view]
	if h == nil {
		writeError(w, fmt.Errorf("pprof has no page %q", view))
		return
	}
	w.Header().Set("Content-Security-Policy", uiPolicy)
	h.ServeHTTP(w, r)
}
