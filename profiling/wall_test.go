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

// Labels of running goroutines are kept; a capture is opened in the browser like others, ends with
// the client, and is refused while the CPU profiler is in use.
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
