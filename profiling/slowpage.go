package profiling

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/flight"
	"github.com/mvccmap/mvccmap/profiling/internal/pprofui"
	"github.com/mvccmap/mvccmap/profiling/internal/slow"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// slowIndex shows the waits of slow operations, and the state of the recording.
func (s *Service) slowIndex(w http.ResponseWriter, r *http.Request) error {
	st, query := s.slow.State(), r.URL.Query()
	only := query.Get("op")
	if only != "" {
		if !slices.ContainsFunc(st.Ops, func(o flight.OpState) bool { return o.Name == only }) {
			return web.NotFound("there is no operation %q", only)
		}
		st.Of(only)
	}
	if asJSON, err := web.AsksJSON(query); err != nil {
		return err
	} else if asJSON {
		return web.JSON(w, st)
	}
	cfg := st.Config
	if cfg.Keep == 0 { // never on
		cfg, _ = s.slowConfig().WithDefaults()
	}
	above := ""
	if cfg.Above > 0 {
		above = cfg.Above.String()
	}
	var rows []slowRow
	for _, c := range st.Kept {
		rows = append(rows, slowRowOf(c))
	}
	var tails []tailRow
	for _, t := range st.Tails {
		tails = append(tails, tailRowOf(t))
	}
	frame := s.frame("Slow operations", "slow", "../")
	return web.Page(w, http.StatusOK, "slow.html", frame, web.Data{
		"On": st.On, "Failed": st.Failed, "Rule": st.Rule, "Ops": st.Ops,
		"Lost": st.Lost, "Problem": st.Problem, "Rows": rows,
		"Only": only, "Tails": tails, "Within": flight.TailReach.Minutes(),
		"Percentile": cfg.Percentile, "Above": above, "Keep": cfg.Keep,
		"Size": humanize.Bytes(int64(cfg.MaxBytes)), "Reach": cfg.MinAge,
	})
}

// slowConfig returns the configuration to record by, unless a visitor chooses another.
func (s *Service) slowConfig() (cfg flight.Config) {
	if s.cfg.Slow != nil {
		cfg = s.cfg.Slow.flight()
	}
	return cfg
}

// A slowRow is a slow operation on the page.
type slowRow struct {
	*flight.Slow
	At    string
	Size  string
	File  string
	Limit string // the threshold that it exceeded
	Parts []slowPart

	Verdict []pprofui.Link // one without Ref is only text
}

// A slowPart is a part of the time that an operation took.
type slowPart struct {
	Name, Class string
	Of          time.Duration
	X, Width    float64 // in thousandths
}

func slowRowOf(c *flight.Slow) slowRow {
	row := slowRow{
		Slow:  c,
		At:    c.End.Format(time.TimeOnly),
		Size:  humanize.Bytes(int64(len(c.Data))),
		File:  slowFile(c),
		Limit: "the threshold of " + humanize.Time(c.Threshold),
	}
	if c.Percentile > 0 {
		row.Limit = fmt.Sprintf("p%v of %s", c.Percentile, humanize.Time(c.Threshold))
	}
	if r := c.Report; r != nil {
		row.Parts = partsOf(r)
		row.Verdict = linked(c)
	}
	return row
}

const maybeOff = "not on a processor, most likely"

// partsOf returns the parts of a report's time, for a bar.
func partsOf(r *slow.Report) []slowPart {
	off, sure := r.Off()
	off = min(off, r.Running)
	without := maybeOff
	if sure {
		without = "not on a processor"
	}
	return drawn(r.Took, without, off, r.Running-off, r.Assist, r.Runnable, r.Waiting, r.Syscall,
		r.Unknown+r.Took-r.Seen)
}

