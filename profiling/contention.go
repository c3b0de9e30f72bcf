package profiling

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mvccmap/mvccmap/profiling/contention"
)

// contentionIndex shows the ways to look for contention, what each costs, and
// the reports there are.
func (s *service) contentionIndex(w http.ResponseWriter, r *http.Request) {
	data := struct {
		frame
		Phase    string
		Reports  []captureRow
		Mutex    int
		MaxTrace int
		Longest  int
		Last     time.Duration
		Running  []string
	}{
		frame:    s.frame("Contention", "contention", "../"),
		Phase:    s.currentPhase().Label,
		Mutex:    runtime.SetMutexProfileFraction(-1),
		MaxTrace: int(min(maxTraceWindow, time.Duration(s.cfg.MaxSeconds)*time.Second).Seconds()),
		Longest:  s.cfg.MaxSeconds,
		Running:  runningCaptures(),
	}
	if at := s.waits.at(); !at.IsZero() {
		data.Last = max(time.Since(at).Round(time.Second), time.Second)
	}
	for _, row := range s.rows() {
		if row.Report != nil {
			data.Reports = append(data.Reports, row)
		}
	}
	writePage(w, "contention.html", data)
}

// contentionNew makes a report, stores it and redirects to it, or answers with
// it as JSON.
func (s *service) contentionNew(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	take, d, err := s.contentionMode(query)
	if err != nil {
		writeError(w, err)
		return
	}
	format := query.Get("format")
	if format != "" && format != "html" && format != "json" {
		writeError(w, refuse(http.StatusBadRequest, "format must be html or json, not %q", format))
		return
	}
	allowTime(w, r, d)
	c := &capture{Kind: contentionKind, Phase: s.currentPhase().Label, Label: labelOf(query), Start: time.Now(), Window: d}
	c.Report, err = take(r)
	if err == nil {
		err = s.finish(c, c.Report.Profile())
	}
	if err != nil {
		writeError(w, err)
		return
	}
	if format == "json" {
		writeJSON(w, c.Report)
		return
	}
	s.history.add(c)
	redirect(w, fmt.Sprintf("./%d", c.ID))
}

// contentionMode returns how to make the report that query asks for, and how
// long that takes.
func (s *service) contentionMode(query url.Values) (take func(*http.Request) (*contention.Report, error), d time.Duration, err error) {
	since := query.Get("since")
	switch mode := query.Get("mode"); mode {
	case "trace":
		if since != "" {
			return nil, 0, refuse(http.StatusBadRequest, "a trace begins now: since goes with mode=profiles only")
		}
		if d, err = s.window(query, time.Second); err != nil {
			return nil, 0, err
		}
		d = min(d, maxTraceWindow)
		return func(r *http.Request) (*contention.Report, error) { return s.tracedWaits(r.Context(), d) }, d, nil
	case "", "profiles":
		switch {
		case since != "" && since != "start" && since != "last":
			return nil, 0, refuse(http.StatusBadRequest, "since must be start or last, not %q", since)
		case since != "" && query.Get("seconds") != "":
			return nil, 0, refuse(http.StatusBadRequest, "seconds and since exclude each other")
		case since == "":
			if d, err = s.window(query, defaultUIWindow); err != nil {
				return nil, 0, err
			}
		}
		return func(r *http.Request) (*contention.Report, error) {
			return s.cheapWaits(r.Context(), d, since == "last")
		}, d, nil
	default:
		return nil, 0, refuse(http.StatusBadRequest, "mode must be profiles or trace, not %q", mode)
	}
}

// contentionReport shows a stored report as a table, or as JSON if its number
// ends in ".json".
func (s *service) contentionReport(w http.ResponseWriter, r *http.Request) {
	id, asJSON := strings.CutSuffix(r.PathValue("id"), ".json")
	c, err := s.capture(id)
	if err == nil && c.Report == nil {
		err = refuse(http.StatusNotFound, "capture %d (%s) is no report on contention", c.ID, c.Kind)
	}
	if err != nil {
		writeError(w, err)
		return
	}
	if asJSON {
		writeJSON(w, c.Report)
		return
	}
	query := r.URL.Query()
	sort := cmp.Or(query.Get("sort"), "total")
	order, ok := siteOrders[sort]
	if !ok {
		writeError(w, refuse(http.StatusBadRequest, "sort must be total, count, avg, p99 or max, not %q", sort))
		return
	}
	kind := contention.Kind(query.Get("kind"))
	const idle = "idle" // in place of a kind
	data := struct {
		frame
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
		frame:      s.frame("Contention", "contention", "../"),
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
	writePage(w, "report.html", data)
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

// writeJSON answers with v, indented.
func writeJSON(w http.ResponseWriter, v any) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(buf.Bytes())
}

// maxLabel bounds the label that a capture is given, in characters.
const maxLabel = 80

// labelOf returns the parameter label, in one line and not too long.
func labelOf(query url.Values) string {
	text := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(query.Get("label"), "")))
	return strings.TrimSpace(string(text[:min(len(text), maxLabel)]))
}

// capture returns the stored capture with the given number.
func (s *service) capture(id string) (*capture, error) {
	n, err := strconv.Atoi(id)
	if err != nil {
		return nil, refuse(http.StatusNotFound, "a capture has a number, not %q", id)
	}
	c, gone := s.history.get(n)
	switch {
	case gone:
		return nil, refuse(http.StatusGone, "capture %d is gone: only the last %d are kept", n, s.cfg.History)
	case c == nil:
		return nil, refuse(http.StatusNotFound, "there is no capture %d", n)
	}
	return c, nil
}
