package prom

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hist"
	"github.com/mvccmap/mvccmap/mvcc"
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

// Names that are not UTF-8, or need quotes, make series that are there once, and so do two
// operations of one name. The series keep their names.
func TestSeriesAreThereOnce(t *testing.T) {
	one, two := new(hist.Hist), new(hist.Hist)
	one.Add(int64(time.Millisecond), 1)
	two.Add(int64(time.Hour), 2)
	s := mvcc.Stats{Epoch: 1}
	names := []string{"a\xff", "a\xfe", `a\xff`, "a\ufffd", "A", "a", "x\"y\\z\n", "\u00e9", "e\u0301"}
	sources := map[string]func() mvcc.Stats{}
	ops := []Operation{{Name: "a", Errors: 1, Latency: two}}
	for _, name := range names {
		sources[name] = of(s)
		ops = append(ops, Operation{Name: name, Errors: 2, Latency: one})
	}
	h := Handler(sources, func() []Operation { return ops })
	values := parse(t, ask(t, h)) // which finds series that are there twice
	count := func(prefix string) (n int) {
		for name := range values {
			if strings.HasPrefix(name, prefix) {
				require.True(t, utf8.ValidString(name))
				n++
			}
		}
		return n
	}
	require.Equal(t, len(names), count("mvccmap_keys{"))
	require.Equal(t, len(names), count("operation_duration_seconds_count{"))
	require.EqualValues(t, 3, values[`operation_duration_seconds_count{operation="a"}`])
	require.EqualValues(t, 3, values[`operation_errors_total{operation="a"}`])
	require.EqualValues(t, 1, values[`operation_duration_seconds_bucket{operation="a",le="1"}`])
	before := slices.Sorted(maps.Keys(values))
	ops = append([]Operation{{Name: "new", Latency: one}}, ops...)
	for _, name := range before {
		if strings.Contains(name, "operation=") {
			require.Contains(t, parse(t, ask(t, h)), name)
		}
	}
}
