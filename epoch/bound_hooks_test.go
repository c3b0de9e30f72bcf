//go:build mvcccheck

package epoch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// A refresh has read the clock when another one announces a later bound.
func TestBoundNeverGoesBack(t *testing.T) {
	s := epoch.NewSlots()
	nested := false
	defer hooks.Set(func(p hooks.Point) {
		if p == hooks.BoundLoaded && !nested {
			nested = true
			s.Next()
			require.Equal(t, epoch.Epoch(2), s.Announce())
		}
	})()
	require.Equal(t, epoch.Epoch(1), s.Announce())
	require.True(t, nested)
	require.Equal(t, epoch.Epoch(2), s.Bound())
}
