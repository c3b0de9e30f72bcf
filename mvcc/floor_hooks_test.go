//go:build mvcccheck

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/stage"
)

// A writer has drawn an epoch and is stopped. One reader pushes it, another one
// takes that epoch away, and now the writer puts in the epoch it drew at first:
// the first reader would see half of it.
func TestStaleDrawAfterRevocation(t *testing.T) {
	m := pair(t)
	stage := stage.New(t)
	w := stage.Actor("writer", batch(t, m, true)).To(hooks.Drawn)
	first := m.Snapshot()
	requireValue(t, oldValue)(first.Get("x")) // pushes
	second := m.Snapshot()
	r := stage.Actor("reader", func() { second.Get("x") }).To(hooks.Revoked)
	w.Finish()
	r.Finish()
	both(t, first, oldValue)
	both(t, second, oldValue)
	require.Greater(t, chainOf(m, "x")[0].Epoch, second.Epoch())
	first.Close()
	second.Close()
	checkQuiet(t, m)
}

// A key that was read is overwritten before the commit epoch and again after it,
// and a pruner drops the version in between: nobody reads there. What is left
// does not show that there was a conflict.
func TestVersionPrunedBehindValidator(t *testing.T) {
	m := newMap[string, int](t, still())
	m.Store("k", 1)
	var err error
	w := stage.New(t).Actor("writer", func() {
		tx := m.Begin(nil)
		tx.Get("k")
		tx.Set("x", 1)
		err = tx.Commit()
	}).To(hooks.CommitEntries)
	m.Store("k", 2)
	w.To(hooks.Tentative)
	m.Store("k", 3)
	prune(m)
	require.Len(t, chainOf(m, "k"), 2, "the newest, and the one the writer reads")
	w.Finish()
	requireConflict(t, err, "k", ConflictRead)
	requireAbsent[int](t)(m.Load("x"))
	checkQuiet(t, m)
}
