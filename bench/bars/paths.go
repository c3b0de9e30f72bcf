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

// An opener makes a map with the keys [spread] of 0 to keys-1, and returns an operation
// on it, which gets numbers of keys at random, and what closes the map.
type opener func(keys int) (op func(random func() uint64) int64, done func())

// spread returns key i: numbers that do not follow each other.
func spread(i uint64) uint64 { return i * 0x9e3779b97f4a7c15 }

func onMVCC(op func(m *mvcc.Map[uint64, int64], random func() uint64) int64) opener {
	return func(keys int) (func(func() uint64) int64, func()) {
		m := mvcc.New[uint64, int64](nil)
		for i := range uint64(keys) {
			m.Store(spread(i), 1000)
		}
		return func(random func() uint64) int64 { return op(m, random) }, m.Close
	}
}

func onXsync(op func(m *xsync.Map[uint64, int64], random func() uint64) int64) opener {
	return func(keys int) (func(func() uint64) int64, func()) {
		m := xsync.NewMap[uint64, int64]()
		for i := range uint64(keys) {
			m.Store(spread(i), 1000)
		}
		return func(random func() uint64) int64 { return op(m, random) }, func() {}
	}
}

func onLocked(op func(m map[uint64]int64, random func() uint64)) opener {
	return func(keys int) (func(func() uint64) int64, func()) {
		var mu sync.RWMutex
		m := map[uint64]int64{}
		for i := range uint64(keys) {
			m[spread(i)] = 1000
		}
		return func(random func() uint64) int64 {
			mu.Lock()
			defer mu.Unlock()
			op(m, random)
			return 0
		}, func() {}
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

type (
	tx       = mvcc.Tx[uint64, int64]
	snapshot = mvcc.Snapshot[uint64, int64]
)

// paths are single calls and small transactions, on keys at random.
var paths = []path{
	{
		group: "load", what: "Load against xsync Load",
		ours: onMVCC(func(m *mvcc.Map[uint64, int64], random func() uint64) int64 {
			v, _ := m.Load(random())
			return v
		}),
		peer: "xsync", base: onXsync(func(m *xsync.Map[uint64, int64], random func() uint64) int64 {
			v, _ := m.Load(random())
			return v
		}),
		bar: [2][2]float64{{1.45, 1.45}, {1.2, 1.2}}, aim: [2][2]float64{{1.2, 1.2}, {1.1, 1.1}},
	},
	{
		group: "view-16-gets", what: "View with 16 gets against 16 xsync Loads",
		ours: onMVCC(func(m *mvcc.Map[uint64, int64], random func() uint64) (sum int64) {
			_ = m.View(func(s snapshot) error {
				for range 16 {
					v, _ := s.Get(random())
					sum += v
				}
				return nil
			})
			return sum
		}),
		peer: "xsync", base: onXsync(func(m *xsync.Map[uint64, int64], random func() uint64) (sum int64) {
			for range 16 {
				v, _ := m.Load(random())
				sum += v
			}
			return sum
		}),
		bar: [2][2]float64{{1.5, 1.5}, {1.2, 1.2}}, aim: [2][2]float64{{1.2, 1.2}, {1.1, 1.1}},
	},
	{
		group: "store", what: "Store against xsync Store",
		ours: onMVCC(func(m *mvcc.Map[uint64, int64], random func() uint64) int64 {
			m.Store(random(), 1)
			return 0
		}),
		peer: "xsync", base: xsyncStore, allocs: 1,
		bar: [2][2]float64{{1.9, 1.9}, {1.5, 1.6}}, aim: [2][2]float64{{1.5, 1.5}, {1.2, 1.3}},
	},
	{
		group: "update-1-put", what: "Update with 1 put against xsync Store",
		ours: onMVCC(func(m *mvcc.Map[uint64, int64], random func() uint64) int64 {
			return update(m, func(tx tx) { tx.Set(random(), 1) })
		}),
		peer: "xsync", base: xsyncStore, allocs: 1,
		bar: [2][2]float64{{2.6, 2.6}, {1.8, 1.9}}, aim: [2][2]float64{{2, 2}, {1.5, 1.5}},
	},
	{
		group: "increment", what: "Update that reads and writes one key against the same under a RWMutex",
		ours: onMVCC(func(m *mvcc.Map[uint64, int64], random func() uint64) int64 {
			k := random()
			return update(m, func(tx tx) {
				v, _ := tx.Get(k)
				tx.Set(k, v+1)
			})
		}),
		peer: "rwmutex", base: onLocked(func(m map[uint64]int64, random func() uint64) { m[random()]++ }), allocs: 1,
		bar: [2][2]float64{{5, 3.5}, {2.5, 1.5}}, aim: [2][2]float64{{4, 2.5}, {2, 1}},
	},
	{
		group: "transfer", what: "Update that reads and writes two keys against the same under a RWMutex",
		ours: onMVCC(func(m *mvcc.Map[uint64, int64], random func() uint64) int64 {
			from, to := random(), random()
			return update(m, func(tx tx) {
				a, _ := tx.Get(from)
				b, _ := tx.Get(to)
				tx.Set(from, a-1)
				tx.Set(to, b+1)
			})
		}),
		peer: "rwmutex", base: onLocked(func(m map[uint64]int64, random func() uint64) {
			from, to := random(), random()
			a, b := m[from], m[to]
			m[from], m[to] = a-1, b+1
		}), allocs: 2,
		bar: [2][2]float64{{4, 2.5}, {2.2, 1.5}}, aim: [2][2]float64{{3, 1.5}, {1.5, 1}},
	},
}

var xsyncStore = onXsync(func(m *xsync.Map[uint64, int64], random func() uint64) int64 {
	m.Store(random(), 1)
	return 0
})

func update(m *mvcc.Map[uint64, int64], fn func(tx tx)) int64 {
	err := m.Update(context.Background(), nil, func(tx tx) error { fn(tx); return nil })
	if err != nil {
		panic(err) // it is tried again until it commits, or nearly for ever
	}
	return 0
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
		op, done := o(keys)
		run := func(_, n int) {
			r := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
			random := func() uint64 { return spread(r.Uint64N(uint64(keys))) }
			sum := int64(0)
			for range n {
				sum += op(random)
			}
			sink.Store(sum)
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
