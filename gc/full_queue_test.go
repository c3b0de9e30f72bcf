package gc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// writeTwice writes all keys, again and again; less than most wait at any time.
func (f *fixture) writeTwice(t *testing.T, keys []*key, most int) {
	t.Helper()
	for range 2 {
		for i, k := range keys {
			f.write(k)
			if i%16 == 0 { // Stats is costly
				require.Less(t, f.Stats().Pending, most)
			}
		}
	}
}

// Whoever empties the queue into the list of the next tick, that is bounded when no tick comes, and
// so is the queue where nobody ticks: committers work off more than they add.
func TestListIsBounded(t *testing.T) {
	for most, cfg := range map[int]config{
		512:         {Workers: 1, Queue: 64, Manual: true},
		64*16 + 512: {Workers: 1, Queue: 16, Interval: time.Hour},
	} {
		f := start(t, cfg)
		keys := f.keys(5000)
		f.writeTwice(t, keys, most)
		require.NotZero(t, f.Stats().Fallbacks)
		require.True(t, cfg.Manual || f.Stats().Pending > 64*16-64)
		require.NoError(t, f.Reclaim(t.Context()))
		settled(t, f, keys)
	}
}
