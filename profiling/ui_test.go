package profiling_test

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/testload"
	"github.com/mvccmap/mvccmap/profiling"
)

// newCapture takes a capture and returns the URL of its pages, with a slash at
// the end.
func newCapture(t *testing.T, base, query string) string {
	t.Helper()
	from, err := url.Parse(base + "/debug/pprof/ui/new?" + query)
	require.NoError(t, err)
	a := get(t, from.String())
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	to, err := from.Parse(a.header.Get("Location"))
	require.NoError(t, err)
	require.Regexp(t, `/debug/pprof/ui/\d+/flamegraph$`, to.Path)
	return to.ResolveReference(&url.URL{Path: "./"}).String()
}

func TestCapturePages(t *testing.T) {
	testload.Allocate(t)
	srv := start(t, profiling.Config{MutexFraction: 1, BlockRate: 1})
	contendUntilSeen(t, srv)
	ballast := make([]byte, 32<<20) // large enough to be sampled, and live
	defer runtime.KeepAlive(ballast)
	runtime.GC() // the heap profile is that of the last collection
	srv.SetPhase("burning")
	for _, kind := range []string{"cpu&seconds=1", "heap", "allocs", "mutex", "block",
		"goroutine", "threadcreate"} {
		t.Run(kind, func(t *testing.T) {
			var base string
			take := func() *profile.Profile {
				base = newCapture(t, srv.URL(), "type="+kind)
				return parse(t, get(t, base+"download"))
			}
			if take(); kind == "cpu&seconds=1" {
				untilSampled(t, take)
			}
			for _, view := range []string{"flamegraph", "top", "peek", "source"} {
				a := get(t, base+view)
				require.Equal(t, http.StatusOK, a.status, a.body)
				require.Contains(t, a.header.Get("Content-Type"), "text/html")
				require.Contains(t, a.body, "Phase: burning")
				require.Contains(t, a.header.Get("Content-Security-Policy"), "default-src 'none'")
			}
			file := get(t, base+"download")
			require.Regexp(t, `attachment; filename="[a-z]+-\d+\.pb\.gz"`,
				file.header.Get("Content-Disposition"))
			p := parse(t, file)
			switch kind {
			case "cpu&seconds=1":
				require.Contains(t, get(t, base+"flamegraph").body, "Garbage")
				require.Contains(t, get(t, base+"source?f=Garbage").body, "make([]byte")
				require.Equal(t, http.StatusBadRequest, get(t, base+"peek?f=%28").status)
			case "allocs":
				require.Contains(t, get(t, base+"top?si=alloc_objects").body, "alloc_objects")
			case "goroutine":
				require.Positive(t, value(p, "testload.Again.func1"))
			}
		})
	}
	a := get(t, srv.URL()+"/debug/pprof/ui/new?type=nonsense")
	require.Equal(t, http.StatusNotFound, a.status)
	require.Contains(t, a.body, `no profile named "nonsense"`)
}

func TestEmptyCaptureSaysSo(t *testing.T) {
	if pprof.Lookup("profiling_test/empty") == nil { // with -count
		pprof.NewProfile("profiling_test/empty")
	}
	srv := start(t, profiling.Config{})
	base := newCapture(t, srv.URL(), "type=profiling_test/empty")
	for _, view := range []string{"flamegraph", "top", "peek", "source"} {
		a := get(t, base+view)
		require.Equal(t, http.StatusNotFound, a.status, view)
		require.Contains(t, a.body, "nothing was sampled")
	}
	require.Equal(t, http.StatusOK, get(t, base+"download").status)
	require.Contains(t, get(t, srv.URL()+"/debug/pprof/").body, "no samples")
}

