package mvcc

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// A loop sees the records of its transaction, whatever gaps that has noted: in random programs,
// compared with a sorted list.
func TestGaps(t *testing.T) {
	const keys = 120
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range stage.Sizes(200, 40) {
		m := newOrdered[int](t, nil)
		has := map[int]bool{}
		for key := range keys {
			if r.IntN(3) > 0 {
				m.Store(key, key)
				has[key] = true
			}
		}
		mustUpdate(t, m, levels[r.IntN(2)], func(tx Tx[int, int]) {
			for range 400 {
				key := r.IntN(keys)
				switch n := r.IntN(20); {
				case n < 3:
					tx.Set(key, key)
					has[key] = true
				case n < 4:
					tx.Merge(key, func(int, bool) int { return key })
					has[key] = true
				case n < 6:
					tx.Delete(key)
					delete(has, key)
				case n < 8:
					in := From(key).Before(key + r.IntN(60))
					tx.DeleteRange(in)
					for k := range has {
						if k >= key && k < in.high.key {
							delete(has, k)
						}
					}
				case n < 9:
					_ = tx.Savepoint(func() error {
						tx.DeleteRange(From(key))
						tx.Set(key+1, 0)
						tx.Max()
						return errGaveUp
					})
				default:
					in := [...]Range[int]{{}, From(key), After(key), UpTo(key), Before(key),
						From(key / 2).UpTo(key), After(key / 2).Before(key)}[r.IntN(7)]
					down := r.IntN(2) == 0
					var want []int
					for k := range keys + 1 {
						if has[k] && partOf(tx.st).m.order.Side(new(spanOf(&in)), keyAt(k)) == 0 {
							want = append(want, k)
						}
					}
					seq := tx.Ascend(in)
					if down {
						slices.Reverse(want)
						seq = tx.Descend(in)
					}
					most, met := 1+r.IntN(4)*r.IntN(40), []int(nil)
					for k := range seq {
						if met = append(met, k); len(met) == most {
							break
						}
					}
					require.Equal(t, want[:min(most, len(want))], met)
				}
			}
		})
	}
}
