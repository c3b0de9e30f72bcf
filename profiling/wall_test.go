package profiling_test

import (
	"context"
	"net/http"
	"runtime/pprof"
	"slices"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/testload"
	"github.com/mvccmap/mvccmap/profiling"
)

func waitForWork(never <-chan struct{}) { <-never }

// Labels of running goroutines are kept; a capture is opened in the browser like others, ends with
// the client, and is refused while the CPU profiler is in use.
func TestWallIsACapture(t *testing.T) {
	h := handler(t, profiling.Config{})
	testload.Again(t, func() {
		pprof.Do(context.Background(), pprof.Labels("operation", "burn"),
			func(context.Context) { testload.Garbage(make([][]byte, 64)) })
	})
	testload.Leak(t, 2)
	testload.Await(t, 2, "testload.Leaked(", "chan receive")
	never := make(chan struct{})
	defer close(never)
	go waitForWork(never)
	testload.Await(t, 1, ".waitForWork(", "chan receive")
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
	require.Regexp(t, `href="top\?work=shown" aria-current="false">waits for work: `, top)
	require.Contains(t, top, "testload.Leaked")
	require.NotContains(t, top, ".waitForWork")
	all := request(h, "/debug/pprof/ui/1/top?work=shown").Body.String()
	require.Regexp(t, `href="top" aria-current="true">waits for work: `, all)
	require.Contains(t, all, ".waitForWork")
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