// The pages write nothing, and start no programs: the driver's own tool would start some such as
// objdump to read symbols.
func TestPagesLeaveTheMachineAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-ins are shell scripts")
	}
	dir, home := t.TempDir(), t.TempDir()
	started := filepath.Join(dir, "started")
	for _, name := range []string{"objdump", "llvm-objdump", "nm", "llvm-nm", "addr2line",
		"llvm-symbolizer"} {
		script := fmt.Sprintf("#!/bin/sh\necho %s >> %s\n", name, started)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("HOME", home)
	srv := start(t, profiling.Config{})
	base := newCapture(t, srv.URL(), "type=goroutine")
	for page, status := range map[string]int{
		"flamegraph": 200, "top": 200, "peek": 200, "source": 200, "disasm?f=runtime": 501,
		"saveconfig?config=x&f=y": 404, "deleteconfig?config=x": 404, "nonsense": 404,
	} {
		a := get(t, base+page)
		require.Equal(t, status, a.status, page)
		require.Equal(t, status == 501, strings.Contains(a.body, "no disassembly here"))
	}
	require.NoFileExists(t, started)
	written, err := os.ReadDir(home)
	require.NoError(t, err)
	require.Empty(t, written)
}

func TestPagesWithoutHome(t *testing.T) {
	switch runtime.GOOS {
	case "windows", "darwin", "ios", "plan9":
		t.Skip("the variable has another name")
	}
	t.Setenv("HOME", "")
	for _, dir := range []string{"", "relative"} {
		t.Setenv("XDG_CONFIG_HOME", dir)
		_, err := os.UserConfigDir()
		require.Error(t, err)
		srv := start(t, profiling.Config{})
		base := newCapture(t, srv.URL(), "type=goroutine")
		require.Equal(t, http.StatusOK, get(t, base+"flamegraph").status)
		require.Equal(t, dir, os.Getenv("XDG_CONFIG_HOME"), "as before")
	}
}

func TestHistoryIsBounded(t *testing.T) {
	srv := start(t, profiling.Config{})
	var bases []string
	for i := range 34 {
		srv.SetPhase(fmt.Sprintf("phase-%d.", i+1))
		bases = append(bases, newCapture(t, srv.URL(), "type=goroutine"))
	}
	for i, base := range bases[:4] {
		want := http.StatusOK
		if i < 2 {
			want = http.StatusGone
		}
		require.Equal(t, want, get(t, base+"top").status)
	}
	require.Contains(t, get(t, bases[0]+"top").body, "only the last 32 are kept")
	for _, id := range []string{"0", "-1", "35", "x", "99999999999999999999"} {
		require.Equal(t, http.StatusNotFound, get(t, srv.URL()+"/debug/pprof/ui/"+id+"/top").status, id)
	}
	page := get(t, srv.URL()+"/debug/pprof/").body
	ids := regexp.MustCompile(`id="capture-(\d+)"`).FindAllStringSubmatch(page, -1)
	require.Len(t, ids, 32)
	require.Equal(t, "34", ids[0][1], "the newest first")
	require.Contains(t, page, "phase-3.")
	require.NotContains(t, page, "phase-2.")
}

