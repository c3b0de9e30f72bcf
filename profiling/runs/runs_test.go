package runs_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/results"
	"github.com/mvccmap/mvccmap/internal/debug/leak"
	"github.com/mvccmap/mvccmap/profiling"
	"github.com/mvccmap/mvccmap/profiling/runs"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

const (
	at   = "/debug/pprof/runs/"
	file = "begin-mvcc-threads=4.cpu.pb.gz"
	odd  = "begin-mvcc-threads=4.block.pb.gz"
)

// measured returns a run with throughputs of about ops, in rounds of six samples.
func measured(day int, ops float64) *results.Run {
	r := &results.Run{Header: results.Header{
		Program: "mvccbench v1", Started: time.Date(2026, 11, day, 12, 0, 0, 0, time.UTC), Seed: 7,
		Machine: results.Machine{Go: "go1.26", GOOS: "linux", GOARCH: "amd64",
			CPU: "a processor", CPUs: 2, GOMAXPROCS: 2},
		Count: 6, Duration: time.Second, Loop: "closed",
	}}
	for _, engine := range []string{"mvcc", "rwmutex"} {
		for i := range 6 {
			v := ops * (1 + 0.01*float64(i))
			if engine == "rwmutex" {
				v = 3e6 + float64(i%3)
			}
			r.Samples = append(r.Samples, results.Sample{
				Workload: "begin", Title: "Begin", Engine: engine, Level: "serializable",
				Threads: 4, Index: i, Ops: uint64(v), Wall: time.Second,
				Metrics: map[string]float64{"ops/s": v, "ns/op": 1e9 / v, "aborts/op": 0},
			})
		}
	}
	r.Outcome = results.Outcome{Kind: results.Complete, Done: 12, Of: 12}
	return r
}

// A shelf is a folder of runs, and a service that shows it.
type shelf struct {
	*testing.T
	dir string
	http.Handler
}

// newShelf has two runs with profiles, one that cannot be read, and one that shares
// nothing with them.
func newShelf(t *testing.T) shelf {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "runs")
	require.NoError(t, os.Mkdir(dir, 0o700))
	kept, err := results.OpenShelf(dir)
	require.NoError(t, err)
	h := profiling.Handler(profiling.Config{Runs: runs.Handler("sums", kept)})
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	s := shelf{t, dir, h}
	s.save("old", measured(1, 2e6), map[string][]byte{
		file: crafted(t, "main.work", "main.go", 0, 10),
		odd:  crafted(t, "main.work", "main.go", 0, 10, "contentions"),
	})
	now := measured(3, 1e6)
	now.Header.CPU, now.Header.Instrumented = "another processor", "a trace"
	now.Outcome = results.Outcome{Kind: results.Interrupted, Done: 12, Of: 20}
	s.save("new", now, map[string][]byte{
		"whole-run.cpu.pb.gz": crafted(t, "main.work", "main.go", 0, 1), "z.odd.pb.gz": nil,
		file: crafted(t, "main.work", "main.go", 0, 35),
	})
	alone := measured(2, 1e6)
	for i := range alone.Samples {
		alone.Samples[i].Title = "Other/<k>"
	}
	s.save("alone", alone, nil)
	require.NoError(t, os.WriteFile(s.path("broken"), []byte("<nonsense>"), 0o600))
	return s
}

func (s shelf) save(name string, r *results.Run, profiles map[string][]byte) {
	s.Helper()
	r.Profiles = profiles
	f, err := os.Create(s.path(name))
	require.NoError(s, err)
	require.NoError(s, results.Write(f, r))
	require.NoError(s, f.Close())
}

func (s shelf) path(name string) string { return filepath.Join(s.dir, name+".json") }

