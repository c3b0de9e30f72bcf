package profiling_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling"
)

// labels returns those of the captures, the newest first.
func labels(h http.Handler) (list []string) {
	page := request(h, "/debug/pprof/").Body.String()
	label := regexp.MustCompile(`<li id="capture-.*\n.*\n.*<span class="what"><strong>([^<]*)<`)
	for _, m := range label.FindAllStringSubmatch(page, -1) {
		list = append(list, m[1])
	}
	return list
}

// pass lets time go by in a bubble, until all have done what they do then.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// What is taken on a schedule makes room for itself, and leaves half of the room to others.
func TestCapturesOnSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := profiling.Handler(profiling.Config{History: 6, Auto: []profiling.AutoCapture{
			{Kinds: []string{"goroutine"}, Every: 10 * time.Minute},
		}})
		defer h.Close()
		require.Contains(t, request(h, "/debug/pprof/").Body.String(), "goroutine: every 10m0s")
		request(h, "/debug/pprof/ui/new?type=goroutine&label=asked")
		pass(10*time.Minute - time.Second)
		require.Equal(t, []string{"asked"}, labels(h))
		pass(2 * time.Second)
		require.Equal(t, []string{"every 10m0s", "asked"}, labels(h))
		pass(time.Hour)
		require.Equal(t, []string{"every 10m0s", "every 10m0s", "every 10m0s", "asked"}, labels(h))
	})
}

// Operations that take long have captures taken, not too often, and the reason is with them.
func TestCapturesWhenOperationsAreSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p90, p99 atomic.Int64 // of the workload
		h := profiling.Handler(profiling.Config{
			Workload: func() profiling.Workload {
				latency := profiling.Latency{
					P90: time.Duration(p90.Load()), P99: time.Duration(p99.Load()),
				}
				return profiling.Workload{Name: "load", Latency: latency}
			},
			Auto: []profiling.AutoCapture{
				{Kinds: []string{"goroutine", "heap"}, Above: 20 * time.Millisecond, Every: time.Minute},
			},
		})
		defer h.Close()
		op := h.Op("checkout")
		work := func(n int, d time.Duration) {
			for range n {
				op.Done(d)
			}
		}
		work(1000, time.Millisecond)
		work(5, time.Second)
		pass(5 * time.Second)
		require.Empty(t, labels(h), "p99 is a millisecond")
		work(1000, 50*time.Millisecond)
		pass(5 * time.Second)
		got := labels(h)
		require.Len(t, got, 2, "one of each kind, and not again within a minute")
		require.Regexp(t, `^p99 of checkout was (49|50)\.\d ms, above 20ms$`, got[0])
		pass(2 * time.Minute)
		require.Len(t, labels(h), 2, "the operations are long ago")
		work(99, time.Second)
		pass(5 * time.Second)
		require.Len(t, labels(h), 2, "they are too few to know p99")

		p99.Store(int64(30 * time.Millisecond))
		pass(3 * time.Second)
		require.Equal(t, "p99 of load was 30.0 ms, above 20ms", labels(h)[0])

		p99.Store(0) // not known, of so few
		p90.Store(int64(30 * time.Millisecond))
		pass(2 * time.Minute)
		require.Equal(t, "p99 of load was at least 30.0 ms, above 20ms", labels(h)[0])
	})
}

// One capture is taken at a time: a requested one goes on, and Close ends a capture.
func TestCapturesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := profiling.Handler(profiling.Config{Auto: []profiling.AutoCapture{
			{Kinds: []string{"mutex"}, Window: 100 * time.Second, Every: 10 * time.Second},
			{Kinds: []string{"goroutine"}, Every: 10 * time.Second},
		}})
		running := func() int {
			return strings.Count(request(h, "/debug/pprof/").Body.String(), "Being captured")
		}
		var wg sync.WaitGroup
		wg.Go(func() { request(h, "/debug/pprof/ui/new?type=block&seconds=60&label=asked") })
		pass(59 * time.Second)
		require.Equal(t, 1, running())
		pass(3 * time.Second)
		wg.Wait()
		require.Equal(t, []string{"asked"}, labels(h))
		require.Equal(t, 1, running())
		pass(58 * time.Second)
		require.Equal(t, []string{"asked"}, labels(h), "it began when that had ended")
		pass(42 * time.Second)
		require.Equal(t, []string{"every 10s", "every 10s", "asked"}, labels(h))
		pass(10 * time.Second)
		require.Equal(t, 1, running())
		before := time.Now()
		require.NoError(t, h.Close())
		require.Equal(t, before, time.Now(), "it waited for the end of a capture")
		require.Zero(t, running())
		pass(time.Hour)
		require.Len(t, labels(h), 3)
	})
}

