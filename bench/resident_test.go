package bench

import (
	"cmp"
	"encoding/binary"
	"flag"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/puzpuzpuz/xsync/v4"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/btree"

	"github.com/mvccmap/mvccmap/internal/bench/machine"
	"github.com/mvccmap/mvccmap/mvcc"
)

// residentKeys is the size of the maps of BenchmarkResident and BenchmarkGrow.
var residentKeys = flag.Int("keys", 100_000, "keys of the maps that Resident weighs and Grow fills")

// A resident is a map under measurement.
type resident struct {
	store    func(i int)
	snapshot func() (done func()) // nil if there are no snapshots
	close    func()
}

// weigh runs the benchmark of the maps that open makes.
func weigh(b *testing.B, name string, open func(keys int) resident) {
	b.Run("engine="+name, func(b *testing.B) {
		keys := *residentKeys
		empty := settledHeap()
		m := open(keys)
		for i := range keys {
			m.store(i)
		}
		filled := settledHeap()
		per := func(n uint64) float64 { return float64(n) / float64(keys) }
		b.ReportMetric(per(filled.HeapAlloc-empty.HeapAlloc), "B/key")
		b.ReportMetric(per(filled.HeapObjects-empty.HeapObjects), "objects/key")

		const cycles = 3
		before, _, ok := machine.Process()
		require.True(b, ok)
		for range cycles {
			runtime.GC()
		}
		after, _, _ := machine.Process()
		b.ReportMetric((after-before).Seconds()/cycles, "gc-s/cycle")

		// Overwritten once, without readers: the old versions are gone.
		for i := range keys {
			m.store(i)
		}
		again := settledHeap()
		b.ReportMetric(per(again.HeapAlloc)-per(empty.HeapAlloc), "overwritten-B/key")
		if m.snapshot != nil {
			done := m.snapshot()
			for i := range keys {
				m.store(i)
			}
			two := settledHeap()
			b.ReportMetric(per(two.HeapAlloc)-per(again.HeapAlloc), "B/version")
			done()
		}
		m.close()
		b.ReportMetric(0, "ns/op")
	})
}

func settledHeap() runtime.MemStats {
	const settle = 150 * time.Millisecond // a tick of the reclaimer and a half
	var least runtime.MemStats
	least.HeapAlloc = math.MaxUint64
	for same := 0; same < 3; {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		if m.HeapAlloc+1<<10 < least.HeapAlloc {
			least, same = m, 0
		} else {
			same++
		}
		time.Sleep(settle)
	}
	return least
}

// BenchmarkResident reports the memory of a map, and its cost for the garbage collector:
//
//	go test -run '^$' -bench Resident -benchtime 1x -count 3 ./bench -keys 10000000
func BenchmarkResident(b *testing.B) {
	b.Run("entry=8+8", func(b *testing.B) {
		word := func(i int) uint64 { return uint64(i) }
		residents(b, word, word)
		ordered(b, word, word, func(k uint64) uint64 { return k })
	})
	b.Run("entry=16+100", func(b *testing.B) {
		value := func(i int) [100]byte { return [100]byte{byte(i)} }
		residents(b, name16, value)
		ordered(b, name16, value,
			func(k [16]byte) uint64 { return binary.LittleEndian.Uint64(k[:]) })
	})
	b.Run("entry=string16+slice100", func(b *testing.B) {
		residents(b, func(i int) string { k := name16(i); return string(k[:]) },
			func(i int) []byte { return make([]byte, 100) })
	})
}

func name16(i int) (k [16]byte) {
	binary.LittleEndian.PutUint64(k[:], uint64(i))
	return k
}

// residents measures maps without an order.
func residents[K comparable, V any](b *testing.B, key func(int) K, value func(int) V) {
	weigh(b, "mvcc", func(keys int) resident {
		m := mvcc.New[K, V](&mvcc.Options{Capacity: keys})
		return resident{
			store:    func(i int) { m.Store(key(i), value(i)) },
			snapshot: func() func() { return m.Snapshot().Close },
			close:    m.Close,
		}
	})
	weigh(b, "xsync", func(keys int) resident {
		m := xsync.NewMap[K, V](xsync.WithPresize(keys))
		return resident{store: func(i int) { m.Store(key(i), value(i)) }, close: func() {}}
	})
	weigh(b, "map", func(keys int) resident {
		m := make(map[K]V, keys)
		return resident{store: func(i int) { m[key(i)] = value(i) }, close: func() {}}
	})
}

// ordered measures maps with an order, and tables with an index; number returns the ordered part
// of a key, or the index key.
func ordered[K comparable, V any](
	b *testing.B, key func(int) K, value func(int) V, number func(K) uint64,
) {
	byNumber := func(x, y K) int { return cmp.Compare(number(x), number(y)) }
	weigh(b, "mvcc-ordered", func(keys int) resident {
		m := mvcc.NewOrderedFunc[K, V](byNumber, &mvcc.Options{Capacity: keys})
		return resident{
			store:    func(i int) { m.Store(key(i), value(i)) },
			snapshot: func() func() { return m.Snapshot().Close },
			close:    m.Close,
		}
	})
	for _, ix := range []struct {
		name            string
		unique, ordered bool
	}{{"index", false, false}, {"ordered-index", false, true}, {"unique", true, false},
		{"ordered-unique", true, true}} {
		weigh(b, "mvcc-"+ix.name, func(keys int) resident {
			db := mvcc.NewDB(&mvcc.Options{Capacity: keys})
			m := mvcc.NewTable[K, V](db, "records", nil)
			var err error
			of, opts := func(k K, _ V) []uint64 {
				return []uint64{number(k)}
			}, &mvcc.IndexOptions{Unique: ix.unique}
			if ix.ordered {
				_, err = mvcc.NewOrderedIndex(m, ix.name, of, opts)
			} else {
				_, err = mvcc.NewIndex(m, ix.name, of, opts)
			}
			require.NoError(b, err)
			return resident{
				store:    func(i int) { m.Store(key(i), value(i)) },
				snapshot: func() func() { return m.Snapshot().Close },
				close:    db.Close,
			}
		})
	}
	weigh(b, "btree", func(int) resident {
		type item struct {
			k K
			v V
		}
		t := btree.NewBTreeG(func(x, y item) bool { return number(x.k) < number(y.k) }) // with a lock
		return resident{store: func(i int) { t.Set(item{key(i), value(i)}) }, close: func() {}}
	})
}
