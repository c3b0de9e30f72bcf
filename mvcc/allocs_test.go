//go:build !race

package mvcc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Calls whose functions capture variables allocate the versions that they write, or the state of a
// loop, and nothing else. A function that any branch of the engine keeps would be an allocation of
// each Update, and so would be the variables that it captures.
func TestAllocations(t *testing.T) {
	db := mvcc.NewDB(&mvcc.Options{ManualReclaim: true}) // so that nothing else allocates
	defer db.Close()
	m := mvcc.New[int, int](&mvcc.Options{ManualReclaim: true})
	defer m.Close()
	table := mvcc.NewTable[int, int](db, "table", nil)
	other := mvcc.NewTable[int, int](db, "other", nil)
	found := mvcc.NewOrderedTable[int, int](db, "found", nil)
	index, err := mvcc.NewIndex(found, "value", func(_, v int) []int { return []int{v} }, nil)
	require.NoError(t, err)
	for k := range 100 {
		found.Store(k, k%10)
	}
	for k := range 2 {
		m.Store(k, k)
		table.Store(k, k)
		other.Store(k, k)
	}
	from, to, sum, failed := 0, 1, 0, error(nil)
	for _, row := range []struct {
		name   string
		allocs float64
		call   func()
	}{
		{"Update", 2, func() {
			failed = m.Update(bg, nil, func(tx mvcc.Tx[int, int]) error {
				a, _ := tx.Get(from)
				b, _ := tx.Get(to)
				tx.Set(from, a-1)
				tx.Set(to, b+1)
				sum = a + b
				return nil
			})
		}},
		{"Update of a put", 1, func() {
			failed = m.Update(bg, nil, func(tx mvcc.Tx[int, int]) error {
				tx.Set(to, sum)
				return nil
			})
		}},
		{"Update of a table", 1, func() {
			failed = table.Update(bg, nil, func(tx mvcc.Tx[int, int]) error {
				a, _ := tx.Get(from)
				tx.Set(from, a+to)
				return nil
			})
		}},
		{"UpdateValue", 1, func() {
			sum, failed = mvcc.UpdateValue(bg, m, nil, func(tx mvcc.Tx[int, int]) (int, error) {
				a, _ := tx.Get(from)
				tx.Set(to, a)
				return a, nil
			})
		}},
		{"DB.Update", 2, func() {
			failed = db.Update(bg, nil, func(tx mvcc.DBTx) error {
				a, _ := table.In(tx).Get(from)
				table.In(tx).Set(from, a-1)
				other.In(tx).Set(to, a+1)
				return nil
			})
		}},
		{"View", 0, func() {
			failed = m.View(func(s mvcc.Snapshot[int, int]) error {
				sum, _ = s.Get(from)
				return nil
			})
		}},
		{"DB.View", 0, func() {
			failed = db.View(func(s mvcc.DBSnapshot) error {
				sum, _ = table.At(s).Get(from)
				return nil
			})
		}},
		{"Compute", 1, func() {
			sum, _ = m.Compute(from, func(old int, _ bool) (int, mvcc.ComputeOp) {
				return old + to, mvcc.UpdateOp
			})
		}},
		{"CompareAndSwap", 1, func() {
			sum, _ = m.Load(from)
			_ = mvcc.CompareAndSwap(m, from, sum, sum+to)
		}},
		{"Index.Get of a View", 1, func() {
			failed = found.View(func(s mvcc.Snapshot[int, int]) error {
				for k := range index.Get(s, to) {
					sum += k
				}
				return nil
			})
		}},
		{"Load and Store", 1, func() {
			sum, _ = m.Load(from)
			m.Store(to, sum)
		}},
	} {
		require.Equal(t, row.allocs, testing.AllocsPerRun(1000, row.call), row.name)
		require.NoError(t, failed, row.name)
	}
	require.NoError(t, db.Reclaim(bg))
}
