package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/chain"
)

// What a commit leaves behind: in chains, in its state, in its slot.

func TestWithdrawTakesVersionsOff(t *testing.T) {
	m := newMap[string, int](t, still())
	keys := []string{"a", "b", "c"}
	for _, key := range keys {
		m.Store(key, 1)
	}
	for _, key := range keys { // the last in the order of installs is among them
		tx := m.Begin(snapshot)
		tx.Get("a")
		var vs []*chain.Node
		for _, k := range keys {
			tx.Set(k, 2)
		}
		for _, w := range stateOf(tx.st).writes {
			vs = append(vs, w.v)
		}
		m.Store(key, 3)
		requireConflict(t, tx.Commit(), key, ConflictWrite)
		for _, v := range vs {
			w, _ := coreOf(m).Resolve(v)
			require.True(t, w.Is(chain.KindAborted), "it says %v", w)
		}
		for _, k := range keys {
			w, _ := coreOf(m).Resolve(m.lookup(k).head)
			require.True(t, w.Committed(), "key %s: the head says %v", k, w)
		}
	}
	checkQuiet(t, m)
}

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
