package push

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/mvccmap/mvccmap/internal/planted"
	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling"
)

// A real service is asked for its figures, slow operations and profiles: they have the map, the
// operations, the trace that was kept, and the functions that were planted.
func TestOfAService(t *testing.T) {
	m := mvcc.New[int, int](nil)
	defer m.Close()
	m.Store(1, 1)
	srv, err := profiling.Start(profiling.Config{Addr: "127.0.0.1:0", Token: "secret-of-the-test",
		MutexFraction: 1, BlockRate: 1,
		Maps: map[string]func() mvcc.Stats{"accounts": m.Stats},
		Slow: &profiling.SlowConfig{Above: 2 * time.Millisecond, Every: time.Millisecond}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	op := srv.Op("check out")
	planted.Slow(t, op.Done, 0, 5*time.Millisecond)
	planted.Leak(t, 2)
	planted.Again(t, func() { planted.Garbage(make([][]byte, 8)) })

	r := receive(t, "")
	p, err := Start(Config{From: srv.URL(), Token: "secret-of-the-test", Name: "shop",
		Metrics:      Target{URL: r.URL + "/v1/metrics"},
		MetricsEvery: 50 * time.Millisecond,
		Profiles:     Target{URL: r.URL + "/v1development/profiles"},
		Window:       200 * time.Millisecond, ProfilesEvery: 500 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { p.Close(t.Context()) })

	of := func(path string) (list []request) {
		return slices.DeleteFunc(r.requests(), func(one request) bool { return one.path != path })
	}
	var exemplar *metricspb.Exemplar
	await(t, "an exemplar", func() bool {
		for _, one := range of("/v1/metrics") {
			all, _ := metricsOf(t, one)
			require.Equal(t, 1.0, all["mvccmap_commits_total"].GetSum().DataPoints[0].GetAsDouble())
			for _, d := range all["operation_duration_seconds"].GetHistogram().GetDataPoints() {
				require.Equal(t, map[string]string{"operation": "check out"}, texts(d.Attributes))
				for _, x := range d.Exemplars {
					exemplar = x
				}
			}
		}
		return exemplar != nil
	})
	require.Greater(t, exemplar.GetAsDouble(), .002)
	require.Regexp(t, "^"+srv.URL()+`/debug/pprof/slow/\d+(/flamegraph|\.json)$`,
		texts(exemplar.FilteredAttributes)["url.full"])

	for kind, function := range map[string]string{"cpu": ".Garbage", "wall": ".TakeLock",
		"allocs": ".Garbage", "mutex": ".HoldLock", "block": ".TakeLock", "goroutine": ".Leaked"} {
		await(t, kind+" names "+function, func() bool {
			for _, one := range of("/v1development/profiles") {
				for _, seen := range understand(t, profilesOf(t, one)) {
					if seen.Kind == kind && slices.ContainsFunc(seen.Stacks, func(s stackSeen) bool {
						return slices.ContainsFunc(s.Frames, func(frame string) bool {
							return strings.Contains(frame, function+":")
						})
					}) {
						return true
					}
				}
			}
			return false
		})
	}
	require.NoError(t, p.Close(t.Context()))
}
