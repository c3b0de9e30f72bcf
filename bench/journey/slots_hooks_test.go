//go:build mvcccheck

package journey

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// The begin race of package epoch's tracker, at its own yield point.
func TestBeginRaceSlots(t *testing.T) {
	tr, c := newTracker(Slots, start)
	var least epoch.Epoch
	defer hooks.Set(func(p hooks.Point) {
		if p == hooks.BeginLoaded && least == 0 {
			c.Next()
			least = tr.MinVisible(c)
		}
	})()
	h := tr.Begin(c)
	require.NotZero(t, least)
	require.LessOrEqual(t, least, h.Epoch)
}
