// Package pprofui shows profiles by the pages of github.com/google/pprof, also those of
// other programs.
package pprofui

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// A Page describes pprof's pages, at their top.
type Page struct {
	web.Frame        // its Page names the profile; its Base need not be set
	About     string // when it was taken, for how long, in which phase
	Links     []Link
	// Difference tells that there is no file to download.
	Difference bool
	// More and Less name the sides of a difference, for the samples that each has more.
	More, Less string
	Note       string // why names of files are missing; set by Show
}

// A Link leads from a page of pprof to another view. If the link shows or hides something, Shown is
// "true" or "false".
type Link struct{ Ref, Text, Shown string }

// send answers with the page of pprof in a, to which it adds the navigation, style and title of
// this site and a script for the keyboard. It sends a page that is not as expected, such as of
// another version of pprof, as it is.
func send(w http.ResponseWriter, r *http.Request, a *web.Memory, p Page, view string) error {
	if a.Status >= http.StatusBadRequest {
		return web.Refuse(a.Status, "%s", strings.TrimSpace(a.String()))
	}
	p.Base = web.Base(r.URL.Path)
	data := web.Data{
		"About": p.About, "Links": p.Links, "Difference": p.Difference,
		"More": p.More, "Less": p.Less, "Note": p.Note, "View": view,
	}
	head, err := web.Part("pprofhead", p.Frame, data)
	if err != nil {
		return err
	}
	top, err := web.Part("pproftop", p.Frame, data)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(cmp.Or(a.Status, http.StatusOK))
	w.Write(wrap(dropScraps(a.Bytes()), head, top))
	return nil
}

// wrap puts our head and top into a page, in place of its title and the start of its body.
func wrap(page, head, top []byte) []byte {
	start, rest, ok := bytes.Cut(page, []byte("<title>"))
	_, style, titled := bytes.Cut(rest, []byte("</title>"))
	style, script, ends := bytes.Cut(style, []byte("</head>"))
	between, body, begins := bytes.Cut(script, []byte("<body>"))
	if !ok || !titled || !ends || !begins {
		return page
	}
	start = bytes.Replace(start, []byte("<html>"), []byte(`<html lang="en">`), 1)
	end := bytes.LastIndex(body, []byte("</body>"))
	if end < 0 {
		return page
	}
	// Our style comes after theirs. Our top begins the main part, and their body ends it.
	return bytes.Join([][]byte{
		start, style, head, []byte("</head>"), between, top, body[:end], []byte("</main>"), body[end:],
	}, nil)
}

// shortenGenerics takes the type arguments out of the names of functions, as the runtime does in
// stack traces: those that the compiler makes, of shapes, are longer than any box of a flame graph.
func shortenGenerics(p *profile.Profile) {
	for _, f := range p.Function {
		f.Name, f.SystemName = humanize.Generic(f.Name), humanize.Generic(f.SystemName)
	}
}

var (
	displays = regexp.MustCompile(`"Display":\[(?:"(?:[^"\\]|\\.)*",?)*\]`)
	scraps   = regexp.MustCompile(`,"\.{0,2}\](?:[^"\\]|\\.)*"`)
)

// dropScraps takes names such as ".]" out of a flame graph. The driver makes them of [...] for
// narrow boxes, since it cuts at points.
func dropScraps(page []byte) []byte {
	return displays.ReplaceAllFunc(page, func(list []byte) []byte {
		return scraps.ReplaceAll(list, nil)
	})
}

// turns bounds the pages rendered at a time, so that a browser that opens many tabs leaves
// processors to the program. It holds a value for each page being rendered.
var turns = make(chan struct{}, 2)

// Views has the pages of the driver that are served for a profile.
var Views = []string{"flamegraph", "top", "peek", "source"}

// policy lets pprof's pages run the scripts and styles they consist of, and those of
// this server.
const policy = "default-src 'none'; " +
	"script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
	"img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// Show answers with a page of the profile p that load returns, or of the difference p minus base if
// base is not nil. It calls load when it is the page's turn. Nothing is kept between requests: a
// compressed profile is a small fraction of the memory of its pages, and making the handlers anew
// costs milliseconds.
func Show(
	w http.ResponseWriter, r *http.Request, view string, page Page,
	load func() (p, base *profile.Profile, err error),
) (err error) {
	switch {
	case view == "disasm":
		return web.Refuse(http.StatusNotImplemented, "no disassembly here, since it takes "+
			"other programs: download the profile and run go tool pprof -http=: on it")
	case !slices.Contains(Views, view):
		return web.NotFound("a profile has no page %q", view)
	}
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
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
		q.DocURL = "" // a link to another site
		shortenGenerics(q)
	}
	if page.Note != "" && view == "source" {
		return web.NotFound("%s", page.Note+" The other pages of the profile work.")
	}
	showSamples(p, base)
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
