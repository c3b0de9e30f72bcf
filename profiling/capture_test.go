package profiling_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/testload"
	"github.com/mvccmap/mvccmap/profiling"
	"github.com/mvccmap/mvccmap/profiling/internal/capture"
)

// parse reads a profile that a server answered with.
func parse(t *testing.T, a answer) *profile.Profile {
	t.Helper()
	require.Equal(t, http.StatusOK, a.status, a.body)
	p, err := profile.ParseData([]byte(a.body))
	require.NoError(t, err)
	require.NoError(t, p.CheckValid())
	return p
}

// value returns the last value of the samples whose stack has the function.
func value(p *profile.Profile, function string) (sum int64) {
	return valueOf(p, p.SampleType[len(p.SampleType)-1].Type, function)
}

// valueOf returns their value of a type.
func valueOf(p *profile.Profile, kind, function string) (sum int64) {
	i := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == kind })
	for _, s := range p.Sample {
		if hasFrame(s, function) {
			sum += s.Value[i]
		}
	}
	return sum
}

func hasFrame(s *profile.Sample, function string) bool {
	for _, loc := range s.Location {
		for _, line := range loc.Line {
			if strings.HasSuffix(line.Function.Name, function) {
				return true
			}
		}
	}
	return false
}

func TestEveryRuntimeProfileIsServed(t *testing.T) {
	srv := start(t, profiling.Config{})
	const custom = "profiling_test/custom"
	if pprof.Lookup(custom) == nil { // with -count
		pprof.NewProfile(custom)
	}
	for _, p := range pprof.Profiles() {
		url := srv.URL() + "/debug/pprof/" + p.Name()
		a := get(t, url)
		parse(t, a)
		require.Contains(t, a.header.Get("Content-Disposition"), p.Name())
		text := get(t, url+"?debug=1")
		require.Equal(t, http.StatusOK, text.status)
		require.Contains(t, text.header.Get("Content-Type"), "text/plain")
		require.Contains(t, get(t, srv.URL()+"/debug/pprof/").body, p.Name())
	}
	require.Contains(t, get(t, srv.URL()+"/debug/pprof/").body, custom)
	require.Contains(t, get(t, srv.URL()+"/debug/pprof/goroutine?debug=2").body, "goroutine 1 [")
	parse(t, get(t, srv.URL()+"/debug/pprof/heap?gc=1"))

	require.Equal(t, http.StatusNotFound, get(t, srv.URL()+"/debug/pprof/nonsense").status)
	cmdline := get(t, srv.URL()+"/debug/pprof/cmdline")
	require.Equal(t, http.StatusNotFound, cmdline.status)
	require.NotContains(t, cmdline.body, os.Args[0])
}

// contendUntilSeen has goroutines contend for a lock until the test ends, and waits until the mutex
// and block profiles of srv show it.
func contendUntilSeen(t *testing.T, srv *profiling.Server) {
	t.Helper()
	holdUp(t)
	for name, function := range map[string]string{"mutex": ".HoldLock", "block": ".TakeLock"} {
		require.Eventually(t, func() bool {
			return value(parse(t, get(t, srv.URL()+"/debug/pprof/"+name)), function) > 0
		}, watchdog, time.Millisecond)
	}
}

// A window shows the samples of its own time, none from before, and its phases.
func TestWindowShowsTheChange(t *testing.T) {
	start(t, profiling.Config{BlockRate: 1}) // has everything recorded
	synctest.Test(t, func(t *testing.T) {
		h := profiling.Handler(profiling.Config{})
		defer h.Close()
		wait := func() {
			c := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() { waitForChannel(c) })
			synctest.Wait()
			close(c)
			wg.Wait()
		}
		wait()
		quiet := windowDuring(t, h, "block?seconds=2", func() {})
		require.Zero(t, value(quiet, ".waitForChannel"))
		h.SetPhase("filling")
		during := windowDuring(t, h, "block?seconds=2", func() { wait(); h.SetPhase("reading") })
		require.Equal(t, []string{"Phase: filling → reading"}, during.Comments)
		require.Positive(t, value(during, ".waitForChannel"))
		require.Equal(t, 2*time.Second, time.Duration(during.DurationNanos))
		require.NotZero(t, during.TimeNanos)
	})
}

