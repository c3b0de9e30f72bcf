package profiling

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/internal/brief"
)

// indexData is what the page of profiles shows.
type indexData struct {
	frame
	Scheme     string
	Host       string
	Prefix     string // under which the handler is mounted
	Now        string
	Phase      string
	PhaseAge   time.Duration // 0: unknown
	Running    []string
	Kinds      []kind
	Captures   []captureRow
	Comparable bool // there are two captures of one kind
	History    int
	MaxSeconds int
	Token      bool
	Metrics    bool
	Dot        bool
	System     string
	Uptime     time.Duration
	Mutex      int
}

// A captureRow is a capture in a list.
type captureRow struct {
	*capture
	At       string
	Scope    string // what its figures cover
	Size     string
	Previous int // the last capture of the same kind before it, 0 if there is none
}

// index shows the page of profiles.
func (s *service) index(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	data := indexData{
		frame:      s.frame("Profiles", "profiles", ""),
		Scheme:     "http",
		Host:       r.Host,
		Now:        now.Format(time.TimeOnly),
		Running:    runningCaptures(),
		Kinds:      kinds(),
		Captures:   s.rows(),
		History:    s.cfg.History,
		MaxSeconds: s.cfg.MaxSeconds,
		Token:      s.cfg.Token != "",
		Metrics:    s.cfg.Metrics != nil,
		Dot:        haveDot(),
		System:     systemLine(),
		Uptime:     now.Sub(s.started).Round(time.Second),
		Mutex:      runtime.SetMutexProfileFraction(-1),
	}
	if r.TLS != nil {
		data.Scheme = "https"
	}
	if full, _, _ := strings.Cut(r.RequestURI, "?"); strings.HasSuffix(full, r.URL.Path) {
		data.Prefix = strings.TrimSuffix(full, r.URL.Path)
	}
	ph := s.currentPhase()
	data.Phase = ph.Label
	if !ph.Since.IsZero() {
		data.PhaseAge = now.Sub(ph.Since).Round(time.Second)
	}
	for _, row := range data.Captures {
		data.Comparable = data.Comparable || row.Previous > 0
	}
	writePage(w, "index.html", data)
}

// systemLine says what the program runs on.
func systemLine() string {
	return fmt.Sprintf("%s %s/%s · GOMAXPROCS %d", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
}

// rows describes the captures, the newest first.
func (s *service) rows() []captureRow {
	list := s.history.newestFirst()
	rows := make([]captureRow, len(list))
	for i, c := range list {
		rows[i] = rowOf(c)
		for _, older := range list[i+1:] {
			if older.Kind == c.Kind && !(older.Empty && c.Empty) {
				rows[i].Previous = older.ID
				break
			}
		}
	}
	return rows
}

// rowOf describes c for a list.
func rowOf(c *capture) captureRow {
	row := captureRow{
		capture: c,
		At:      c.Start.Format(time.TimeOnly),
		Scope:   "as it was",
		Size:    fmt.Sprintf("%.1f KB", float64(len(c.Data))/1000),
	}
	switch {
	case c.Report != nil && c.Report.Window > 0:
		row.Scope = fmt.Sprintf("during %s, by %s", brief.Time(c.Report.Window), c.Report.Source)
	case c.Report != nil:
		row.Scope = "since the start, by " + c.Report.Source
	case c.Window > 0:
		row.Scope = "during " + c.Window.String()
	case hasChange(c.Kind):
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
		if why := g.holder(); why != "" {
			list = append(list, why)
		} else if n, left := g.running(); n > 0 {
			list = append(list, fmt.Sprintf("%s, %s left", g.what, left.Round(time.Second)))
		}
	}
	return list
}
