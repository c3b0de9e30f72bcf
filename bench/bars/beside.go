package bars

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/mvcc"
)

// beside is a runner that has something else going on in the background.
type beside struct {
	op   func(n int)
	stop atomic.Bool
	wg   sync.WaitGroup
	end  func()
}

// newBeside starts background, which must return soon after stop is set.
func newBeside(op func(n int), background func(stop *atomic.Bool), end func()) *beside {
	b := &beside{op: op, end: end}
	if background != nil {
		b.wg.Go(func() { background(&b.stop) })
	}
	return b
}

func (b *beside) Run(_ context.Context, n int) (time.Duration, error) {
	from := time.Now()
	b.op(n)
	return time.Since(from), nil
}

func (b *beside) Close() error {
	b.stop.Store(true)
	b.wg.Wait()
	b.end()
	return nil
}

// besideRows are about scans, and about writers beside readers that take long.
func besideRows(scanKeys int) []Row {
	ints := func() (m *mvcc.Map[uint64, uint64]) {
		m = mvcc.New[uint64, uint64](&mvcc.Options{Capacity: scanKeys})
		for i := range uint64(scanKeys) {
			m.Store(i, i)
		}
		return m
	}
	writes := func(m *mvcc.Map[uint64, uint64], keys int) func(n int) {
		return func(n int) {
			for i := range n {
				m.Store(uint64(i%keys), uint64(i))
			}
		}
	}
	const overwritten = 1_000
	small := func() *mvcc.Map[uint64, uint64] {
		m := mvcc.New[uint64, uint64](nil)
		for i := range uint64(overwritten) {
			m.Store(i, i)
		}
		return m
	}
	return []Row{
		{
			Group: "scan", What: "full scan, against xsync Range", Bar: 2.5, Aim: 1.8, MaxAllocs: -1,
			Ours: Side{"mvcc", func() (Runner, error) {
				m := ints()
				return &parallel{1, func(_, n int) {
					for range n {
						sum := uint64(0)
						m.View(func(s mvcc.Snapshot[uint64, uint64]) error {
							for _, v := range s.All() {
								sum += v
							}
							return nil
						})
						sink.Store(int64(sum))
					}
				}, m.Close}, nil
			}},
			Base: Side{"xsync", func() (Runner, error) {
				m := xsync.NewMap[uint64, uint64](xsync.WithPresize(scanKeys))
				for i := range uint64(scanKeys) {
					m.Store(i, i)
				}
				return &parallel{1, func(_, n int) {
					for range n {
						sum := uint64(0)
						m.Range(func(_, v uint64) bool {
							sum += v
							return true
						})
						sink.Store(int64(sum))
					}
				}, nil}, nil
			}},
		},
		{
			Group: "beside-scan", What: "one writer beside full scans, against one beside a spinning goroutine",
			Kind: Speed, Bar: 0.85, Aim: 0.95, MaxAllocs: -1,
			Ours: Side{"scan", func() (Runner, error) {
				m := ints()
				return newBeside(writes(m, scanKeys), func(stop *atomic.Bool) {
					for !stop.Load() {
						sum := uint64(0)
						m.View(func(s mvcc.Snapshot[uint64, uint64]) error {
							for _, v := range s.All() {
								if sum += v; stop.Load() {
									break
								}
							}
							return nil
						})
						sink.Store(int64(sum))
					}
				}, m.Close), nil
			}},
			Base: Side{"spin", func() (Runner, error) {
				m := ints()
				return newBeside(writes(m, scanKeys), func(stop *atomic.Bool) {
					for !stop.Load() {
					}
				}, m.Close), nil
			}},
		},
		{
			Group: "beside-reader", What: "overwrites of 1,000 keys with one snapshot open, against none",
			Kind: Speed, Bar: 0.9, Aim: 1, MaxAllocs: -1,
			Ours: Side{"open", func() (Runner, error) {
				m := small()
				s := m.Snapshot()
				return newBeside(writes(m, overwritten), nil, func() { s.Close(); m.Close() }), nil
			}},
			Base: Side{"none", func() (Runner, error) {
				m := small()
				return newBeside(writes(m, overwritten), nil, m.Close), nil
			}},
		},
	}
}