// windowDuring returns the profile of a window, during which f is called. It is for
// bubbles, in which a window is open until nothing else is left to do.
func windowDuring(t *testing.T, h http.Handler, query string, f func()) *profile.Profile {
	t.Helper()
	var w *httptest.ResponseRecorder
	var wg sync.WaitGroup
	wg.Go(func() { w = request(h, "/debug/pprof/"+query) })
	synctest.Wait()
	f()
	wg.Wait()
	return parse(t, answer{w.Code, w.Header(), w.Body.String()})
}

// Requests that make no sense are refused.
func TestNonsenseIsRefused(t *testing.T) {
	h := handler(t, profiling.Config{})
	for path, queries := range map[string][]string{
		"mutex": {"seconds=1&debug=1"},
		"contention/new": {"mode=nonsense", "since=nonsense", "since=start&seconds=1",
			"since=last", "mode=trace&since=start", "mode=trace&format=xml"},
		"live.json": {"after=x", "after=-1", "after=1.5", "after=99999999999999999999"},
		"slow/":     {"format=xml"},
		"slow/start": {"percentile=0", "percentile=100", "percentile=NaN", "percentile=x", "above=0s",
			"above=-1ms", "above=5"},
	} {
		for _, query := range queries {
			w := request(h, "/debug/pprof/"+path+"?"+query)
			require.Equal(t, http.StatusBadRequest, w.Code, "%s?%s", path, query)
		}
	}
	for _, path := range []string{"profile?", "trace?", "mutex?", "ui/new?", "contention/new?",
		"contention/new?mode=trace&"} {
		for _, seconds := range []string{"0", "-1", "abc", "NaN", "-Inf"} {
			w := request(h, "/debug/pprof/"+path+"seconds="+seconds)
			require.Equal(t, http.StatusBadRequest, w.Code, path, seconds)
			require.Contains(t, w.Body.String(), "seconds must be a number above 0")
		}
	}
}

func TestSecondsAreClamped(t *testing.T) {
	const most = capture.Longest
	for text, want := range map[string]time.Duration{
		"": time.Second, "1": time.Second, "0.25": 250 * time.Millisecond, "1e-300": 1,
		"120": most, "121": most, "1e300": most, "1e400": most, "Inf": most,
	} {
		d, err := capture.Seconds(url.Values{"seconds": {text}}, time.Second)
		require.NoError(t, err, text)
		require.Equal(t, want, d, text)
	}

	// Without the bound this would take a day.
	synctest.Test(t, func(t *testing.T) {
		h := profiling.Handler(profiling.Config{})
		defer h.Close()
		p := windowDuring(t, h, "mutex?seconds=100000", func() {})
		require.Equal(t, most, time.Duration(p.DurationNanos))
	})
}

// So many captures of a sort are taken at a time in the process, not in a service. Others go on
// meanwhile. A client that leaves ends its own, which is not kept.
func TestCapturesAtATime(t *testing.T) {
	for sort, c := range map[string]struct {
		limit, status int
		paths         []string // the first is taken, and none of them meanwhile
	}{
		"CPU profile": {1, http.StatusConflict,
			[]string{"ui/new?type=cpu&", "profile?", "wall?"}},
		"execution trace": {1, http.StatusConflict, []string{"trace?", "contention/new?mode=trace&"}},
		"timed capture":   {4, http.StatusTooManyRequests, []string{"mutex?", "contention/new?"}},
	} {
		t.Run(sort, func(t *testing.T) {
			servers := []*profiling.Server{start(t, profiling.Config{}), start(t, profiling.Config{})}
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			defer wg.Wait()
			defer cancel()
			refused := make(chan answer, c.limit+1)
			for i := range c.limit + 1 {
				wg.Go(func() {
					url := servers[i%2].URL() + "/debug/pprof/" + c.paths[0] + "seconds=100"
					if a, err := try(ctx, url); err == nil {
						refused <- a
					}
				})
			}
			check := func(a answer) {
				require.Equal(t, c.status, a.status)
				require.Contains(t, a.body, fmt.Sprintf("busy: %s being taken, at most %d at a time", sort, c.limit))
				require.Regexp(t, `^([1-9]\d?|100)$`, a.header.Get("Retry-After"))
			}
			check(<-refused)
			require.Empty(t, refused)
			at := servers[1].URL() + "/debug/pprof/"
			for _, path := range c.paths[1:] {
				check(get(t, at+path+"seconds=1"))
			}
			parse(t, get(t, at+"heap"))
			cancel()
			wg.Wait()
			require.Eventually(t, func() bool {
				return get(t, at+c.paths[0]+"seconds=0.01").status < http.StatusBadRequest
			}, watchdog, 5*time.Millisecond)
			require.Contains(t, get(t, servers[0].URL()+"/debug/pprof/").body, "no-captures")
		})
	}
}

