package bars

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/mvcc"
)

// sink keeps the compiler from dropping reads whose values nobody wants.
var sink atomic.Int64

// A draw gives numbers of keys at random: those below keys.
type draw struct {
	random *rand.Rand
	keys   uint64
}

func (d *draw) key() uint64 { return spread(d.random.Uint64N(d.keys)) }

// spread returns key i: numbers that do not follow each other.
func spread(i uint64) uint64 { return i * 0x9e3779b97f4a7c15 }

// An opener makes a map with the keys [spread] of 0 to keys-1, and returns a loop of n
// operations on it and a function that closes the map. The loop is written for each
// operation, so that nothing is called between it and the map: both sides would pay for
// that, and look more alike than they are. Keys are drawn before a lock is taken.
type opener func(keys int) (loop func(d *draw, n int) int64, done func())

type (
	theMap   = mvcc.Map[uint64, int64]
	tx       = mvcc.Tx[uint64, int64]
	snapshot = mvcc.Snapshot[uint64, int64]
	xsyncMap = xsync.Map[uint64, int64]
)

// locked is a map under a lock.
type locked struct {
	sync.RWMutex
	m map[uint64]int64
}

func onMVCC(loop func(m *theMap, d *draw, n int) int64) opener {
	return func(keys int) (func(*draw, int) int64, func()) {
		m := mvcc.New[uint64, int64](nil)
		for i := range uint64(keys) {
			m.Store(spread(i), 1000)
		}
		return func(d *draw, n int) int64 { return loop(m, d, n) }, m.Close
	}
}

func onXsync(loop func(m *xsyncMap, d *draw, n int) int64) opener {
	return func(keys int) (func(*draw, int) int64, func()) {
		m := xsync.NewMap[uint64, int64]()
		for i := range uint64(keys) {
			m.Store(spread(i), 1000)
		}
		return func(d *draw, n int) int64 { return loop(m, d, n) }, func() {}
	}
}

func onLocked(loop func(l *locked, d *draw, n int)) opener {
	return func(keys int) (func(*draw, int) int64, func()) {
		l := &locked{m: map[uint64]int64{}}
		for i := range uint64(keys) {
			l.m[spread(i)] = 1000
		}
		return func(d *draw, n int) int64 { loop(l, d, n); return 0 }, func() {}
	}
}

// The loops of the paths: single calls and small transactions, on keys at random.
var (
	load = onMVCC(func(m *theMap, d *draw, n int) (sum int64) {
		for range n {
			v, _ := m.Load(d.key())
			sum += v
		}
		return sum
	})
	xsyncLoad = onXsync(func(m *xsyncMap, d *draw, n int) (sum int64) {
		for range n {
			v, _ := m.Load(d.key())
			sum += v
		}
		return sum
	})
	view16 = onMVCC(func(m *theMap, d *draw, n int) (sum int64) {
		for range n {
			_ = m.View(func(s snapshot) error {
				for range 16 {
					v, _ := s.Get(d.key())
					sum += v
				}
				return nil
			})
		}
		return sum
	})
	xsyncLoad16 = onXsync(func(m *xsyncMap, d *draw, n int) (sum int64) {
		for range 16 * n {
			v, _ := m.Load(d.key())
			sum += v
		}
		return sum
	})
	store = onMVCC(func(m *theMap, d *draw, n int) int64 {
		for range n {
			m.Store(d.key(), 1)
		}
		return 0
	})
	xsyncStore = onXsync(func(m *xsyncMap, d *draw, n int) int64 {
		for range n {
			m.Store(d.key(), 1)
		}
		return 0
	})
	update1 = onMVCC(func(m *theMap, d *draw, n int) int64 {
		for range n {
			k := d.key()
			mustUpdate(m, func(tx tx) error { tx.Set(k, 1); return nil })
		}
		return 0
	})
	increment = onMVCC(func(m *theMap, d *draw, n int) int64 {
		for range n {
			k := d.key()
			mustUpdate(m, func(tx tx) error {
				v, _ := tx.Get(k)
				tx.Set(k, v+1)
				return nil
			})
		}
		return 0
	})
	lockedIncrement = onLocked(func(l *locked, d *draw, n int) {
		for range n {
			k := d.key()
			l.Lock()
			l.m[k]++
			l.Unlock()
		}
	})
	transfer = onMVCC(func(m *theMap, d *draw, n int) int64 {
		for range n {
			from, to := d.key(), d.key()
			mustUpdate(m, func(tx tx) error {
				a, _ := tx.Get(from)
				b, _ := tx.Get(to)
				tx.Set(from, a-1)
				tx.Set(to, b+1)
				return nil
			})
		}
		return 0
	})
	lockedTransfer = onLocked(func(l *locked, d *draw, n int) {
		for range n {
			from, to := d.key(), d.key()
			l.Lock()
			a, b := l.m[from], l.m[to]
			l.m[from], l.m[to] = a-1, b+1
			l.Unlock()
		}
	})
)

func mustUpdate(m *theMap, fn func(tx tx) error) {
	if err := m.Update(context.Background(), nil, fn); err != nil {
		panic(err) // it is tried again until it commits, or nearly for ever
	}
}

// side returns a side whose goroutines share its operations out. With one goroutine there is
// one processor: the work of the collector is in its time.
func (o opener) side(name string, keys, goroutines int) side {
	return side{name, func(testing.TB) figure {
		loop, done := o(keys)
		defer done()
		run := func(n int) {
			// A random source of the goroutine's own, in no cache line of another's.
			r := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
			sink.Store(loop(&draw{r, uint64(keys)}, n))
		}
		if goroutines == 1 {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			return measure(name, batch, run)
		}
		return measure(name, goroutines*batch, func(n int) {
			var wg sync.WaitGroup
			for range goroutines {
				wg.Go(func() { run(n / goroutines) })
			}
			wg.Wait()
		})
	}}
}
