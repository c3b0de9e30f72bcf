package bench

import (
	"cmp"
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/tidwall/btree"

	"github.com/mvccmap/mvccmap/mvcc"
)

// indexKeys is how many records BenchmarkIndexes has; ten have an index key in common.
const indexKeys = 100_000

// A record of BenchmarkIndexes: group is its index key.
type record struct{ group, value uint64 }

func groupOf(_ uint64, r record) []uint64 { return []uint64{r.group} }

// lockedRecords are the usual choice of a program without a database: a map, a B-tree for the
// index, a lock.
type lockedRecords struct {
	sync.RWMutex
	records map[uint64]record
	groups  *btree.BTreeG[[2]uint64]
}

func (l *lockedRecords) set(k uint64, r record) {
	l.Lock()
	defer l.Unlock()
	if old, ok := l.records[k]; ok && old.group != r.group {
		l.groups.Delete([2]uint64{old.group, k})
	}
	l.records[k] = r
	l.groups.Set([2]uint64{r.group, k})
}

// BenchmarkIndexes measures a table with an index, beside one without and beside a map and a
// B-tree under a lock.
func BenchmarkIndexes(b *testing.B) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	fill := func(set func(k uint64, r record)) {
		for k := range uint64(indexKeys) {
			set(k, record{k / 10, k})
		}
	}
	plain := mvcc.NewTable[uint64, record](db, "plain", nil)
	fill(plain.Store)
	table, before, err := mvcc.NewTable[uint64, record](db, "indexed", nil), uint64(0), error(nil)
	var ix, single *mvcc.Index[uint64, uint64, record]
	b.Run("make", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			table.Close()
			table, ix = mvcc.NewTable[uint64, record](db, "indexed", nil), nil
			fill(table.Store)
			before = heapOf()
			b.StartTimer()
			if ix, err = mvcc.NewOrderedIndex(table, "group", groupOf, nil); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/indexKeys, "ns/record")
		b.ReportMetric(float64(heapOf()-before)/indexKeys, "B/record")
	})
	single, err = mvcc.NewIndex(table, "value",
		func(_ uint64, r record) []uint64 { return []uint64{r.value} },
		&mvcc.IndexOptions{Unique: true})
	if err != nil {
		b.Fatal(err)
	}
	locked := &lockedRecords{records: map[uint64]record{},
		groups: btree.NewBTreeG(func(x, y [2]uint64) bool {
			return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1])) < 0
		})}
	fill(locked.set)
	same := func(r *rand.Rand) (uint64, record) {
		k := r.Uint64N(indexKeys)
		return k, record{k / 10, k}
	}
	other := func(r *rand.Rand) (uint64, record) {
		k := r.Uint64N(indexKeys)
		return k, record{r.Uint64N(indexKeys / 10), k}
	}
	read := func(r *rand.Rand, seek func(group uint64) uint64) { _ = seek(r.Uint64N(indexKeys / 10)) }
	parallel(b, "get-10/mvcc", func(r *rand.Rand) {
		read(r, func(group uint64) (sum uint64) {
			_ = table.View(func(s mvcc.Snapshot[uint64, record]) error {
				for _, found := range ix.Get(s, group) {
					sum += found.value
				}
				return nil
			})
			return sum
		})
	})
	parallel(b, "get-10/locked", func(r *rand.Rand) {
		read(r, func(group uint64) (sum uint64) {
			locked.RLock()
			locked.groups.Ascend([2]uint64{group, 0}, func(e [2]uint64) bool {
				if e[0] == group {
					sum += locked.records[e[1]].value
				}
				return e[0] == group
			})
			locked.RUnlock()
			return sum
		})
	})
	parallel(b, "get-unique/mvcc", func(r *rand.Rand) {
		_ = table.View(func(s mvcc.Snapshot[uint64, record]) error {
			single.First(s, r.Uint64N(indexKeys))
			return nil
		})
	})
	parallel(b, "store-same/unindexed", func(r *rand.Rand) { plain.Store(same(r)) })
	parallel(b, "store-same/mvcc", func(r *rand.Rand) { table.Store(same(r)) })
	parallel(b, "store-same/locked", func(r *rand.Rand) { locked.set(same(r)) })
	parallel(b, "store-other/mvcc", func(r *rand.Rand) { table.Store(other(r)) })
	parallel(b, "store-other/locked", func(r *rand.Rand) { locked.set(other(r)) })
	parallel(b, "update-other/mvcc", func(r *rand.Rand) {
		_ = table.Update(context.Background(), nil, func(tx mvcc.Tx[uint64, record]) error {
			tx.Set(other(r))
			return nil
		})
	})
}

// heapOf returns the bytes that are live.
func heapOf() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
