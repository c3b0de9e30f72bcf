package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What a commit has deleted leaves the tree, though the leaves in which it found the keys have been
// replaced since: the commit itself has inserted many.
func TestOrderedVisitOfReplaced(t *testing.T) {
	m := newOrdered[int](t, &Options{ManualReclaim: true})
	for k := range 100 {
		m.Store(3*k, 1)
	}
	mustUpdate(t, m, nil, func(tx Tx[int, int]) {
		for k := range 300 {
			if tx.Set(k, 2); k%3 == 0 {
				tx.Delete(k)
			}
		}
	})
	reclaim(t, m, 3)
	require.Len(t, heads(m), 200)
}
