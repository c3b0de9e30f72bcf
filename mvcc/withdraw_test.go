package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The remains of a commit: in chains, in its state, in its slot.

func TestStateForgets(t *testing.T) {
	m := newMap[int, int](t, still())
	m.Store(1, 1)
	for _, end := range []func(Tx[int, int]){
		func(tx Tx[int, int]) { tx.Rollback() },
		func(tx Tx[int, int]) { require.NoError(t, tx.Commit()) },
	} {
		for _, writes := range []int{0, 1, 2, 3 * linearWrites} {
			tx := m.Begin(nil)
			st := tx.st
			tx.Get(1)
			tx.Get(-1)
			for range tx.All() {
				break
			}
			for i := range writes {
				tx.Set(i, i)
			}
			stateOf(st).rare().revoked = maxRevocations
			end(tx)
			require.Empty(t, stateOf(st).reads)
			require.Zero(t, stateOf(st).absences())
			require.Empty(t, stateOf(st).writes)
			require.False(t, stateOf(st).hasRead || partOf(st).scanned || partOf(st).hasWritten)
			require.Zero(t, stateOf(st).revoked)
			require.Nil(t, stateOf(st).alarm)
			require.Nil(t, stateOf(st).byHash)
			for _, r := range stateOf(st).reads[:cap(stateOf(st).reads)] {
				require.Nil(t, r.seen)
				require.True(t, r.at().Nowhere())
			}
			for _, w := range stateOf(st).writes[:cap(stateOf(st).writes)] {
				require.Nil(t, w.v)
				require.True(t, w.at().Nowhere())
				require.Zero(t, w.read)
			}
		}
	}
}
