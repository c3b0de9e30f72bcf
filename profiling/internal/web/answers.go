// Package web is common to the pages of package profiling: which requests are answered, in which
// form, and the templates.
package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A Handler answers a request or returns why not.
type Handler func(w http.ResponseWriter, r *http.Request) error

// ServeHTTP implements [http.Handler].
func (h Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h(w, r); err != nil {
		writeError(w, r, err)
	}
}

// A Refusal is an error with the HTTP status that tells it to a client.
type Refusal struct {
	Status int
	Text   string
	Retry  time.Duration // if positive, when to ask again
}

// Error implements error.
func (e *Refusal) Error() string { return e.Text }

// Refuse returns a [Refusal].
func Refuse(status int, format string, args ...any) error {
	return &Refusal{Status: status, Text: fmt.Sprintf(format, args...)}
}

// Bad refuses a request that makes no sense.
func Bad(format string, args ...any) error {
	return Refuse(http.StatusBadRequest, format, args...)
}

// NotFound refuses a request for something that does not exist.
func NotFound(format string, args ...any) error {
	return Refuse(http.StatusNotFound, format, args...)
}

// frameKey is the key under which a request's context has the [Frame] of the site.
type frameKey struct{}

// writeError answers with err, under the status of a [Refusal], otherwise as an internal error:
// to a browser as a page of the site, else as plain text.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusInternalServerError
	h := w.Header()
	if e, ok := errors.AsType[*Refusal](err); ok {
		status = e.Status
		if e.Retry > 0 {
			h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.Retry.Seconds()))))
		}
	}
	h.Del("Content-Disposition")
	h.Set("X-Go-Pprof", "1") // makes "go tool pprof" print the text
	if f, ok := r.Context().Value(frameKey{}).(Frame); ok &&
		strings.Contains(r.Header.Get("Accept"), "text/html") {
		f.Page, f.Base = http.StatusText(status), Base(r.URL.Path)
		if Page(w, status, "error.html", f, Data{"Status": f.Page, "Text": err.Error()}) == nil {
			return
		}
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, err)
}

// Base returns the relative path from a path of the site to /debug/pprof/.
func Base(path string) string {
	const at = "debug/pprof/"
	rest, below := strings.CutPrefix(path, "/"+at)
	if below {
		return cmp.Or(strings.Repeat("../", strings.Count(rest, "/")), "./")
	}
	return cmp.Or(strings.Repeat("../", strings.Count(path, "/")-1), "./") + at
}

// Redirect answers with 303 and a relative reference, which is right whatever
// prefix the handler is mounted under; [http.Redirect] would make it absolute.
func Redirect(w http.ResponseWriter, ref string) error {
	w.Header().Set("Location", ref)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// To returns a handler that redirects.
func To(ref string) Handler {
	return func(w http.ResponseWriter, _ *http.Request) error { return Redirect(w, ref) }
}

// AsksJSON reports whether a query asks for JSON in place of a page.
func AsksJSON(query url.Values) (bool, error) {
	switch format := query.Get("format"); format {
	case "", "html", "json":
		return format == "json", nil
	default:
		return false, Bad("format must be html or json, not %q", format)
	}
}

// JSON answers with v, indented.
func JSON(w http.ResponseWriter, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(buf.Bytes())
	return nil
}

// Attach announces a binary answer that a browser saves under name.
func Attach(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
}

// AllowTime extends the write deadline of r's connection, if its server has one,
// by d, the length of a capture.
func AllowTime(w http.ResponseWriter, r *http.Request, d time.Duration) {
	srv, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if ok && srv.WriteTimeout > 0 {
		http.NewResponseController(w).SetWriteDeadline(time.Now().Add(srv.WriteTimeout + d))
	}
}

// A Memory is an [http.ResponseWriter] that keeps the answer.
type Memory struct {
	bytes.Buffer
	Status int // 0 before one is written
	header http.Header
}

// Header implements [http.ResponseWriter].
func (m *Memory) Header() http.Header {
	if m.header == nil {
		m.header = http.Header{}
	}
	return m.header
}

// WriteHeader implements [http.ResponseWriter].
func (m *Memory) WriteHeader(status int) { m.Status = status }

// Path returns the relative reference of a path made of these names.
func Path(names ...string) string {
	for i, name := range names {
		names[i] = url.PathEscape(name)
	}
	return "./" + strings.Join(names, "/")
}
