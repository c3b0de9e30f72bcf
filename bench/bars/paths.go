package bars

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

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
// operations on it and what closes the map. The loop is written for each operation, so
// that nothing is called between it and the map: both sides would pay for that, and look
// more alike than they are. Keys are drawn before a lock is taken.
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

// A path is one call, or one transaction, against the same on a peer.
type path struct {
	group, what string
	ours        opener
	peer        string
	base        opener
	allocs      float64
	// The bars and aims: for the smaller number of keys with 1 and 2 goroutines, then for
	// the larger one.
	bar, aim [2][2]float64
}

// paths are single calls and small transactions, on keys at random.
var paths = []path{
	{
		group: "load", what: "Load against xsync Load",
		ours: onMVCC(func(m *theMap, d *draw, n int) (sum int64) {
			for range n {
				v, _ := m.Load(d.key())
				sum += v
			}
			return sum
		}),
		peer: "xsync", base: onXsync(func(m *xsyncMap, d *draw, n int) (sum int64) {
			for range n {
				v, _ := m.Load(d.key())
				sum += v
			}
			return sum
		}),
		bar: [2][2]float64{{1.45, 1.45}, {1.2, 1.2}}, aim: [2][2]float64{{1.2, 1.2}, {1.1, 1.1}},
	},
	{
		group: "view-16-gets", what: "View with 16 gets against 16 xsync Loads",
		ours: onMVCC(func(m *theMap, d *draw, n int) (sum int64) {
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
		}),
		peer: "xsync", base: onXsync(func(m *xsyncMap, d *draw, n int) (sum int64) {
			for range 16 * n {
				v, _ := m.Load(d.key())
				sum += v
			}
			return sum
		}),
		bar: [2][2]float64{{1.5, 1.5}, {1.2, 1.2}}, aim: [2][2]float64{{1.2, 1.2}, {1.1, 1.1}},
	},
	{
		group: "store", what: "Store against xsync Store",
		ours: onMVCC(func(m *theMap, d *draw, n int) int64 {
			for range n {
				m.Store(d.key(), 1)
			}
			return 0
		}),
		peer: "xsync", base: xsyncStore, allocs: 1,
		bar: [2][2]float64{{1.9, 1.9}, {1.5, 1.6}}, aim: [2][2]float64{{1.5, 1.5}, {1.2, 1.3}},
	},
	{
		group: "update-1-put", what: "Update with 1 put against xsync Store",
		ours: onMVCC(func(m *theMap, d *draw, n int) int64 {
			for range n {
				k := d.key()
				mustUpdate(m, func(tx tx) error { tx.Set(k, 1); return nil })
			}
			return 0
		}),
		peer: "xsync", base: xsyncStore, allocs: 1,
		bar: [2][2]float64{{2.6, 2.6}, {1.8, 1.9}}, aim: [2][2]float64{{2, 2}, {1.5, 1.5}},
	},
	{
		group: "increment", what: "Update that reads and writes one key against the same under a RWMutex",
		ours: onMVCC(func(m *theMap, d *draw, n int) int64 {
			for range n {
				k := d.key()
				mustUpdate(m, func(tx tx) error {
					v, _ := tx.Get(k)
					tx.Set(k, v+1)
					return nil
				})
			}
			return 0
		}),
		peer: "rwmutex", base: onLocked(func(l *locked, d *draw, n int) {
			for range n {
				k := d.key()
				l.Lock()
				l.m[k]++
				l.Unlock()
			}
		}), allocs: 1,
		bar: [2][2]float64{{5, 3.5}, {2.5, 1.5}}, aim: [2][2]float64{{4, 2.5}, {2, 1}},
	},
	{
		group: "transfer", what: "Update that reads and writes two keys against the same under a RWMutex",
		ours: onMVCC(func(m *theMap, d *draw, n int) int64 {
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
		}),
		peer: "rwmutex", base: onLocked(func(l *locked, d *draw, n int) {
			for range n {
				from, to := d.key(), d.key()
				l.Lock()
				a, b := l.m[from], l.m[to]
				l.m[from], l.m[to] = a-1, b+1
				l.Unlock()
			}
		}), allocs: 2,
		bar: [2][2]float64{{4, 2.5}, {2.2, 1.5}}, aim: [2][2]float64{{3, 1.5}, {1.5, 1}},
	},
}

var xsyncStore = onXsync(func(m *xsyncMap, d *draw, n int) int64 {
	for range n {
		m.Store(d.key(), 1)
	}
	return 0
})

func mustUpdate(m *theMap, fn func(tx tx) error) {
	if err := m.Update(context.Background(), nil, fn); err != nil {
		panic(err) // it is tried again until it commits, or nearly for ever
	}
}

// pathRows compare single calls and small transactions with those of a peer, on maps
// with two numbers of keys.
func pathRows(keys [2]int) (rows []Row) {
	for _, p := range paths {
		for i, n := range keys {
			for j, g := range []int{1, 2} {
				rows = append(rows, Row{
					Group: p.group, Case: fmt.Sprintf("keys=%d/%s", n, goroutines(g)), What: p.what,
					Ours: p.ours.side("mvcc", n, g), Base: p.base.side(p.peer, n, g),
					Bar: p.bar[i][j], Aim: p.aim[i][j], MaxAllocs: p.allocs,
				})
			}
		}
	}
	return rows
}

func (o opener) side(name string, keys, procs int) Side {
	return Side{Name: name, Open: func() (Runner, error) {
		loop, done := o(keys)
		run := func(_, n int) {
			r := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
			sink.Store(loop(&draw{r, uint64(keys)}, n))
		}
		p := &parallel{procs, run, done}
		if procs == 1 {
			return single{p}, nil
		}
		return p, nil
	}}
}

// single is a runner with one goroutine, and one processor: what the collector does is
// in its time.
type single struct{ *parallel }

func (s single) Run(ctx context.Context, n int) (time.Duration, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	return s.parallel.Run(ctx, n)
}
