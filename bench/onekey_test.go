package bench_test

import (
	"maps"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/mvcc"
)

// The cost of each operation on one key, beside xsync and sync.Map, with 10^4 keys that are there.
// Each goroutine goes through all keys in the same shuffled order, from a place of its own:
//
//	go test -run '^$' -bench OneKey -count 10 -cpu 1,2 ./bench
func BenchmarkOneKey(b *testing.B) {
	const n = 10_000
	m, x, s := mvcc.New[uint64, uint64](nil), xsync.NewMap[uint64, uint64](), new(sync.Map)
	defer m.Close()
	for key := range uint64(n) {
		m.Store(key, key)
		x.Store(key, key)
		s.Store(key, key)
	}
	inc := func(old uint64, _ bool) (uint64, mvcc.ComputeOp) { return old + 1, mvcc.UpdateOp }
	cancel := func(old uint64, _ bool) (uint64, mvcc.ComputeOp) { return old, mvcc.CancelOp }
	plus := func(old uint64, _ bool) uint64 { return old + 1 }
	xinc := func(old uint64, _ bool) (uint64, xsync.ComputeOp) { return old + 1, xsync.UpdateOp }
	xcancel := func(old uint64, _ bool) (uint64, xsync.ComputeOp) { return old, xsync.CancelOp }
	for _, op := range []struct {
		name              string
		mvcc, xsync, sync func(key uint64) // nil: it has none
	}{
		{"Load", func(key uint64) { m.Load(key) },
			func(key uint64) { x.Load(key) }, func(key uint64) { s.Load(key) }},
		{"Store", func(key uint64) { m.Store(key, key) },
			func(key uint64) { x.Store(key, key) }, func(key uint64) { s.Store(key, key) }},
		{"Swap", func(key uint64) { m.Swap(key, key) },
			func(key uint64) { x.LoadAndStore(key, key) }, func(key uint64) { s.Swap(key, key) }},
		{"LoadOrStore", func(key uint64) { m.LoadOrStore(key, key) },
			func(key uint64) { x.LoadOrStore(key, key) }, func(key uint64) { s.LoadOrStore(key, key) }},
		{"LoadOrCompute",
			func(key uint64) { m.LoadOrCompute(key, func() (uint64, bool) { return key, false }) },
			func(key uint64) { x.LoadOrCompute(key, func() (uint64, bool) { return key, false }) }, nil},
		{"Compute", func(key uint64) { m.Compute(key, inc) },
			func(key uint64) { x.Compute(key, xinc) }, nil},
		{"Compute that cancels", func(key uint64) { m.Compute(key, cancel) },
			func(key uint64) { x.Compute(key, xcancel) }, nil},
		{"Delete and Store", func(key uint64) { m.Delete(key); m.Store(key, key) },
			func(key uint64) { x.Delete(key); x.Store(key, key) },
			func(key uint64) { s.Delete(key); s.Store(key, key) }},
		{"Delete and LoadOrStore", func(key uint64) { m.Delete(key); m.LoadOrStore(key, key) },
			func(key uint64) { x.Delete(key); x.LoadOrStore(key, key) },
			func(key uint64) { s.Delete(key); s.LoadOrStore(key, key) }},
		{"CompareAndSwap",
			func(key uint64) { old, _ := m.Load(key); mvcc.CompareAndSwap(m, key, old, key) }, nil,
			func(key uint64) { old, _ := s.Load(key); s.CompareAndSwap(key, old, key) }},
		{"Merge", func(key uint64) { m.Merge(key, plus) }, nil, nil},
	} {
		for _, side := range []struct {
			name string
			do   func(key uint64)
		}{{"mvcc", op.mvcc}, {"xsync", op.xsync}, {"sync.Map", op.sync}} {
			if side.do == nil {
				continue
			}
			b.Run(op.name+"/"+side.name, func(b *testing.B) {
				b.ReportAllocs()
				var begun atomic.Int64
				b.RunParallel(func(pb *testing.PB) {
					key := uint64(begun.Add(n/3)) % n
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
