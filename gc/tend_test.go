package gc_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// Ticks go on for as long as there is more to trim, a part in each, or to tend.
func TestTicksUntilDone(t *testing.T) {
	var left atomic.Int64
	more := func() bool { return left.Add(-1) > 0 }
	for ticks, cfg := range map[int]config{6: {Workers: 1, Trim: more}, 4: {Workers: 1, Tend: more}} {
		left.Store(5)
		bubble(t, cfg, func(t *testing.T, f *fixture) {
			f.Wake()
			f.ticks(ticks - 2)
			require.True(t, cfg.Trim == nil || !f.Resting())
			f.ticks(2)
			require.True(t, f.Resting())
			require.LessOrEqual(t, left.Load(), int64(0))
		})
	}
}

// The next tick sees a call of Wake during the one before.
func TestWakeDuringTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f *fixture
		var calls atomic.Int64
		f = start(t, config{Workers: 1, Tend: func() bool {
			if calls.Add(1) == 2 { // the last thing that a tick does
				f.Wake()
			}
			return false
		}})
		f.Wake()
		f.ticks(3)
		require.EqualValues(t, 4, calls.Load())
		require.True(t, f.Resting())
	})
}

// The work left by a Reclaim that is cut short is done by the ticker.
func TestReclaimCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var left atomic.Int64
		left.Store(5)
		f := start(t, config{Workers: 1, Tend: func() bool {
			cancel()
			return left.Add(-1) > 0
		}})
		require.ErrorIs(t, f.Reclaim(ctx), context.Canceled)
		require.Positive(t, left.Load())
		f.ticks(3)
		require.LessOrEqual(t, left.Load(), int64(0))
	})
}

// Close tends while it waits for the goroutines beside the ticker.
func TestCloseTendsMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tended := make(chan struct{})
		tend := sync.OnceFunc(func() { close(tended) })
		f := start(t, config{Workers: 1, Tend: func() bool { tend(); return false }})
		require.True(t, f.Go(func() { <-tended }))
		f.Close()
	})
}
