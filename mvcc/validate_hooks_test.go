//go:build mvcccheck

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/chain"
	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/stage"
)

// What validation must not miss, and whom writers may abort.

// A validator has found an undecided head and is about to go below it. The head
// commits; a pruner drops the version between it and the one the validator has
// seen, since nobody reads there. The old version is not the newest again.
func TestValidatorDoesNotFallThroughCommittedHead(t *testing.T) {
	m := newMap[string, int](t, still())
	m.Store("x", 1)
	stage := stage.New(t)
	var err error
	v := stage.Actor("validator", func() {
		tx := m.Begin(nil)
		tx.Get("x")
		tx.Set("y", 1)
		err = tx.Commit()
	}).To(hooks.CommitEntries)
	m.Store("x", 2)
	w := stage.Actor("writer", func() {
		tx := m.Begin(nil)
		tx.Set("x", 3)
		tx.Set("z", 3)
		if err := tx.Commit(); err != nil {
			panic(err)
		}
	}).To(hooks.InstalledAll)
	v.To(hooks.HeadSkipped)
	w.Finish()
	prune(m)
	links := chainOf(m, "x")
	require.Len(t, links, 2, "the test needs the version 2 to be dropped")
	require.Equal(t, 3, links[0].Value)
	require.Equal(t, 1, links[1].Value)
	v.Finish()
	requireConflict(t, err, "x", ConflictRead)
	checkQuiet(t, m)
}

// The slot holds what was read until validation has ended.
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

// A phantom arrives after the epoch was drawn. Before validation it may be a
// conflict; afterwards the transaction comes first. In no case both are seen as
// if each had come before the other.
func TestPhantomWhileCommitting(t *testing.T) {
	for _, scan := range []bool{false, true} {
		for _, p := range []hooks.Point{hooks.InstalledAll, hooks.Announced, hooks.Drawn,
			hooks.Tentative, hooks.Validated} {
			m := newMap[string, int](t, still())
			var err error
			w := stage.New(t).Actor("counter", func() {
				tx := m.Begin(nil)
				if scan {
					for range tx.All() {
					}
				} else {
					tx.Get("p")
				}
				tx.Set("count", 0)
				err = tx.Commit()
			}).To(p)
			m.Store("p", 1)
			between := m.Snapshot()
			requireValue(t, 1)(between.Get("p"))
			w.Finish()
			if p == hooks.InstalledAll {
				require.ErrorIs(t, err, ErrConflict, "p has the earlier epoch")
			}
			if err == nil {
				require.Less(t, chainOf(m, "count")[0].Epoch, chainOf(m, "p")[0].Epoch)
				requireValue(t, 0)(between.Get("count"))
			} else {
				requireAbsent[int](t)(between.Get("count"))
			}
			between.Close()
			checkQuiet(t, m)
		}
	}
}

// Write skew, both committing at once, in every order of steps that matters:
// each stands at one point while the other runs to the end.
func TestWriteSkewWhileCommitting(t *testing.T) {
	for _, p := range []hooks.Point{hooks.Installed, hooks.InstalledAll, hooks.Announced, hooks.Drawn,
		hooks.Tentative, hooks.Validated} {
		for i := range 4 {
			extra := i%2 == 1   // a second key: indirect versions
			early := i/2%2 == 1 // the second has read before the first draws its epoch
			m := newMap[string, int](t, still())
			m.Store("x", 1)
			m.Store("y", 1)
			withdraw := func(key string, err *error) func() {
				return func() {
					tx := m.Begin(nil)
					defer tx.Rollback()
					tx.Get("x")
					tx.Get("y")
					tx.Set(key, -1)
					if extra {
						tx.Set("of "+key, 1)
					}
					*err = tx.Commit()
				}
			}
			var a, b error
			stage := stage.New(t)
			second := stage.Actor("second", withdraw("y", &b))
			if early {
				second.To(hooks.CommitEntries)
			}
			first := stage.Actor("first", withdraw("x", &a)).To(p)
			second.Finish()
			first.Finish()
			require.False(t, a == nil && b == nil, "both commit, at %v", p)
			require.False(t, a != nil && b != nil, "neither commits, at %v", p)
			x, _ := m.Load("x")
			y, _ := m.Load("y")
			require.Zero(t, x+y)
			checkQuiet(t, m)
		}
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
