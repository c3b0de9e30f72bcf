package mvcc

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/puzpuzpuz/xsync/v4"
	"github.com/stretchr/testify/require"
)

// What scans rely on, and the index does not promise in so many words:
// RangeRelaxed meets every key that is present from before it begins until after
// it ends, while the table grows, shrinks and changes.

// The table shrinks only when it is nearly empty, so few keys stay.
const stayers = 20

func TestRangeRelaxedMeetsWhatStays(t *testing.T) {
	const churn = 10_000
	cycles, passes := sizes(12, 4), sizes(100, 20)
	x := xsync.NewMap[int, *int]()
	for i := range stayers {
		x.Store(i, &i)
	}
	readers := newCrew(t)
	var scans [2]atomic.Int64
	readers.loop(len(scans), func(who, _ int) error {
		met := make([]int, stayers)
		x.RangeRelaxed(func(key int, value *int) bool {
			if key < stayers {
				met[key]++
			}
			return true
		})
		for key, n := range met {
			if n != 1 {
				return fmt.Errorf("key %d was met %d times", key, n)
			}
		}
		scans[who].Add(1)
		return nil
	})
	enough := func() bool { return scans[0].Load() >= int64(passes) && scans[1].Load() >= int64(passes) }
	for cycle := 0; cycle < cycles || !enough() && !readers.ended(); cycle++ {
		for i := stayers; i < stayers+churn; i++ {
			x.LoadOrStore(i, &i)
		}
		for i := stayers; i < stayers+churn; i++ { // as the map deletes
			x.Compute(i, func(*int, bool) (*int, xsync.ComputeOp) { return nil, xsync.DeleteOp })
		}
	}
	readers.finish(t)
	stats := x.Stats()
	require.Greater(t, stats.TotalGrowths, int64(cycles))
	require.Greater(t, stats.TotalShrinks, int64(cycles))
	require.Equal(t, stayers, stats.Size)
}

// The table grows and shrinks in the middle of one pass.
func TestRangeRelaxedAcrossResize(t *testing.T) {
	x := xsync.NewMap[int, int]()
	for i := range stayers {
		x.Store(i, i)
	}
	met := map[int]int{}
	n := 0
	x.RangeRelaxed(func(key, value int) bool {
		if key < stayers {
			met[key]++
		}
		switch n++; n {
		case stayers / 4:
			for i := range 10_000 {
				x.Store(stayers+i, i)
			}
			require.Greater(t, x.Stats().TotalGrowths, int64(2))
		case stayers / 2:
			for i := range 10_000 {
				x.Delete(stayers + i)
			}
			require.Greater(t, x.Stats().TotalShrinks, int64(2))
		}
		return true
	})
	for i := range stayers {
		require.Equal(t, 1, met[i], "key %d", i)
	}
}

// The same through the map: scans and their validation while the index resizes.
func TestScansWhileIndexResizes(t *testing.T) {
	const stay = 300
	m := newMap[int, int](t, brisk())
	for i := range stay {
		m.Store(i, i)
	}
	churn, passes := sizes(5_000, 1_000), sizes(100, 20)
	writers, readers := newCrew(t), newCrew(t)
	writers.loop(1, func(int, int) error {
		for i := stay; i < stay+churn; i++ {
			m.Store(i, i)
		}
		for i := stay; i < stay+churn; i++ {
			m.Delete(i)
		}
		return nil
	})
	scan := func(r Reader[int, int]) error {
		met := map[int]bool{}
		low := 0
		for key, value := range r.All() {
			if err := expect("value", key, value); err != nil {
				return err
			}
			if err := expect("met twice", false, met[key]); err != nil {
				return err
			}
			if met[key] = true; key < stay {
				low++
			}
		}
		return expect("keys that stay", stay, low)
	}
	readers.run(2, func(who int) error {
		for range passes {
			if err := m.View(func(s Snapshot[int, int]) error { return scan(s) }); err != nil {
				return err
			}
			tx := m.Begin(serializable)
			err := scan(tx)
			tx.Rollback()
			if err != nil {
				return err
			}
		}
		return nil
	})
	readers.wait(t)
	writers.finish(t)
	checkQuiet(t, m)
}
