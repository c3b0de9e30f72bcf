package bench

import (
	"cmp"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A grower is a map that starts empty. slice shows the collector and the scheduler alone:
// it is a slice of its final length, with an object of a version's size for each key.
type grower struct {
	load   func(key uint64) uint64
	store  func(key uint64)
	remove func(key uint64)
	page   func(key uint64) uint64 // nil if there is no order
	keep   any
}

var growers = []struct {
	name string
	open func(keys int) grower
}{
	{"mvcc", func(int) grower {
		m := mvcc.New[uint64, uint64](nil)
		return grower{func(k uint64) uint64 {
			v, _ := m.Load(k)
			return v
		}, func(k uint64) { m.Store(k, 1) }, func(k uint64) { m.Delete(k) }, nil, m}
	}},
	{"ordered", func(int) grower {
		m := mvcc.NewOrdered[uint64, uint64](nil)
		return growerOf(sortedMap(m), m)
	}},
	{"btree", func(int) grower {
		t := sortedTree(cmp.Compare[uint64])
		return growerOf(t, t)
	}},
	{"xsync", func(int) grower {
		m := xsync.NewMap[uint64, uint64]()
		return grower{func(k uint64) uint64 {
			v, _ := m.Load(k)
			return v
		}, func(k uint64) { m.Store(k, 1) }, func(k uint64) { m.Delete(k) }, nil, m}
	}},
	{"slice", func(keys int) grower {
		type object struct {
			_, value uint64
			_        *int
			_        uint64
		}
		m := make([]atomic.Pointer[object], keys)
		return grower{
			func(k uint64) uint64 {
				if o := m[k].Load(); o != nil {
					return o.value
				}
				return 0
			},
			func(k uint64) { m[k].Store(&object{value: 1}) }, func(k uint64) { m[k].Store(nil) }, nil, m,
		}
	}},
}

// growerOf returns an ordered map whose keys come, and go, in an order that is none.
func growerOf(s sorted[uint64], keep any) grower {
	key := func(k uint64) uint64 { return k * 0x9e3779b97f4a7c15 }
	return grower{
		func(k uint64) uint64 { return s.load(key(k)) },
		func(k uint64) { s.store(key(k), 1) },
		func(k uint64) { s.remove(key(k)) },
		func(k uint64) uint64 { return s.page(key(k)) },
		keep,
	}
}

// BenchmarkGrow inserts -keys keys into an empty map, while another goroutine reads and
// overwrites those that are there, in turn, at random, and reads pages if there is an order: how
// long each took at the longest. Then it deletes all keys while another goroutine reads.
//
//	go test -run '^$' -bench Grow -benchtime 1x -count 3 ./bench -keys 10000000
//
// With GOGC=off it shows the work of the map alone.
func BenchmarkGrow(b *testing.B) {
	for _, e := range growers {
		b.Run("engine="+e.name, func(b *testing.B) {
			keys := uint64(*residentKeys)
			empty := settledHeap()
			m := e.open(int(keys))
			var inserted, deleted atomic.Uint64
			var inserts, overwrites, reads, pages, deletes longest
			read := func(from, to uint64) (k uint64) {
				k = from + rand.Uint64N(to-from)
				reads.time(func() { sink += m.load(k) })
				if m.page != nil {
					pages.time(func() { sink += m.page(k) })
				}
				return k
			}
			beside := func(loop func()) (wait func()) {
				started, done := make(chan bool), make(chan bool)
				go func() {
					defer close(done)
					close(started)
					loop()
				}()
				<-started
				return func() { <-done }
			}
			wait := beside(func() {
				for n := uint64(0); n < keys; n = inserted.Load() {
					if n > 0 {
						k := read(0, n)
						overwrites.time(func() { m.store(k) })
					}
				}
			})
			begin := time.Now()
			for k := range keys {
				inserts.time(func() { m.store(k) })
				inserted.Store(k + 1)
			}
			inserting := time.Since(begin)
			wait()
			wait = beside(func() {
				for n := uint64(0); n < keys; n = deleted.Load() {
					read(n, keys)
				}
			})
			begin = time.Now()
			for k := range keys {
				deletes.time(func() { m.remove(k) })
				deleted.Store(k + 1)
			}
			deleting := time.Since(begin)
			wait()
			b.ReportMetric(float64(inserting)/float64(keys), "ns/insert")
			b.ReportMetric(float64(deleting)/float64(keys), "ns/delete")
			b.ReportMetric(inserts.millis(), "longest-insert-ms")
			b.ReportMetric(overwrites.millis(), "longest-overwrite-ms")
			b.ReportMetric(reads.millis(), "longest-read-ms")
			if m.page != nil {
				b.ReportMetric(pages.millis(), "longest-page-ms")
			}
			b.ReportMetric(deletes.millis(), "longest-delete-ms")
			after := settledHeap()
			b.ReportMetric((float64(after.HeapAlloc)-float64(empty.HeapAlloc))/1e6, "MB-after")
			b.ReportMetric(0, "ns/op")
			runtime.KeepAlive(m.keep)
		})
	}
}

var sink uint64

type longest time.Duration

func (l *longest) time(f func()) {
	start := time.Now()
	f()
	*l = max(*l, longest(time.Since(start)))
}

func (l *longest) millis() float64 { return float64(*l) / 1e6 }