// What is wrong with the rules is an error of Start, and on the page of a handler.
func TestWrongRulesOfCaptures(t *testing.T) {
	for want, c := range map[string]profiling.AutoCapture{
		"at least 10s, not 1s":            {Every: time.Second},
		`no profile named &#34;cpus&#34;`: {Kinds: []string{"cpus"}},
		"negative: -1s":                   {Above: -time.Second},
		"below 100, not 100":              {Percentile: 100, Above: time.Second},
	} {
		cfg := profiling.Config{Addr: "127.0.0.1:0", Auto: []profiling.AutoCapture{{}, c}}
		_, err := profiling.Start(cfg)
		require.ErrorContains(t, err, "rule 2 of captures: ")
		h := profiling.Handler(cfg)
		page := request(h, "/debug/pprof/").Body.String()
		require.NoError(t, h.Close())
		require.Contains(t, page, "Nothing is captured automatically: rule 2 of captures: ")
		require.Contains(t, page, want)
		require.NotContains(t, page, "Taken automatically")
	}
}

// What cannot be taken, since the program itself does so, is said, and is no reason to leave out
// the rest.
func TestCapturesThatFail(t *testing.T) {
	require.NoError(t, pprof.StartCPUProfile(io.Discard)) // the process has one profiler
	defer pprof.StopCPUProfile()
	w := request(handler(t, profiling.Config{}), "/debug/pprof/profile?seconds=1")
	require.Equal(t, http.StatusConflict, w.Code)
	require.Contains(t, w.Body.String(), "the program itself is taking a CPU profile")
	synctest.Test(t, func(t *testing.T) {
		h := profiling.Handler(profiling.Config{Auto: []profiling.AutoCapture{
			{Kinds: []string{"cpu", "goroutine"}, Every: 10 * time.Second},
		}})
		defer h.Close()
		pass(11 * time.Second)
		require.Contains(t, request(h, "/debug/pprof/").Body.String(),
			"could not be taken: cpu at")
		require.Equal(t, []string{"every 10s"}, labels(h))
	})
}

// A token that can be guessed lets no client in, not even one that has it.
func TestHandlerWithShortToken(t *testing.T) {
	h := handler(t, profiling.Config{Token: "short"})
	w := request(h, "/debug/pprof/?token=short")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Contains(t, w.Body.String(), "a token of 5 characters can be guessed")
	require.Equal(t, "ok\n", request(h, "/healthz").Body.String())
}

// What is written is sent when it is flushed, and a flush says if it is impossible.
func TestWrapFlushes(t *testing.T) {
	h := handler(t, profiling.Config{})
	var err error
	wrapped := h.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		err = http.NewResponseController(w).Flush()
		w.WriteHeader(http.StatusInternalServerError) // too late
	}))
	w := httptest.NewRecorder()
	wrapped.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	require.NoError(t, err)
	require.True(t, w.Flushed)
	require.Equal(t, map[string]string{"GET": "1 0"}, counted(h))
	var plain struct{ http.ResponseWriter }
	plain.ResponseWriter = w
	wrapped.ServeHTTP(plain, httptest.NewRequest("GET", "/", nil))
	require.ErrorIs(t, err, http.ErrNotSupported)
}

// Names of operations that come from outside do not grow without end.
func TestOpsAreBounded(t *testing.T) {
	h := handler(t, profiling.Config{})
	for i := range 300 {
		require.NotNil(t, h.Op(fmt.Sprint("op ", i)))
	}
	require.Equal(t, "op 199", h.Op("op 199").Name())
	require.Equal(t, "other operations", h.Op("op 200").Name())
	require.Same(t, h.Op("op 200"), h.Op("op 299"))
}
