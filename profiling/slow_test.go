package profiling_test

import (
	"bytes"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"runtime/trace"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	xtrace "golang.org/x/exp/trace"

	"github.com/mvccmap/mvccmap/internal/bench/testload"
	"github.com/mvccmap/mvccmap/profiling"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/flight"
	"github.com/mvccmap/mvccmap/profiling/internal/slow"
)

// slowly returns the page of slow operations below the address of a server.
func slowly(t *testing.T, url string) (p flight.State) {
	t.Helper()
	a := get(t, url+"/debug/pprof/slow/?format=json")
	require.Equal(t, http.StatusOK, a.status, a.body)
	require.NoError(t, json.Unmarshal([]byte(a.body), &p))
	return p
}

// slowPoll is the time between two looks at the page. Each look makes events that are in the trace,
// and the longer a trace takes to be read, the later is the next: twenty times as long. On a busy
// machine that may be minutes.
const slowPoll = 100 * time.Millisecond

// awaitSlow waits until an operation is kept of which the planted lock took most: on a
// busy machine others wait for a processor.
func awaitSlow(t *testing.T, url string) (e *flight.Slow) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, c := range slowly(t, url).Kept {
			if c.Report == nil || len(c.Report.Waits) == 0 {
				continue
			}
			top := c.Report.Waits[0]
			if top.Kind == contention.Mutex && strings.HasSuffix(top.Site.Func, ".TakeLock") &&
				top.Total > c.Report.Seen/2 && top.Waker != nil {
				e = c
				return true
			}
		}
		return false
	}, watchdog, slowPoll)
	return e
}

func TestSlowOperationIsExplained(t *testing.T) {
	before := time.Now()
	srv := start(t, profiling.Config{Slow: &profiling.SlowConfig{Above: 10 * time.Millisecond,
		Every: time.Millisecond}})
	srv.SetPhase("planted")
	require.True(t, srv.Instrumented(before))
	op := srv.Op("check <out>")
	require.Same(t, op, srv.Op("check <out>"))
	require.Equal(t, "check <out>", op.Name())
	testload.Slow(t, op.Done, time.Millisecond, 20*time.Millisecond)

	e := awaitSlow(t, srv.URL())
	require.Equal(t, "check <out>", e.Op)
	require.Equal(t, "planted", e.Phase)
	require.Equal(t, 10*time.Millisecond, e.Threshold)
	require.Zero(t, e.Percentile)
	require.Greater(t, e.Took, e.Threshold)
	require.Contains(t, e.Report.Verdict, "waiting for a sync.Mutex at testload.go:")
	require.True(t, strings.HasSuffix(e.Report.Waits[0].Waker.Site.Func, ".HoldLock"),
		e.Report.Waits[0].Waker)
	p := slowly(t, srv.URL())
	require.True(t, p.On)
	require.Equal(t, "above 10ms", p.Rule)
	require.Len(t, p.Ops, 1)
	require.Positive(t, p.Ops[0].Slow)
	srv.StopSlow() // so that the kept operations stay as they are

	page := get(t, srv.URL()+"/debug/pprof/slow/")
	require.Equal(t, http.StatusOK, page.status)
	require.Contains(t, page.body, "TakeLock")
	require.Contains(t, page.body, "check &lt;out&gt; took ")
	require.NotContains(t, page.body, "check <out>")
	require.Contains(t, page.body, "Not recording")

	// Each line leads to its source, that of the root too: the holder's activity meanwhile.
	require.Regexp(t, `<p class="dim machine">The machine, within \S+ \S+: [^<]*(hiccup|nothing woke late)`,
		page.body)
	at, err := url.Parse(srv.URL() + "/debug/pprof/slow/")
	require.NoError(t, err)
	leadsToSource(t, at, page.body, "HoldLock", "testload.go", `time\.Sleep\(held\)`)
	leadsToSource(t, at, page.body, "TakeLock", "testload.go", `mu\.Lock\(\)`)
	require.Equal(t, http.StatusNotFound, get(t, srv.URL()+"/debug/pprof/slow/99999/source").status)
	require.Equal(t, http.StatusNotFound, get(t, srv.URL()+"/debug/pprof/slow/x/source").status)

	kept := slowly(t, srv.URL()).Kept
	id := kept[slices.IndexFunc(kept, func(c *flight.Slow) bool { return c.Report != nil })].ID
	one := srv.URL() + "/debug/pprof/slow/" + strconv.Itoa(id)
	a := get(t, one+".trace")
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, "application/octet-stream", a.header.Get("Content-Type"))
	file := "slow-" + strconv.Itoa(id) + "-check--out-.trace"
	require.Contains(t, a.header.Get("Content-Disposition"), file)
	require.Contains(t, page.body, "go tool trace "+file)
	r, err := xtrace.NewReader(strings.NewReader(a.body))
	require.NoError(t, err)
	events := 0
	for ; err == nil; events++ {
		_, err = r.ReadEvent()
	}
	require.ErrorIs(t, err, io.EOF)
	require.Greater(t, events, 10)
	require.Equal(t, http.StatusNotFound, get(t, one).status)
	require.Equal(t, http.StatusNotFound, get(t, srv.URL()+"/debug/pprof/slow/99999.trace").status)
}