// drawn returns the parts that took time, with their places in a bar that stands for all. times has
// the time of each part, in the order of the list below; without is the name of the first.
func drawn(all time.Duration, without string, times ...time.Duration) (list []slowPart) {
	x := 0.0
	for i, p := range []slowPart{
		{Name: without, Class: "k3"}, {Name: "running", Class: "k0"},
		{Name: "helping the collector", Class: "k5"}, {Name: "waiting for a processor", Class: "k4"},
		{Name: "waiting", Class: "k1"}, {Name: "in system calls", Class: "k2"},
		{Name: "not in the trace", Class: "none"},
	} {
		if p.Of = times[i]; p.Of <= all/10_000 { // too short to be seen
			continue
		}
		p.X, p.Width = x, 1000*float64(p.Of)/float64(max(all, 1))
		x += p.Width
		list = append(list, p)
	}
	return list
}

// atLine is a line of code in a sentence.
var atLine = regexp.MustCompile(`[^\s/()]+\.go:\d+`)

// linked returns the verdict on an operation, with links from lines of code to their source. It
// makes them of the profile that the source page is made of, too.
func linked(c *flight.Slow) (list []pprofui.Link) {
	refs := map[string]string{}
	for _, l := range c.Report.Profile(c.End).Location {
		for _, line := range l.Line {
			at := fmt.Sprintf("%s:%d", path.Base(line.Function.Filename), line.Line)
			refs[at] = fmt.Sprint(c.ID, "/", web.SourceRef(line.Function.Name, int(line.Line)))
		}
	}
	return linkLines(c.Report.Verdict, refs)
}

// linkLines makes each line of code in a sentence a link to where refs says.
func linkLines(rest string, refs map[string]string) (list []pprofui.Link) {
	for _, text := range atLine.FindAllString(rest, -1) {
		before, after, _ := strings.Cut(rest, text)
		list = append(list, pprofui.Link{Text: before}, pprofui.Link{Ref: refs[text], Text: text})
		rest = after
	}
	return append(list, pprofui.Link{Text: rest})
}

// slowFile is the name of the file that a trace is downloaded as.
func slowFile(c *flight.Slow) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, c.Op)
	return fmt.Sprintf("slow-%d-%s.trace", c.ID, name[:min(len(name), 40)])
}

// slowStart turns the recording on and leads back to the page.
func (s *Service) slowStart(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	cfg := s.slowConfig()
	percentile := strings.TrimSpace(query.Get("percentile"))
	above := strings.TrimSpace(query.Get("above"))
	switch {
	case above != "":
		d, err := time.ParseDuration(above)
		if err != nil || d <= 0 {
			return web.Bad("above must be a duration such as 5ms, not %q", above)
		}
		cfg.Above = d
	case percentile != "":
		p, err := strconv.ParseFloat(percentile, 64)
		if err != nil || !(p > 0 && p < 100) {
			return web.Bad("percentile must be a number above 0 and below 100, not %q", percentile)
		}
		cfg.Percentile, cfg.Above = p, 0
	}
	if err := s.slow.Start(cfg); err != nil {
		return err
	}
	return web.Redirect(w, "./")
}

// slowStop turns the recording off and leads back to the page.
func (s *Service) slowStop(w http.ResponseWriter, _ *http.Request) error {
	s.slow.Stop()
	return web.Redirect(w, "./")
}

// slowUsual has a usual operation explained and leads back to the page.
func (s *Service) slowUsual(w http.ResponseWriter, r *http.Request) error {
	if err := s.slow.Usual(r.URL.Query().Get("op")); err != nil {
		return err
	}
	return web.Redirect(w, "./")
}

// slowOne answers with the trace of an operation, whose number ends in ".trace".
func (s *Service) slowOne(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("id")
	number, asTrace := strings.CutSuffix(name, ".trace")
	id, err := strconv.Atoi(number)
	if err != nil || !asTrace {
		return web.NotFound("a slow operation has a number with .trace, not %q", name)
	}
	c, err := s.slowOf(id)
	if err != nil {
		return err
	}
	web.Attach(w, slowFile(c))
	w.Write(c.Data)
	return nil
}

// slowOf returns the operation with a number.
func (s *Service) slowOf(id int) (*flight.Slow, error) {
	c, ok, gone := s.slow.Kept.Get(id)
	switch {
	case gone:
		return nil, web.Refuse(http.StatusGone, "slow operation %d is gone: it made room for others", id)
	case !ok:
		return nil, web.NotFound("there is no slow operation %d", id)
	}
	return c, nil
}

