package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
	"github.com/mvccmap/mvccmap/internal/bench/web"
)

//go:embed pages
var pageFiles embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"duration": humanize.Time,
	"count":    spaced,
	"percent":  humanize.Percent,
	"bytes":    func(n uint64) string { return humanize.Bytes(int64(n)) },
	"function": humanize.Func,
	"base":     path.Base,
	"source":   SourceRef,
	"segment":  url.PathEscape, // of a path, whatever is in it
	"list":     func(words []string) string { return strings.Join(words, ", ") },
	"when":     func(t time.Time) string { return t.Local().Format("2006-01-02 15:04") },
	"dict": func(pairs ...any) Data {
		m := Data{}
		for ; len(pairs) > 0; pairs = pairs[2:] {
			m[pairs[0].(string)] = pairs[1]
		}
		return m
	},
}).Option("missingkey=error").ParseFS(pageFiles, "pages/*.html"))

// pagePolicy lets pages load from this server, and run no script but its files.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// A Frame has the fields that all pages share. Base is the relative path from the page to
// /debug/pprof/: all links are relative, so that the pages work under any prefix.
type Frame struct {
	Title string
	Page  string
	Base  string
	Here  string // the page within the navigation
	Saved bool   // there are pages of saved runs
	Data  bool   // there is a page of data
}

// Data has the values that a template shows beside the frame.
type Data map[string]any

// Page answers with a page made from the named template.
func Page(w http.ResponseWriter, status int, name string, f Frame, data Data) error {
	text, err := Part(name, f, data)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(text)
	return nil
}

// Part returns the text that the named template makes of the frame and data, for a page that is
// made elsewhere.
func Part(name string, f Frame, data Data) ([]byte, error) {
	data["Title"], data["Page"], data["Base"], data["Here"] = f.Title, f.Page, f.Base, f.Here
	data["Saved"], data["Data"] = f.Saved, f.Data
	var buf bytes.Buffer
	err := pages.ExecuteTemplate(&buf, name, data)
	return buf.Bytes(), err
}

// SourceRef returns the reference from the other pages of a capture to the source of one
// function, at a line. That page shows files of this program only.
func SourceRef(function string, line int) string {
	exactly := "^" + regexp.QuoteMeta(humanize.Generic(function)) + "$"
	return "source?" + url.Values{"f": {exactly}}.Encode() + fmt.Sprintf("#L%d", line)
}

// assetTypes has the types of the assets that may be asked for.
var assetTypes = map[string]string{
	".js":      "text/javascript; charset=utf-8",
	".css":     "text/css; charset=utf-8",
	".LICENSE": "text/plain; charset=utf-8",
}

// Asset answers with the file of the program that the path names.
func Asset(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	text, err := web.Files.ReadFile(name)
	if err != nil {
		return Refuse(http.StatusNotFound, "there is no asset %q", name)
	}
	w.Header().Set("Content-Type", assetTypes[path.Ext(name)])
	w.Write(text)
	return nil
}

// spaced writes n with spaces between thousands.
func spaced(n any) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}
