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
		switch { // plain, because there are many values
		case e > MaxError || e > 0.008:
			t.Fatalf("value %d is reported as %d", v, got)
		case index(v+1) < i:
			t.Fatalf("value %d is in a bucket above that of the next", v)
		case upper(i) < v:
			t.Fatalf("value %d is above the end of its bucket, %d", v, upper(i))
		case i < buckets-1 && (index(upper(i)) != i || index(upper(i)+1) != i+1):
			t.Fatalf("bucket %d does not end at %d", i, upper(i))
		}
	}
	for v := range uint64(1 << 16) {
		check(v)
		if v < sub && middle(index(v)) != v {
			t.Fatalf("value %d is reported as %d", v, middle(index(v)))
		}
	}
	for range 1 << 16 {
		check(r.Uint64() >> (64 - r.IntN(MaxBits-1) - 1))
	}
	for b := range MaxBits - 1 {
		for _, v := range []uint64{1<<b - 1, 1 << b, 1<<b + 1} {
			check(v)
		}
	}
}

func TestHugeAndNegativeValues(t *testing.T) {
	var h Hist
	h.Add(math.MaxInt64, 1)
	h.Add(-5, 1)
	require.EqualValues(t, 2, h.Count())
	require.Equal(t, int64(math.MaxInt64), h.Max())
	require.EqualValues(t, 0, h.Quantile(0.5))
	require.NotPanics(t, func() { h.Quantile(1) })
}

// Quantiles of known samples, up to 99.999 %, against the sorted slice: never
// wrong by one percent.
func TestQuantilesAgainstSorting(t *testing.T) {
	n := 1_000_001 // so that ten lie beyond the last quantile
	if testing.Short() {
		n = 100_001
	}
	r := rand.New(rand.NewPCG(3, 4))
	for name, draw := range map[string]func() int64{
		"uniform":     func() int64 { return r.Int64N(100_000) },
		"exponential": func() int64 { return int64(r.ExpFloat64() * 300) },
		"long tail":   func() int64 { return int64(50 * math.Exp(3*r.NormFloat64())) },
		"stalls": func() int64 {
			if r.IntN(50_000) == 0 {
				return 200_000_000 + r.Int64N(1_000_000)
			}
			return 80 + r.Int64N(40)
		},
		"constant": func() int64 { return 12_345 },
	} {
		t.Run(name, func(t *testing.T) {
			var h Hist
			recorder := new(Recorder)
			vs := make([]int64, n)
			sum := 0.0
			for i := range vs {
				vs[i] = draw()
				sum += float64(vs[i])
				recorder.Record(vs[i])
			}
			recorder.AddTo(&h)
			slices.Sort(vs)
			require.Equal(t, vs[len(vs)-1], h.Max())
			require.InEpsilon(t, sum/float64(len(vs)), h.Mean(), MaxError)
			for _, q := range []float64{0, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999} {
				require.Equal(t, q <= 0.9999 || !testing.Short(), h.Supports(q))
				if !h.Supports(q) {
					continue
				}
				rank := max(int(math.Ceil(q*float64(len(vs)))), 1)
				want := vs[rank-1]
				got := h.Quantile(q)
				require.LessOrEqual(t, math.Abs(float64(got-want)), MaxError*float64(want)+0.5,
					"quantile %v", q)
				if want > 0 {
					require.Less(t, math.Abs(float64(got-want))/float64(want), 0.01, "quantile %v", q)
				}
			}
			require.EqualValues(t, vs[len(vs)-1], h.Quantile(1))
		})
	}
}

