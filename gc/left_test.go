package gc_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
)

// The keys that a visit leaves because it panics are visited again, be it one of a committer, which
// takes two keys, or of a pass.
func TestVisitLeft(t *testing.T) {
	for visitor, writes := range map[string]int{"committer": 9, "pass": 8} {
		t.Run(visitor, func(t *testing.T) {
			bubble(t, config{Workers: 3, Queue: 8, Manual: true}, func(t *testing.T, f *fixture) {
				left := 0
				keys := f.keys(writes)
				for i, k := range keys {
					k.onVisit = func(*gc.View) {
						if left++; left == 1 {
							panic("left")
						}
					}
					if i < 8 {
						f.write(k)
					} else {
						require.Panics(t, func() { f.write(k) }, "the queue is full")
					}
				}
				if visitor == "pass" {
					require.Panics(t, func() { _ = f.Reclaim(t.Context()) })
				}
				require.Equal(t, 1, left)
				for range 3 {
					require.NoError(t, f.Reclaim(t.Context()))
				}
				settled(t, f, keys)
			})
		})
	}
}

// A function that panics while ended waits are gathered, in a Reclaim whose caller recovers, holds up
// no later one.
func TestDueLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := 0
		cfg := config{Slots: epoch.NewSlots(), Visit: visit, Surplus: surplus, Manual: true}
		cfg.Due = func(waits, items []gc.Item) []gc.Item {
			if left++; left == 1 {
				panic("left")
			}
			return due(waits, items)
		}
		f := &fixture{gc.NewReclaimer(cfg), cfg.Slots, gc.DefaultInterval}
		defer f.Close()
		k := f.keys(1)[0]
		r := f.begin()
		f.write(k)
		for range 5 { // the reader grows old
			require.NoError(t, f.Reclaim(t.Context()))
			f.ticks(1)
		}
		r.end()
		require.Panics(t, func() { _ = f.Reclaim(t.Context()) })
		require.NoError(t, f.Reclaim(t.Context()))
	})
}