// The threshold is one that few operations of late exceeded; a full list makes room, and has also
// operations whose traces cannot be read.
func TestSlowByPercentile(t *testing.T) {
	h := handler(t, profiling.Config{})
	url := httpServer(t, h)
	op := h.Op("transfer")
	testload.Slow(t, op.Done, 2*time.Millisecond, 10*time.Millisecond)
	require.False(t, slowly(t, url).On)
	require.NoError(t, h.StartSlow(profiling.SlowConfig{Percentile: 80, Every: time.Millisecond,
		Keep: 1, MinAge: 100 * time.Millisecond}))
	e := awaitSlow(t, url)
	require.Equal(t, 80.0, e.Percentile)
	require.Greater(t, e.Took, e.Threshold)
	require.Positive(t, e.Threshold)
	require.Contains(t, get(t, url+"/debug/pprof/slow/").body, "beyond p80 of ")

	h.StopSlow()
	one := url + "/debug/pprof/slow/" + strconv.Itoa(slowly(t, url).Kept[0].ID)
	require.Equal(t, http.StatusOK, get(t, one+".trace").status)
	profiling.AddUnreadable(h) // of which only one is kept
	require.Equal(t, http.StatusGone, get(t, one+".trace").status)
	require.Contains(t, get(t, url+"/debug/pprof/slow/").body,
		"The trace could not be read: it is torn")
	require.Len(t, slowly(t, url).Kept, 1)
}

// The slow operations are summed up by name, each with its lines, and one name can be chosen. The
// harmless one does not take all the room.
func TestSlowAreSummedUp(t *testing.T) {
	h := handler(t, profiling.Config{})
	url := httpServer(t, h)
	testload.Slow(t, h.Op("GET /a,{b}").Done, time.Millisecond, 20*time.Millisecond)
	harmless := h.Op("harmless")
	testload.Again(t, func() {
		time.Sleep(20 * time.Millisecond)
		harmless.Done(time.Hour) // as if it were far slower for its kind
	})
	require.NoError(t, h.StartSlow(profiling.SlowConfig{Above: 10 * time.Millisecond,
		Every: time.Millisecond, Keep: 4, MinAge: 2 * time.Second}))
	// A busy machine may take more of their time than the lock does, so no share is asked for.
	locked := func(p slow.Part) bool {
		return p.Kind == contention.Mutex && strings.HasSuffix(p.Site.Func, ".TakeLock") && p.Ops > 1 &&
			slices.ContainsFunc(p.Because, func(c slow.Cause) bool {
				return c.Kind == contention.Sleep && strings.HasSuffix(c.Site.Func, ".HoldLock")
			})
	}
	require.Eventually(t, func() bool {
		p := slowly(t, url)
		return len(p.Tails) == 2 && slices.ContainsFunc(p.Tails[1].Parts, locked) &&
			slices.ContainsFunc(p.Kept, func(e *flight.Slow) bool { return e.Op == "GET /a,{b}" })
	}, watchdog, slowPoll)
	h.StopSlow()
	tails := slowly(t, url).Tails
	require.Equal(t, "harmless", tails[0].Op)
	require.Equal(t, "GET /a,{b}", tails[1].Op)
	// The page has the sentence of each, with links in it.
	said := func(page string) string {
		return html.UnescapeString(regexp.MustCompile(`</?a[^>]*>`).ReplaceAllString(page, ""))
	}
	page := get(t, url+"/debug/pprof/slow/").body
	for _, tail := range tails {
		require.Contains(t, said(page), `<p class="verdict">`+tail.String())
	}
	require.Contains(t, page, "harmless: ")
	require.Contains(t, page, `at <a href="all/source`)
	view := get(t, url+"/debug/pprof/slow/all/top?tf=operation%3D%5EGET+%2Fa%2C%5C%7Bb%5C%7D%24")
	require.Equal(t, http.StatusOK, view.status, view.body)
	require.Contains(t, view.body, "TakeLock")
	require.NotContains(t, get(t, url+"/debug/pprof/slow/all/top?tf=operation%3Dharmless").body,
		"TakeLock")

	only := get(t, url+"/debug/pprof/slow/?op=GET+%2Fa%2C%7Bb%7D").body
	require.Contains(t, said(only), `<p class="verdict">`+tails[1].String())
	require.NotContains(t, only, "harmless: ")
	require.NotContains(t, only, "harmless took")
	require.Equal(t, http.StatusNotFound, get(t, url+"/debug/pprof/slow/?op=nosuch").status)
}