func TestMergeIsTheSameAsOne(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var all, sum, copies Hist
	parts := make([]Hist, 3)
	recorders := make([]Recorder, 3)
	for range 30_000 {
		v := r.Int64N(1 << 30)
		all.Add(v, 1)
		i := r.IntN(len(parts))
		parts[i].Add(v, 1)
		recorders[i].Record(v)
	}
	for i := range parts {
		sum.Merge(&parts[i])
		recorders[i].AddTo(&copies)
	}
	require.Equal(t, all, sum)
	require.Equal(t, all, copies)
	sum.Reset()
	require.Equal(t, Hist{}, sum)
	recorders[0].Reset()
	recorders[0].AddTo(&sum)
	require.Equal(t, Hist{}, sum)
}

// The records between two copies are their difference.
func TestSub(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var recorder Recorder
	var before, after, want Hist
	for range 10_000 {
		recorder.Record(r.Int64N(1 << 30))
	}
	recorder.AddTo(&before)
	for range 5_000 {
		v := r.Int64N(1 << 20) // the maximum was before
		recorder.Record(v)
		want.Add(v, 1)
	}
	recorder.AddTo(&after)
	require.EqualValues(t, 15_000, after.Count())
	require.GreaterOrEqual(t, after.Max(), int64(1<<29))
	after.Sub(&before)
	require.Equal(t, want.counts, after.counts)
	require.Equal(t, want.Count(), after.Count())
	require.GreaterOrEqual(t, after.Max(), want.Max())
	require.InEpsilon(t, want.Max(), after.Max(), 2*MaxError)
	for _, q := range []float64{0.5, 0.99} {
		require.Equal(t, want.Quantile(q), after.Quantile(q))
	}

	recorder.Record(1 << 40) // and now it is after
	var last Hist
	recorder.AddTo(&last)
	last.Sub(&before)
	require.EqualValues(t, 1<<40, last.Max())
	last.Sub(&last)
	require.Equal(t, Hist{}, last)
}

// One goroutine records while another takes copies: each copy contains the one
// before, no quantile exceeds the maximum, and the last contains everything.
func TestCopiesWhileRecording(t *testing.T) {
	n := 200_000
	if testing.Short() {
		n = 20_000
	}
	recorder := new(Recorder)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range n {
			recorder.Record(int64(i)) // so that the maximum is the newest
		}
	}()
	var last Hist
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		var now Hist
		recorder.AddTo(&now)
		for i := range now.counts {
			if now.counts[i] < last.counts[i] {
				t.Fatalf("bucket %d had %d and has %d", i, last.counts[i], now.counts[i])
			}
		}
		require.GreaterOrEqual(t, now.Count(), last.Count())
		if top := lastBucket(&now); top >= 0 {
			require.LessOrEqual(t, top, index(uint64(now.Max())), "the maximum belongs to what is contained")
		}
		last = now
	}
	require.EqualValues(t, n, last.Count())
	require.EqualValues(t, n-1, last.Max())
}

func lastBucket(h *Hist) int {
	for i := buckets - 1; i >= 0; i-- {
		if h.counts[i] != 0 {
			return i
		}
	}
	return -1
}

func TestAll(t *testing.T) {
	var h Hist
	for _, v := range []int64{5, 5, 100_000, 7} {
		h.Add(v, 1)
	}
	var values []int64
	var counts []uint64
	for v, c := range h.All() {
		values, counts = append(values, v), append(counts, c)
	}
	require.Equal(t, []uint64{2, 1, 1}, counts)
	require.Equal(t, []int64{5, 7}, values[:2])
	require.InEpsilon(t, 100_000, values[2], MaxError)
	for v := range h.All() {
		require.EqualValues(t, 5, v)
		break
	}
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
		h.Add(i, 1)
		n := i + 1
		require.Equal(t, n >= 20, h.Supports(0.5), "%d values", n)
		require.Equal(t, n >= 1_000, h.Supports(0.99), "%d values", n)
		require.Equal(t, n >= 10_000, h.Supports(0.999), "%d values", n)
	}
}

func TestRecordDoesNotAllocate(t *testing.T) {
	h, r := new(Hist), new(Recorder)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		h.Add(987, 1)
		r.Record(987)
	}))
}
