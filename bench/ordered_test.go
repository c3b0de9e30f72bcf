package bench

import (
	"cmp"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/tidwall/btree"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A sorted has the operations of an ordered map that BenchmarkOrdered measures. page, back and
// scan return the sum of the values of the 100 keys from one on, up or down, and of all.
type sorted[K comparable] struct {
	load       func(key K) uint64
	store      func(key K, value uint64)
	remove     func(key K)
	page, back func(from K) uint64
	scan       func() uint64
}

const pageKeys = 100

func sortedMap[K comparable](m *mvcc.Map[K, uint64]) sorted[K] {
	page := func(records iter.Seq2[K, uint64]) (sum uint64) {
		left := pageKeys
		for _, value := range records {
			sum += value
			if left--; left == 0 {
				break
			}
		}
		return sum
	}
	return sorted[K]{
		load:   func(key K) uint64 { value, _ := m.Load(key); return value },
		store:  m.Store,
		remove: m.Delete,
		page: func(from K) uint64 {
			s := m.Snapshot()
			defer s.Close()
			return page(s.Ascend(mvcc.From(from)))
		},
		back: func(from K) uint64 {
			s := m.Snapshot()
			defer s.Close()
			return page(s.Descend(mvcc.UpTo(from)))
		},
		scan: func() (sum uint64) {
			s := m.Snapshot()
			defer s.Close()
			for _, value := range s.Ascend(mvcc.Range[K]{}) {
				sum += value
			}
			return sum
		},
	}
}

// sortedTree is the usual choice of a program without such a map: a B-tree and a lock.
func sortedTree[K comparable](compare func(a, b K) int) sorted[K] {
	type record struct {
		key   K
		value uint64
	}
	var mu sync.RWMutex
	tree := btree.NewBTreeGOptions(func(a, b record) bool { return compare(a.key, b.key) < 0 },
		btree.Options{NoLocks: true})
	page := func(along func(from record, visit func(r record) bool), from K) (sum uint64) {
		mu.RLock()
		defer mu.RUnlock()
		left := pageKeys
		along(record{key: from}, func(r record) bool {
			sum += r.value
			left--
			return left > 0
		})
		return sum
	}
	return sorted[K]{
		load: func(key K) uint64 {
			mu.RLock()
			defer mu.RUnlock()
			r, _ := tree.Get(record{key: key})
			return r.value
		},
		store: func(key K, value uint64) {
			mu.Lock()
			defer mu.Unlock()
			tree.Set(record{key, value})
		},
		remove: func(key K) {
			mu.Lock()
			defer mu.Unlock()
			tree.Delete(record{key: key})
		},
		page: func(from K) uint64 { return page(tree.Ascend, from) },
		back: func(from K) uint64 { return page(tree.Descend, from) },
		scan: func() (sum uint64) {
			mu.RLock()
			defer mu.RUnlock()
			tree.Scan(func(r record) bool { sum += r.value; return true })
			return sum
		},
	}
}

// A twin is a key of two parts, in the order of a function.
type twin struct{ a, b uint32 }

func compareTwins(x, y twin) int {
	return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
}

// BenchmarkOrdered measures ordered maps with keys of several types, which have come in a random
// order, beside a B-tree with a sync.RWMutex: each operation by all goroutines.
func BenchmarkOrdered(b *testing.B) {
	for _, size := range []struct {
		name string
		n    int
	}{{"1e4", 1e4}, {"1e6", 1e6}} {
		b.Run(size.name+"/int", func(b *testing.B) {
			benchmarkOrdered(b, size.n, mvcc.NewOrdered[int, uint64](nil), cmp.Compare[int],
				func(i int) int { return i })
		})
		b.Run(size.name+"/string", func(b *testing.B) {
			benchmarkOrdered(b, size.n, mvcc.NewOrdered[string, uint64](nil), cmp.Compare[string],
				func(i int) string { return fmt.Sprintf("user:%09d", i) })
		})
		b.Run(size.name+"/struct", func(b *testing.B) {
			benchmarkOrdered(b, size.n, mvcc.NewOrderedFunc[twin, uint64](compareTwins, nil), compareTwins,
				func(i int) twin { return twin{uint32(i / 100), uint32(i % 100)} })
		})
	}
}

// benchmarkOrdered measures maps with n keys, those of odd numbers.
func benchmarkOrdered[K comparable](b *testing.B, n int, m *mvcc.Map[K, uint64],
	compare func(a, b K) int, key func(i int) K) {
	defer m.Close()
	keys := make([]K, 2*n) // making them is not measured
	for i := range keys {
		keys[i] = key(i)
	}
	there := func(r *rand.Rand) K { return keys[2*r.IntN(n)+1] }
	sides := []struct {
		name string
		sorted[K]
	}{{"mvcc", sortedMap(m)}, {"btree", sortedTree(compare)}}
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(n) {
		for _, s := range sides {
			s.store(keys[2*i+1], uint64(i))
		}
	}
	for _, op := range []struct {
		name string
		of   func(s *sorted[K], r *rand.Rand)
	}{
		{"load", func(s *sorted[K], r *rand.Rand) { s.load(there(r)) }},
		{"store", func(s *sorted[K], r *rand.Rand) { s.store(there(r), 1) }},
		{"insert-delete", func(s *sorted[K], r *rand.Rand) {
			key := keys[2*r.IntN(n)]
			s.store(key, 1)
			s.remove(key)
		}},
		{"page", func(s *sorted[K], r *rand.Rand) { s.page(keys[r.IntN(2*n)]) }},
		{"page-down", func(s *sorted[K], r *rand.Rand) { s.back(keys[r.IntN(2*n)]) }},
		{"scan", func(s *sorted[K], _ *rand.Rand) { s.scan() }},
	} {
		for _, s := range sides {
			parallel(b, op.name+"/"+s.name, func(r *rand.Rand) { op.of(&s.sorted, r) })
		}
	}
}
