package prom

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hist"
)

// A histogram has each operation in the buckets from its duration on, and sums that fit.
func TestOperations(t *testing.T) {
	took := []time.Duration{
		0, 1, 999, 3 * time.Microsecond, time.Millisecond, 40 * time.Millisecond,
		40 * time.Millisecond, 7 * time.Second, time.Hour,
	}
	var h hist.Hist
	var sum float64
	for _, d := range took {
		h.Add(int64(d), 1)
		sum += d.Seconds()
	}
	values := parse(t, ask(t, Handler(nil, func() []Operation {
		return []Operation{{Name: "GET /a", Errors: 3, Latency: &h}, {Name: "b", Latency: new(hist.Hist)}}
	})))
	at := func(le string) float64 {
		name := fmt.Sprintf(`operation_duration_seconds_bucket{operation="GET /a",le="%s"}`, le)
		require.Contains(t, values, name)
		require.Zero(t, values[fmt.Sprintf(
			`operation_duration_seconds_bucket{operation="b",le="%s"}`, le)])
		return values[name]
	}
	before := 0.
	for _, ns := range bounds {
		le := float64(ns) / 1e9
		want := 0.
		for _, d := range took {
			if d.Seconds() <= le*(1-hist.MaxError) {
				want++
			}
		}
		got := at(strconv.FormatFloat(le, 'g', -1, 64))
		require.GreaterOrEqual(t, got, want, le)
		require.GreaterOrEqual(t, got, before, le)
		before = got
	}
	require.EqualValues(t, 3, at("1e-06"))
	require.EqualValues(t, 4, at("5e-06"))
	require.EqualValues(t, 7, at("0.05"))
	require.EqualValues(t, 7, at("5"))
	require.EqualValues(t, 8, at("10"))
	require.EqualValues(t, 8, at("50"))
	require.EqualValues(t, 9, at("+Inf"))
	require.EqualValues(t, 9, values[`operation_duration_seconds_count{operation="GET /a"}`])
	require.InEpsilon(t, sum, values[`operation_duration_seconds_sum{operation="GET /a"}`],
		hist.MaxError)
	require.EqualValues(t, 3, values[`operation_errors_total{operation="GET /a"}`])
	require.EqualValues(t, 0, values[`operation_errors_total{operation="b"}`])
	require.False(t, math.Signbit(at("1e-06")))
	require.NotContains(t, ask(t, Handler(nil, func() []Operation { return nil })), "operation_")
}

func TestBuildInfo(t *testing.T) {
	require.Regexp(t, `(?m)^go_build_info{path="[^"]+",version="[^"]*",checksum="[^"]*",`+
		`revision="[^"]*",modified="[^"]*"} 1$`, ask(t, Handler(nil, nil)))
}