// A visitor turns the recording on and off; pages of other sites do not.
func TestSlowInTheBrowser(t *testing.T) {
	h := handler(t, profiling.Config{Slow: &profiling.SlowConfig{Above: time.Hour}})
	const base = "/debug/pprof/slow/"
	page := func() string { return request(h, base).Body.String() }
	require.Contains(t, page(), "Recording</strong> operations above 1h0m0s")
	require.Contains(t, page(), "no-ops")
	for _, path := range []string{"start?percentile=99", "stop"} {
		require.Equal(t, http.StatusForbidden, request(h, base+path, browser("cross-site", "navigate",
			"document")).Code)
		require.Contains(t, page(), "above 1h0m0s")
	}
	for _, step := range []struct{ path, state string }{
		{"stop", "Not recording"}, {"stop", "Not recording"},
		{"start?percentile=99.5&above=", "Recording</strong> operations beyond p99.5 of the last minute"},
		{"start?percentile=99.9&above=+7ms", "Recording</strong> operations above 7ms"},
		{"start", "Recording</strong> operations above 1h0m0s"},
	} {
		w := request(h, base+step.path)
		require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
		require.Equal(t, "./", w.Header().Get("Location"))
		require.Contains(t, page(), step.state)
	}
	require.Equal(t, http.StatusBadRequest, request(h, base+"start?above=5").Code)
	require.Contains(t, page(), "above 1h0m0s", "it goes on as it was")
	for _, path := range []string{"x.trace", "1", "1.trace.json"} {
		require.Equal(t, http.StatusNotFound, request(h, base+path).Code, path)
	}
	require.Contains(t, request(h, "/debug/pprof/").Body.String(), `href="slow/"`)
}

// There is one flight recorder in the process, and execution traces may be taken
// beside it.
func TestSlowSharesTheTracer(t *testing.T) {
	first, second := handler(t, profiling.Config{}), handler(t, profiling.Config{})
	begin := time.Now()
	require.False(t, first.Instrumented(begin))
	require.NoError(t, first.StartSlow(profiling.SlowConfig{Above: time.Hour}))
	require.True(t, second.Instrumented(begin))
	require.True(t, second.Instrumented(time.Now()))
	require.ErrorContains(t, second.StartSlow(profiling.SlowConfig{}), "another service")
	require.Equal(t, http.StatusConflict, request(second, "/debug/pprof/slow/start").Code)
	require.Contains(t, request(second, "/debug/pprof/slow/").Body.String(),
		"could not be turned on: busy: slow operations are recorded by another service")
	_, err := profiling.Start(profiling.Config{Addr: "127.0.0.1:0", Slow: &profiling.SlowConfig{}})
	require.ErrorContains(t, err, "another service")
	_, err = profiling.Start(profiling.Config{Addr: "127.0.0.1:0",
		Slow: &profiling.SlowConfig{Percentile: 200}})
	require.ErrorContains(t, err, "percentile must be above 0 and below 100, not 200")

	// Captures that need a trace are taken as ever, and are whole.
	holdUp(t)
	reportUntil(t, httpServer(t, first), "mode=trace&seconds=0.05", plantedLock)
	w := request(first, "/debug/pprof/trace?seconds=0.01")
	require.Equal(t, http.StatusOK, w.Code)
	_, err = contention.FromTrace(bytes.NewReader(w.Body.Bytes()))
	require.NoError(t, err)

	first.StopSlow()
	stopped := time.Now()
	require.False(t, first.Instrumented(stopped))
	require.True(t, first.Instrumented(begin))
	require.NoError(t, second.StartSlow(profiling.SlowConfig{}))
	require.NoError(t, second.Close())
	require.Error(t, second.StartSlow(profiling.SlowConfig{}), "it is closed")
	require.Equal(t, http.StatusServiceUnavailable, request(second, "/debug/pprof/slow/start").Code)

	own := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	require.NoError(t, own.Start())
	err = first.StartSlow(profiling.SlowConfig{})
	own.Stop()
	require.ErrorContains(t, err, "the program itself uses the flight recorder")
	require.NoError(t, first.StartSlow(profiling.SlowConfig{}))
}

// Operations may be named, ended, recorded and read at the same time.
func TestSlowConcurrently(t *testing.T) {
	h := handler(t, profiling.Config{})
	for i := range 4 {
		testload.Again(t, func() {
			h.Op([]string{"a", "b", "c"}[i%3]).Done(time.Duration(i) * time.Millisecond)
		})
	}
	for i := range 5 {
		require.NoError(t, h.StartSlow(profiling.SlowConfig{
			Above: time.Millisecond, Every: time.Millisecond, MaxBytes: 1 << 16,
		}))
		require.Equal(t, http.StatusOK, request(h, "/debug/pprof/slow/").Code)
		if i%2 == 0 {
			h.StopSlow()
		}
	}
}

// httpServer serves h until the test ends and returns its address.
func httpServer(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}
