package bars

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/mvcc"
)

const (
	readKeys  = 1_000 // keys of the rows that read
	writeKeys = 1_024 // keys of each goroutine in the rows that write
)

// sink keeps the compiler from dropping reads whose values nobody wants.
var sink atomic.Uint64

func keyNames(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("key%06d", i)
	}
	return keys
}

func newMVCC(keys []string) *mvcc.Map[string, uint64] {
	m := mvcc.New[string, uint64](&mvcc.Options{Capacity: len(keys)})
	for i, k := range keys {
		m.Store(k, uint64(i))
	}
	return m
}

func newXsync(keys []string) *xsync.Map[string, uint64] {
	m := xsync.NewMap[string, uint64](xsync.WithPresize(len(keys)))
	for i, k := range keys {
		m.Store(k, uint64(i))
	}
	return m
}

// overMVCC returns a side that runs op on a map with the given number of keys.
func overMVCC(name string, procs, keys int, op func(m *mvcc.Map[string, uint64], keys []string, g, n int)) Side {
	return Side{Name: name, Open: func() (Runner, error) {
		names := keyNames(keys)
		m := newMVCC(names)
		return &parallel{procs, func(g, n int) { op(m, names, g, n) }, m.Close}, nil
	}}
}

func overXsync(name string, procs, keys int, op func(m *xsync.Map[string, uint64], keys []string, g, n int)) Side {
	return Side{Name: name, Open: func() (Runner, error) {
		names := keyNames(keys)
		m := newXsync(names)
		return &parallel{procs, func(g, n int) { op(m, names, g, n) }, nil}, nil
	}}
}

// overFloor returns a side that runs op on a session of the engine floor.
func overFloor(procs, keys int, op func(s bench.Session, keys []string, n int)) Side {
	return Side{Name: "floor", Open: func() (Runner, error) {
		names := keyNames(keys)
		spec, _ := bench.EngineByName("floor")
		e, err := spec.New(bench.Setup{Keys: names, Values: make([]uint64, keys), Stopped: func() bool { return false }})
		if err != nil {
			return nil, err
		}
		sessions := make([]bench.Session, procs)
		for g := range sessions {
			sessions[g] = e.Session(g)
		}
		return &parallel{procs, func(g, n int) { op(sessions[g], names, n) }, e.Close}, nil
	}}
}

