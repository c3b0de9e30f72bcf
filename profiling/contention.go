package profiling

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/profiling/internal/capture"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// contentionIndex shows the ways to look for contention, their costs, and the reports there are.
func (s *Service) contentionIndex(w http.ResponseWriter, _ *http.Request) error {
	other := func(row captureRow) bool { return row.Report == nil }
	frame := s.frame("Contention", "contention", "../")
	return web.Page(w, http.StatusOK, "contention.html", frame, web.Data{
		"Phase": s.phase().Label, "Running": capture.Running(),
		"Reports": slices.DeleteFunc(s.rows(), other),
		"Off":     capture.Off(), "Longest": capture.Longest.Seconds(),
		"MaxTrace": capture.MaxTrace.Seconds(),
	})
}

// contentionNew makes a report. It answers with the report as JSON, or else keeps it and redirects
// to its page.
func (s *Service) contentionNew(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	mode, err := capture.ModeOf(query)
	if err != nil {
		return err
	}
	asJSON, err := web.AsksJSON(query)
	if err != nil {
		return err
	}
	web.AllowTime(w, r, mode.Window)
	c, err := s.captures.Waits(r.Context(), mode)
	if err != nil {
		return err
	}
	if asJSON {
		return web.JSON(w, c.Report)
	}
	s.captures.Keep(c)
	return web.Redirect(w, fmt.Sprintf("./%d", c.ID))
}

// contentionReport shows a stored report as a table.
func (s *Service) contentionReport(w http.ResponseWriter, r *http.Request) error {
	c, err := s.captures.Get(r.PathValue("id"))
	if err == nil && c.Report == nil {
		err = web.NotFound("capture %d (%s) is no report on contention", c.ID, c.Kind)
	}
	if err != nil {
		return err
	}
	kind := contention.Kind(r.URL.Query().Get("kind"))
	const idle, work = "idle", "work" // in place of a kind
	var waits []contention.Site
	never := 0 // sites of goroutines that waited all the time
	for _, site := range c.Report.Waits {
		of := site.Kind
		switch {
		case site.Work:
			of = work
		case site.Idle:
			never++
			of = idle
		}
		if kind == of || kind == "" && of == site.Kind {
			waits = append(waits, site)
		}
	}
	row := rowOf(c)
	frame := s.frame("Contention", "contention", "../")
	return web.Page(w, http.StatusOK, "report.html", frame, web.Data{
		"ID": c.ID, "Phase": c.Phase, "Empty": c.Empty, "Report": c.Report,
		"At": row.At, "Scope": row.Scope,
		"Kinds": kindTotals(c.Report.Waits), "Kind": kind,
		"Waits": waits, "Idle": never, "Work": c.Work,
		"Hidden": c.Report.Sites - len(c.Report.Waits),
	})
}

// A kindTotal sums up the waits of one kind at all sites but those that are idle or wait for work.
type kindTotal struct {
	Kind  contention.Kind
	Sites int
	Total time.Duration
}

func kindTotals(list []contention.Site) []kindTotal {
	var totals []kindTotal
	for _, site := range list {
		if site.Idle || site.Work {
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