func TestRedirectsAreRelative(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/deep/er/", http.StripPrefix("/deep/er", handler(t, profiling.Config{})))
	srv := httptest.NewServer(mux)
	defer srv.Close()
	prefix := srv.URL + "/deep/er"
	newCapture(t, prefix, "type=goroutine")
	newCapture(t, prefix, "type=goroutine")
	for from, to := range map[string]string{
		"/debug/pprof":      "/debug/pprof/",
		"/debug/pprof/ui":   "/debug/pprof/",
		"/debug/pprof/ui/":  "/debug/pprof/",
		"/debug/pprof/ui/1": "/debug/pprof/ui/1/flamegraph",
		// where pages of pprof lead back to
		"/debug/pprof/ui/1/": "/debug/pprof/",
	} {
		a := get(t, prefix+from)
		require.Equal(t, http.StatusSeeOther, a.status, from)
		base, err := url.Parse(prefix + from)
		require.NoError(t, err)
		target, err := base.Parse(a.header.Get("Location"))
		require.NoError(t, err)
		require.Equal(t, prefix+to, target.String())
	}
	// Every link of the pages leads somewhere, and so does each file that they load.
	followed := map[string]bool{}
	for _, at := range []string{"/", "/debug/pprof/live", "/debug/pprof/", "/debug/pprof/contention/",
		"/debug/pprof/slow/", "/debug/pprof/ui/1/flamegraph", "/debug/pprof/ui/2-1/top"} {
		page := get(t, prefix+at).body
		require.Equal(t, 1, strings.Count(page, "<main"), "where a page begins, for screen readers")
		require.Equal(t, 1, strings.Count(page, "</main>"))
		base, err := url.Parse(prefix + at)
		require.NoError(t, err)
		links := regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(page, -1)
		require.Greater(t, len(links), 4)
		for _, link := range links {
			target, err := base.Parse(html.UnescapeString(link[1]))
			require.NoError(t, err)
			if target.Scheme == "data" || regexp.MustCompile(`seconds|since=|ui/([3-9]|\d\d+)/|disasm|graph$|download`).MatchString(link[1]) {
				continue // takes time, or is like that of the first capture
			}
			if to := target.String(); !followed[to] {
				followed[to] = true
				require.Less(t, get(t, to).status, 400, link[1])
			}
		}
	}
}

// Below a prefix that nobody strips the pages work, too, and so does a path that ends there.
func TestPrefixThatStays(t *testing.T) {
	h := handler(t, profiling.Config{})
	mux := http.NewServeMux()
	mux.Handle("/admin/debug/pprof/", h)
	srv := httptest.NewServer(mux)
	defer srv.Close()
	page := get(t, srv.URL+"/admin/debug/pprof/")
	require.Equal(t, http.StatusOK, page.status)
	at := srv.URL + "/admin/debug/pprof/"
	for path, status := range map[string]int{
		"live": 200, "live.json": 200, "slow/": 200, "heap": 200, "ui/new?type=goroutine": 303,
		"ui/1/top": 200, "assets/style.css": 200, "nosuch": 404,
	} {
		if path != "ui/1/top" {
			require.Equal(t, status, get(t, at+path).status, path)
		}
	}
	require.Equal(t, http.StatusOK, get(t, at+"ui/1/top").status)
	require.Equal(t, http.StatusSeeOther, request(h, "/a/b/debug/pprof").Code)
	require.Equal(t, http.StatusOK, request(h, "/a%2fb/debug/pprof/ui/1/top?x=%2Fdebug").Code)
	require.Equal(t, http.StatusNotFound, request(h, "/a/debug/pprofile").Code)
	require.Equal(t, http.StatusForbidden, request(h, "/a/debug/pprof/", func(r *http.Request) {
		r.RemoteAddr = "203.0.113.7:9"
	}).Code, "it is guarded as ever")
}

// Pages are rendered while captures are taken: the driver's package variables
// are the danger here, for the race detector to see.
func TestPagesAndCapturesAtOnce(t *testing.T) {
	srv := start(t, profiling.Config{})
	base := newCapture(t, srv.URL(), "type=goroutine")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 3 {
				if i%2 == 0 {
					a, err := try(t.Context(), srv.URL()+"/debug/pprof/ui/new?type=goroutine")
					if err != nil || a.status != http.StatusSeeOther {
						t.Error(a.status, err)
					}
				}
				a, err := try(t.Context(), base+[]string{"top", "flamegraph", "peek", "source"}[i%4])
				if err != nil || a.status != http.StatusOK {
					t.Error(a.status, err, a.body)
				}
				srv.SetPhase(fmt.Sprint("phase ", i))
			}
		})
	}
	wg.Wait()
}

