package bench_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/mvcc"
)

// The keys of the workloads are strings. What other keys cost, beside xsync, with 10^4 of them in
// shuffled order:
//
//	go test -run '^$' -bench Keys -count 10 -cpu 1,2 ./bench
func BenchmarkKeys(b *testing.B) {
	type id struct {
		tenant, shard uint32
		number        uint64
	}
	benchmarkKeys(b, "uint64", func(i int) uint64 { return uint64(i) })
	benchmarkKeys(b, "string", func(i int) string { return fmt.Sprint("key-", i) })
	benchmarkKeys(b, "struct", func(i int) id { return id{uint32(i % 7), uint32(i % 64), uint64(i)} })
}

func benchmarkKeys[K comparable](b *testing.B, name string, key func(i int) K) {
	keys := make([]K, 10_000)
	m, x := mvcc.New[K, int](nil), xsync.NewMap[K, int]()
	defer m.Close()
	for i, at := range rand.Perm(len(keys)) {
		keys[at] = key(i)
		m.Store(key(i), 0)
		x.Store(key(i), 0)
	}
	for _, op := range []struct {
		name string
		do   func(i int, key, next K)
	}{
		{"Load/mvcc", func(_ int, key, _ K) { m.Load(key) }},
		{"Load/xsync", func(_ int, key, _ K) { x.Load(key) }},
		{"Store/mvcc", func(i int, key, _ K) { m.Store(key, i) }},
		{"Store/xsync", func(i int, key, _ K) { x.Store(key, i) }},
		{"Transfer/mvcc", func(_ int, key, next K) {
			_ = m.Update(context.Background(), nil, func(tx mvcc.Tx[K, int]) error {
				from, _ := tx.Get(key)
				to, _ := tx.Get(next)
				tx.Set(key, from-1)
				tx.Set(next, to+1)
				return nil
			})
		}},
	} {
		b.Run("key="+name+"/"+op.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for i := rand.IntN(len(keys)); pb.Next(); {
					next := (i + 1) % len(keys)
					op.do(i, keys[i], keys[next])
					i = next
				}
			})
			b.StopTimer()
			if m.Len() != len(keys) || x.Size() != len(keys) {
				b.Fatal("a map has lost keys")
			}
		})
	}
}
