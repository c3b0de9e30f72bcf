package profiling_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling"
)

// shelf is a source of runs. Asked for what it does not have it fails in the way
// that a source must; asked for a name that is a path, it fails the test.
type shelf struct {
	*testing.T
	mu       sync.Mutex
	runs     []profiling.SavedRun
	profiles map[string][]byte // by run and file, a slash between them
}

func (s *shelf) ListRuns() ([]profiling.SavedRun, error) {
	if s.runs == nil {
		return nil, errors.New("the disk is on fire")
	}
	return s.runs, nil
}

func (s *shelf) Run(name string) (*profiling.RunDetails, error) {
	s.check(name)
	for _, r := range s.runs {
		if r.Name == name && r.Err != "" {
			return nil, errors.New(r.Err)
		}
		if r.Name == name {
			return &profiling.RunDetails{
				SavedRun: r,
				Notes:    []string{"seed 7"},
				Results:  profiling.Table{Columns: []string{"what", "ops/s"}, Rows: [][]string{{"begin", "12 <k>"}}},
				Caption:  "medians",
			}, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", profiling.ErrNoRun, name)
}

func (s *shelf) CompareRuns(before, after string) (*profiling.RunComparison, error) {
	s.check(before)
	s.check(after)
	if before == "alone" {
		return nil, errors.New("they have nothing in common")
	}
	return &profiling.RunComparison{
		Old: before, New: after, Method: "by dice", Warnings: []string{"another machine"},
		Tables: []profiling.ComparisonTable{
			{Unit: "ops/s", Better: "higher", Rows: []profiling.ComparisonRow{
				{Name: "Begin/engine=a", Old: "2.0k", OldRange: "± 1%", New: "1.0k", NewRange: "± 2%", Change: "-50.00%", Test: "p=0.002 n=6", Verdict: profiling.Worse},
				{Name: "Begin/engine=b", Old: "1.0k", New: "2.0k", Change: "+100.00%", Test: "p=0.002 n=6", Verdict: profiling.Better},
				{Name: "Begin/engine=c", Old: "1.0k", New: "1.1k", Change: "~", Test: "p=0.6 n=6"},
				{Name: "geomean", Old: "1.0k", New: "1.1k", Change: "+10.00%"},
			}},
		},
		Zero: []string{"aborts/op"}, OnlyOld: []string{"Old/engine=a"},
	}, nil
}

func (s *shelf) RunProfile(run, file string) ([]byte, error) {
	s.check(run)
	s.check(file)
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.profiles[run+"/"+file]
	if !ok {
		return nil, fmt.Errorf("%w: %s of %s", profiling.ErrNoRun, file, run)
	}
	return data, nil
}

func (s *shelf) check(name string) {
	if name == "" || name[0] == '.' || strings.ContainsAny(name, `/\`) {
		s.Errorf("the source was asked for %q", name)
	}
}

// newShelf has two runs with profiles, one whose file is broken, and one that shares
// nothing with them.
func newShelf(t *testing.T) *shelf {
	at := func(day int) time.Time { return time.Date(2026, 5, day, 12, 0, 0, 0, time.UTC) }
	cpu := func() []profiling.RunProfile {
		return []profiling.RunProfile{
			{File: "begin.cpu.pb.gz", Kind: "cpu", Of: "begin", Size: 100},
			{File: "begin.block.pb.gz", Kind: "block", Of: "begin", Size: 100},
		}
	}
	return &shelf{
		T: t,
		runs: []profiling.SavedRun{
			{Name: "old", Started: at(1), Workloads: []string{"begin"}, Engines: []string{"a", "b"}, Samples: 12, Outcome: "complete", Machine: "some CPU", Profiles: cpu()},
			{Name: "broken", Err: "line 7: <nonsense>"},
			{Name: "new", Started: at(3), Workloads: []string{"begin"}, Engines: []string{"a"}, Samples: 5, Outcome: "interrupted", Marks: []string{"interrupted after 5 of 12"}, Profiles: cpu()},
			{Name: "alone", Started: at(2), Outcome: "complete"},
		},
		profiles: map[string][]byte{
			"old/begin.cpu.pb.gz":   crafted(t, "main.work", "main.go", 0, 10),
			"old/begin.block.pb.gz": crafted(t, "main.work", "main.go", 0, 10, "contentions"),
			"new/begin.cpu.pb.gz":   crafted(t, "main.work", "main.go", 0, 30),
		},
	}
}

// crafted returns a profile in which a function of some file was seen n times.
func crafted(t *testing.T, function, file string, address uint64, n int64, kind ...string) []byte {
	t.Helper()
	f := &profile.Function{ID: 1, Name: function, SystemName: function, Filename: file}
	loc := &profile.Location{ID: 1, Address: address, Line: []profile.Line{{Function: f, Line: 5}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: strings.Join(append(kind, "samples"), "-"), Unit: "count"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1,
		Sample:   []*profile.Sample{{Value: []int64{n}, Location: []*profile.Location{loc}}},
		Function: []*profile.Function{f}, Location: []*profile.Location{loc},
	}
	var buf bytes.Buffer
	require.NoError(t, p.Write(&buf))
	return buf.Bytes()
}

func TestRunsAreListed(t *testing.T) {
	h := handler(t, profiling.Config{Runs: newShelf(t)})
	a := request(h, "/debug/pprof/runs/")
	require.Equal(t, http.StatusOK, a.Code)
	page := a.Body.String()
	var names []string
	for _, m := range regexp.MustCompile(`<li id="run-(\w+)"`).FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	require.Equal(t, []string{"new", "alone", "old", "broken"}, names, "the newest first")
	require.Contains(t, page, "line 7: &lt;nonsense&gt;")
	require.Contains(t, page, "! interrupted after 5 of 12")
	require.Contains(t, page, `<a href="new/#profiles">2 profiles</a>`)
	require.NotContains(t, page, `<option>broken`)
	require.Contains(t, page, `<option selected>alone</option>`, "the one before the newest is what it is compared with")

	var list []profiling.SavedRun
	require.NoError(t, json.Unmarshal(request(h, "/debug/pprof/runs/?format=json").Body.Bytes(), &list))
	require.Len(t, list, 4)
	require.Equal(t, "new", list[0].Name)

	for _, at := range []string{"/", "/debug/pprof/", "/debug/pprof/contention/"} {
		require.Contains(t, request(h, at).Body.String(), `runs/">Runs</a>`, at)
	}
	fire := handler(t, profiling.Config{Runs: &shelf{T: t}})
	a = request(fire, "/debug/pprof/runs/")
	require.Equal(t, http.StatusInternalServerError, a.Code)
	require.Contains(t, a.Body.String(), "on fire")
}

func TestNoSourceOfRuns(t *testing.T) {
	h := handler(t, profiling.Config{})
	for _, at := range []string{"runs/", "runs/x/", "runs/compare?old=a&new=b"} {
		require.Equal(t, http.StatusNotFound, request(h, "/debug/pprof/"+at).Code, at)
	}
	for _, at := range []string{"/", "/debug/pprof/", "/debug/pprof/contention/"} {
		require.NotContains(t, request(h, at).Body.String(), "Runs</a>")
	}
}

func TestRunPage(t *testing.T) {
	h := handler(t, profiling.Config{Runs: newShelf(t)})
	page := request(h, "/debug/pprof/runs/old/").Body.String()
	for _, want := range []string{"begin on a, b", "12 &lt;k&gt;", "medians", "seed 7", `href="begin.cpu.pb.gz/flamegraph">cpu<`, `href="begin.block.pb.gz/source"`} {
		require.Contains(t, page, want)
	}
	var run profiling.RunDetails
	require.NoError(t, json.Unmarshal(request(h, "/debug/pprof/runs/old/?format=json").Body.Bytes(), &run))
	require.Equal(t, "old", run.Name)
	require.Equal(t, "begin", run.Results.Rows[0][0])
	require.Contains(t, request(h, "/debug/pprof/runs/alone/").Body.String(), "None were kept")
	a := request(h, "/debug/pprof/runs/broken/")
	require.Equal(t, http.StatusUnprocessableEntity, a.Code)
	require.Contains(t, a.Body.String(), "line 7")
}

func TestRunsAreCompared(t *testing.T) {
	h := handler(t, profiling.Config{Runs: newShelf(t)})
	page := request(h, "/debug/pprof/runs/compare?old=old&new=new").Body.String()
	for _, want := range []string{
		"! another machine", "by dice", "higher is better", "✗ worse", "✓ better", "-50.00%", "± 2%", "p=0.002 n=6",
		"Of 3 comparisons", "✓ 1 are significantly better", "✗ 1 worse",
		"Zero on both sides: aborts/op", "Only in old", "Old/engine=a",
		`href="new/begin.cpu.pb.gz/minus/old/begin.cpu.pb.gz/flamegraph"`, `href="compare?old=new&amp;new=old"`,
	} {
		require.Contains(t, page, want)
	}
	require.Regexp(t, `(?s)row down" role="row">\s*<span role="cell" class="name">Begin/engine=a<`, page)
	require.Regexp(t, `(?s)row up" role="row">\s*<span role="cell" class="name">Begin/engine=b<`, page)
	require.Regexp(t, `(?s)row" role="row">\s*<span role="cell" class="name">Begin/engine=c<`, page)

	var c profiling.RunComparison
	require.NoError(t, json.Unmarshal(request(h, "/debug/pprof/runs/compare?old=old&new=new&format=json").Body.Bytes(), &c))
	require.Equal(t, "Begin/engine=a", c.Tables[0].Rows[0].Name)

	for query, want := range map[string]struct {
		status int
		text   string
	}{
		"old=alone&new=new":             {http.StatusUnprocessableEntity, "nothing in common"},
		"old=alone&new=new&format=json": {http.StatusUnprocessableEntity, "nothing in common"},
		"old=new&new=new":               {http.StatusUnprocessableEntity, "choose two"},
		"old=new&new=broken":            {http.StatusUnprocessableEntity, "line 7"},
		"old=new&new=nosuch":            {http.StatusNotFound, "nosuch"},
		"old=new":                       {http.StatusNotFound, ""},
		"old=new&new=../old":            {http.StatusNotFound, "../old"},
	} {
		a := request(h, "/debug/pprof/runs/compare?"+query)
		require.Equal(t, want.status, a.Code, query)
		require.Contains(t, a.Body.String(), want.text, query)
		if strings.Contains(a.Header().Get("Content-Type"), "html") {
			require.Contains(t, a.Header().Get("Content-Security-Policy"), "style-src 'self'")
		}
	}
}

func TestProfilesOfRuns(t *testing.T) {
	shelf := newShelf(t)
	h := handler(t, profiling.Config{Runs: shelf})
	const runs = "/debug/pprof/runs/"
	for _, view := range []string{"flamegraph", "top", "peek", "source"} {
		a := request(h, runs+"old/begin.cpu.pb.gz/"+view)
		require.Equal(t, http.StatusOK, a.Code, a.Body.String())
		require.Contains(t, a.Body.String(), "main.work")
	}
	a := request(h, runs+"old/begin.cpu.pb.gz/download")
	require.Equal(t, `attachment; filename="old-begin.cpu.pb.gz"`, a.Header().Get("Content-Disposition"))
	require.Equal(t, shelf.profiles["old/begin.cpu.pb.gz"], a.Body.Bytes())

	// What has grown, as measured and as a share.
	diff := runs + "new/begin.cpu.pb.gz/minus/old/begin.cpu.pb.gz/"
	require.Regexp(t, `"Name":"main.work","InlineLabel":"","Flat":20,`, request(h, diff+"top").Body.String())
	require.Contains(t, request(h, diff+"flamegraph").Body.String(), "main.work")
	share := request(h, strings.Replace(diff, "minus", "minus-share", 1)+"top").Body.String()
	require.NotRegexp(t, `"Flat":20`, share)

	for at, want := range map[string]struct {
		status int
		text   string
	}{
		"old/begin.cpu.pb.gz/nonsense":                                {http.StatusNotFound, "no page"},
		"old/begin.cpu.pb.gz/saveconfig?config=x":                     {http.StatusNotFound, "no page"},
		"old/begin.cpu.pb.gz/disasm":                                  {http.StatusNotImplemented, "no disassembly"},
		"old/nosuch.pb.gz/top":                                        {http.StatusNotFound, "nosuch"},
		"nosuch/begin.cpu.pb.gz/top":                                  {http.StatusNotFound, "nosuch"},
		"new/begin.cpu.pb.gz/minus/old/begin.block.pb.gz/top":         {http.StatusBadRequest, "different kinds"},
		"new/begin.cpu.pb.gz/minus/new/begin.cpu.pb.gz/top":           {http.StatusBadRequest, "choose two"},
		"new/begin.cpu.pb.gz/plus/old/begin.cpu.pb.gz/top":            {http.StatusNotFound, "nothing at"},
		"new/begin.cpu.pb.gz/minus/old/begin.cpu.pb.gz/download":      {http.StatusNotImplemented, "-diff_base"},
		"diff?of=new&base=old/begin.cpu.pb.gz":                        {http.StatusBadRequest, "RUN/FILE"},
		"diff?of=../../x/y&base=old/begin.cpu.pb.gz":                  {http.StatusBadRequest, "RUN/FILE"},
		"%2e%2e%2fetc/begin.cpu.pb.gz/top":                            {http.StatusNotFound, "../etc"},
		"old/..%2f..%2fetc%2fpasswd/top":                              {http.StatusNotFound, "passwd"},
		"old/%2e%2e/top":                                              {http.StatusNotFound, ".."},
		`old/..%5cx.pb.gz/top`:                                        {http.StatusNotFound, "no run or profile"},
		"old/C:x.pb.gz/top":                                           {http.StatusNotFound, "no run or profile"},
		"new/begin.cpu.pb.gz/minus/%2e%2e%2fold/begin.cpu.pb.gz/top":  {http.StatusNotFound, "../old"},
		"new/begin.cpu.pb.gz/minus/old/%2e%2e%2fbegin.cpu.pb.gz/peek": {http.StatusNotFound, "../begin"},
	} {
		a := request(h, runs+at)
		require.Equal(t, want.status, a.Code, at+"\n"+a.Body.String())
		require.Contains(t, a.Body.String(), want.text, at)
	}

	// Redirects are relative and lead where they say.
	for from, to := range map[string]string{
		"/debug/pprof/runs":       runs,
		runs + "old":              runs + "old/",
		runs + "old/x.cpu.pb.gz":  runs + "old/x.cpu.pb.gz/flamegraph",
		runs + "old/x.cpu.pb.gz/": runs + "old/",
		diff:                      runs + "compare?new=new&old=old",
		runs + "diff?of=new/a.pb.gz&base=old/b.pb.gz":             runs + "new/a.pb.gz/minus/old/b.pb.gz/flamegraph",
		runs + "diff?of=new/a.pb.gz&base=old/b.pb.gz&scale=share": runs + "new/a.pb.gz/minus-share/old/b.pb.gz/flamegraph",
	} {
		a := request(h, from)
		require.Equal(t, http.StatusSeeOther, a.Code, from)
		base, err := url.Parse(from)
		require.NoError(t, err)
		target, err := base.Parse(a.Header().Get("Location"))
		require.NoError(t, err)
		require.False(t, strings.HasPrefix(a.Header().Get("Location"), "/"))
		require.Equal(t, to, target.String())
	}
}

// A profile of this very program has the names of its files, one of an older build
// has lost them: what is the same function is nevertheless one in their difference.
func TestProfilesOfTwoBuilds(t *testing.T) {
	pc := reflectPC(standHere)
	file, _ := runtime.FuncForPC(pc).FileLine(pc)
	shelf := newShelf(t)
	shelf.profiles["old/begin.cpu.pb.gz"] = crafted(t, "main.work", "/elsewhere/main.go", uint64(pc), 3)
	shelf.profiles["new/begin.cpu.pb.gz"] = crafted(t, "main.work", file, uint64(pc), 4)
	h := handler(t, profiling.Config{Runs: shelf})
	page := request(h, "/debug/pprof/runs/new/begin.cpu.pb.gz/flamegraph").Body.String()
	require.Contains(t, page, file)
	page = request(h, "/debug/pprof/runs/new/begin.cpu.pb.gz/minus/old/begin.cpu.pb.gz/flamegraph").Body.String()
	require.Equal(t, 1, strings.Count(page, `"FullName":"main.work"`), "once")
}

// Whatever is saved as a profile, the answer is a page or a clear refusal, and no
// file is opened but the program's own source.
func TestForeignProfilesOfRuns(t *testing.T) {
	dir := t.TempDir()
	secrets := []string{filepath.Join(dir, "secret.txt"), filepath.Join(dir, "secret.go"), "/etc/passwd"}
	for _, name := range secrets[:2] {
		require.NoError(t, os.WriteFile(name, []byte(strings.Repeat("confidential\n", 20)), 0o600))
	}
	shelf := newShelf(t)
	h := handler(t, profiling.Config{Runs: shelf})
	const at = "/debug/pprof/runs/old/begin.cpu.pb.gz/"
	for _, address := range []uint64{0, ^uint64(0), uint64(reflectPC(standHere))} {
		for _, secret := range secrets {
			shelf.profiles["old/begin.cpu.pb.gz"] = crafted(t, "main.leak", secret, address, 3)
			shelf.profiles["new/begin.cpu.pb.gz"] = crafted(t, "main.leak", secret, address, 4)
			for _, view := range []string{"source?f=leak", "source?f=leak&source_path=/etc&trim_path=/", "minus/new/begin.cpu.pb.gz/source?f=leak", "peek?f=leak"} {
				body := request(h, at+view).Body.String()
				require.NotContains(t, body, "confidential", view)
				require.NotContains(t, body, "root:x:", view)
			}
		}
	}

	zipped := func(text []byte) []byte {
		var buf bytes.Buffer
		z := gzip.NewWriter(&buf)
		z.Write(text)
		require.NoError(t, z.Close())
		return buf.Bytes()
	}
	whole := crafted(t, "main.work", "main.go", 0, 1)
	defer profiling.LimitProfiles(profiling.LimitProfiles(1 << 20))
	bomb := zipped(make([]byte, 1<<20+1))
	require.Less(t, len(bomb), 1<<13)
	for name, c := range map[string]struct {
		data []byte
		text string
	}{
		"nothing":        {nil, "not compressed"},
		"text":           {[]byte("heap profile: 1: 2 [3: 4] @ heap/1048576\n"), "not compressed"},
		"no profile":     {zipped([]byte("something else")), "cannot be read"},
		"empty":          {zipped(nil), "empty"},
		"cut off":        {whole[:len(whole)/2], "cannot be read"},
		"bomb":           {bomb, "larger than 1 MB uncompressed"},
		"large":          {make([]byte, 17<<20), "larger than 16 MB"},
		"legacy, zipped": {zipped([]byte("heap profile: 1: 2 [3: 4] @ heap/1048576\n")), "cannot be read"},
	} {
		shelf.profiles["old/begin.cpu.pb.gz"] = c.data
		for _, view := range []string{"flamegraph", "minus/new/begin.cpu.pb.gz/top"} {
			a := request(h, at+view)
			require.Equal(t, http.StatusUnprocessableEntity, a.Code, name)
			require.Contains(t, a.Body.String(), "profile begin.cpu.pb.gz of run old cannot be read: ", name)
			require.Contains(t, a.Body.String(), c.text, name)
		}
	}
	shelf.profiles["old/begin.cpu.pb.gz"] = crafted(t, "main.work", "main.go", 0, 0)
	a := request(h, at+"flamegraph")
	require.Equal(t, http.StatusNotFound, a.Code)
	require.Contains(t, a.Body.String(), "nothing was sampled")
}