// The pages of pprof are pages of the site: they have its navigation, and name their subject in
// title and text.
func TestPprofPagesBelongToTheSite(t *testing.T) {
	h := handler(t, profiling.Config{Title: "shop <1>"})
	url := httpServer(t, h)
	h.SetPhase("selling & buying")
	for range 2 {
		newCapture(t, url, "type=goroutine")
	}
	for id, name := range map[string]string{
		"2": "goroutine, capture 2", "2-1": "goroutine, capture 2 minus 1",
	} {
		views := []string{"flamegraph", "top", "peek", "source"}
		if id != "2" { // where nothing has changed, there is no line to show
			views = views[:2]
		}
		for _, view := range views {
			a := get(t, url+"/debug/pprof/ui/"+id+"/"+view)
			require.Equal(t, http.StatusOK, a.status, a.body)
			page := a.body
			require.Equal(t, 1, strings.Count(page, "<title>"))
			require.Contains(t, page, "<title>"+name+" · shop &lt;1&gt;</title>")
			require.Contains(t, page, "as it was, selling &amp; buying")
			require.Equal(t, 2, strings.Count(page, `<div class="site">`))
		}
	}
	a := get(t, url+"/debug/pprof/ui/1/peek?f=%28", header("Accept", "text/html"))
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Contains(t, a.body, "<nav>", "errors are pages of the site, too")
}

// A difference is per operation where those are known, says so, and names its sides.
func TestDifferencePerOperation(t *testing.T) {
	h := handler(t, profiling.Config{})
	op := h.Op("checkout")
	for range 2 {
		for range 10 {
			op.Done(time.Millisecond)
		}
		w := request(h, "/debug/pprof/ui/new?type=allocs")
		require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	}
	page := func(path string) string {
		w := request(h, "/debug/pprof/ui/"+path)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		return w.Body.String()
	}
	diff := page("2-1/flamegraph")
	require.Contains(t, diff, "per operation: capture 2 had 20 operations and capture 1 10; the "+
		"figures of capture 1 are multiplied by 2")
	require.Contains(t, diff, `<i class="positive"></i> more in <b>capture 2</b>`)
	require.Contains(t, diff, `href="../1-2/flamegraph">the other way round<`)
	require.NotContains(t, page("2/flamegraph"), "another build")

	// A snapshot covers no time, so that its operations are not known.
	for range 2 {
		request(h, "/debug/pprof/ui/new?type=goroutine")
	}
	require.Contains(t, page("4-3/flamegraph"), "it is not known how many operations there were")
}

// The lines in a report on contention lead to their source.
func TestReportLeadsToSource(t *testing.T) {
	srv := start(t, profiling.Config{MutexFraction: 1, BlockRate: 1})
	contendUntilSeen(t, srv)
	from, err := url.Parse(srv.URL() + "/debug/pprof/contention/new?mode=profiles&since=start")
	require.NoError(t, err)
	at, err := from.Parse(get(t, from.String()).header.Get("Location"))
	require.NoError(t, err)
	leadsToSource(t, at, get(t, at.String()).body, "TakeLock", "testload.go", `mu\.Lock\(\)`)
}

// leadsToSource checks that a line of a function, at which code stands, is in a page, and leads to
// its source.
func leadsToSource(t *testing.T, at *url.URL, page, function, file, code string) {
	t.Helper()
	links := regexp.MustCompile(`href="([^"]*/source[^"]*`+function+`[^"]*#L(\d+))">`+file+`:(\d+)<`).
		FindAllStringSubmatch(page, -1)
	require.NotEmpty(t, links, function)
	require.True(t, slices.ContainsFunc(links, func(link []string) bool {
		require.Equal(t, link[2], link[3])
		to, err := at.Parse(html.UnescapeString(link[1]))
		require.NoError(t, err)
		a := get(t, to.String())
		require.Equal(t, http.StatusOK, a.status, a.body)
		return regexp.MustCompile(`class=line> *` + link[2] + `</span> <span[^>]*>.*` + code).
			MatchString(a.body)
	}), function)
}
