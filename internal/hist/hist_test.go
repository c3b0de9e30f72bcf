package hist

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every value falls into a bucket whose reported middle is within MaxError, and
// buckets are in the order of the values.
func TestBucketError(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	check := func(v uint64) {
		i := index(v)
		got := middle(i)
		e := math.Abs(float64(got)-float64(v)) / max(float64(v), 1)
		require.LessOrEqual(t, e, MaxError, "value %d is reported as %d", v, got)
		require.LessOrEqual(t, e, 0.008)
		require.GreaterOrEqual(t, index(v+1), i, "value %d", v)
	}
	for v := range uint64(1 << 16) {
		check(v)
		if v < sub {
			require.Equal(t, v, middle(index(v)), "small values are exact")
		}
	}
	for range 1 << 16 {
		check(r.Uint64() >> (64 - r.IntN(maxBits-1) - 1))
	}
	for b := range maxBits - 1 {
		for _, v := range []uint64{1<<b - 1, 1 << b, 1<<b + 1} {
			check(v)
		}
	}
}

func TestHugeAndNegativeValues(t *testing.T) {
	var h Hist
	h.Record(math.MaxInt64)
	h.Record(-5)
	require.EqualValues(t, 2, h.Count())
	require.Equal(t, int64(math.MaxInt64), h.Max())
	require.EqualValues(t, 0, h.Quantile(0.5))
	require.NotPanics(t, func() { h.Quantile(1) })
}

// Quantiles of known samples against the sorted slice.
func TestQuantilesAgainstSorting(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, draw := range map[string]func() int64{
		"uniform":     func() int64 { return r.Int64N(100_000) },
		"exponential": func() int64 { return int64(r.ExpFloat64() * 300) },
		"long tail":   func() int64 { return int64(50 * math.Exp(3*r.NormFloat64())) },
		"constant":    func() int64 { return 12_345 },
	} {
		t.Run(name, func(t *testing.T) {
			var h Hist
			vs := make([]int64, 200_001)
			sum := 0.0
			for i := range vs {
				vs[i] = draw()
				sum += float64(vs[i])
				h.Record(vs[i])
			}
			slices.Sort(vs)
			require.Equal(t, vs[len(vs)-1], h.Max())
			require.InEpsilon(t, sum/float64(len(vs)), h.Mean(), 1e-9)
			for _, q := range []float64{0, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1} {
				rank := max(int(math.Ceil(q*float64(len(vs)))), 1)
				want := vs[rank-1]
				got := h.Quantile(q)
				require.LessOrEqual(t, math.Abs(float64(got-want)), MaxError*float64(want)+0.5, "quantile %v", q)
			}
		})
	}
}

func TestMergeIsTheSameAsOne(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var all, sum Hist
	parts := make([]Hist, 3)
	for range 30_000 {
		v := r.Int64N(1 << 30)
		all.Record(v)
		parts[r.IntN(len(parts))].Record(v)
	}
	for i := range parts {
		sum.Merge(&parts[i])
	}
	require.Equal(t, all, sum)
	sum.Reset()
	require.Equal(t, Hist{}, sum)
}

func TestEmpty(t *testing.T) {
	var h Hist
	require.Zero(t, h.Quantile(0.5))
	require.Zero(t, h.Mean())
	require.Zero(t, h.Max())
	require.False(t, h.Supports(0.5))
}

func TestSupports(t *testing.T) {
	var h Hist
	for i := range int64(10_000) {
		h.Record(i)
		n := i + 1
		require.Equal(t, n >= 20, h.Supports(0.5), "%d values", n)
		require.Equal(t, n >= 1_000, h.Supports(0.99), "%d values", n)
		require.Equal(t, n >= 10_000, h.Supports(0.999), "%d values", n)
	}
}

func TestRecordDoesNotAllocate(t *testing.T) {
	h := new(Hist)
	require.Zero(t, testing.AllocsPerRun(100, func() { h.Record(987) }))
}

func BenchmarkRecord(b *testing.B) {
	h := new(Hist)
	i := int64(0)
	for b.Loop() {
		h.Record(i & 0xffff)
		i += 997
	}
}