// A capture may take longer than the server grants any other answer: it puts the deadline
// of its answer off by as much. The captures here are not waited for.
func TestCapturesOutlastServerTimeouts(t *testing.T) {
	const timeout = time.Minute
	h := handler(t, profiling.Config{})
	var deadline time.Time
	user := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(wrapped{timed{w, &deadline}}, r)
	})
	server := func(r *http.Request) {
		s := &http.Server{WriteTimeout: timeout}
		*r = *r.WithContext(context.WithValue(r.Context(), http.ServerContextKey, s))
	}
	for path, length := range map[string]time.Duration{
		"profile?seconds=100":                   100 * time.Second,
		"mutex?seconds=100":                     100 * time.Second,
		"trace?seconds=100":                     100 * time.Second,
		"ui/new?seconds=100":                    100 * time.Second,
		"ui/new?type=block&seconds=100":         100 * time.Second,
		"contention/new?seconds=100":            100 * time.Second,
		"contention/new?mode=trace&seconds=100": 10 * time.Second,
	} {
		before := time.Now()
		request(user, "/debug/pprof/"+path, server, cancelled)
		more := timeout + length
		require.WithinRange(t, deadline, before.Add(more), time.Now().Add(more), path)
		deadline = time.Time{}
		request(user, "/debug/pprof/"+path, cancelled)
		require.Zero(t, deadline, "a server without a timeout")
	}
}

// timed is the writer of a server, which has a deadline.
type timed struct {
	http.ResponseWriter
	deadline *time.Time
}

func (w timed) SetWriteDeadline(at time.Time) error {
	*w.deadline = at
	return nil
}

// wrapped is the writer of a middleware as a user's server may have it: it hides every
// method of the writer that is not in the interface.
type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// The command line tool that every Go installation has.
func TestGoToolPprof(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the pprof tool")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command is not installed")
	}
	pprofTool, err := exec.Command(goTool, "tool", "-n", "pprof").Output() // where it was built to
	require.NoError(t, err)
	testload.Allocate(t)
	open := start(t, profiling.Config{})
	open.SetPhase("burning")
	locked := start(t, profiling.Config{Token: "0123456789abcdef"})
	withToken := strings.Replace(locked.URL(), "http://", "http://x:0123456789abcdef@", 1)
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), strings.TrimSpace(string(pprofTool)), args...)
		cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	for _, base := range []string{open.URL(), withToken} {
		var out string
		// On a busy machine a second may pass without a sample.
		for end := time.Now().Add(watchdog); !strings.Contains(out, "Garbage"); {
			require.True(t, time.Now().Before(end), out)
			out = run("-top", base+"/debug/pprof/profile?seconds=1")
		}
		require.Contains(t, out, "flat%")
		require.Contains(t, run("-top", "-sample_index=alloc_space", base+"/debug/pprof/allocs"),
			"Type: alloc_space")
		require.Contains(t, run("-top", base+"/debug/pprof/goroutine"), "Type: goroutine")
	}
	out := run("-comments", open.URL()+"/debug/pprof/mutex?seconds=0.01")
	require.Contains(t, out, "Phase: burning")
	require.Contains(t, run("-top", open.URL()+"/debug/pprof/nonsense"), "no profile named")
	require.Contains(t, run("-top", locked.URL()+"/debug/pprof/heap"), "token required")
}
