package main

import (
	"context"
	"errors"
	"flag"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkBars measures the sides of every row as benchmarks of their own:
//
//	go test -bench 'Bars/load' -count 10 ./internal/bars > bars.txt
//	go tool benchstat -col /side bars.txt
//
// Unlike the command it measures one side after the other, and gives no verdict.
func BenchmarkBars(b *testing.B) {
	for _, row := range rows(defaultSizes()) {
		for _, side := range []side{row.base, row.ours} {
			b.Run(row.name+"/side="+side.name, func(b *testing.B) {
				require.NoError(b, side.bench(b.Context(), b))
			})
		}
	}
}

// Every side of every row works, and the rows make sense.
func TestRows(t *testing.T) {
	benchtime := flag.Lookup("test.benchtime")
	before := benchtime.Value.String()
	require.NoError(t, benchtime.Value.Set("1x"))
	defer func() { require.NoError(t, benchtime.Value.Set(before)) }()
	seen := map[string]bool{}
	for _, row := range rows(sizes{path: [2]int{500, 2_000}, scan: 2_000, weighs: 2_000}) {
		require.False(t, seen[row.name], "%s is there twice", row.name)
		seen[row.name] = true
		require.NotEmpty(t, row.what)
		require.NotEqual(t, row.ours.name, row.base.name, row.name)
		require.Positive(t, row.bar, row.name)
		require.True(t, row.kind.met(row.aim, row.bar), "%s: who reaches the aim has passed the bar",
			row.name)
		if testing.Short() && (row.kind == memory || strings.HasPrefix(row.name, "many-")) {
			continue // they take long under the race detector
		}
		if rebuilds := strings.HasPrefix(row.name, "rebuild/"); rebuilds &&
			(testing.Short() || row.name != "rebuild/maps=1") {
			continue // one that works will do
		}
		for _, side := range []side{row.base, row.ours} {
			f, err := benchmark(row, side)
			require.NoError(t, err, "%s, %s", row.name, side.name)
			require.Positive(t, f.value, "%s, %s", row.name, side.name)
		}
	}
}

// What is weighed is what the filling leaves behind; what fails is no figure.
func TestBenchmark(t *testing.T) {
	const keys, each = 4_000, 16 << 10
	heavy := weight("heavy", keys, func(keys int) func() {
		var list [][]byte
		for range keys {
			list = append(list, make([]byte, each))
		}
		return func() { list[0] = nil }
	})
	f, err := benchmark(row{kind: memory}, heavy)
	require.NoError(t, err)
	// Other tests' garbage may go away meanwhile: it is little beside 64 MB.
	require.InDelta(t, each, f.value, each/4)

	broken := errors.New("broken")
	_, err = benchmark(row{}, side{"broken", func(context.Context, *testing.B) error {
		return broken
	}})
	require.ErrorIs(t, err, broken)
}

// The sides of a row take turns, and their medians are compared with the bar and the aim.
func TestReport(t *testing.T) {
	figures := map[string][]figure{ // by row and side, one measurement after the other
		"fast a": {{100, 0}, {90, 0}, {300, 0}}, "fast b": {{100, 0}, {80, 0}, {200, 0}},
		"fair/goroutines=2 a": {{180, 0}}, "fair/goroutines=2 b": {{100, 0}},
		"slow a": {{300, 0}}, "slow b": {{100, 0}},
		"speed a": {{100, 0}}, "speed b": {{1200, 0}},
		"heavy a": {{250, 0}}, "heavy b": {{100, 0}},
		"frugal a": {{100, 1.01}}, "frugal b": {{100, 9}},
		"wasteful a": {{100, 2}}, "wasteful b": {{100, 0}},
	}
	var order []string
	p := plan{count: 3, each: time.Millisecond, sizes: sizes{weighs: 7}}
	p.once = func(row row, side side) (figure, error) {
		name := row.name + " " + side.name
		list := figures[name]
		if list == nil {
			return figure{}, errors.New("broken")
		}
		n := 0
		for _, o := range order {
			if o == name {
				n++
			}
		}
		order = append(order, name)
		return list[n%len(list)], nil
	}
	test := func(name string, kind kind, bar, aim, allocs float64) row {
		return row{name, "", side{name: "a"}, side{name: "b"}, kind, bar, aim, allocs}
	}
	list := []row{
		test("fast", timed, 2, 1.5, -1), test("fair/goroutines=2", timed, 2, 1.5, -1),
		test("slow", timed, 2, 1.5, -1),
		test("speed", speed, 10, 100, -1), test("heavy", memory, 2.4, 2, -1),
		test("frugal", timed, 2, 1.5, 1), test("wasteful", timed, 2, 1.5, 1),
	}
	var out, log strings.Builder
	require.NoError(t, p.report(list, &out, &log))
	text := out.String()
	require.Regexp(t, `(?m)^fast +a +100 ns +b +100 ns +1\.00 x +1\.00-1\.50 +- +≤ 2 +≤ 1\.5 +met, aim too$`, text)
	require.Regexp(t, `(?m)^fair/goroutines=2 +a +180 ns .* 1\.80 x .* met$`, text)
	require.Regexp(t, `(?m)^slow +.* 3\.00 x .* missed$`, text)
	require.Regexp(t, `(?m)^speed +a +100 ns +b +1\.20 µs +12\.0 x .*≥ 10 +≥ 100 +met$`, text)
	require.Regexp(t, `(?m)^heavy +a +250 B +b +100 B +2\.50 x .* missed$`, text)
	require.Regexp(t, `(?m)^frugal .* 1\.01 ≤ 1 .* met, aim too$`, text)
	require.Regexp(t, `(?m)^wasteful .* 2\.00 ≤ 1 .* missed \(allocs\)$`, text)
	require.Contains(t, text, "7 rows: 4 bars met, 3 missed.")
	require.Contains(t, text, "with 7 keys")
	require.Equal(t, []string{"fast a", "fast b", "fast b", "fast a", "fast a", "fast b"}, order[:6])

	out.Reset()
	p.run = regexp.MustCompile("^s")
	require.NoError(t, p.report(list, &out, &log))
	require.Contains(t, out.String(), "2 rows: 1 bars met, 1 missed.")

	delete(figures, "slow b")
	require.ErrorContains(t, p.report(list, &out, &log), "slow: b: broken")
}
