//go:build mvcchooks

package gc_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/hooks"
)

// A refresh has scanned the slots when a committer, who has waited long enough for
// it, makes a newer view beside it.
func TestOlderViewDoesNotReplaceNewer(t *testing.T) {
	f := start(t, gc.Config[*key, uint64]{Interval: time.Hour})
	var newer *gc.View
	var nested atomic.Bool
	defer hooks.Set(func(p hooks.Point) {
		if p != hooks.SlotsScanned || !nested.CompareAndSwap(false, true) {
			return
		}
		for range 100 {
			f.slots.Next()
		}
		newer = f.RefreshPast(f.slots.Now(), 1)
	})()
	f.Refresh()
	require.True(t, nested.Load())
	require.Equal(t, f.slots.Now(), newer.Bound)
	require.Same(t, newer, f.View())
}
