package profiling

import (
	"cmp"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/profiling/internal/capture"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// contentionIndex shows the ways to look for contention, what each costs, and
// the reports there are.
func (s *service) contentionIndex(w http.ResponseWriter, r *http.Request) error {
	data := struct {
		web.Frame
		Phase    string
		Reports  []captureRow
		Mutex    int
		MaxTrace int
		Longest  int
		Last     time.Duration
		Running  []string
	}{
		Frame:    s.frame("Contention", "contention", "../"),
		Phase:    s.phase().Label,
		Mutex:    runtime.SetMutexProfileFraction(-1),
		MaxTrace: int(min(capture.MaxTrace, s.captures.Longest).Seconds()),
		Longest:  s.cfg.MaxSeconds,
		Running:  capture.Running(),
	}
	if at := s.captures.LastReport(); !at.IsZero() {
		data.Last = max(time.Since(at).Round(time.Second), time.Second)
	}
	for _, row := range s.rows() {
		if row.Report != nil {
			data.Reports = append(data.Reports, row)
		}
	}
	return web.Page(w, http.StatusOK, "contention.html", data)
}

// contentionNew makes a report, stores it and redirects to it, or answers with
// it as JSON.
func (s *service) contentionNew(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	mode, err := s.captures.Mode(query)
	if err != nil {
		return err
	}
	format := query.Get("format")
	if format != "" && format != "html" && format != "json" {
		return web.Bad("format must be html or json, not %q", format)
	}
	web.AllowTime(w, r, mode.Window)
	c, err := s.captures.Waits(r.Context(), mode, labelOf(query))
	if err != nil {
		return err
	}
	if format == "json" {
		return web.JSON(w, c.Report)
	}
	s.captures.Keep(c)
	return web.Redirect(w, fmt.Sprintf("./%d", c.ID))
}

// contentionReport shows a stored report as a table, or as JSON if its number
// ends in ".json".
func (s *service) contentionReport(w http.ResponseWriter, r *http.Request) error {
	id, asJSON := strings.CutSuffix(r.PathValue("id"), ".json")
	c, err := s.captures.Get(id)
	if err == nil && c.Report == nil {
		err = web.NotFound("capture %d (%s) is no report on contention", c.ID, c.Kind)
	}
	if err != nil {
		return err
	}
	if asJSON {
		return web.JSON(w, c.Report)
	}
	query := r.URL.Query()
	sort := cmp.Or(query.Get("sort"), "total")
	order, ok := siteOrders[sort]
	if !ok {
		return web.Bad("sort must be total, count, avg, p99 or max, not %q", sort)
	}
	kind := contention.Kind(query.Get("kind"))
	const idle = "idle" // in place of a kind
	data := struct {
		web.Frame
		captureRow
		Kinds   []kindTotal
		Kind    contention.Kind
		Sort    string
		Sorts   []string
		Waits   []contention.Site
		Idle    int // sites of goroutines that waited all the time
		Hidden  int
		Counted bool
	}{
		Frame:      s.frame("Contention", "contention", "../"),
		captureRow: rowOf(c),
		Kind:       kind,
		Sort:       sort,
		Sorts:      []string{"total", "count", "avg"},
	}
	if c.Report.Exact {
		data.Sorts = append(data.Sorts, "p99", "max")
	}
	data.Kinds = kindTotals(c.Report.Waits)
	for _, site := range c.Report.Waits {
		switch {
		case site.Idle:
			data.Idle++
			if kind == idle {
				data.Waits = append(data.Waits, site)
			}
		case kind == "" || site.Kind == kind:
			data.Waits = append(data.Waits, site)
		}
	}
	slices.SortStableFunc(data.Waits, order)
	data.Hidden = c.Report.Sites - len(c.Report.Waits) - len(c.Report.Holders)
	for _, n := range c.Report.Counters {
		data.Counted = data.Counted || n.Count > 0
	}
	return web.Page(w, http.StatusOK, "report.html", data)
}

// siteOrders has the ways to sort a report.
var siteOrders = map[string]func(a, b contention.Site) int{
	"total": func(a, b contention.Site) int { return cmp.Compare(b.Total, a.Total) },
	"count": func(a, b contention.Site) int { return cmp.Compare(b.Count, a.Count) },
	"avg":   func(a, b contention.Site) int { return cmp.Compare(b.Average, a.Average) },
	"p99":   func(a, b contention.Site) int { return cmp.Compare(b.P99, a.P99) },
	"max":   func(a, b contention.Site) int { return cmp.Compare(b.Max, a.Max) },
}

// A kindTotal is what was waited for one kind at all sites, the idle ones left
// out.
type kindTotal struct {
	Kind  contention.Kind
	Sites int
	Total time.Duration
}

func kindTotals(list []contention.Site) []kindTotal {
	var totals []kindTotal
	for _, site := range list {
		if site.Idle {
			continue
		}
		i := slices.IndexFunc(totals, func(k kindTotal) bool { return k.Kind == site.Kind })
		if i < 0 {
			i = len(totals)
			totals = append(totals, kindTotal{Kind: site.Kind})
		}
		totals[i].Sites++
		totals[i].Total += site.Total
	}
	slices.SortFunc(totals, func(a, b kindTotal) int { return cmp.Compare(b.Total, a.Total) })
	return totals
}
