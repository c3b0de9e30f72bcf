package profiling

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// Runs is a source of runs that were measured and saved earlier, which a service
// lists, compares, and opens the profiles of. Its methods are called with requests,
// from several goroutines but never more than two at a time; the charts do not wait
// for them. They must take no name for a path, and should bound what they read.
//
// A name that there is no run or no profile of is an error that wraps [ErrNoRun].
// The text of any other error is shown.
type Runs interface {
	// ListRuns returns all runs in any order, those that cannot be read with
	// the reason.
	ListRuns() ([]SavedRun, error)
	// Run returns one run.
	Run(name string) (*RunDetails, error)
	// CompareRuns says what has changed from one run to another. An error is
	// shown as the reason why they cannot be compared.
	CompareRuns(before, after string) (*RunComparison, error)
	// RunProfile returns a profile of a run, in the form that "go tool pprof"
	// reads. It need not check it: the service does.
	RunProfile(run, file string) ([]byte, error)
}

// ErrNoRun is wrapped by the errors of a [Runs] for what it does not have.
var ErrNoRun = errors.New("profiling: no such run")

// A SavedRun is a run in a list.
type SavedRun struct {
	Name      string       `json:"name"`
	Started   time.Time    `json:"started"`
	Workloads []string     `json:"workloads"`
	Engines   []string     `json:"engines"`
	Samples   int          `json:"samples"`
	Outcome   string       `json:"outcome"`         // such as "complete"
	Marks     []string     `json:"marks,omitempty"` // what must be said beside its figures, in a few words
	Machine   string       `json:"machine"`
	Profiles  []RunProfile `json:"profiles,omitempty"`
	Err       string       `json:"error,omitempty"` // why it cannot be read; all but the name may be missing then
}

// A RunProfile is a profile of a run.
type RunProfile struct {
	File string `json:"file"` // its name: letters, digits, and any of .-_=+
	Kind string `json:"kind"` // such as "cpu"; profiles of equal kind can be compared
	Of   string `json:"of"`   // what was profiled; profiles of the same follow each other
	Size int64  `json:"bytes"`
}

// RunDetails are all that is shown of one run.
type RunDetails struct {
	SavedRun
	Notes   []string `json:"notes"` // on what, when and how it was measured
	Results Table    `json:"results"`
	Caption string   `json:"caption,omitempty"` // of the results
}

// A RunComparison says what has changed from one run to another. Figures are texts,
// with their units.
type RunComparison struct {
	Old      string            `json:"old"`
	New      string            `json:"new"`
	Method   string            `json:"method,omitempty"` // by which statistics
	Warnings []string          `json:"warnings,omitempty"`
	Tables   []ComparisonTable `json:"tables"`
	Zero     []string          `json:"zero,omitempty"` // units of which all figures are zero
	OnlyOld  []string          `json:"only_old,omitempty"`
	OnlyNew  []string          `json:"only_new,omitempty"`
}

// A ComparisonTable compares the figures of one unit.
type ComparisonTable struct {
	Unit   string          `json:"unit"`
	Better string          `json:"better,omitempty"` // "lower", "higher", or "" if it is not known
	Rows   []ComparisonRow `json:"rows"`
}

// Improved returns how many rows have become better.
func (t ComparisonTable) Improved() int { return t.count(Better) }

// Worse returns how many rows have become worse.
func (t ComparisonTable) Worse() int { return t.count(Worse) }

func (t ComparisonTable) count(verdict string) (n int) {
	for _, r := range t.Rows {
		if r.Verdict == verdict {
			n++
		}
	}
	return n
}

// Sum counts the verdicts on all rows.
func (c *RunComparison) Sum() (sum struct{ Rows, Improved, Worse int }) {
	for _, t := range c.Tables {
		sum.Improved += t.Improved()
		sum.Worse += t.Worse()
		for _, r := range t.Rows {
			if r.Test != "" {
				sum.Rows++
			}
		}
	}
	return sum
}

// The verdicts on a [ComparisonRow]. A change that may be chance has none.
const (
	Better = "better"
	Worse  = "worse"
)

// A ComparisonRow compares one thing that was measured.
type ComparisonRow struct {
	Name     string `json:"name"`
	Old      string `json:"old"` // the median
	OldRange string `json:"old_range,omitempty"`
	New      string `json:"new"`
	NewRange string `json:"new_range,omitempty"`
	Change   string `json:"change"` // "~" if it is not significant
	Test     string `json:"test,omitempty"`
	Verdict  string `json:"verdict,omitempty"`
}

// maxListedRuns bounds the runs that a page shows.
const maxListedRuns = 200

// runsRoutes adds the pages of saved runs.
func (s *service) runsRoutes(mux *http.ServeMux) {
	const at = "/debug/pprof/runs"
	to := func(ref string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { redirect(w, ref) }
	}
	mux.HandleFunc(at, to("./runs/"))
	mux.HandleFunc(at+"/{$}", s.runsIndex)
	mux.HandleFunc(at+"/compare", s.runsCompare)
	mux.HandleFunc(at+"/diff", s.runsDiff)
	mux.HandleFunc(at+"/{run}", func(w http.ResponseWriter, r *http.Request) {
		redirect(w, "./"+url.PathEscape(r.PathValue("run"))+"/")
	})
	mux.HandleFunc(at+"/{run}/{$}", s.runPage)
	mux.HandleFunc(at+"/{run}/{file}", func(w http.ResponseWriter, r *http.Request) {
		redirect(w, "./"+url.PathEscape(r.PathValue("file"))+"/flamegraph")
	})
	mux.HandleFunc(at+"/{run}/{file}/{$}", to("../")) // where the title of pprof's pages leads
	mux.HandleFunc(at+"/{run}/{file}/{view}", s.runProfile)
	mux.HandleFunc(at+"/{run}/{file}/{minus}/{base}/{basefile}/{view}", s.runProfile)
	mux.HandleFunc(at+"/{run}/{file}/{minus}/{base}/{basefile}/{$}", func(w http.ResponseWriter, r *http.Request) {
		redirect(w, "../../../../../compare?"+url.Values{"old": {r.PathValue("base")}, "new": {r.PathValue("run")}}.Encode())
	})
}

