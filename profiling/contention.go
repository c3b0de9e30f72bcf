package profiling

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/profiling/internal/capture"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// contentionIndex shows the ways to look for contention, what each costs, and
// the reports there are.
func (s *Service) contentionIndex(w http.ResponseWriter, r *http.Request) error {
	var last time.Duration // since the last report from profiles, 0 if there is none
	if at := s.captures.LastReport(); !at.IsZero() {
		last = max(time.Since(at).Round(time.Second), time.Second)
	}
	other := func(row captureRow) bool { return row.Report == nil }
	frame := s.frame("Contention", "contention", "../")
	return web.Page(w, http.StatusOK, "contention.html", frame, web.Data{
		"Phase": s.phase().Label, "Running": capture.Running(), "Last": last,
		"Reports": slices.DeleteFunc(s.rows(), other),
		"Off":     capture.Off(), "Longest": s.cfg.MaxSeconds,
		"MaxTrace": int(min(capture.MaxTrace, s.captures.Longest).Seconds()),
	})
}

// contentionNew makes a report, stores it and redirects to it, or answers with
// it as JSON.
func (s *Service) contentionNew(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	mode, err := s.captures.Mode(query)
	if err != nil {
		return err
	}
	asJSON, err := web.AsksJSON(query)
	if err != nil {
		return err
	}
	web.AllowTime(w, r, mode.Window)
	c, err := s.captures.Waits(r.Context(), mode, labelOf(query))
	if err != nil {
		return err
	}
	if asJSON {
		return web.JSON(w, c.Report)
	}
	s.captures.Keep(c)
	return web.Redirect(w, fmt.Sprintf("./%d", c.ID))
}

// contentionReport shows a stored report as a table, or as JSON if its number
// ends in ".json".
func (s *Service) contentionReport(w http.ResponseWriter, r *http.Request) error {
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
	sorts := []string{"total", "count", "avg"}
	if c.Report.Exact {
		sorts = append(sorts, "p99", "max")
	}
	var waits []contention.Site
	never := 0 // sites of goroutines that waited all the time
	for _, site := range c.Report.Waits {
		if site.Idle {
			never++
		}
		if site.Idle && kind == idle || !site.Idle && (kind == "" || site.Kind == kind) {
			waits = append(waits, site)
		}
	}
	slices.SortStableFunc(waits, order)
	counted := func(n contention.Counter) bool { return n.Count > 0 }
	row := rowOf(c)
	frame := s.frame("Contention", "contention", "../")
	return web.Page(w, http.StatusOK, "report.html", frame, web.Data{
		"ID": c.ID, "Label": c.Label, "Phase": c.Phase, "Empty": c.Empty, "Report": c.Report,
		"At": row.At, "Scope": row.Scope,
		"Kinds": kindTotals(c.Report.Waits), "Kind": kind, "Sorts": sorts, "Sort": sort,
		"Waits": waits, "Idle": never,
		"Hidden":  c.Report.Sites - len(c.Report.Waits) - len(c.Report.Holders),
		"Counted": slices.ContainsFunc(c.Report.Counters, counted),
	})
}

// siteOrders has the ways to sort a report.
var siteOrders = map[string]func(a, b contention.Site) int{
	"total": func(a, b contention.Site) int { return cmp.Compare(b.Total, a.Total) },
	"count": func(a, b contention.Site) int { return cmp.Compare(b.Count, a.Count) },
	"avg":   func(a, b contention.Site) int { return cmp.Compare(b.Average, a.Average) },
	"p99":   func(a, b contention.Site) int { return cmp.Compare(b.P99, a.P99) },
	"max":   func(a, b contention.Site) int { return cmp.Compare(b.Max, a.Max) },
}

// A kindTotal sums up the waits of one kind at all sites but the idle ones.
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
