package bench

import (
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/workfile"
)

// drawn returns how often each of n numbers is drawn, of so many draws by spec from a table of n.
func drawn(t *testing.T, spec workfile.Draw, n, draws int) []float64 {
	t.Helper()
	newest := new(atomic.Int64)
	newest.Store(int64(n))
	d := (&drawings{seed: 1, newest: []*atomic.Int64{newest}, records: []int{n},
		made: map[ranksKey]*zipf{}}).of(&spec)
	s, count := newStream(1, 2), int64(0)
	counts := make([]float64, n)
	for range draws {
		counts[d.draw(&s, &count)]++
	}
	return counts
}

// requireShares checks by a chi-square test that counts are what weights make probable: it is
// passed but once in millions of seeds, of which this has one.
func requireShares(t *testing.T, weights, counts []float64, what string) {
	t.Helper()
	sum, draws := 0.0, 0.0
	for i := range counts {
		sum, draws = sum+weights[i], draws+counts[i]
	}
	chi, free := 0.0, -1.0
	for i := range counts {
		expected := weights[i] / sum * draws
		if expected == 0 {
			require.Zero(t, counts[i], "%s: number %d", what, i)
			continue
		}
		chi += (counts[i] - expected) * (counts[i] - expected) / expected
		free++
	}
	require.Less(t, chi, free+5*math.Sqrt(2*free)+10, "%s: chi-square with %v degrees of freedom", what,
		free)
}

func zipfWeights(n int, theta float64) []float64 {
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = math.Pow(float64(i+1), -theta)
	}
	return weights
}

func TestDraws(t *testing.T) {
	const n, draws = 100, 400_000
	even := slices.Repeat([]float64{1}, n)
	requireShares(t, even, drawn(t, workfile.Draw{By: workfile.Uniform}, n, draws), "uniform")

	zipf := workfile.Draw{By: workfile.Zipf, Theta: 1.5}
	requireShares(t, zipfWeights(n, 1.5), drawn(t, zipf, n, draws), "zipf")
	zipf.Theta = 0.99
	requireShares(t, zipfWeights(n, 0.99), drawn(t, zipf, n, draws), "zipf")

	zipf.Scrambled = true
	counts := drawn(t, zipf, n, draws)
	first := slices.Index(counts, slices.Max(counts))
	byRank := slices.Clone(counts)
	slices.Sort(byRank)
	slices.Reverse(byRank)
	for i, share := range []float64{0.1881, 0.0947, 0.0634} { // 1/i^0.99, of their sum to 100
		require.InDelta(t, share, byRank[i]/draws, 0.004, "rank %d", i)
	}
	require.NotEqual(t, first+1, slices.Index(counts, byRank[1]), "ranks are spread")
	require.Equal(t, counts, drawn(t, zipf, n, draws), "a seed makes the same numbers")

	latest := drawn(t, workfile.Draw{By: workfile.Latest, Theta: 0.99}, n, draws)
	slices.Reverse(latest)
	requireShares(t, zipfWeights(n, 0.99), latest, "latest: the newest first")

	hot := make([]float64, n)
	for i := range hot {
		if hot[i] = 0.2 / 80; i < 20 {
			hot[i] = 0.8 / 20
		}
	}
	spec := workfile.Draw{By: workfile.Hot, Share: 0.2, Of: 0.8}
	requireShares(t, hot, drawn(t, spec, n, draws), "hot")
	spec.Share, spec.Of = 1, 0.3
	requireShares(t, even, drawn(t, spec, n, draws), "all are hot")

	// TPC-C, clause 2.1.6, with C 0.
	uneven := make([]float64, n)
	for a := range 16 {
		for k := range n {
			uneven[(a|k)%n]++
		}
	}
	requireShares(t, uneven, drawn(t, workfile.Draw{By: workfile.NURand, A: 15}, n, draws), "nurand")
}

// A hot set that moves is the next one after so many draws of a goroutine, and comes round.
func TestHotSetMoves(t *testing.T) {
	spec := workfile.Draw{By: workfile.Hot, Share: 0.25, Of: 1, Moves: 1_000}
	for moves, first := range []int{0, 25, 50, 75, 0} {
		counts := drawn(t, spec, 100, 1_000*(moves+1))
		if moves > 0 {
			for k, before := range drawn(t, spec, 100, 1_000*moves) {
				counts[k] -= before
			}
		}
		for k, c := range counts {
			require.Equal(t, k >= first && k < first+25, c > 0, "number %d after %d moves", k, moves)
		}
	}
}

// Numbers from one to another are all drawn, and no others.
func TestDrawOfNumbers(t *testing.T) {
	for by, from := range map[string]int64{workfile.Uniform: -3, workfile.Zipf: -3, workfile.Hot: -3,
		workfile.NURand: 3} {
		d := (&drawings{made: map[ranksKey]*zipf{}}).of(&workfile.Draw{Table: -1, By: by,
			From: workfile.Constant(from), To: workfile.Constant(from + 7), Share: 0.5, Of: 0.5, A: 7})
		s, count := newStream(3), int64(0)
		seen := map[int64]bool{}
		for range 10_000 {
			seen[d.draw(&s, &count)] = true
		}
		for k := from; k <= from+7; k++ {
			require.True(t, seen[k], "%s: %d", by, k)
			delete(seen, k)
		}
		require.Empty(t, seen, by)
	}
}

func TestMixOfOperations(t *testing.T) {
	weights := []float64{35, 0, 10, 5, 0}
	var f workfile.File
	for _, w := range weights {
		f.Operations = append(f.Operations, workfile.Operation{Weight: int(w)})
	}
	m, s := mixOf(&f), newStream(1)
	counts := make([]float64, len(weights))
	for range 100_000 {
		counts[m.draw(&s)]++
	}
	requireShares(t, weights, counts, "mix")
}

// Sizes are drawn as the file says, and a flag makes them uniform.
func TestSkewedSizes(t *testing.T) {
	w := fileWorkload(t, `{"name": "sizes", "params": {"value-size": {"from": 8, "to": 27, "theta": 1.2}},
		"tables": {"t": {"key": "string", "records": 10, "size": "value-size"}},
		"draws": {"k": {"table": "t"}},
		"operations": {"put": {"steps": [{"put": "t", "key": "k"}]}}}`)
	for _, size := range []ValueSize{{8, 27}, {10, 29}} {
		p := NoParams
		p.ValueSize = size
		w, err := w.With(p)
		require.NoError(t, err)
		v := newValues[[]byte](&Trial{config: Config{Workload: w, Seed: 1}}, 0)
		counts := make([]float64, 20)
		for range 20_000 {
			counts[len(v.make(loaded(1)))-size.Min]++
		}
		want := zipfWeights(20, 1.2)
		if size.Min == 10 {
			want = slices.Repeat([]float64{1}, 20)
		}
		requireShares(t, want, counts, size.String())
	}
}
