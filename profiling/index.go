package profiling

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
	"github.com/mvccmap/mvccmap/profiling/internal/capture"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/pprofui"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// index shows the page of profiles.
func (s *Service) index(w http.ResponseWriter, _ *http.Request) error {
	now, ph, rows := time.Now(), s.phase(), s.rows()
	var age time.Duration // 0: unknown
	if !ph.Since.IsZero() {
		age = now.Sub(ph.Since).Round(time.Second)
	}
	return web.Page(w, http.StatusOK, "index.html", s.frame("Profiles", "profiles", ""), web.Data{
		"Now": now.Format(time.TimeOnly), "Uptime": now.Sub(s.started).Round(time.Second),
		"Phase": ph.Label, "PhaseAge": age, "System": systemLine(),
		"Running": capture.Running(), "Kinds": capture.Kinds(),
		"Captures":   rows,
		"MaxSeconds": capture.Longest.Seconds(), "CPUSeconds": capture.DefaultWindow.Seconds(),
		"Off": capture.Off(),
	})
}

// A captureRow is a capture in a list.
type captureRow struct {
	*capture.Capture
	At       string
	Scope    string // of its figures, in words: the time and the source
	Size     string
	Previous int // the last capture of the same kind before it, 0 if there is none
}

// rows describes the captures, the newest first.
func (s *Service) rows() []captureRow {
	list := s.captures.Kept.NewestFirst()
	rows := make([]captureRow, len(list))
	for i, c := range list {
		rows[i] = rowOf(c)
	}
	for i, row := range rows {
		before := slices.IndexFunc(rows[i+1:], func(r captureRow) bool {
			return r.Kind == row.Kind && !(r.Empty && row.Empty)
		})
		if before >= 0 {
			rows[i].Previous = rows[i+1+before].ID
		}
	}
	return rows
}

// rowOf describes c for a list.
func rowOf(c *capture.Capture) captureRow {
	row := captureRow{
		Capture: c,
		At:      c.Start.Format(time.TimeOnly),
		Scope:   "as it was",
		Size:    humanize.Bytes(int64(len(c.Data))),
	}
	switch {
	case c.Report != nil && c.Report.Window > 0:
		row.Scope = fmt.Sprintf("during %s, by %s", humanize.Time(c.Report.Window), c.Report.Source)
	case c.Report != nil:
		row.Scope = "since the start, by " + c.Report.Source
	case c.Window > 0:
		row.Scope = "during " + c.Window.String()
	case capture.KindNamed(c.Kind).Change:
		row.Scope = "since the start"
	}
	if c.Empty {
		row.Scope += ", no samples"
	}
	return row
}

// uiNew takes a capture, stores it and redirects to its flame graph. A client that leaves ends it.
func (s *Service) uiNew(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	name, fallback := cmp.Or(query.Get("type"), capture.CPU), time.Duration(0)
	if capture.IsTimed(name) {
		fallback = capture.DefaultWindow
	}
	d, err := capture.Seconds(query, fallback)
	if err != nil {
		return err
	}
	web.AllowTime(w, r, d)
	c, err := s.captures.Take(r.Context(), name, d)
	if err != nil {
		return err
	}
	s.captures.Keep(c)
	return web.Redirect(w, fmt.Sprintf("./%d/flamegraph", c.ID))
}

// A subject of pprof's pages is a capture, or the difference of two. Its name stands in the path of
// these pages: "7" for a capture, "7-3" for a difference.
type subject struct {
	of, base *capture.Capture // base is nil without a comparison
}

// subject finds the captures that a path names, and checks that they can be compared.
func (s *Service) subject(name string) (sub subject, err error) {
	of, base, compared := strings.Cut(name, "-")
	if sub.of, err = s.captures.Get(of); err != nil || !compared {
		return sub, err
	}
	if sub.base, err = s.captures.Get(base); err != nil {
		return sub, err
	}
	switch {
	case sub.of == sub.base:
		err = web.Bad("a capture does not differ from itself: choose two")
	case sub.of.Kind != sub.base.Kind:
		err = web.Bad(
			"capture %d is of kind %s and capture %d of kind %s: only equal kinds can be compared",
			sub.of.ID, sub.of.Kind, sub.base.ID, sub.base.Kind)
	case sub.of.Empty && sub.base.Empty:
		err = web.NotFound("nothing was sampled in either capture")
	}
	return sub, err
}

// sideOf describes a capture that is compared.
func sideOf(c *capture.Capture) pprofui.Side {
	return pprofui.Side{Name: fmt.Sprintf("capture %d", c.ID), Ops: c.Ops}
}

