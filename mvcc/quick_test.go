package mvcc

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/puzpuzpuz/xsync/v4"
	"github.com/stretchr/testify/require"
)

func TestQuick(t *testing.T) {
	m := New[string, int](nil)
	defer m.Close()
	const n = 20
	for i := range n {
		m.Store(fmt.Sprint(i), 100)
	}
	ctx := context.Background()
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for range 20000 {
				a, b := fmt.Sprint(r.IntN(n)), fmt.Sprint(r.IntN(n))
				if a == b {
					continue
				}
				require.NoError(t, m.Update(ctx, nil, func(tx Tx[string, int]) error {
					x, ok := tx.Get(a)
					require.True(t, ok)
					y, ok := tx.Get(b)
					require.True(t, ok)
					tx.Set(a, x-1)
					tx.Set(b, y+1)
					return nil
				}))
			}
		})
	}
	stop := make(chan struct{})
	var rg sync.WaitGroup
	for range 2 {
		rg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				m.View(func(s Snapshot[string, int]) error {
					sum, c := 0, 0
					for _, v := range s.All() {
						sum += v
						c++
					}
					require.Equal(t, n, c)
					require.Equal(t, 100*n, sum)
					return nil
				})
			}
		})
	}
	wg.Wait()
	close(stop)
	rg.Wait()
	t.Logf("%+v", m.Stats())
}

func BenchmarkQ(b *testing.B) {
	keys := make([]string, 1000)
	x := xsync.NewMap[string, int]()
	m := New[string, int](nil)
	defer m.Close()
	for i := range keys {
		keys[i] = fmt.Sprintf("key%06d", i)
		x.Store(keys[i], i)
		m.Store(keys[i], i)
	}
	run := func(name string, f func(i int)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				f(i)
				i++
			}
		})
	}
	run("load/xsync", func(i int) { x.Load(keys[i%1000]) })
	run("load/mvcc", func(i int) { m.Load(keys[i%1000]) })
	run("store/xsync", func(i int) { x.Store(keys[i%1000], i) })
	run("store/mvcc", func(i int) { m.Store(keys[i%1000], i) })
	run("begin/snapshot", func(i int) { m.Snapshot().Close() })
	run("begin/view", func(i int) { m.View(func(s Snapshot[string, int]) error { return nil }) })
	run("get1", func(i int) { m.View(func(s Snapshot[string, int]) error { s.Get(keys[i%1000]); return nil }) })
	run("get1/snapshot", func(i int) { s := m.Snapshot(); s.Get(keys[i%1000]); s.Close() })
	ctx := context.Background()
	run("update1", func(i int) {
		m.Update(ctx, nil, func(tx Tx[string, int]) error { tx.Set(keys[i%1000], i); return nil })
	})
	run("get16/xsync", func(i int) {
		for j := range 16 {
			x.Load(keys[(i*16+j)%1000])
		}
	})
	run("get16/mvcc", func(i int) {
		s := m.Snapshot()
		for j := range 16 {
			s.Get(keys[(i*16+j)%1000])
		}
		s.Close()
	})
	run("transfer", func(i int) {
		m.Update(ctx, nil, func(tx Tx[string, int]) error {
			a, c := keys[i%1000], keys[(i*7+13)%1000]
			p, _ := tx.Get(a)
			q, _ := tx.Get(c)
			tx.Set(a, p-1)
			tx.Set(c, q+1)
			return nil
		})
	})
}
