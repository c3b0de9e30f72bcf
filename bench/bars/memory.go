package bars

import (
	"context"
	"encoding/binary"
	"math"
	"runtime"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/mvcc"
)

// weight is a runner that fills a map and says what the heap grew by.
type weight struct {
	keys  int
	fill  func() (keep any, done func())
	grown int64
}

func (w *weight) Run(context.Context, int) (time.Duration, error) {
	from := time.Now()
	before := heap()
	keep, done := w.fill()
	w.grown = heap() - before
	runtime.KeepAlive(keep)
	done()
	return time.Since(from), nil
}

func (w *weight) Bytes() float64 { return float64(w.grown) / float64(w.keys) }
func (w *weight) Close() error   { return nil }

// heap returns the bytes that are live on the heap. Cleanups, pools and goroutines
// that are about to end give back what they hold one collection after another, so
// it collects until nothing more goes away.
func heap() int64 {
	const settle = 5 * time.Millisecond
	least, same := int64(math.MaxInt64), 0
	for range 50 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		if now := int64(m.HeapAlloc); now < least-1<<10 {
			least, same = now, 0
		} else if same++; same == 3 {
			break
		}
		time.Sleep(settle)
	}
	return least
}

// memoryRows compare what maps hold.
func memoryRows(keys int) []Row {
	type key16 = [16]byte
	type value100 = [100]byte
	name := func(i int) (k key16) {
		binary.LittleEndian.PutUint64(k[:], uint64(i))
		return k
	}
	weigh := func(side string, fill func() (any, func())) Side {
		return Side{side, func() (Runner, error) { return &weight{keys: keys, fill: fill}, nil }}
	}
	nothing := func() {}
	return []Row{
		{
			Group: "bytes", Case: "entry=8+8", What: "bytes per key against xsync, 8-byte keys and values",
			Kind: Memory, Bar: 1.25, Aim: 1.1, MaxAllocs: -1,
			Ours: weigh("mvcc", func() (any, func()) {
				m := mvcc.New[uint64, uint64](&mvcc.Options{Capacity: keys})
				for i := range keys {
					m.Store(uint64(i), uint64(i))
				}
				return m, m.Close
			}),
			Base: weigh("xsync", func() (any, func()) {
				m := xsync.NewMap[uint64, uint64](xsync.WithPresize(keys))
				for i := range keys {
					m.Store(uint64(i), uint64(i))
				}
				return m, nothing
			}),
		},
		{
			Group: "bytes", Case: "entry=16+100", What: "bytes per key against xsync, 16-byte keys and 100-byte values",
			Kind: Memory, Bar: 1.25, Aim: 1.1, MaxAllocs: -1,
			Ours: weigh("mvcc", func() (any, func()) {
				m := mvcc.New[key16, value100](&mvcc.Options{Capacity: keys})
				for i := range keys {
					m.Store(name(i), value100{})
				}
				return m, m.Close
			}),
			Base: weigh("xsync", func() (any, func()) {
				m := xsync.NewMap[key16, value100](xsync.WithPresize(keys))
				for i := range keys {
					m.Store(name(i), value100{})
				}
				return m, nothing
			}),
		},
		{
			Group: "bytes", Case: "reader=open", What: "bytes per key with a snapshot open, after 1,024 overwrites of each of 1,000 keys against 64",
			Kind: Memory, Bar: 1.1, Aim: 1, MaxAllocs: -1,
			Ours: overwritten("later", 1_024),
			Base: overwritten("soon", 64),
		},
	}
}

// overwritten returns a side that weighs a map of 1,000 keys in which, while a
// snapshot is open, every value is overwritten a number of times. Chains grow and
// are pruned in turn, so only multiples of the number of versions between two
// prunings, a power of two, can be compared.
func overwritten(name string, times int) Side {
	const keys = 1_000
	return Side{name, func() (Runner, error) {
		return &weight{keys: keys, fill: func() (any, func()) {
			m := mvcc.New[uint64, [100]byte](nil)
			for i := range uint64(keys) {
				m.Store(i, [100]byte{})
			}
			s := m.Snapshot()
			for i := range keys * times {
				m.Store(uint64(i%keys), [100]byte{byte(i)})
			}
			return m, func() { s.Close(); m.Close() }
		}}, nil
	}}
}
