package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// The index of a map has a size for its keys, whatever they do.

// When most keys are gone the index shrinks, even if nothing happens any more.
func TestIndexShrinksAtRest(t *testing.T) {
	n := stage.Sizes(200_000, 20_000)
	for _, manual := range []bool{false, true} {
		m := newMap[int, int](t, &Options{ManualReclaim: manual, ReclaimQueue: n})
		for i := range n {
			m.Store(i, i)
		}
		for i := range n {
			m.Delete(i)
		}
		if manual {
			require.NoError(t, m.Reclaim(bg))
		}
		small := func() bool { return m.index.Size() == index.MinBuckets && m.index.Fits() }
		stage.Eventually(t, small, "the index stays large")
	}
}
