//go:build mvcccheck

package gc_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// Refreshes pass while the times of many epochs are searched; and no epoch is reached after a
// newer one, although notes are taken meanwhile.
func TestTimesOfLetsRefreshesPass(t *testing.T) {
	bubble(t, config{Workers: 1, Retain: time.Hour}, func(t *testing.T, f *fixture) {
		reached := map[epoch.Epoch]time.Time{}
		var epochs []epoch.Epoch
		for i := range 2000 {
			f.slots.Next()
			e := f.slots.Now()
			epochs, reached[e] = append(epochs, e), time.Now()
			if i < 1000 {
				time.Sleep(time.Second)
			}
		}
		slices.Reverse(epochs)
		began, steps := time.Now(), 0
		defer hooks.Set(func(p hooks.Point) {
			if p == hooks.TimesStep {
				steps++
				before := f.Stats().TickRefreshes.N
				time.Sleep(10 * time.Second)
				require.Greater(t, f.Stats().TickRefreshes.N, before, "a refresh has passed")
			}
		})()
		times := f.TimesOf(epochs)
		require.Greater(t, steps, 4)
		for i, e := range epochs {
			require.False(t, times[i].Before(reached[e]), "%d", i)
			require.False(t, times[i].After(times[max(i-1, 0)]), "%d", i)
			require.False(t, times[i].After(began), "%d", i)
		}
	})
}
