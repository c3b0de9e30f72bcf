//go:build mvcccheck

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// Versions pruned while History walks leave no gap in it, though an old reader keeps one beyond
// them.
func TestHistoryBesidePruning(t *testing.T) {
	for steps := range 4 {
		m := newMap[string, int](t, still())
		var old Snapshot[string, int]
		for i := range 10 {
			if m.Store("k", i); i == 5 {
				old = m.Snapshot()
			}
		}
		var got []Revision[int]
		a := stage.New(t).Actor("history", func() { got = History(m, "k") })
		for range steps {
			a.To(hooks.HistoryStep)
		}
		m.Store("k", 10)
		prune(m)
		a.Finish()
		require.GreaterOrEqual(t, got[0].Value, 9)
		for i, r := range got {
			require.Equal(t, got[0].Value-i, r.Value, "%+v", got)
		}
		old.Close()
	}
}
