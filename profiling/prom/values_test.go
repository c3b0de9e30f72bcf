package prom

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Values stand under their names, metric by metric, whoever has them.
func TestValues(t *testing.T) {
	values := func(n float64) func() []Value {
		return func() []Value {
			return []Value{{Metric: "shop_lag", Help: "How far behind.", Value: n},
				{Metric: "shop_commits_total", Help: "Commits.", Value: 10 * n}}
		}
	}
	got := parse(t, ask(t, WithValues(nil, nil, map[string]func() []Value{"a": values(1), "b": values(2)})))
	require.Equal(t, 1.0, got[`shop_lag{of="a"}`])
	require.Equal(t, 2.0, got[`shop_lag{of="b"}`])
	require.Equal(t, 20.0, got[`shop_commits_total{of="b"}`])
}