// get asks for a page below the runs.
func (s shelf) get(path string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, at+path, nil)
	r.Host, r.RemoteAddr = "localhost", "127.0.0.1:1"
	for _, edit := range edits {
		edit(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// shows fails unless a page has all these texts, and returns it.
func (s shelf) shows(path string, texts ...string) string {
	s.Helper()
	w := s.get(path)
	require.Equal(s, http.StatusOK, w.Code, w.Body)
	for _, text := range texts {
		require.Contains(s, w.Body.String(), text, path)
	}
	return w.Body.String()
}

// An answer is the expected one: its status, and a part of its text.
type answer struct {
	status int
	text   string
}

func (s shelf) answers(list map[string]answer) {
	s.Helper()
	for path, want := range list {
		w := s.get(path)
		require.Equal(s, want.status, w.Code, path+"\n"+w.Body.String())
		require.Contains(s, w.Body.String(), want.text, path)
		if strings.Contains(w.Header().Get("Content-Type"), "html") {
			require.Contains(s, w.Header().Get("Content-Security-Policy"), "style-src 'self'")
		}
	}
}

func TestRunsAreListed(t *testing.T) {
	s := newShelf(t)
	page := s.shows("", "invalid character &#39;&lt;&#39;", "cannot be read", "begin on mvcc, rwmutex",
		"! instrumented: a trace", "! interrupted after 12 of 20 samples", "12 samples, complete",
		"a processor, GOMAXPROCS 2, linux/amd64, go1.26", `<a href="new/#profiles">3 profiles</a>`,
		`<option selected>alone</option>`, // the newest is compared with the one before it
	)
	require.NotContains(t, page, `<option>broken`)
	var names []string
	for _, m := range regexp.MustCompile(`<li id="run-(\w+)"`).FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	require.Equal(t, []string{"new", "alone", "old", "broken"}, names, "the newest first")

	for _, other := range []string{"/", "/debug/pprof/", "/debug/pprof/contention/"} {
		w := s.get("", func(r *http.Request) { r.URL.Path = other })
		require.Contains(t, w.Body.String(), `runs/">Runs</a>`, other)
	}

	// Runs saved or deleted meanwhile appear or vanish at once.
	s.save("later", measured(4, 1), nil)
	require.NoError(t, os.Remove(s.path("old")))
	require.NotContains(t, s.shows("", `id="run-later"`), `id="run-old"`)
	s.answers(map[string]answer{"old/": {404, "no run of that name"}})
	require.NoError(t, os.RemoveAll(s.dir))
	s.shows("", "There are none")
}

// A list reads the files that have changed, and no others.
func TestListRemembers(t *testing.T) {
	s := newShelf(t)
	s.shows("", "begin on mvcc, rwmutex")
	name := s.path("old")
	info, err := os.Stat(name)
	require.NoError(t, err)
	garbage := []byte(strings.Repeat("?", int(info.Size())))
	require.NoError(t, os.WriteFile(name, garbage, 0o600))
	failed := func() bool { return strings.Contains(s.shows(""), "invalid character &#39;?&#39;") }
	require.NoError(t, os.Chtimes(name, info.ModTime(), info.ModTime()))
	require.False(t, failed(), "of the same size and time: it is taken for the same")
	require.NoError(t, os.Chtimes(name, info.ModTime(), info.ModTime().Add(time.Second)))
	require.True(t, failed())
}

func TestRunPage(t *testing.T) {
	s := newShelf(t)
	s.shows("old/", "begin on mvcc, rwmutex", "<td>rwmutex</td><td>3.00M</td>", "Medians", "seed 7",
		`href="`+file+`/flamegraph">cpu<`, `href="`+odd+`/source"`)
	require.Regexp(t, `(?s)The whole run.*Begin/engine=mvcc/threads=4<.*begin-mvcc-threads=4.cpu.pb.gz`+
		`/flamegraph">cpu<.*z.odd.pb.gz`, s.shows("new/", "INSTRUMENTED: a trace"))
	s.shows("alone/", "None were kept", "Other/&lt;k&gt;", `"title":"Other/\u003ck\u003e: throughput"`,
		`<a href="../../runs/" aria-current="page">`)
	policy := s.get("alone/").Header().Get("Content-Security-Policy")
	require.Regexp(t, `^default-src 'none'; .*script-src 'sha256-.*; frame-ancestors 'none'`, policy)
	s.answers(map[string]answer{"broken/": {422, "broken.json"}, "nosuch/": {404, "nosuch"}})
}

func TestRunsAreCompared(t *testing.T) {
	s := newShelf(t)
	page := s.shows("compare?old=old&new=new",
		"! cpu: a processor in old, another processor in new",
		"! old is plain, new is instrumented (a trace)", "! new: interrupted after 12 of 20 samples",
		"medians with 95 % confidence", "p ≤ 0.05 in the Mann-Whitney", "higher is better", "lower is better", "-50.00%", "✗ worse",
		"2.050M <small>± 2%", "1.025M <small>± 2%", "p=0.002 n=6",
		"Of 4 comparisons", "✓ 0 are significantly better", "✗ 2 worse", "geomean",
		"Zero on both sides: aborts/op", `href="compare?old=new&amp;new=old"`,
		`href="new/`+file+`/minus/old/`+file+`/flamegraph"`)
	require.Regexp(t, `(?s)row down" role="row">\s*<span role="cell" class="name">Begin/engine=mvcc`,
		page)
	require.Regexp(t, `(?s)row" role="row">\s*<span role="cell" class="name">Begin/engine=rwmutex`,
		page)
	require.NotContains(t, page, "z.odd.pb.gz/minus", "only one has it")
	back := s.shows("compare?old=new&new=old", "✓ better", "✓ 2 are significantly better")
	require.Regexp(t, `(?s)row up" role="row">\s*<span role="cell" class="name">Begin/engine=mvcc`,
		back)

	some := measured(5, 1e6)
	some.Samples, some.Outcome.Done = some.Samples[:6], 6
	s.save("some", some, nil)
	s.shows("compare?old=old&new=some", "Only in old", "<li>Begin/engine=rwmutex/threads=4")
	s.shows("compare?old=some&new=old", "Only in old")

	s.answers(map[string]answer{
		"compare?old=alone&new=new":  {422, "nothing in common"},
		"compare?old=new&new=new":    {422, "choose two"},
		"compare?old=new&new=broken": {422, "broken.json"},
		"compare?old=new&new=nosuch": {404, "nosuch"},
		"compare?old=new":            {404, ""},
		"compare?old=new&new=../old": {404, "../old"},
	})
}

func TestProfilesOfRuns(t *testing.T) {
	s := newShelf(t)
	const foreign = "This is a profile of another build than the program that serves this page"
	for _, view := range []string{"flamegraph", "top", "peek"} {
		s.shows("old/"+file+"/"+view, "main.work", foreign, "nosource")
	}
	s.answers(map[string]answer{"old/" + file + "/source": {404, foreign}})
	w := s.get("old/" + file + "/download")
	require.Equal(t, `attachment; filename="old-`+file+`"`, w.Header().Get("Content-Disposition"))
	require.Equal(t, crafted(t, "main.work", "main.go", 0, 10), w.Body.Bytes())

	// Growth: per operation, of which there were half as many.
	diff := "new/" + file + "/minus/old/" + file + "/"
	const flat = `"Name":"main.work","InlineLabel":"","Flat":`
	s.shows(diff+"top", flat+"30,", "Figures above zero: more in <b>new</b>; below zero: more in <b>old</b>",
		"per operation: new had 6.15M operations and old 12.3M; the figures of old are multiplied by 0.5")
	s.shows(diff+"flamegraph", "main.work", `<i class="positive"></i> more in <b>new</b>`,
		`<i class="negative"></i> more in <b>old</b>`)
	list := map[string]answer{
		"new/z.odd.pb.gz/top":                         {422, "cannot be read"},
		"new/" + file + "/minus/old/nosuch.pb.gz/top": {404, "nosuch"},
		"nosuch/" + file + "/top":                     {404, "nosuch"},
		"old/nosuch.pb.gz/top":                        {404, "nosuch"},
		"old/nosuch.pb.gz/download":                   {404, "nosuch"},
		"a/b/c/d":                                     {404, "nothing at"},
	}
	for path, want := range map[string]answer{
		"FILE/nonsense":                  {404, "no page"},
		"FILE/saveconfig?config=x":       {404, "no page"},
		"FILE/disasm":                    {501, "no disassembly"},
		"FILE/minus/old/" + odd + "/top": {400, "different kinds"},
		"FILE/minus/new/FILE/top":        {400, "choose two"},
		"FILE/plus/old/FILE/top":         {404, "nothing at"},
		"FILE/minus/old/FILE/download":   {501, "-diff_base"},
	} {
		list["new/"+strings.ReplaceAll(path, "FILE", file)] = want
	}
	s.answers(list)

	// Redirects are relative and lead where they say.
	for from, to := range map[string]string{
		"../runs":          "",
		"old":              "old/",
		"old/x.cpu.pb.gz":  "old/x.cpu.pb.gz/flamegraph",
		"old/x.cpu.pb.gz/": "old/",
		diff:               "compare?new=new&old=old",
	} {
		base, err := url.Parse(at)
		require.NoError(t, err)
		base, err = base.Parse(from)
		require.NoError(t, err)
		w := s.get(from, func(r *http.Request) { r.URL.Path = base.Path })
		require.Equal(t, http.StatusSeeOther, w.Code, from)
		require.False(t, strings.HasPrefix(w.Header().Get("Location"), "/"))
		target, err := base.Parse(w.Header().Get("Location"))
		require.NoError(t, err)
		require.Equal(t, at+to, target.String())
	}
}

// Names are never taken for paths.
func TestNamesAreNoPaths(t *testing.T) {
	s := newShelf(t)
	outside := filepath.Dir(s.dir)
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret.pb.gz"),
		crafted(t, "main.secret", "main.go", 0, 1), 0o600))
	require.NoError(t, os.Link(s.path("old"), filepath.Join(outside, "x.json")))
	for _, name := range []string{
		"../x", "..", ".", "/x", `..\x`, outside + "/x", "x/../../x", "x\x00", "-x", "C:x",
		"../secret.pb.gz", "../../secret.pb.gz", "../x.json", "x.json",
	} {
		escaped := strings.ReplaceAll(url.PathEscape(name), ".", "%2e")
		for _, path := range []string{
			"NAME/", "NAME/" + file + "/top", "NAME/" + file + "/download", "old/NAME/top",
			"new/" + file + "/minus/NAME/" + file + "/top", "new/" + file + "/minus/old/NAME/peek",
			"compare?old=new&new=NAME", "compare?old=NAME&new=new",
		} {
			w := s.get(strings.Replace(path, "NAME", escaped, 1))
			require.Equal(t, http.StatusNotFound, w.Code, "%s %q: %s", path, name, w.Body)
			require.NotContains(t, w.Body.String(), "main.secret")
		}
	}
	require.Contains(t, s.get("old/%2e%2e/top").Body.String(), `no profile of that name`)
}
