//go:build mvcccheck

package epoch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// A transaction that has published an epoch below the bound of the last round cannot
// keep it. Rounds pass over it: else it would come into the list after younger ones.
func TestRoundPassesOverBeginner(t *testing.T) {
	s := epoch.NewSlots()
	late := s.Acquire()
	var at epoch.Epoch
	stored := false
	within := func(p hooks.Point) {
		switch {
		case p == hooks.BeginLoaded && at == 0:
			at = s.Next()
			begin(s, 0)
			s.Next()
			rounds(s, 3)
			require.Equal(t, 1, s.Pins())
		case p == hooks.BeginStored && !stored:
			stored = true
			rounds(s, 3)
		}
	}
	depth := 0
	restore := hooks.Set(func(p hooks.Point) {
		if depth++; depth == 1 {
			within(p)
		}
		depth--
	})
	defer restore()
	require.Equal(t, at+1, s.Begin(late, 0))
	require.Equal(t, 1, s.Pins())
	var v epoch.View
	s.Look(&v, s.Announce(), nil)
	require.Equal(t, []epoch.Epoch{at}, v.Old())
	below, old := v.Below(at + 1)
	require.Equal(t, at, below)
	require.True(t, old)
	endTransaction(t, late, true)
}
