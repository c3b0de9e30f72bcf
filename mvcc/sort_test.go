package mvcc

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSortBy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.Uint64Range(0, 9), 0, 40).Draw(t, "keys")
		type element struct {
			key uint64
			at  int
		}
		var list []element
		for i, key := range keys {
			list = append(list, element{key, i})
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, func(a, b element) int { return cmp.Compare(a.key, b.key) })
		sortBy(list, func(e *element) uint64 { return e.key })
		require.Equal(t, want, list)
	})
}
