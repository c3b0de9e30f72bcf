//go:build mvcccheck

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// The conflicts that validation must not miss, and the writers that may be aborted.

// The slot holds the versions read until validation has ended.
func TestSlotIsHeldUntilValidated(t *testing.T) {
	for _, p := range []hooks.Point{hooks.InstalledAll, hooks.Announced, hooks.Drawn, hooks.Tentative,
		hooks.Validated} {
		m := newMap[string, int](t, still())
		m.Store("x", 1)
		m.Store("gone", 1)
		stage := stage.New(t)
		var at epoch.Epoch
		w := stage.Actor("writer", func() {
			tx := m.Begin(nil)
			at = stateOf(tx.st).epoch()
			tx.Get("x")
			tx.Set("y", 1)
			_ = tx.Commit()
		}).To(p)
		m.Store("x", 2)
		m.Store("x", 3)
		m.Delete("gone")
		prune(m)
		require.Equal(t, 1, m.Stats().LiveTx, "%v: the slot was released", p)
		require.Contains(t, coreOf(m).gc.View().Live(), at)
		require.Len(t, chainOf(m, "x"), 2, "what was read is dropped")
		require.Len(t, chainOf(m, "gone"), 2)
		w.Finish()
		checkQuiet(t, m)
	}
}

// A long validation with an alarm goes on although readers take its epoch
// away meanwhile. Its signs of life must not make the record look like that of a
// transaction which needs no validation.
func TestSignOfLifeKeepsValidation(t *testing.T) {
	for reads := range 5 { // so many strides follow the revocation
		m := newMap[int, int](t, still())
		n := 10 + reads*validateStride
		for i := range n + 1 {
			m.Store(i, 0)
		}
		stage := stage.New(t)
		blocker := stage.Actor("blocker", func() {
			tx := m.Begin(nil)
			tx.Set(5, 1)
			tx.Set(-5, 1)
			_ = tx.Commit()
		})
		var tx Tx[int, int]
		var err error
		w := stage.Actor("validator", func() {
			tx = m.Begin(nil)
			stateOf(tx.st).rare().revoked = maxRevocations // so it has an alarm
			for i := range n + 1 {
				tx.Get(i)
			}
			tx.Set(-1, 1)
			err = tx.Commit()
		}).To(hooks.CommitEntries)
		m.Store(n, 1)
		blocker.To(hooks.InstalledAll)
		w.To(hooks.HeadSkipped)
		record := stateOf(tx.st).record()
		coreOf(m).Revoke(record, chain.Load(record))
		require.EqualValues(t, chain.TagAnnounced, chain.Load(record).Tag())
		w.Finish()
		requireConflict(t, err, n, ConflictRead)
		requireAbsent[int](t)(m.Load(-1))
		blocker.Finish()
		checkQuiet(t, m)
	}
}
