package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mvccmap/mvccmap/mvcc"
)

const tableKeys = 1 << 14

// BenchmarkTables measures a transaction that reads and writes four keys: of a map by itself,
// and of 1, 2 and 4 tables of a database; and a view of four keys.
func BenchmarkTables(b *testing.B) {
	bg := context.Background()
	fill := func(m *mvcc.Map[uint64, uint64]) *mvcc.Map[uint64, uint64] {
		for k := range uint64(tableKeys) {
			m.Store(k, k)
		}
		return m
	}
	type table = mvcc.Map[uint64, uint64]
	update := func(of func(i int) mvcc.Tx[uint64, uint64], r *rand.Rand) error {
		for i := range 4 {
			tx, key := of(i), r.Uint64N(tableKeys)
			value, _ := tx.Get(key)
			tx.Set(key, value+1)
		}
		return nil
	}
	m := fill(mvcc.New[uint64, uint64](nil))
	defer m.Close()
	parallel(b, "update/map", func(r *rand.Rand) {
		_ = m.Update(bg, nil, func(tx mvcc.Tx[uint64, uint64]) error {
			return update(func(int) mvcc.Tx[uint64, uint64] { return tx }, r)
		})
	})
	parallel(b, "view/map", func(r *rand.Rand) {
		_ = m.View(func(s mvcc.Snapshot[uint64, uint64]) error {
			for range 4 {
				s.Get(r.Uint64N(tableKeys))
			}
			return nil
		})
	})
	for _, n := range []int{1, 2, 4} {
		db := mvcc.NewDB(nil)
		var tables []*table
		for i := range n {
			tables = append(tables, fill(mvcc.NewTable[uint64, uint64](db, fmt.Sprint("t", i), nil)))
		}
		parallel(b, fmt.Sprint("update/tables=", n), func(r *rand.Rand) {
			_ = db.Update(bg, nil, func(tx mvcc.DBTx) error {
				return update(func(i int) mvcc.Tx[uint64, uint64] { return tables[i%n].In(tx) }, r)
			})
		})
		parallel(b, fmt.Sprint("view/tables=", n), func(r *rand.Rand) {
			_ = db.View(func(s mvcc.DBSnapshot) error {
				for i := range 4 {
					tables[i%n].At(s).Get(r.Uint64N(tableKeys))
				}
				return nil
			})
		})
		db.Close()
	}
}

// parallel runs f again and again, as a benchmark of that name, in all goroutines.
func parallel(b *testing.B, name string, f func(r *rand.Rand)) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			r := rand.New(rand.NewPCG(rand.Uint64(), 1))
			for pb.Next() {
				f(r)
			}
		})
	})
}
