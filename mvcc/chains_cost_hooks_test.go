//go:build mvcccheck

package mvcc

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/goid"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// The number of words that a store looks at does not depend on how many readers there are, though
// chains are as long as these need.
func TestStorePriceBesideReaders(t *testing.T) {
	const keys = 20
	price := func(readers int) float64 {
		b, accesses := besides(t, Options{})[0], 0
		open := make([]Snapshot[int, int], readers)
		b.turnover(open, keys, 2*readers, true)
		self := goid.Get() // not those that other tests have left
		remove := hooks.Accesses(func(unsafe.Pointer) {
			if goid.Get() == self {
				accesses++
			}
		})
		b.turnover(open, keys, 2*readers, true)
		remove()
		closeAll(open)
		return float64(accesses) / float64(2*readers*keys)
	}
	few, many := price(20), price(320)
	t.Logf("%.1f accesses to shared words for a store beside 20 readers, %.1f beside 320", few, many)
	require.Less(t, many, 1.5*few)
}
