package mvcc

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A wheel gives back the same things as a list.
func TestWheel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		begin := rapid.SampledFrom([]int64{0, 1, 63, 1_800_000_000_000}).Draw(t, "begin")
		far := rapid.SampledFrom([]int64{2, 100, 5000, 1 << 30, math.MaxInt64 - begin}).Draw(t, "far")
		var w wheel[int]
		w.reset(begin)
		var want, got []timed[int]
		now := begin
		due := func() (list []timed[int]) {
			for _, one := range want {
				if one.at <= now {
					list = append(list, one)
				}
			}
			return list
		}
		for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0, 1:
				one := timed[int]{now - 3 + rapid.Int64Range(0, min(far, math.MaxInt64-now)).Draw(t, "in"), i}
				w.add(one.at, one.what)
				want = append(want, one)
			case 2:
				now += rapid.Int64Range(0, min(far, math.MaxInt64-now)).Draw(t, "later")
				w.advance(now)
			case 3:
				got = got[:0]
				for list := w.take(3); len(list) > 0; list = w.take(3) {
					got = append(got, list...)
				}
				slices.SortFunc(got, func(a, b timed[int]) int { return a.what - b.what })
				require.Equal(t, due(), slices.Clip(append([]timed[int](nil), got...)))
				want = slices.DeleteFunc(want, func(one timed[int]) bool { return one.at <= now })
			}
			require.Equal(t, len(want), w.n)
			next, ok := w.next()
			require.Equal(t, w.n > 0, ok)
			for _, one := range want {
				require.GreaterOrEqual(t, max(one.at, now), next)
			}
		}
		require.Len(t, w.reset(0), len(want))
		require.Zero(t, w.n)
	})
}
