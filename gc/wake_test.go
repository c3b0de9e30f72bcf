package gc_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/gc"
)

// The ticker goes on ticking after it has been woken.
func TestTicksAfterWaking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, gc.Config[*key, uint64]{Interval: time.Second, Workers: 1})
		f.ticks(3)
		require.True(t, f.Parked())
		r := f.begin()
		defer r.end()
		f.write(&key{})
		f.ticks(2)
		require.False(t, f.Parked())
		before := f.refreshes()
		f.ticks(3)
		require.GreaterOrEqual(t, f.refreshes(), before+3)
	})
}

func TestBlockedIsSetAsideOnce(t *testing.T) {
	f := start(t, gc.Config[*key, uint64]{Interval: time.Hour})
	k := &key{}
	f.commit(k)
	r := f.begin()
	defer r.end()
	for range 3 {
		f.write(k)
	}
	require.Equal(t, 1, f.Stats().Aside)
}

// Close waits for a worker that is pruning.
func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pruning := make(chan struct{})
		k := &key{onPrune: func(*gc.View, *gc.Visit[uint64]) { <-pruning }}
		f := start(t, gc.Config[*key, uint64]{Interval: time.Second, Workers: 1})
		f.write(k)
		f.ticks(1)
		require.Equal(t, 1, k.pruned())
		closed := make(chan struct{})
		go func() { f.Close(); close(closed) }()
		synctest.Wait()
		require.False(t, isClosed(closed))
		close(pruning)
		<-closed
	})
}
