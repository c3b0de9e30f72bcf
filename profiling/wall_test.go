package profiling_test

import (
	"context"
	"html"
	"net/http"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/planted"
	"github.com/mvccmap/mvccmap/profiling"
)

// doing reports whether a profile of all goroutines has a stack with the functions, from the root
// on, of which the first is the state, and all must come in that order.
func doing(p *profile.Profile, functions ...string) bool {
	return slices.ContainsFunc(p.Sample, func(s *profile.Sample) bool {
		rest := functions
		for _, loc := range slices.Backward(s.Location) {
			for _, line := range slices.Backward(loc.Line) {
				if len(rest) > 0 && strings.HasSuffix(line.Function.Name, rest[0]) {
					rest = rest[1:]
				}
			}
		}
		return len(rest) == 0
	})
}

// One picture shows all faults that are planted: each at its line, below what its goroutines do.
func TestWallShowsEveryPlantedFault(t *testing.T) {
	h := handler(t, profiling.Config{})
	for name, c := range map[string]struct {
		plant func(t *testing.T)
		shown []string
	}{
		"lock": {func(t *testing.T) {
			planted.Slow(t, func(time.Duration) {}, 0, 5*time.Millisecond)
		}, []string{"[mutex]", "planted.TakeLock", "sync.(*Mutex).Lock"}},
		"leak": {func(t *testing.T) { planted.Leak(t, 100) },
			[]string{"[chan receive]", "planted.Leaked"}},
		"allocation": {planted.Allocate,
			[]string{"[running]", "planted.Garbage", "runtime.mallocgc"}},
		"collector": {planted.Collect, []string{"[collector]", "runtime.gcBgMarkWorker"}},
		"fsync":     {planted.Sync, []string{"[syscall]", "planted.SyncFile", "os.(*File).Sync"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.plant(t)
			require.Eventually(t, func() bool {
				w := request(h, "/debug/pprof/wall?seconds=0.3")
				require.Equal(t, http.StatusOK, w.Code, w.Body)
				p, err := profile.ParseData(w.Body.Bytes())
				require.NoError(t, err)
				require.NoError(t, p.CheckValid())
				require.Equal(t, "wall", p.DefaultSampleType)
				require.False(t, doing(p, "wall.(*Sampler)"), "the profiler itself")
				return doing(p, c.shown...)
			}, watchdog, time.Millisecond)
		})
	}
}

// Labels of what runs are kept; a capture is opened in the browser like others, may be taken by a
// rule, ends with the client, and is refused while the CPU profiler is in use.
func TestWallIsACapture(t *testing.T) {
	h := handler(t, profiling.Config{})
	planted.Again(t, func() {
		pprof.Do(context.Background(), pprof.Labels("operation", "burn"),
			func(context.Context) { planted.Garbage(make([][]byte, 64)) })
	})
	planted.Leak(t, 1)
	planted.Await(t, 1, "planted.Leaked(", "chan receive")
	require.Eventually(t, func() bool {
		p, err := profile.ParseData(request(h, "/debug/pprof/wall?seconds=0.2").Body.Bytes())
		require.NoError(t, err)
		return slices.ContainsFunc(p.Sample, func(s *profile.Sample) bool {
			return slices.Equal(s.Label["operation"], []string{"burn"}) &&
				slices.Equal(s.Label["state"], []string{"running"})
		})
	}, watchdog, time.Millisecond)
	w := request(h, "/debug/pprof/ui/new?type=wall&seconds=0.05")
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	require.Equal(t, http.StatusOK, request(h, "/debug/pprof/ui/1/flamegraph").Code)
	top := request(h, "/debug/pprof/ui/1/top").Body.String()
	less := regexp.MustCompile(`href="\.\./(1/top\?ti=[^"]*)"`).FindStringSubmatch(top)
	busy := request(h, "/debug/pprof/ui/"+html.UnescapeString(less[1])).Body.String()
	require.Equal(t, []bool{true, false},
		[]bool{strings.Contains(top, "planted.Leaked"), strings.Contains(busy, "planted.Leaked")})
	require.Contains(t, request(h, "/debug/pprof/").Body.String(), `id="wall-5"`)
	require.Contains(t, request(h, "/debug/pprof/live").Body.String(), "type=wall")

	left, cancel := context.WithCancel(t.Context())
	cancel()
	w = request(h, "/debug/pprof/wall?seconds=60", func(r *http.Request) { *r = *r.WithContext(left) })
	require.Equal(t, http.StatusServiceUnavailable, w.Code)

	rec, err := profiling.NewRecorder("a test")
	require.NoError(t, err)
	require.Equal(t, http.StatusConflict, request(h, "/debug/pprof/wall?seconds=0.01").Code)
	rec.Close()
	require.Equal(t, http.StatusOK, request(h, "/debug/pprof/wall?seconds=0.01").Code)
}
