package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/index"
	"github.com/mvccmap/mvccmap/internal/stage"
)

// The index of a map has a size for its keys, whatever they do.

// When most keys are gone the index shrinks, even if nothing happens any more.
func TestIndexShrinksAtRest(t *testing.T) {
	n := stage.Sizes(200_000, 20_000)
	for _, manual := range []bool{false, true} {
		m := newMap[int, int](t, &Options{ManualReclaim: manual, ReclaimQueue: n})
		for i := range n {
			m.Store(i, i)
		}
		for i := range n {
			m.Delete(i)
		}
		if manual {
			require.NoError(t, m.Reclaim(bg))
		}
		small := func() bool { return m.index.Size() == index.MinBuckets && m.index.Fits() }
		stage.Eventually(t, small, "the index stays large")
	}
}

// The same through the map: scans and their validation.
func TestScansWhileIndexResizes(t *testing.T) {
	const stay = 300
	m := newMap[int, int](t, brisk())
	for i := range stay {
		m.Store(i, i)
	}
	churn, passes := stage.Sizes(5_000, 1_000), stage.Sizes(100, 20)
	writers, readers := stage.NewCrew(t), stage.NewCrew(t)
	writers.Loop(1, func(int, int) error {
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
	readers.Run(2, func(who int) error {
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
	readers.Wait(t)
	writers.Finish(t)
	checkQuiet(t, m)
}