// source lets f ask the source of runs. A name that could be a path is refused
// before that, whatever the source thinks of it.
func (s *service) source(r *http.Request, names []string, f func() error) error {
	for _, name := range names {
		if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/\\:\x00") {
			return refuse(http.StatusNotFound, "there is no run or profile %q", name)
		}
	}
	select {
	case s.reads <- struct{}{}:
		defer func() { <-s.reads }()
	case <-r.Context().Done():
		return r.Context().Err()
	}
	err := f()
	if errors.Is(err, ErrNoRun) {
		return refuse(http.StatusNotFound, "%v", err)
	}
	if err != nil && len(names) > 0 {
		return refuse(http.StatusUnprocessableEntity, "%v", err)
	}
	return err
}

// runsIndex lists the runs.
func (s *service) runsIndex(w http.ResponseWriter, r *http.Request) {
	var list []SavedRun
	err := s.source(r, nil, func() (err error) {
		list, err = s.cfg.Runs.ListRuns()
		return err
	})
	if err != nil {
		writeError(w, err)
		return
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b SavedRun) int {
		if c := b.Started.Compare(a.Started); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	hidden := max(len(list)-maxListedRuns, 0)
	list = list[:len(list)-hidden]
	if asksJSON(r) {
		writeJSON(w, list)
		return
	}
	data := struct {
		frame
		Runs     []SavedRun
		Readable []string // newest first
		Hidden   int
	}{frame: s.frame("Runs", "runs", "../"), Runs: list, Hidden: hidden}
	for _, run := range list {
		if run.Err == "" {
			data.Readable = append(data.Readable, run.Name)
		}
	}
	writePage(w, "runs.html", data)
}

// A profileRow has the profiles of one thing that was measured.
type profileRow struct {
	Of    string
	Files []RunProfile
}

// rowsOf puts profiles of the same next to each other.
func rowsOf(list []RunProfile) []profileRow {
	var rows []profileRow
	for _, p := range list {
		if n := len(rows); n == 0 || rows[n-1].Of != p.Of {
			rows = append(rows, profileRow{Of: p.Of})
		}
		last := &rows[len(rows)-1]
		last.Files = append(last.Files, p)
	}
	return rows
}

// runPage shows one run.
func (s *service) runPage(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("run")
	var run *RunDetails
	err := s.source(r, []string{name}, func() (err error) {
		run, err = s.cfg.Runs.Run(name)
		return err
	})
	if err != nil {
		writeError(w, err)
		return
	}
	if asksJSON(r) {
		writeJSON(w, run)
		return
	}
	writePage(w, "run.html", struct {
		frame
		*RunDetails
		Rows []profileRow
		Dot  bool
	}{s.frame("Run "+run.Name, "runs", "../../"), run, rowsOf(run.Profiles), haveDot()})
}

// runsCompare shows what has changed from one run to another.
func (s *service) runsCompare(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	before, after := query.Get("old"), query.Get("new")
	var c *RunComparison
	var old, now *RunDetails
	var why error
	err := s.source(r, []string{before, after}, func() (err error) {
		if old, err = s.cfg.Runs.Run(before); err != nil {
			return err
		}
		if now, err = s.cfg.Runs.Run(after); err != nil {
			return err
		}
		if before == after {
			why = errors.New("a run does not differ from itself: choose two")
			return nil
		}
		c, why = s.cfg.Runs.CompareRuns(before, after)
		return nil
	})
	switch {
	case err != nil:
		writeError(w, err)
		return
	case why != nil && asksJSON(r):
		writeError(w, refuse(http.StatusUnprocessableEntity, "%v", why))
		return
	case asksJSON(r):
		writeJSON(w, c)
		return
	}
	data := struct {
		frame
		Old, New *RunDetails
		*RunComparison
		Why   error
		Pairs []profileRow
	}{s.frame(before+" and "+after, "runs", "../"), old, now, c, why, nil}
	status := http.StatusOK
	if why != nil {
		data.RunComparison = &RunComparison{Old: before, New: after}
		status = http.StatusUnprocessableEntity
	}
	has := map[string]bool{}
	for _, p := range old.Profiles {
		has[p.File] = true
	}
	data.Pairs = rowsOf(slices.DeleteFunc(slices.Clone(now.Profiles), func(p RunProfile) bool { return before == after || !has[p.File] }))
	writePageAs(w, status, "compare.html", data)
}

// runsDiff redirects from a form that compares two profiles to their pages. Each is
// given as the name of a run, a slash, and that of a file.
func (s *service) runsDiff(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	of, base := query.Get("of"), query.Get("base")
	if strings.Count(of, "/") != 1 || strings.Count(base, "/") != 1 {
		writeError(w, refuse(http.StatusBadRequest, "expected of=RUN/FILE and base=RUN/FILE, not %q and %q", of, base))
		return
	}
	minus := "minus"
	if query.Get("scale") == "share" {
		minus = minusShare
	}
	redirect(w, (&url.URL{Path: "./" + path.Join(of, minus, base, "flamegraph")}).String())
}

func asksJSON(r *http.Request) bool { return r.URL.Query().Get("format") == "json" }
