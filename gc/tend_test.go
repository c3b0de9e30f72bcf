package gc_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// Ticks go on for as long as there is more to tend.
func TestTendUntilDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := 5
		f := start(t, config{Workers: 1, Tend: func() bool { left = max(left-1, 0); return left > 0 }})
		f.Wake()
		f.ticks(4)
		require.Zero(t, left)
		require.True(t, f.Resting())
	})
}

// Who calls Wake during a tick has that seen by the next one.
func TestWakeDuringTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f *fixture
		calls := 0
		f = start(t, config{Workers: 1, Tend: func() bool {
			if calls++; calls == 2 { // the last thing that a tick does
				f.Wake()
			}
			return false
		}})
		f.Wake()
		f.ticks(3)
		require.Equal(t, 4, calls)
		require.True(t, f.Resting())
	})
}

// What a Reclaim leaves that is cut short, the ticker does.
func TestReclaimCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		left := 5
		f := start(t, config{Workers: 1, Tend: func() bool {
			cancel()
			left = max(left-1, 0)
			return left > 0
		}})
		require.ErrorIs(t, f.Reclaim(ctx), context.Canceled)
		require.Positive(t, left)
		f.ticks(3)
		require.Zero(t, left)
	})
}

// Close tends while it waits for what runs beside the ticker.
func TestCloseTendsMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tended := make(chan struct{})
		tend := sync.OnceFunc(func() { close(tended) })
		f := start(t, config{Workers: 1, Tend: func() bool { tend(); return false }})
		require.True(t, f.Go(func() { <-tended }))
		f.Close()
	})
}
