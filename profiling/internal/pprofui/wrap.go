package pprofui

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// A Page says what is on pprof's pages, above them.
type Page struct {
	web.Frame        // its Page names the profile; its Base need not be set
	About     string // when it was taken, for how long, what ran
	Links     []Link
	// Difference tells that there is no file to download.
	Difference bool
}

// A Link leads to another view, from a page of pprof.
type Link struct{ Ref, Text string }

// An answer is what a page of pprof says, before it is sent.
type answer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

// send answers with the page, made one of this site: it has the site's navigation, style
// and title, and a script for the keyboard. What is not as expected, such as in another
// version of pprof, stays as it is.
func (a *answer) send(w http.ResponseWriter, r *http.Request, p Page) error {
	if a.status >= http.StatusBadRequest {
		return web.Refuse(a.status, "%s", strings.TrimSpace(a.body.String()))
	}
	p.Base = web.Base(r.URL.Path)
	data := web.Data{
		"About": p.About, "Links": p.Links, "Dot": HaveDot(), "Difference": p.Difference,
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
	w.WriteHeader(a.status)
	w.Write(wrap(dropScraps(a.body.Bytes()), head, top))
	return nil
}

// wrap puts what is ours into a page, in place of its title and the start of its body.
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
	// The style is ours after theirs. What is theirs ends the main part, which top begins.
	return bytes.Join([][]byte{
		start, style, head, []byte("</head>"), between, top, body[:end], []byte("</main>"), body[end:],
	}, nil)
}
