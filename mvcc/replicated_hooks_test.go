//go:build mvcccheck

package mvcc

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// F1, F2: a commit at a given epoch is stopped at each step, and readers that begin before, and
// meanwhile, see it or not as their epochs say, for ever; the clock ends where it was told to.
func TestReplicaStops(t *testing.T) {
	for _, keys := range []int{1, 2} {
		for name, run := range map[string]struct {
			at hooks.Point
			// loaded says that a Load commits it, or finds it committed.
			loaded bool
		}{
			"installed": {hooks.InstalledAll, keys == 1}, // a single key is announced then
			"announced": {hooks.Announced, true},
			"drawn":     {hooks.Drawn, true},
			"published": {hooks.Published, true},
		} {
			t.Run(fmt.Sprint(name, " ", keys), func(t *testing.T) {
				db, r, a, b, _ := newReplicated(t, still())
				apply(t, r, 50, func(tx DBTx) { a.In(tx).Set("x", oldValue); b.In(tx).Set("y", oldValue) })
				sees := func(s DBSnapshot, want int) {
					requireValue(t, want)(a.At(s).Get("x"))
					if keys == 2 {
						requireValue(t, want)(b.At(s).Get("y"))
					}
				}
				before := db.Snapshot()
				w := stage.New(t).Actor("applier", func() {
					apply(t, r, 60, func(tx DBTx) {
						a.In(tx).Set("x", newValue)
						if keys == 2 {
							b.In(tx).Set("y", newValue)
						}
					})
				}).To(run.at)
				first := db.Snapshot()
				want := oldValue
				if first.Epoch() == 60 {
					want = newValue
				}
				sees(before, oldValue)
				sees(first, want)
				if run.loaded {
					requireValue(t, newValue)(a.Load("x"))
					require.EqualValues(t, 60, db.Epoch())
					second := db.Snapshot()
					sees(second, newValue)
					second.Close()
				}
				w.Finish()
				sees(before, oldValue)
				sees(first, want)
				require.EqualValues(t, 60, db.Epoch())
				require.EqualValues(t, 60, chainOf(a, "x")[0].Epoch)
				apply(t, r, 61, func(tx DBTx) { a.In(tx).Set("x", 3) })
				require.EqualValues(t, 61, chainOf(a, "x")[0].Epoch)
				before.Close()
				first.Close()
			})
		}
	}
}