// profiles returns the profile to show, and the profile to subtract from it, or nil. Both leave out
// goroutines that wait for work, unless work is set.
func (sub subject) profiles(work bool) (p, base *profile.Profile, err error) {
	if p, err = parse(sub.of, work); err != nil || sub.base == nil {
		return p, nil, err
	}
	if base, err = parse(sub.base, work); err != nil {
		return nil, nil, err
	}
	pprofui.ScaleBase(base, sideOf(sub.of), sideOf(sub.base))
	p.Comments = append(p.Comments,
		fmt.Sprintf("Difference: capture %d minus capture %d", sub.of.ID, sub.base.ID))
	return p, base, nil
}

// parse returns the profile of a capture. It leaves out goroutines that wait for work, unless work
// is set or all of them do.
func parse(c *capture.Capture, work bool) (*profile.Profile, error) {
	p, err := profile.ParseData(c.Data)
	if err != nil || work {
		return p, err
	}
	rest := slices.DeleteFunc(slices.Clone(p.Sample), func(s *profile.Sample) bool {
		return s.HasLabel(contention.WorkLabel, "true")
	})
	if len(rest) > 0 {
		p.Sample = rest
	}
	return p, nil
}

// uiView shows a page of a capture, or of the difference of two.
func (s *Service) uiView(w http.ResponseWriter, r *http.Request) error {
	sub, err := s.subject(r.PathValue("id"))
	if err != nil {
		return err
	}
	view := r.PathValue("view")
	switch {
	case view == "download" && sub.base != nil:
		return web.Refuse(http.StatusNotImplemented, "a difference is not stored: "+
			"download captures %d and %d and run go tool pprof -diff_base", sub.of.ID, sub.base.ID)
	case view == "download":
		web.Attach(w, fmt.Sprintf("%s-%d.pb.gz", sub.of.Kind, sub.of.ID))
		w.Write(sub.of.Data)
		return nil
	case slices.Contains(pprofui.Views, view) && sub.base == nil && sub.of.Empty:
		return web.NotFound("nothing was sampled in capture %d (%s)", sub.of.ID, sub.of.Kind)
	}
	work := r.URL.Query().Get("work") == "shown"
	return pprofui.Show(w, r, view, s.pageOf(sub, view, work),
		func() (p, base *profile.Profile, err error) { return sub.profiles(work) })
}

// workLink leads to the view with the goroutines that wait for work or, if shown, without them.
func workLink(d time.Duration, view string, shown bool) pprofui.Link {
	link := pprofui.Link{
		Text: "waits for work: " + humanize.Time(d), Ref: view, Shown: strconv.FormatBool(shown),
	}
	if !shown {
		link.Ref += "?work=shown"
	}
	return link
}

// pageOf describes pprof's pages of sub, with links to the other views of it.
func (s *Service) pageOf(sub subject, view string, work bool) pprofui.Page {
	of := rowOf(sub.of)
	link := func(text, format string, args ...any) pprofui.Link {
		return pprofui.Link{Ref: "../" + fmt.Sprintf(format, args...), Text: text}
	}
	if sub.base == nil {
		name := fmt.Sprintf("%s, capture %d", of.Kind, of.ID)
		page := pprofui.Page{Frame: s.frame(name, "profiles", ""), About: of.about()}
		if of.Report != nil {
			page.Links = []pprofui.Link{link("table", "../contention/%d", of.ID)}
		}
		if of.Work > 0 {
			page.Links = append(page.Links, workLink(of.Work, view, work))
		}
		if of.Collector > 0 { // its boxes are too narrow for names beside those of many goroutines
			page.Links = append(page.Links, pprofui.Link{Ref: view + `?f=%5C%5Bcollector%5C%5D`,
				Text: "collector: " + humanize.Time(of.Collector)})
		}
		return page
	}
	base := rowOf(sub.base)
	more, less := sideOf(sub.of), sideOf(sub.base)
	return pprofui.Page{
		Frame: s.frame(fmt.Sprintf("%s, capture %d minus %d", of.Kind, of.ID, base.ID),
			"profiles", ""),
		About: fmt.Sprintf("%d: %s; %d: %s; %s", of.ID, of.about(), base.ID, base.about(),
			pprofui.AboutScale(more, less)),
		Difference: true, More: more.Name, Less: less.Name,
		Links: []pprofui.Link{
			link("the other way round", "%d-%d/%s", base.ID, of.ID, view),
		},
	}
}

// about says in a line when a capture was taken, for how long, and in which phase.
func (row captureRow) about() string {
	text := row.Start.Format(time.DateTime) + ", " + row.Scope
	if row.Phase != "" {
		text += ", " + row.Phase
	}
	return text
}
