package bench_test

import (
	"maps"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/mvcc"
)

// What each operation on one key costs, beside xsync and sync.Map, with 10^4 keys that are
// there. Each goroutine goes through all keys in the same shuffled order, from a place of its own:
//
//	go test -run '^$' -bench OneKey -count 10 -cpu 1,2 ./bench
func BenchmarkOneKey(b *testing.B) {
	const n = 10_000
	m, x, s := mvcc.New[int, int](nil), xsync.NewMap[int, int](), new(sync.Map)
	defer m.Close()
	for key := range n {
		m.Store(key, key)
		x.Store(key, key)
		s.Store(key, key)
	}
	inc := func(old int, _ bool) (int, mvcc.ComputeOp) { return old + 1, mvcc.UpdateOp }
	cancel := func(old int, _ bool) (int, mvcc.ComputeOp) { return old, mvcc.CancelOp }
	for _, op := range []struct {
		name              string
		mvcc, xsync, sync func(key int) // nil: it has none
	}{
		{"Load", func(key int) {
			m.Load(key)
		}, func(key int) { x.Load(key) }, func(key int) { s.Load(key) }},
		{"Store", func(key int) {
			m.Store(key, key)
		}, func(key int) { x.Store(key, key) }, func(key int) { s.Store(key, key) }},
		{"Swap", func(key int) {
			m.Swap(key, key)
		}, func(key int) { x.LoadAndStore(key, key) }, func(key int) { s.Swap(key, key) }},
		{"LoadOrStore", func(key int) {
			m.LoadOrStore(key, key)
		}, func(key int) { x.LoadOrStore(key, key) },
			func(key int) { s.LoadOrStore(key, key) }},
		{"LoadOrCompute", func(key int) {
			m.LoadOrCompute(key, func() (int, bool) { return key, false })
		},
			func(key int) { x.LoadOrCompute(key, func() (int, bool) { return key, false }) }, nil},
		{"Compute", func(key int) { m.Compute(key, inc) },
			func(key int) {
				x.Compute(key, func(old int, _ bool) (int, xsync.ComputeOp) { return old + 1, xsync.UpdateOp })
			}, nil},
		{"Compute that cancels", func(key int) { m.Compute(key, cancel) },
			func(key int) {
				x.Compute(key, func(old int, _ bool) (int, xsync.ComputeOp) { return old, xsync.CancelOp })
			}, nil},
		{"Delete and Store", func(key int) {
			m.Delete(key)
			m.Store(key, key)
		}, func(key int) { x.Delete(key); x.Store(key, key) },
			func(key int) { s.Delete(key); s.Store(key, key) }},
		{"Delete and LoadOrStore", func(key int) { m.Delete(key); m.LoadOrStore(key, key) },
			func(key int) {
				x.Delete(key)
				x.LoadOrStore(key, key)
			}, func(key int) { s.Delete(key); s.LoadOrStore(key, key) }},
		{"CompareAndSwap", func(key int) {
			old, _ := m.Load(key)
			mvcc.CompareAndSwap(m, key, old, key)
		}, nil, func(key int) {
			old, _ := s.Load(key)
			s.CompareAndSwap(key, old, key)
		}},
		{"Merge", func(key int) { m.Merge(key, func(old int, _ bool) int { return old + 1 }) }, nil, nil},
	} {
		for _, side := range []struct {
			name string
			do   func(key int)
		}{{"mvcc", op.mvcc}, {"xsync", op.xsync}, {"sync.Map", op.sync}} {
			if side.do == nil {
				continue
			}
			b.Run(op.name+"/"+side.name, func(b *testing.B) {
				b.ReportAllocs()
				var begun atomic.Int64
				b.RunParallel(func(pb *testing.PB) {
					key := int(begun.Add(n/3)) % n
					for pb.Next() {
						if key += 7919; key >= n {
							key -= n
						}
						side.do(key)
					}
				})
				b.StopTimer()
				if len(maps.Collect(m.All())) != n || x.Size() != n {
					b.Fatal("a map has lost keys")
				}
			})
		}
	}
}