// slowView shows the waits of an operation, or of the slow ones all together, on a page of pprof.
func (s *Service) slowView(w http.ResponseWriter, r *http.Request) error {
	if r.PathValue("id") == allSlow {
		return s.tailView(w, r)
	}
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil {
		return web.NotFound("a slow operation has a number, not %q", r.PathValue("id"))
	}
	c, err := s.slowOf(id)
	if err != nil {
		return err
	}
	if c.Report == nil || len(c.Report.Waits) == 0 {
		return web.NotFound("slow operation %d has no waits that are known", id)
	}
	return s.showWaits(w, r, fmt.Sprintf("%s took %s", c.Op, humanize.Time(c.Took)), c.Report.Verdict,
		fmt.Sprintf("../#slow-%d", id), func() *profile.Profile { return c.Report.Profile(c.End) })
}

// showWaits shows a profile of waits, with a link back.
func (s *Service) showWaits(
	w http.ResponseWriter, r *http.Request, title, about, back string, waits func() *profile.Profile,
) error {
	page := pprofui.Page{
		Frame: s.frame(title, "slow", ""), About: about,
		Links:      []pprofui.Link{{Ref: back, Text: "slow operations"}},
		Difference: true, // there is no file to download but traces
	}
	return pprofui.Show(w, r, r.PathValue("view"), page, func() (p, base *profile.Profile, err error) {
		return waits(), nil, nil
	})
}

// allSlow stands for the number of an operation where the slow ones are summed up.
const allSlow = "all"

// A tailRow sums up the slow operations of one name on the page.
type tailRow struct {
	*slow.Tail
	Says  []pprofui.Link // one without Ref is only text
	Parts []slowPart
	View  string // the reference to its flame graph
}

// tailRowOf describes a sum for the page.
func tailRowOf(t *slow.Tail) tailRow {
	refs := lineRefs{}
	byKind := map[contention.Kind]time.Duration{}
	for _, p := range t.Parts {
		refs.add(p.Site)
		for _, c := range p.Because {
			refs.add(c.Site)
		}
		byKind[barOf(p.Kind)] += p.Total
	}
	row := tailRow{Tail: t, Says: linkLines(t.String(), refs)}
	row.Parts = drawn(t.Took, maybeOff, byKind[slow.Off], byKind[slow.Running], byKind[slow.Assist],
		byKind[contention.Scheduler], byKind[contention.Other], byKind[contention.Syscall],
		byKind[slow.NotKnown])
	only := url.Values{"tf": {"operation=^" + regexp.QuoteMeta(t.Op) + "$"}}
	row.View = allSlow + "/flamegraph?" + only.Encode()
	return row
}

// lineRefs has the reference for each line of code in a sentence.
type lineRefs map[string]string

func (refs lineRefs) add(at contention.Frame) {
	line := fmt.Sprintf("%s:%d", path.Base(at.File), at.Line)
	refs[line] = allSlow + "/" + web.SourceRef(at.Func, at.Line)
}

// barOf returns the kind under which a bar shows time of kind k: most waits are alike there.
func barOf(k contention.Kind) contention.Kind {
	switch k {
	case slow.Off, slow.Running, slow.Assist, slow.NotKnown, contention.Scheduler, contention.Syscall:
		return k
	}
	return contention.Other
}

// tailView shows the activities of the slow operations on a page of pprof.
func (s *Service) tailView(w http.ResponseWriter, r *http.Request) error {
	st := s.slow.State()
	n := 0
	for _, t := range st.Tails {
		n += t.Count
	}
	if n == 0 {
		return web.NotFound("no slow operations are summed up")
	}
	about := fmt.Sprintf("what slow operations did, %d of them, %s", n,
		cmp.Or(st.Rule, "of a recording that has ended"))
	return s.showWaits(w, r, "Slow operations, all", about, "../", func() *profile.Profile {
		return slow.TailProfile(st.Tails, time.Now())
	})
}
