package profiling

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/internal/web"
	"github.com/mvccmap/mvccmap/profiling/contention"
)

//go:embed pages
var pageFiles embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"duration": brief.Time,
	"count":    shortCount,
	"function": brief.Func,
	"base":     path.Base,
	"stacked": func(site contention.Frame, stack []contention.Frame) any {
		return struct {
			Site  contention.Frame
			Stack []contention.Frame
		}{site, stack}
	},
	"list": func(words []string) string { return strings.Join(words, ", ") },
	"when": func(t time.Time) string { return t.Local().Format("2006-01-02 15:04") },
	"links": func(row captureRow, base string, dot bool) any {
		return struct {
			Row  captureRow
			Base string
			Dot  bool
		}{row, base, dot}
	},
}).ParseFS(pageFiles, "pages/*.html"))

// pagePolicy lets pages load from this server, and run no script but its files.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// A frame is what all pages have in common. Base is the relative path from the
// page to /debug/pprof/: all links are relative, so that the pages work under
// any prefix.
type frame struct {
	Title string
	Page  string
	Base  string
	Here  string // the page within the navigation
	Saved bool   // there are pages of saved runs
}

func (s *service) frame(page, here, base string) frame {
	return frame{Title: s.cfg.Title, Page: page, Base: base, Here: here, Saved: s.cfg.Runs != nil}
}

// writePage answers with a page made from the named template.
func writePage(w http.ResponseWriter, name string, data any) {
	writePageAs(w, http.StatusOK, name, data)
}

// writePageAs answers with a page under another status.
func writePageAs(w http.ResponseWriter, status int, name string, data any) {
	var buf bytes.Buffer
	if err := pages.ExecuteTemplate(&buf, name, data); err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(buf.Bytes())
}

// assetTypes has what may be asked for among the assets.
var assetTypes = map[string]string{
	".js":      "text/javascript; charset=utf-8",
	".css":     "text/css; charset=utf-8",
	".LICENSE": "text/plain; charset=utf-8",
}

// serveAsset answers with a file that is part of the program.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	text, err := web.Files.ReadFile(name)
	if err != nil {
		writeError(w, refuse(http.StatusNotFound, "there is no asset %q", name))
		return
	}
	w.Header().Set("Content-Type", assetTypes[path.Ext(name)])
	w.Write(text)
}

// dashboard shows the live charts; the page asks for their data itself.
func (s *service) dashboard(w http.ResponseWriter, r *http.Request) {
	base := "debug/pprof/"
	if strings.HasSuffix(r.URL.Path, "/live") {
		base = ""
	}
	writePage(w, "dashboard.html", struct {
		frame
		Kinds  []kind
		System string
	}{s.frame("Dashboard", "live", base), kinds(), systemLine()})
}

// shortCount writes n with spaces between thousands.
func shortCount(n any) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}
