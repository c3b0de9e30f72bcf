package profiling_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling"
	"github.com/mvccmap/mvccmap/profiling/prom"
)

// Values are in /metrics and on the dashboard, in the charts that they name.
func TestValues(t *testing.T) {
	h := handler(t, profiling.Config{Values: map[string]func() []prom.Value{"shop": func() []prom.Value {
		return []prom.Value{{Metric: "shop_commits_total", Help: "Commits.", Chart: "Commits of the shop",
			Name: "commits", Value: 7}, {Metric: "shop_revision", Help: "Revision.", Value: 9}}
	}}})
	metrics := request(h, "/metrics").Body.String()
	require.Contains(t, metrics, `shop_commits_total{of="shop"} 7`)
	require.Contains(t, metrics, `shop_revision{of="shop"} 9`)
	page := request(h, "/debug/pprof/live.json").Body.String()
	require.Contains(t, page, "Commits of the shop")
}