// pathRows compare single calls with what they are made of.
func pathRows() []Row {
	var rows []Row
	for _, g := range []int{1, 2} {
		rows = append(rows, Row{
			Group: "load", Case: goroutines(g), What: "one-key Load against xsync Load",
			Ours: overMVCC("mvcc", g, readKeys, loadMVCC),
			Base: overXsync("xsync", g, readKeys, loadXsync),
			Bar:  1.6, Aim: 1.25,
		})
	}
	for _, g := range []int{1, 2} {
		rows = append(rows, Row{
			Group: "begin", Case: goroutines(g), What: "empty read-only transaction against the floor",
			Ours: overMVCC("mvcc", g, readKeys, func(m *mvcc.Map[string, uint64], _ []string, _, n int) {
				for range n {
					m.View(func(mvcc.Snapshot[string, uint64]) error { return nil })
				}
			}),
			Base: overFloor(g, readKeys, func(s bench.Session, _ []string, n int) {
				b := s.(bench.Beginner)
				for range n {
					b.Begin()
				}
			}),
			Bar: 1.3, Aim: 1.1,
		})
	}
	for _, g := range []int{1, 2} {
		rows = append(rows, Row{
			Group: "view-1-get", Case: goroutines(g), What: "read-only transaction with 1 get against the floor",
			Ours: overMVCC("mvcc", g, readKeys, viewOne),
			Base: overFloor(g, readKeys, func(s bench.Session, keys []string, n int) {
				sum := uint64(0)
				for i := range n {
					v, _, _ := s.Get(keys[i%readKeys])
					sum += v
				}
				sink.Store(sum)
			}),
			Bar: 1.35, Aim: 1.15,
		})
	}
	for _, g := range []int{1, 2} {
		rows = append(rows, Row{
			Group: "view-16-gets", Case: goroutines(g), What: "read-only transaction with 16 gets against 16 xsync Loads",
			Ours: overMVCC("mvcc", g, readKeys, viewSixteen),
			Base: overXsync("xsync", g, readKeys, loadSixteen),
			Bar:  1.5, Aim: 1.3,
		})
	}
	for _, c := range []struct {
		g        int
		bar, aim float64
	}{{1, 1.8, 1.5}, {2, 2.2, 1.9}} {
		rows = append(rows, Row{
			Group: "store", Case: goroutines(c.g), What: "one-key Store against xsync Store, keys of one's own",
			Ours: overMVCC("mvcc", c.g, c.g*writeKeys, func(m *mvcc.Map[string, uint64], keys []string, g, n int) {
				own := keys[g*writeKeys:][:writeKeys]
				for i := range n {
					m.Store(own[i%writeKeys], uint64(i))
				}
			}),
			Base: overXsync("xsync", c.g, c.g*writeKeys, storeXsync),
			Bar:  c.bar, Aim: c.aim, MaxAllocs: 1,
		})
	}
	for _, c := range []struct {
		g        int
		bar, aim float64
	}{{1, 2.5, 2}, {2, 3, 2.4}} {
		rows = append(rows, Row{
			Group: "update-1-put", Case: goroutines(c.g), What: "Update with 1 put against xsync Store, keys of one's own",
			Ours: overMVCC("mvcc", c.g, c.g*writeKeys, updateOne),
			Base: overXsync("xsync", c.g, c.g*writeKeys, storeXsync),
			Bar:  c.bar, Aim: c.aim, MaxAllocs: 1,
		})
	}
	return rows
}

func loadMVCC(m *mvcc.Map[string, uint64], keys []string, _, n int) {
	sum := uint64(0)
	for i := range n {
		v, _ := m.Load(keys[i%readKeys])
		sum += v
	}
	sink.Store(sum)
}

func loadXsync(m *xsync.Map[string, uint64], keys []string, _, n int) {
	sum := uint64(0)
	for i := range n {
		v, _ := m.Load(keys[i%readKeys])
		sum += v
	}
	sink.Store(sum)
}

func storeXsync(m *xsync.Map[string, uint64], keys []string, g, n int) {
	own := keys[g*writeKeys:][:writeKeys]
	for i := range n {
		m.Store(own[i%writeKeys], uint64(i))
	}
}

func viewOne(m *mvcc.Map[string, uint64], keys []string, _, n int) {
	sum := uint64(0)
	for i := range n {
		m.View(func(s mvcc.Snapshot[string, uint64]) error {
			v, _ := s.Get(keys[i%readKeys])
			sum += v
			return nil
		})
	}
	sink.Store(sum)
}

func viewSixteen(m *mvcc.Map[string, uint64], keys []string, _, n int) {
	sum := uint64(0)
	for i := range n {
		m.View(func(s mvcc.Snapshot[string, uint64]) error {
			for j := range 16 {
				v, _ := s.Get(keys[(16*i+j)%readKeys])
				sum += v
			}
			return nil
		})
	}
	sink.Store(sum)
}

func loadSixteen(m *xsync.Map[string, uint64], keys []string, _, n int) {
	sum := uint64(0)
	for i := range n {
		for j := range 16 {
			v, _ := m.Load(keys[(16*i+j)%readKeys])
			sum += v
		}
	}
	sink.Store(sum)
}

func updateOne(m *mvcc.Map[string, uint64], keys []string, g, n int) {
	own := keys[g*writeKeys:][:writeKeys]
	for i := range n {
		err := m.Update(context.Background(), nil, func(tx mvcc.Tx[string, uint64]) error {
			tx.Set(own[i%writeKeys], uint64(i))
			return nil
		})
		if err != nil {
			panic(err) // it writes only, to keys of its own
		}
	}
}
