// Package pprofui shows profiles by the pages of github.com/google/pprof, also those of
// other programs.
package pprofui

import (
	"fmt"
	"net/http"
	"os/exec"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// Turns bounds the pages rendered at a time, so that a browser that opens many
// tabs leaves processors to the program: it holds a value for each of them.
var Turns = make(chan struct{}, 2)

// Views has the pages of the driver that a profile has here.
var Views = []string{"flamegraph", "top", "peek", "source", "graph"}

// policy lets pprof's pages run the scripts and styles they consist of, and those of
// this server.
const policy = "default-src 'none'; " +
	"script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
	"img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// Show answers with a page of the profile p that load returns, or of the difference
// p minus base if base is not nil. It calls load when it is the page's turn. Nothing is
// kept between requests: a compressed profile is a small fraction of what its pages
// take, and making the handlers anew costs milliseconds.
func Show(
	w http.ResponseWriter, r *http.Request, view string, page Page,
	load func() (p, base *profile.Profile, err error),
) (err error) {
	switch {
	case view == "disasm":
		return web.Refuse(http.StatusNotImplemented, "no disassembly here, since it takes "+
			"other programs: download the profile and run go tool pprof -http=: on it")
	case view == "graph" && !HaveDot():
		return web.Refuse(http.StatusNotImplemented, "the graph needs the dot program of "+
			"Graphviz, which is not installed here; flamegraph, top and peek work without")
	case !slices.Contains(Views, view):
		return web.NotFound("a profile has no page %q", view)
	}
	select {
	case Turns <- struct{}{}:
		defer func() { <-Turns }()
	case <-r.Context().Done():
		return nil
	}
	p, base, err := load()
	if err != nil {
		return err
	}
	for _, q := range []*profile.Profile{p, base} {
		if q == nil {
			continue
		}
		why := keepOwnFiles(q)
		if q == p {
			page.Note = why
		}
		makePlain(q)
		shortenGenerics(q)
	}
	if page.Note != "" && view == "source" {
		return web.NotFound("%s", page.Note+" The other pages of the profile work.")
	}
	if base != nil {
		dropUnshared(p, base)
	}
	defer func() {
		// The driver expects a sound profile.
		if p := recover(); p != nil {
			err = web.Refuse(http.StatusUnprocessableEntity,
				"pprof cannot show this profile: %v", p)
		}
	}()
	handlers, err := handlersOf(p, base)
	if err != nil {
		return err
	}
	h := handlers["/"+view]
	if h == nil {
		return fmt.Errorf("pprof has no page %q", view)
	}
	a := new(web.Memory)
	h.ServeHTTP(a, r)
	return send(w, r, a, page, view)
}

// HaveDot reports whether pprof will find the program that lays out graphs.
func HaveDot() bool {
	_, err := exec.LookPath("dot")
	return err == nil
}
