package prom

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/hist"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Names that are not UTF-8, or need quotes, make series that are there once. The series keep their
// names.
func TestSeriesAreThereOnce(t *testing.T) {
	var one hist.Hist
	one.Add(int64(time.Millisecond), 1)
	one.Add(int64(time.Hour), 2)
	s := mvcc.Stats{Epoch: 1, MinVisible: 1}
	names := []string{"a\xff", "a\xfe", `a\xff`, "a\ufffd", "A", "a", "x\"y\\z\n", "\u00e9", "e\u0301"}
	sources := map[string]func() mvcc.Stats{}
	var ops []Operation
	for _, name := range names {
		sources[name] = of(s)
		ops = append(ops, Operation{Name: name, Errors: 3, Latency: &one})
	}
	h := Handler(sources, func() []Operation { return ops }, nil)
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
	require.InEpsilon(t, 7200, values[`operation_duration_seconds_sum{operation="a"}`], hist.MaxError)
	require.EqualValues(t, 1, values[`operation_duration_seconds_bucket{operation="a",le="1"}`])
	before := slices.Sorted(maps.Keys(values))
	ops = append([]Operation{{Name: "new", Latency: &one}}, ops...)
	after := parse(t, ask(t, h))
	for _, name := range before {
		if strings.Contains(name, "operation=") {
			require.Contains(t, after, name)
		}
	}
}
