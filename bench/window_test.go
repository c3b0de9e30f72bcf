package bench

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// BenchmarkWindow loads keys at random from maps that do not fit the processor's caches,
// with the given number of random numbers drawn between two loads. A processor works on
// the next load while it waits for the memory of one, if the instructions between them
// fit into its window: so where nothing comes between them, it is their number that
// decides, and otherwise memory.
//
//	go test -run '^$' -bench Window -cpu 1 ./bench -keys 1000000
func BenchmarkWindow(b *testing.B) {
	for _, e := range growers {
		if e.name == "slice" {
			continue
		}
		m := e.open(*residentKeys)
		keys := uint64(*residentKeys)
		for i := range keys {
			m.store(i)
		}
		for _, between := range []int{0, 1, 2} {
			b.Run("engine="+e.name+"/between="+strconv.Itoa(between), func(b *testing.B) {
				r, other := rand.NewPCG(1, 2), rand.NewPCG(3, 4)
				sum := int64(0)
				for range b.N {
					sum += m.load(r.Uint64() % keys)
					for range between {
						sum += int64(other.Uint64())
					}
				}
				sink = sum
			})
		}
	}
}
