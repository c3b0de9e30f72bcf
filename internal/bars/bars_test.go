package main

import (
	"context"
	"errors"
	"flag"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkBars measures the sides of every row as benchmarks of their own:
//
//	go test -bench 'Bars/load' -count 10 ./internal/bars > bars.txt
//	go tool benchstat -col /side bars.txt
//	go test -bench Bars/store -cpuprofile cpu.prof ./internal/bars
//	go tool pprof -tagfocus side=store/keys=10000/goroutines=1/mvcc cpu.prof
//
// Unlike the command it measures one side after the other, and gives no verdict.
func BenchmarkBars(b *testing.B) {
	for _, row := range rows(defaultSizes()) {
		for _, side := range []side{row.base, row.ours} {
			b.Run(row.name+"/side="+side.name, func(b *testing.B) {
				require.NoError(b, side.bench(row.labels(b.Context(), side), b))
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
			r, err := benchmark(row, side)
			require.NoError(t, err, "%s, %s", row.name, side.name)
			require.Positive(t, r.Extra[row.kind.unit()], "%s, %s", row.name, side.name)
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
	r, err := benchmark(row{kind: memory}, heavy)
	require.NoError(t, err)
	// Other tests' garbage may go away meanwhile: it is little beside 64 MB.
	require.InDelta(t, each, r.Extra["B/key"], each/4)

	broken := errors.New("broken")
	_, err = benchmark(row{}, side{"broken", func(context.Context, *testing.B) error {
		return broken
	}})
	require.ErrorIs(t, err, broken)
}

// The sides of a row take turns, and their medians are compared with the bar and the aim.
func TestReport(t *testing.T) {
	test := func(name string, kind kind, bar, aim, allocs float64) row {
		return row{name, "", side{name: "a"}, side{name: "b"}, kind, bar, aim, allocs}
	}
	list := []row{
		test("fast", timed, 2, 1.5, -1), test("fair/goroutines=2", timed, 2, 1.5, -1),
		test("slow", timed, 2, 1.5, -1), test("speed", speed, 10, 100, -1),
		test("heavy", memory, 2.4, 2, -1), test("frugal", timed, 2, 1.5, 1),
		test("wasteful", timed, 2, 1.5, 1), test("other", timed, 2, 1.5, 1),
	}
	ours := map[string][]float64{"fast": {100, 90, 300}, "fair/goroutines=2": {180}, "slow": {300},
		"speed": {10}, "heavy": {250}, "frugal": {100}, "wasteful": {100}}
	allocs := map[string]float64{"frugal": 1.01, "wasteful": 2}
	var order []string
	once := func(row row, side side) (r testing.BenchmarkResult, err error) {
		order = append(order, row.name+" "+side.name)
		r = testing.BenchmarkResult{N: 1, Extra: map[string]float64{row.kind.unit(): 100}}
		if list := ours[row.name]; side.name == "a" && list == nil {
			return r, errors.New("broken")
		} else if side.name == "a" {
			r.Extra[row.kind.unit()] = list[(len(order)-1)/2%len(list)]
			r.Extra["allocs/op"] = allocs[row.name]
		}
		return r, nil
	}
	var out strings.Builder
	require.NoError(t, report(&out, list, regexp.MustCompile("[^r]$"), 3, once))
	text := out.String()
	for row, want := range map[string]string{
		"fast": `1\.00 x +- +≤ 2 +≤ 1\.5 +met, aim too`, "fair/goroutines=2": `1\.80 x .* met`,
		"slow": `3\.00 x .* missed`, "speed": `10\.0 x .*≥ 10 +≥ 100 +met`,
		"heavy":    `2\.50 x .* missed`,
		"frugal":   `1\.00 x +1\.01 ≤ 1 .* met, aim too`,
		"wasteful": `1\.00 x +2\.00 ≤ 1 .* missed \(allocs\)`,
	} {
		require.Regexp(t, `(?m)^# `+row+" +"+want+"$", text)
	}
	require.Regexp(t, `(?m)^BenchmarkBars/heavy/side=a-\d+\t +1\t +250\.0 B/key`, text)
	require.Contains(t, text, "# 7 rows: 4 bars met, 3 missed.")
	require.Equal(t, []string{"fast a", "fast b", "fast b", "fast a", "fast a", "fast b"}, order[:6])
	require.ErrorContains(t, report(&out, list, regexp.MustCompile("other"), 1, once),
		"other, a: broken")
}
