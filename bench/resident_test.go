package bench

import (
	"cmp"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/puzpuzpuz/xsync/v4"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/btree"

	"github.com/mvccmap/mvccmap/internal/machine"
	"github.com/mvccmap/mvccmap/mvcc"
)

// What a map holds, and what it costs the garbage collector:
//
//	go test -run '^$' -bench Resident -benchtime 1x -count 3 ./bench -keys 10000000
//	go test -run '^$' -bench Collector -benchtime 1x -count 3 ./bench -keys 10000000 -stores 100000000
//
// -benchtime 1x, since what is measured is a map of so many keys, not time.
var (
	residentKeys    = flag.Int("keys", 100_000, "keys of the maps that Resident and Collector weigh")
	collectorStores = flag.Int("stores", 1_000_000, "overwrites that Collector makes")
)

// hotKeys is how many keys Collector overwrites, in turn.
const hotKeys = 1024

// A resident is a map under measurement.
type resident struct {
	store    func(i int)
	snapshot func() (done func()) // nil if there are no snapshots
	close    func()
}

func BenchmarkResident(b *testing.B) {
	forEachResident(b, func(b *testing.B, open func(keys int) resident) {
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

func BenchmarkCollector(b *testing.B) {
	forEachResident(b, func(b *testing.B, open func(keys int) resident) {
		m := open(*residentKeys)
		for i := range *residentKeys {
			m.store(i)
		}
		runtime.GC()
		gc0, idle0, busy0, cycles0 := collectorCPU()
		cpu0, _, ok := machine.Process()
		require.True(b, ok)
		for i := range *collectorStores {
			m.store(i % min(hotKeys, *residentKeys))
		}
		cpu1, _, _ := machine.Process()
		// The runtime brings its figures up to date at the end of a cycle.
		gc1, idle1, busy1, cycles1 := collectorCPU()
		per := func(s float64) float64 { return s * 1e9 / float64(*collectorStores) }
		b.ReportMetric(per((cpu1 - cpu0).Seconds()), "cpu-ns/store")
		b.ReportMetric(per(gc1-gc0), "gc-ns/store")
		b.ReportMetric(per(idle1-idle0), "gc-idle-ns/store")
		b.ReportMetric(100*(gc1-gc0)/(busy1-busy0), "gc-%")
		b.ReportMetric(float64(cycles1-cycles0), "cycles")
		b.ReportMetric(0, "ns/op")
		m.close()
	})
}

// collectorCPU returns the processor seconds of the collector, of it those of
// processors that had nothing else to do, and those of the process, and the
// number of cycles.
func collectorCPU() (gc, idle, busy float64, cycles uint64) {
	s := []metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
		{Name: "/cpu/classes/user:cpu-seconds"},
		{Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(s)
	gc, idle = s[0].Value.Float64(), s[1].Value.Float64()
	return gc, idle, gc + s[2].Value.Float64(), s[3].Value.Uint64()
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

func forEachResident(b *testing.B, measure measuring) {
	b.Run("entry=8+8", func(b *testing.B) {
		word := func(i int) uint64 { return uint64(i) }
		residents(b, measure, word, word)
		ordered(b, measure, word, word, func(k uint64) uint64 { return k })
	})
	b.Run("entry=16+100", func(b *testing.B) {
		value := func(i int) [100]byte { return [100]byte{byte(i)} }
		residents(b, measure, name16, value)
		ordered(b, measure, name16, value,
			func(k [16]byte) uint64 { return binary.LittleEndian.Uint64(k[:]) })
	})
	b.Run("entry=string16+slice100", func(b *testing.B) {
		residents(b, measure, func(i int) string { k := name16(i); return string(k[:]) },
			func(i int) []byte { return make([]byte, 100) })
	})
}

func name16(i int) (k [16]byte) {
	binary.LittleEndian.PutUint64(k[:], uint64(i))
	return k
}

// measuring measures the residents that open makes.
type measuring func(b *testing.B, open func(keys int) resident)

func (m measuring) engine(b *testing.B, name string, open func(keys int) resident) {
	b.Run("engine="+name, func(b *testing.B) { m(b, open) })
}

// residents measures maps without an order.
func residents[K comparable, V any](
	b *testing.B, measure measuring, key func(int) K, value func(int) V,
) {
	measure.engine(b, "mvcc", func(keys int) resident {
		m := mvcc.New[K, V](&mvcc.Options{Capacity: keys})
		return resident{
			store:    func(i int) { m.Store(key(i), value(i)) },
			snapshot: func() func() { return m.Snapshot().Close },
			close:    m.Close,
		}
	})
	measure.engine(b, "xsync", func(keys int) resident {
		m := xsync.NewMap[K, V](xsync.WithPresize(keys))
		return resident{store: func(i int) { m.Store(key(i), value(i)) }, close: func() {}}
	})
	measure.engine(b, "map", func(keys int) resident {
		m := make(map[K]V, keys)
		return resident{store: func(i int) { m[key(i)] = value(i) }, close: func() {}}
	})
}

// ordered measures maps with an order, and tables with an index; number returns what of a key is
// ordered, or is the index key.
func ordered[K comparable, V any](
	b *testing.B, measure measuring, key func(int) K, value func(int) V, number func(K) uint64,
) {
	byNumber := func(x, y K) int { return cmp.Compare(number(x), number(y)) }
	measure.engine(b, "mvcc-ordered", func(keys int) resident {
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
		measure.engine(b, "mvcc-"+ix.name, func(keys int) resident {
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
	measure.engine(b, "btree", func(int) resident {
		type item struct {
			k K
			v V
		}
		t := btree.NewBTreeG(func(x, y item) bool { return number(x.k) < number(y.k) }) // with a lock
		return resident{store: func(i int) { t.Set(item{key(i), value(i)}) }, close: func() {}}
	})
}

// BenchmarkIdle reports the processor time that the whole process takes in ten
// seconds with a map that is open and unused, beside none.
//
//	go test -run '^$' -bench Idle -benchtime 1x ./bench
func BenchmarkIdle(b *testing.B) {
	for _, open := range []int{0, 1, 100} {
		b.Run(fmt.Sprint("maps=", open), func(b *testing.B) {
			for range open {
				m := mvcc.New[uint64, uint64](nil)
				defer m.Close()
				for key := range uint64(1000) {
					m.Store(key, 0)
					m.Store(key, 1)
				}
			}
			time.Sleep(time.Second) // the last ticks
			for b.Loop() {
				before, _, ok := machine.Process()
				require.True(b, ok)
				time.Sleep(10 * time.Second)
				after, _, _ := machine.Process()
				b.ReportMetric(float64(after-before)/1e6, "cpu-ms/10s")
			}
		})
	}
}
