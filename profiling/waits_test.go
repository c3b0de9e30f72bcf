package profiling_test

import (
	"encoding/json"
	"io"
	"net/http"
	"path"
	"regexp"
	"runtime"
	"runtime/trace"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/testload"
	"github.com/mvccmap/mvccmap/profiling"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

// holdUp has goroutines wait for a lock until the test ends, and for a timer while they have it.
func holdUp(t *testing.T) {
	t.Helper()
	testload.Slow(t, func(time.Duration) {}, 0, time.Millisecond)
}

// The waits of holdUp.
var (
	plantedLock  = plantedWait{contention.Mutex, "testload.TakeLock"}
	plantedSleep = plantedWait{contention.Sleep, "testload.HoldLock"}
)

type plantedWait struct {
	kind     contention.Kind
	function string
}

func (w plantedWait) in(r contention.Report) bool {
	return slices.ContainsFunc(r.Waits, func(s contention.Site) bool {
		return s.Kind == w.kind && strings.HasSuffix(s.Func, w.function)
	})
}

// reportUntil takes reports until one has the planted waits: on a busy machine a
// short window may pass without.
func reportUntil(t *testing.T, base, query string, planted ...plantedWait) (r contention.Report) {
	t.Helper()
	require.Eventually(t, func() bool {
		a := get(t, base+"/debug/pprof/contention/new?format=json&"+query)
		require.Equal(t, http.StatusOK, a.status, a.body)
		r = contention.Report{}
		require.NoError(t, json.Unmarshal([]byte(a.body), &r))
		for _, w := range planted {
			if !w.in(r) {
				return false
			}
		}
		return true
	}, watchdog, time.Millisecond)
	return r
}

func TestContentionReports(t *testing.T) {
	holdUp(t)
	srv := start(t, profiling.Config{BlockRate: 1, MutexFraction: 1})
	cheap := reportUntil(t, srv.URL(), "mode=profiles&seconds=0.05", plantedLock)
	require.False(t, cheap.Exact)
	require.Positive(t, cheap.Window)
	whole := reportUntil(t, srv.URL(), "since=start", plantedLock)
	require.Zero(t, whole.Window)

	before := time.Now()
	require.False(t, srv.Instrumented(before))
	// The profiles do not know of sleeping.
	full := reportUntil(t, srv.URL(), "mode=trace&seconds=0.05", plantedLock, plantedSleep)
	require.True(t, full.Exact)
	require.True(t, srv.Instrumented(before))
	require.False(t, srv.Instrumented(time.Now()))
	for _, s := range full.Waits {
		require.Positive(t, s.Max)
		own := regexp.MustCompile(`mvccmap/profiling(\.|/internal/)`).MatchString(s.Func)
		require.True(t, s.Work || !own, s.Func)
	}
}

func TestContentionPages(t *testing.T) {
	holdUp(t)
	srv := start(t, profiling.Config{BlockRate: 1})
	srv.SetPhase("handing over")
	base := srv.URL() + "/debug/pprof/contention/"
	require.Contains(t, get(t, base).body, "no-reports")
	for _, mode := range []string{"profiles", "trace"} {
		a := get(t, base+"new?seconds=0.1&mode="+mode)
		require.Equal(t, http.StatusSeeOther, a.status, a.body)
		require.Regexp(t, `^\./\d+$`, a.header.Get("Location"))
	}
	page := get(t, base).body
	for _, want := range []string{`id="report-1"`, `id="report-2"`, "handing over",
		"by execution trace", "minus 1"} {
		require.Contains(t, page, want)
	}
	for _, id := range []string{"1", "2"} {
		for _, query := range []string{"", "?kind=sleep", "?kind=%3Cscript%3E", "?kind=idle",
			"?kind=work"} {
			a := get(t, base+id+query)
			require.Equal(t, http.StatusOK, a.status, a.body)
			require.NotContains(t, a.body, "<script>")
		}
		p := parse(t, get(t, srv.URL()+"/debug/pprof/ui/"+id+"/download"))
		require.Equal(t, "waits", p.SampleType[0].Type)
		require.Contains(t, p.Comments, "Phase: handing over")
	}
	require.Equal(t, http.StatusOK, get(t, srv.URL()+"/debug/pprof/ui/2/flamegraph").status)
	require.Equal(t, http.StatusNotFound, get(t, base+"77").status)
	newCapture(t, srv.URL(), "type=goroutine")
	a := get(t, base+"3")
	require.Equal(t, http.StatusNotFound, a.status)
	require.Contains(t, a.body, "is no report on contention")
}

// A trace that the program itself takes goes on, and one that nobody waits for ends.
func TestContentionRespectsTheTracer(t *testing.T) {
	h := handler(t, profiling.Config{})
	w := request(h, "/debug/pprof/contention/new", browser("cross-site", "navigate", "document"))
	require.Equal(t, http.StatusForbidden, w.Code, "a page of another site")
	require.NoError(t, trace.Start(io.Discard))
	w = request(h, "/debug/pprof/contention/new?mode=trace&seconds=0.01")
	trace.Stop()
	require.Equal(t, http.StatusConflict, w.Code)
	require.Contains(t, w.Body.String(), "the program itself")

	w = request(h, "/debug/pprof/contention/new?mode=trace&seconds=10", cancelled)
	require.Equal(t, http.StatusServiceUnavailable, w.Code, "it ends when nobody waits for it")
}

func TestDifference(t *testing.T) {
	srv := start(t, profiling.Config{})
	newCapture(t, srv.URL(), "type=goroutine")
	testload.Leak(t, 40)
	testload.Await(t, 40, "testload.Leaked(", "chan receive")
	newCapture(t, srv.URL(), "type=goroutine")
	newCapture(t, srv.URL(), "type=heap")

	ui := srv.URL() + "/debug/pprof/ui/"
	for _, view := range []string{"flamegraph", "top", "peek", "source"} {
		a := get(t, ui+"2-1/"+view)
		require.Equal(t, http.StatusOK, a.status, a.body)
		require.Contains(t, a.body, "capture 2 minus capture 1")
	}
	require.Contains(t, get(t, ui+"2-1/top").body, "testload.Leaked")
	// The difference shown before is not carried over.
	require.NotContains(t, get(t, ui+"1/top").body, "testload.Leaked")
	require.NotContains(t, get(t, ui+"2/top").body, "minus capture")
	for query, status := range map[string]int{
		"2-2": 400, "2-3": 400, "2-9": 404, "x-1": 404, "2-": 404, "2-1-1": 404, "-": 404,
	} {
		require.Equal(t, status, get(t, ui+query+"/top").status, query)
	}
	require.Equal(t, http.StatusNotImplemented, get(t, ui+"2-1/download").status)
	page := get(t, srv.URL()+"/debug/pprof/").body
	require.Contains(t, page, `href="ui/2-1/flamegraph"`)
}

// Where the rates are off the report says so, instead of that nothing waited.
func TestReportSaysThatRatesAreOff(t *testing.T) {
	before := runtime.SetMutexProfileFraction(0)
	defer runtime.SetMutexProfileFraction(before)
	h := handler(t, profiling.Config{})
	page := func() string {
		w := request(h, "/debug/pprof/contention/new?seconds=0.01")
		require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
		return request(h, path.Join("/debug/pprof/contention", w.Header().Get("Location"))).Body.String()
	}
	off := page()
	require.Contains(t, off, "mutex profile")
	require.Contains(t, off, `id="rates-off"`)
	require.NotContains(t, off, "Nothing waited")
	require.Contains(t, off, "No wait was recorded")
	for _, path := range []string{"", "contention/"} {
		text := request(h, "/debug/pprof/"+path).Body.String()
		require.Contains(t, text, "mutex profile is off", path)
	}

	start(t, profiling.Config{}) // which turns both on
	require.NotContains(t, page(), `id="rates-off"`)
}
