package gc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Where nobody ticks, a committer that finds the queue full works off more than it
// adds: what waits is bounded by the queue, and by what cannot be pruned yet.
func TestFullQueueIsWorkedOff(t *testing.T) {
	f := start(t, config{Workers: 1, Manual: true, Queue: 64})
	keys := f.keys(5000)
	f.writeTwice(t, keys, 512)
	require.NotZero(t, f.Stats().Fallbacks)
	require.NoError(t, f.Reclaim(t.Context()))
	settled(t, f, keys)
}

// writeTwice writes all keys, again and again; less than most wait at any time.
func (f *fixture) writeTwice(t *testing.T, keys []*key, most int) {
	t.Helper()
	for range 2 {
		for i, k := range keys {
			f.write(k)
			if i%16 == 0 { // what Stats costs
				require.Less(t, f.Stats().Pending, most)
			}
		}
	}
}

// Whoever empties the queue into the list of the next tick, a committer or the ticker,
// that list is bounded as well when no tick comes: then committers work off what they add.
func TestListIsBounded(t *testing.T) {
	f := start(t, config{Workers: 1, Queue: 16, Interval: time.Hour})
	keys := f.keys(5000)
	f.writeTwice(t, keys, 64*16+512)
	require.NotZero(t, f.Stats().Fallbacks)
	require.Greater(t, f.Stats().Pending, 64*16-64)
	require.NoError(t, f.Reclaim(t.Context()))
	settled(t, f, keys)
}
