package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// badWire has requests, or their answers, get lost, requests come late, and others twice, at random.
func badWire(t *testing.T, seed uint64) fault {
	var late sync.WaitGroup
	t.Cleanup(late.Wait)
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, 2))
	return func(ctx context.Context, send func(ctx context.Context) error) error {
		mu.Lock()
		n, pause := r.IntN(12), time.Duration(r.IntN(20_000))*time.Microsecond
		mu.Unlock()
		switch n {
		case 0:
		case 1:
			_ = send(ctx)
		case 2:
			late.Go(func() {
				time.Sleep(pause)
				_ = send(within(t))
			})
		case 3: // the second answer counts
			_ = send(ctx)
			time.Sleep(pause)
			return send(ctx)
		default:
			return send(ctx)
		}
		return errBroken
	}
}

// Whatever becomes of requests and answers, each Update is applied once if it says so, and else never,
// beside others, and while the history is compacted.
func TestBadWire(t *testing.T) {
	t.Parallel()
	// Each adds 1 to a record, or inserts or deletes one, and then has added 1 or -1 to how many there are.
	kinds := map[string]func(p *process, r *rand.Rand, tx mvcc.DBTx) int64{
		"read": func(p *process, _ *rand.Rand, tx mvcc.DBTx) int64 {
			v, _ := p.a.In(tx).Get("read")
			p.a.In(tx).Set("read", v+1)
			return 1
		},
		"merged": func(p *process, _ *rand.Rand, tx mvcc.DBTx) int64 {
			p.a.In(tx).Merge("merged", func(old int, _ bool) int { return old + 1 })
			return 1
		},
		"whole": func(p *process, r *rand.Rand, tx mvcc.DBTx) int64 {
			for range p.b.In(tx).All() {
			}
			v, _ := p.a.In(tx).Get("whole")
			p.a.In(tx).Set("whole", v+1)
			p.b.In(tx).Set(fmt.Sprint(r.IntN(10)), v)
			return 1
		},
		"there": func(p *process, r *rand.Rand, tx mvcc.DBTx) int64 {
			key := fmt.Sprint("there", r.IntN(3))
			if p.a.In(tx).Has(key) {
				p.a.In(tx).Delete(key)
				return -1
			}
			p.a.In(tx).Set(key, 1)
			return 1
		},
	}
	s := seeded(t)
	c, prefix := start(t, 1, 0), newPrefix() // one of its own: it is compacted
	var commits atomic.Uint64
	known, unknown := map[string]*atomic.Int64{}, map[string]*atomic.Int64{}
	for kind := range kinds {
		known[kind], unknown[kind] = new(atomic.Int64), new(atomic.Int64)
	}
	var all []*process
	var work crew
	for i := range uint64(3) {
		p, f := open(t, c, prefix, nil), badWire(t, s+i)
		p.wire.fault.Store(&f)
		all = append(all, p)
		for kind, do := range kinds {
			work.run(s+i, func(r *rand.Rand) {
				added := int64(0)
				err := p.Update(within(t), func(tx mvcc.DBTx) error {
					added = do(p, r, tx)
					return nil
				})
				switch {
				case err == nil:
					known[kind].Add(added)
				case errors.Is(err, etcd.ErrOutcomeUnknown):
					unknown[kind].Add(1)
				default:
					t.Error(err)
				}
				commits.Add(1)
			})
		}
	}
	client := dial(t, c)
	for i := range 20 * *rounds {
		progress(t, commits.Load)
		if i >= 10**rounds { // from now on
			_, _ = client.Compact(within(t), int64(all[0].Epoch())) // it may be that already
		}
	}
	work.over.Store(true)
	work.Wait()
	p := all[0]
	_, err := p.Sync(within(t))
	require.NoError(t, err)
	for kind := range kinds {
		v, _ := p.a.Load(kind)
		for i := range 3 {
			one, _ := p.a.Load(fmt.Sprint(kind, i))
			v += one
		}
		t.Log(kind, v, known[kind].Load(), unknown[kind].Load())
		require.LessOrEqual(t, max(int64(v)-known[kind].Load(), known[kind].Load()-int64(v)),
			unknown[kind].Load(), kind)
	}
	for _, p := range all {
		require.NoError(t, p.Err())
	}
}
