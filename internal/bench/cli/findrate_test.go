package cli

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/humanize"
)

// A service keeps the limits up to a rate, but for noise; the finds of the search, from far below
// and far above it.
func TestSearchFindsTheRate(t *testing.T) {
	const real = 123_456
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		noise  float64 // of the rate up to which a sample keeps them
		hiccup float64 // the probability of a sample that misses them at any rate
		far    float64 // the bound of 95 of 100 searches
	}{{0, 0, 0.051}, {0.05, 0, 0.12}, {0.02, 0.1, 0.12}} {
		var found []float64
		tries := 0
		for i := range 300 {
			keeps := func(rate float64) bool {
				return rnd.Float64() >= c.hiccup && rate <= real*(1+c.noise*rnd.NormFloat64())
			}
			s := rateSearch{apart: 1.05,
				try: func(rate float64) (tried, error) {
					tries++
					if keeps(rate) {
						return kept, nil
					}
					return notKept, nil
				},
				confirm: func(rate float64) (tried, error) {
					n := 0
					for range 7 {
						if keeps(rate) {
							n++
						}
					}
					if n > 3 {
						return kept, nil
					}
					return notKept, nil
				}}
			low, high, err := s.find([]float64{1e3, 1e5, 1e8}[i%3])
			require.NoError(t, err)
			require.Less(t, low, high)
			found = append(found, math.Abs(low/real-1))
			if c.noise+c.hiccup == 0 {
				require.LessOrEqual(t, low, float64(real))
				require.Greater(t, high, float64(real))
				require.LessOrEqual(t, high/low, 1.05)
			}
		}
		slices.Sort(found)
		require.LessOrEqual(t, found[len(found)*95/100], c.far, "%+v", c)
		require.Less(t, tries/300, 30)
	}
}

// Searches without an end in sight end.
func TestSearchEnds(t *testing.T) {
	find := func(got tried, confirmed tried, why error) (float64, float64, error) {
		s := rateSearch{apart: 1.05, try: func(float64) (tried, error) { return got, why },
			confirm: func(float64) (tried, error) { return confirmed, nil }}
		return s.find(1000)
	}
	low, high, err := find(kept, kept, nil)
	require.NoError(t, err)
	require.Equal(t, bench.MaxRate, low)
	require.Zero(t, high, "nothing was missed")
	low, _, err = find(notKept, kept, nil)
	require.NoError(t, err)
	require.Zero(t, low)
	for _, confirmed := range []tried{kept, notKnown} {
		low, _, err = find(map[tried]tried{kept: notKnown, notKnown: kept}[confirmed], confirmed, nil)
		require.ErrorIs(t, err, errCannotTell)
		require.Zero(t, low)
	}
	low, _, err = find(kept, notKept, nil)
	require.NoError(t, err)
	require.Zero(t, low, "what is not confirmed is not found")
	_, _, err = find(kept, kept, context.Canceled)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []float64{0, 1, 123, 123000, 0.0123, 36.8}, []float64{round3(0), round3(1),
		round3(123), round3(123456), round3(0.01234), round3(36.8000001)})
}

// A search in whole: the find is reported, and kept with the run.
func TestFindRate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "found.json")
	args := []string{"--workload=counter", "--engine=mvcc", "--threads=1", "--count=2", "--warmup=0",
		"--http=off", "--output=" + file}
	_, stderr := succeed(t, append(args, "--ops=20", "--find-rate=achieved>=0,aborts/op<=0")...)
	require.Contains(t, stderr, "highest rate at which Counter/engine=mvcc/threads=1 keeps achieved-% >= 0, "+
		"aborts/op <= 0: "+humanize.Number(1e9)+" operations per second, confirmed by 2 samples (")
	r := loadRun(t, file)
	require.Len(t, r.Found, 1)
	require.Equal(t, 1e9, r.Found[0].Rate)
	require.Equal(t, "fixed arrivals in one queue", r.Header.Loop)
	require.True(t, r.Outcome.Whole())
	tries := r.Found[0].Tries
	require.Len(t, r.Samples, len(tries)+1, "one for each, but two for the last, and none in a closed loop")
	for i, try := range tries {
		require.True(t, try.Kept)
		require.True(t, i == 0 || try.Rate > tries[i-1].Rate || i == len(tries)-1)
	}

	code, stdout, stderr := call(t, append(args[:6:6], "--duration=2ms",
		"--find-rate=ops/s>1e15")...)
	require.Contains(t, stdout, "\n# no rate found at which Counter/engine=mvcc/threads=1 keeps ")
	require.Equal(t, ExitMissed, code, stderr)
	require.Contains(t, stderr, "no rate found at which Counter/engine=mvcc/threads=1 keeps ops/s > ")
	require.Contains(t, stderr, "--find-rate: missed: no rate found of Counter/")

	code, stdout, stderr = call(t, append(args[:6:6], "--ops=20",
		"--find-rate=response-p99.9<1s")...)
	require.Equal(t, ExitCannotTell, code, "20 operations have no such percentile")
	require.Contains(t, stdout, "\n# no rate found at which Counter/engine=mvcc/threads=1 keeps ")
	require.Contains(t, stderr, "--find-rate: cannot tell of Counter/engine=mvcc/threads=1\n")
}

// Thresholds have an exit code of their own, and the message says which was missed by how much.
func TestThresholds(t *testing.T) {
	args := []string{"--workload=counter", "--engine=mvcc", "--threads=1", "--count=3", "--ops=50",
		"--warmup=0", "--http=off"}
	_, stderr := succeed(t, append(args, "--threshold=ops/s>0,aborts/op<=0")...)
	require.Contains(t, stderr, "thresholds: all kept: ops/s > 0, aborts/op <= 0")

	code, stdout, stderr := call(t, append(args, "--threshold=ops/s>1e15,aborts/op<1")...)
	require.Equal(t, ExitMissed, code)
	require.Contains(t, stdout, "# complete: 3 of 3 samples", "the run itself did not fail")
	require.Contains(t, stderr, "threshold: ops/s > "+humanize.Number(1e15)+
		": missed by Counter/engine=mvcc/threads=1: ")
	require.Contains(t, stderr, "mvccbench: thresholds: missed: 1 of 2\n")

	code, _, stderr = call(t, append(args, "--threshold=p99.999<1s", "--quiet")...)
	require.Equal(t, ExitCannotTell, code, "50 operations have no such percentile")
	require.Contains(t, stderr, "cannot tell of Counter/engine=mvcc/threads=1: too few operations")

	_, err := limits("--threshold", []string{"backlog<1"}, false)
	require.Error(t, err)
	require.False(t, errors.Is(err, errMissed))
}

// Numbers are read alike by all flags.
func TestNumbersOfFlags(t *testing.T) {
	e := &Env{Program: mvccbench(), args: []string{"run", "--keys=1e6,2k,3", "--rate=1k,1.5M,0.5",
		"--seed=18446744073709551615", "--count=1e1", "--ops=2K"}}
	ctx, err := e.parse()
	require.NoError(t, err)
	run := ctx.Selected().Target.Addr().Interface().(*runCmd)
	require.Equal(t, []int{1e6, 2000, 3}, run.Keys)
	require.Equal(t, []float64{1000, 1.5e6, 0.5}, run.Rate)
	require.Equal(t, uint64(math.MaxUint64), run.Seed)
	require.Equal(t, 10, run.Count)
	require.EqualValues(t, 2000, *run.Ops)
	for _, wrong := range []string{"1x", "0x10", "1_000", "k", "", "1kk", "1e"} {
		_, err := parseNumber(wrong)
		require.Error(t, err, wrong)
	}
}
