package profiling

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/profiling/internal/capture"
	"github.com/mvccmap/mvccmap/profiling/internal/charts"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// dashboard shows the live charts; the page asks for their data itself.
func (s *Service) dashboard(w http.ResponseWriter, r *http.Request) error {
	base := "debug/pprof/"
	if strings.HasSuffix(r.URL.Path, "/live") {
		base = ""
	}
	return web.Page(w, http.StatusOK, "dashboard.html", s.frame("Dashboard", "live", base),
		web.Data{"Kinds": capture.Kinds(), "System": systemLine()})
}

// systemLine says what the program runs on.
func systemLine() string {
	return fmt.Sprintf("%s %s/%s · GOMAXPROCS %d",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
}

// liveNow says what the program does.
type liveNow struct {
	Phase      string  `json:"phase"`
	PhaseAge   float64 `json:"phase_age_s,omitempty"`
	Next       string  `json:"next,omitempty"`
	Done       int     `json:"done"`
	Of         int     `json:"of"`
	Left       float64 `json:"left_s,omitempty"`
	Ended      bool    `json:"ended,omitempty"`
	Finished   bool    `json:"finished,omitempty"` // this is the last answer
	Results    *Table  `json:"results,omitempty"`
	Operations []opNow `json:"operations,omitempty"`
	Captures   string  `json:"captures,omitempty"` // being taken
	Goroutines int     `json:"goroutines"`
}

// live answers with the rows after the one that the parameter "after" names,
// or with all rows of the last "span" seconds and the description of the charts.
func (s *Service) live(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	after := 0
	if text := query.Get("after"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return web.Bad("after must be the number of a row, not %q", text)
		}
		after = n
	}
	span := charts.Fine
	if text := query.Get("span"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n <= 0 || n > int(charts.Day.Seconds()) {
			return web.Bad("span must be seconds, at most a day, not %q", text)
		}
		span = time.Duration(n) * time.Second
	}
	a := s.sampler.Answer(after, query.Get("boot"), span)
	now := s.liveNow()
	if name := query.Get("page"); name != "" { // a dashboard, which will ask again
		now.Finished = s.farewell.note(name)
	}
	a.Now = now
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("the charts: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(text)
	return nil
}

// liveNow says what the program does now.
func (s *Service) liveNow() liveNow {
	ph, now := s.phase(), s.now()
	n := liveNow{
		Phase: ph.Label, Goroutines: runtime.NumGoroutine(),
		Next: now.Next, Done: now.Done, Of: now.Of, Left: now.Left.Seconds(),
	}
	if n.Ended = now.Ended; n.Ended {
		n.Done, n.Next, n.Left = n.Of, "", 0
	}
	if now.Of > 0 && now.Name != "" && now.Name != ph.Label {
		n.Phase = now.Name // of the same moment as the steps
	} else if !ph.Since.IsZero() {
		n.PhaseAge = time.Since(ph.Since).Seconds()
	}
	n.Operations = s.operations.now()
	if list := capture.Running(); len(list) > 0 {
		n.Captures = list[0]
	}
	if t := now.Results; len(t.Columns) > 0 && len(t.Rows) > 0 {
		t.Rows = t.Rows[max(len(t.Rows)-shownResults, 0):]
		n.Results = &t
	}
	return n
}
