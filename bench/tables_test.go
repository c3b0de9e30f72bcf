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
	four := func(of func(i int) mvcc.Tx[uint64, uint64], r *rand.Rand) {
		for i := range 4 {
			tx, key := of(i), r.Uint64N(tableKeys)
			value, _ := tx.Get(key)
			tx.Set(key, value+1)
		}
	}
	b.Run("update/map", func(b *testing.B) {
		m := fill(mvcc.New[uint64, uint64](nil))
		defer m.Close()
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			r := rand.New(rand.NewPCG(rand.Uint64(), 1))
			for pb.Next() {
				_ = m.Update(bg, nil, func(tx mvcc.Tx[uint64, uint64]) error {
					four(func(int) mvcc.Tx[uint64, uint64] { return tx }, r)
					return nil
				})
			}
		})
	})
	b.Run("view/map", func(b *testing.B) {
		m := fill(mvcc.New[uint64, uint64](nil))
		defer m.Close()
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			r := rand.New(rand.NewPCG(rand.Uint64(), 1))
			for pb.Next() {
				_ = m.View(func(s mvcc.Snapshot[uint64, uint64]) error {
					for range 4 {
						s.Get(r.Uint64N(tableKeys))
					}
					return nil
				})
			}
		})
	})
	for _, n := range []int{1, 2, 4} {
		setup := func() (*mvcc.DB, []*table) {
			db := mvcc.NewDB(nil)
			var tables []*table
			for i := range n {
				tables = append(tables, fill(mvcc.NewTable[uint64, uint64](db, fmt.Sprint("t", i), nil)))
			}
			return db, tables
		}
		b.Run(fmt.Sprint("update/tables=", n), func(b *testing.B) {
			db, tables := setup()
			defer db.Close()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				r := rand.New(rand.NewPCG(rand.Uint64(), 1))
				for pb.Next() {
					_ = db.Update(bg, nil, func(tx mvcc.DBTx) error {
						four(func(i int) mvcc.Tx[uint64, uint64] { return tables[i%n].In(tx) }, r)
						return nil
					})
				}
			})
		})
		b.Run(fmt.Sprint("view/tables=", n), func(b *testing.B) {
			db, tables := setup()
			defer db.Close()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				r := rand.New(rand.NewPCG(rand.Uint64(), 1))
				for pb.Next() {
					_ = db.View(func(s mvcc.DBSnapshot) error {
						for i := range 4 {
							tables[i%n].At(s).Get(r.Uint64N(tableKeys))
						}
						return nil
					})
				}
			})
		})
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
