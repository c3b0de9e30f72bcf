package profiling

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the page
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"runtime"
	"strings"
	"time"
)

//go:embed index.html
var indexHTML string

//go:embed style.css
var indexCSS string

var indexPage = template.Must(template.New("index").Parse(indexHTML))

// indexPolicy lets the index page use its one style sheet and nothing else.
var indexPolicy = func() string {
	sum := sha256.Sum256([]byte(indexCSS))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; " +
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
}()

// indexData is what the index page shows. Base is the relative path from the
// page to /debug/pprof/: all its links are relative, so that it works under
// any prefix.
type indexData struct {
	Base       string
	Title      string
	Style      template.CSS
	Scheme     string
	Host       string
	Prefix     string // under which the handler is mounted
	Now        string
	Phase      string
	PhaseAge   time.Duration // 0: unknown
	Running    []string
	Kinds      []kind
	Captures   []captureRow
	History    int
	MaxSeconds int
	Token      bool
	Dot        bool
	Go         string
	Procs      int
	Goroutines int
	Uptime     time.Duration
	Mutex      int
}

// A captureRow is a capture in the list of the index page.
type captureRow struct {
	*capture
	At    string
	Scope string // what its figures cover
	Size  string
}

// index shows the index page.
func (s *service) index(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	data := indexData{
		Base:       "debug/pprof/",
		Title:      s.cfg.Title,
		Style:      template.CSS(indexCSS),
		Scheme:     "http",
		Host:       r.Host,
		Now:        now.Format(time.TimeOnly),
		Running:    runningCaptures(),
		Kinds:      kinds(),
		History:    s.cfg.History,
		MaxSeconds: s.cfg.MaxSeconds,
		Token:      s.cfg.Token != "",
		Dot:        haveDot(),
		Go:         runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		Procs:      runtime.GOMAXPROCS(0),
		Goroutines: runtime.NumGoroutine(),
		Uptime:     now.Sub(s.started).Round(time.Second),
		Mutex:      runtime.SetMutexProfileFraction(-1),
	}
	if strings.HasSuffix(r.URL.Path, "/debug/pprof/") {
		data.Base = ""
	}
	if r.TLS != nil {
		data.Scheme = "https"
	}
	if full, _, _ := strings.Cut(r.RequestURI, "?"); strings.HasSuffix(full, r.URL.Path) {
		data.Prefix = strings.TrimSuffix(full, r.URL.Path)
	}
	ph := s.phase.now()
	data.Phase = ph.Label
	if !ph.Since.IsZero() {
		data.PhaseAge = now.Sub(ph.Since).Round(time.Second)
	}
	for _, c := range s.history.newestFirst() {
		data.Captures = append(data.Captures, rowOf(c))
	}
	var buf bytes.Buffer
	if err := indexPage.Execute(&buf, data); err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Security-Policy", indexPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(buf.Bytes())
}

// rowOf describes c for the index page.
func rowOf(c *capture) captureRow {
	row := captureRow{
		capture: c,
		At:      c.Start.Format(time.TimeOnly),
		Scope:   "as it was",
		Size:    fmt.Sprintf("%.1f KB", float64(len(c.Data))/1000),
	}
	if c.Window > 0 {
		row.Scope = "during " + c.Window.String()
	} else if hasChange(c.Kind) {
		row.Scope = "since the start"
	}
	if c.Empty {
		row.Scope += ", no samples"
	}
	return row
}

// hasChange reports whether the named kind counts events since the start.
func hasChange(name string) bool {
	for _, k := range kinds() {
		if k.Name == name {
			return k.Change
		}
	}
	return false
}

// runningCaptures says in words which captures are being taken.
func runningCaptures() []string {
	var list []string
	for _, g := range []*gate{&cpuGate, &traceGate, &windowGate} {
		if n, left := g.running(); n > 0 {
			list = append(list, fmt.Sprintf("%s, %s left", g.what, left.Round(time.Second)))
		}
	}
	return list
}
