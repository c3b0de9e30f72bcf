package journey

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
)

// What a chain shows at each epoch that may still be read is what a list of all versions shows,
// whatever is pushed and pruned.
func TestChains(t *testing.T) {
	for kind, newChain := range chains {
		t.Run(string(kind), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 0))
			c := newChain()
			var all []epoch.Epoch // of the versions, whose values are the same
			now, least := epoch.First, epoch.First
			for range 500 {
				if r.IntN(3) > 0 {
					now += epoch.Epoch(1 + r.IntN(3))
					c.push(&version{epoch: now, value: uint64(now)})
					all = append(all, now)
				} else if len(all) > 0 {
					least += epoch.Epoch(r.IntN(int(now-least) + 1))
					kept, ends := seen(all, least)
					require.Equal(t, ends, c.prune(least))
					require.Equal(t, kept, c.depth(), "versions")
				}
				for e := least; e <= now+1; e++ {
					want := epoch.Epoch(0)
					for _, v := range all {
						if v <= e {
							want = v
						}
					}
					if v := c.at(e); want == 0 {
						require.Nil(t, v)
					} else {
						require.Equal(t, uint64(want), v.value)
					}
				}
			}
		})
	}
}

// seen returns how many versions readers at least or above see, and the lowest epoch at which one
// of them ends.
func seen(all []epoch.Epoch, least epoch.Epoch) (n int, ends epoch.Epoch) {
	first := 0
	for i, e := range all {
		if e <= least {
			first = i
		}
	}
	if first+1 < len(all) {
		return len(all) - first, all[first+1]
	}
	return len(all) - first, none
}
