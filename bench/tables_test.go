package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/tidwall/btree"

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

// lockedTree is what else a program would take: a B-tree and a lock.
type lockedTree struct {
	sync.RWMutex
	btree.Map[uint64, uint64]
}

// BenchmarkOrdered measures ranges and inserts of ordered maps with 10^6 keys, beside a B-tree
// with a sync.RWMutex.
func BenchmarkOrdered(b *testing.B) {
	const n = 1_000_000
	keys := rand.New(rand.NewPCG(1, 1)).Perm(n)
	m := mvcc.NewOrdered[uint64, uint64](&mvcc.Options{Capacity: n})
	defer m.Close()
	var tree lockedTree
	for _, k := range keys {
		m.Store(uint64(2*k), uint64(k))
		tree.Set(uint64(2*k), uint64(k))
	}
	sum := uint64(0)
	b.Run("scan/mvcc", func(b *testing.B) {
		for b.Loop() {
			_ = m.View(func(s mvcc.Snapshot[uint64, uint64]) error {
				for _, value := range s.Ascend(mvcc.Range[uint64]{}) {
					sum += value
				}
				return nil
			})
		}
	})
	b.Run("scan/unordered", func(b *testing.B) {
		for b.Loop() {
			for _, value := range m.All() {
				sum += value
			}
		}
	})
	b.Run("scan/btree", func(b *testing.B) {
		for b.Loop() {
			tree.RLock()
			tree.Scan(func(_, value uint64) bool { sum += value; return true })
			tree.RUnlock()
		}
	})
	parallel(b, "page/mvcc", func(r *rand.Rand) {
		left, sum := 100, uint64(0)
		_ = m.View(func(s mvcc.Snapshot[uint64, uint64]) error {
			for _, value := range s.Ascend(mvcc.From(r.Uint64N(2 * n))) {
				sum += value
				if left--; left == 0 {
					break
				}
			}
			return nil
		})
	})
	parallel(b, "page/btree", func(r *rand.Rand) {
		left, sum := 100, uint64(0)
		tree.RLock()
		tree.Ascend(r.Uint64N(2*n), func(_, value uint64) bool { sum += value; left--; return left > 0 })
		tree.RUnlock()
	})
	// A key that comes and goes: an insert and a delete.
	parallel(b, "insert/mvcc", func(r *rand.Rand) {
		k := 2*r.Uint64N(n) + 1
		m.Store(k, k)
		m.Delete(k)
	})
	plain := mvcc.New[uint64, uint64](&mvcc.Options{Capacity: n})
	defer plain.Close()
	for _, k := range keys {
		plain.Store(uint64(2*k), uint64(k))
	}
	parallel(b, "insert/unordered", func(r *rand.Rand) {
		k := 2*r.Uint64N(n) + 1
		plain.Store(k, k)
		plain.Delete(k)
	})
	parallel(b, "insert/btree", func(r *rand.Rand) {
		k := 2*r.Uint64N(n) + 1
		tree.Lock()
		tree.Set(k, k)
		tree.Unlock()
		tree.Lock()
		tree.Delete(k)
		tree.Unlock()
	})
	parallel(b, "get/mvcc", func(r *rand.Rand) { m.Load(2 * r.Uint64N(n)) })
	parallel(b, "get/unordered", func(r *rand.Rand) { plain.Load(2 * r.Uint64N(n)) })
	parallel(b, "store/mvcc", func(r *rand.Rand) { m.Store(2*r.Uint64N(n), 1) })
	parallel(b, "store/unordered", func(r *rand.Rand) { plain.Store(2*r.Uint64N(n), 1) })
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
