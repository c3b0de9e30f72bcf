//go:build mvcccheck

package mvcc

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// What is retained does not stay for longer because the ticker stands still: writers drop it.
func TestRetainLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys, perTick, ticks = 20, 20, 80 // ticks are what is retained
		retain := ticks * DefaultReclaimInterval
		m := New[int, int](&Options{Retain: retain})
		defer m.Close()
		goOn := make(chan struct{})
		defer close(goOn) // before Close, which waits
		var stuck atomic.Bool
		defer hooks.Set(func(p hooks.Point) {
			if p == hooks.Dequeued && stuck.CompareAndSwap(false, true) {
				<-goOn
			}
		})()
		epochs := make([]uint64, 5*ticks)
		for tick := range epochs {
			epochs[tick] = m.Epoch()
			for i := range keys * perTick {
				m.Store(i%keys, tick)
			}
			time.Sleep(DefaultReclaimInterval)
		}
		require.True(t, stuck.Load())
		before, err := m.SnapshotAt(epochs[4*ticks+4])
		require.NoError(t, err)
		before.Close()
		most := ticks * perTick * 9 / 8 // it is kept for up to an eighth longer, and some ticks
		require.LessOrEqual(t, longest(m), most+10*perTick)
	})
}
