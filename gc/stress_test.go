package gc_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// churn has writers and readers work on the keys of f. pause is called now and
// then.
func churn(f *fixture, keys []*key, ops int, seed uint64, pause func(r *rand.Rand)) {
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			for range ops {
				f.write(keys[r.IntN(len(keys))])
				if r.IntN(64) == 0 {
					f.RefreshPast(f.slots.Now(), 16)
				}
				if r.IntN(32) == 0 {
					pause(r)
				}
			}
		})
	}
	for w := range 3 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(100+w)))
			slot := f.slots.Acquire()
			for range ops / 8 {
				begun := f.slots.Begin(slot, 0) != 0
				for range r.IntN(3) * (1 + r.IntN(8)*r.IntN(2)) { // some grow old
					pause(r)
				}
				gen := slot.Gen() - 1
				if begun {
					gen++
					slot.End(gen)
				}
				if !slot.Keep(gen) {
					slot = f.slots.Acquire()
				}
			}
			f.slots.Release(slot)
		})
	}
	wg.Wait()
}

// settled checks that nothing was lost: every key was visited with a view that
// shows its newest version, down to that version.
func settled(t *testing.T, f *fixture, keys []*key) {
	t.Helper()
	s := f.Stats()
	require.Zero(t, s.Pending)
	require.Zero(t, s.Aside)
	for i, k := range keys {
		chain := k.chain()
		require.Len(t, chain, 1, "key %d", i)
		require.GreaterOrEqual(t, k.visitedAt(), chain[0],
			"key %d was visited before its newest version was there", i)
		require.False(t, k.isMarked())
	}
}

var stressConfigs = []config{
	{Workers: 0},
	{Workers: 1, Queue: 2},
	{Workers: 1, Queue: 64},
	{Workers: 3, Queue: 8},
}

// In real time, with ticks every few microseconds. Close ends it.
func TestNothingIsLost(t *testing.T) {
	ops := 4000
	if testing.Short() {
		ops = 500
	}
	for _, cfg := range stressConfigs {
		t.Run(fmt.Sprintf("workers=%d/queue=%d", cfg.Workers, cfg.Queue), func(t *testing.T) {
			cfg.Interval = 20 * time.Microsecond
			f := start(t, cfg)
			keys := f.keys(24)
			churn(f, keys, ops, 1, func(*rand.Rand) { runtime.Gosched() })
			f.Close()
			require.NoError(t, f.Reclaim(t.Context()))
			settled(t, f, keys)
		})
	}
}

// In virtual time. Nobody closes: the versions left at the end are dropped by ticks, which then
// end.
func TestNothingIsLostWithoutClose(t *testing.T) {
	ops := 2000
	if testing.Short() {
		ops = 400
	}
	for _, cfg := range stressConfigs {
		t.Run(fmt.Sprintf("workers=%d/queue=%d", cfg.Workers, cfg.Queue), func(t *testing.T) {
			for seed := range uint64(4) {
				synctest.Test(t, func(t *testing.T) {
					f := start(t, cfg)
					keys := f.keys(24)
					churn(f, keys, ops/4, seed, func(r *rand.Rand) {
						time.Sleep(time.Duration(r.Int64N(int64(f.interval))))
					})
					f.ticks(6)
					settled(t, f, keys)
					require.True(t, f.Resting())
					require.Zero(t, f.slots.Owned())
					made := f.made()
					time.Sleep(time.Hour)
					require.Equal(t, made, f.made())
				})
			}
		})
	}
}
