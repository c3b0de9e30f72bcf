package etcdtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// The benchmarks measure module etcd beside etcd's own client and a plain DB: docs/scale-out.md has
// the figures.
var (
	synced  = flag.Bool("sync", false, "whether members of benchmarks write to disk before they answer")
	perOpen = flag.Int("records", 100_000, "how many records BenchmarkOpen loads")
)

// three returns a cluster of three members, with a replica and a client.
func three(b *testing.B) (c *Cluster, prefix string, p *process, client *clientv3.Client) {
	c, err := Start(within(b), 3, b.TempDir(), Options{Sync: *synced})
	require.NoError(b, err)
	b.Cleanup(func() { _ = c.Stop() })
	prefix = newPrefix()
	return c, prefix, open(b, c, prefix, nil), dial(b, c)
}

// side measures one side of a comparison by some goroutines, with percentiles of the calls.
func side(b *testing.B, by string, goroutines int, do func(g int) error) {
	b.Run("by="+by, func(b *testing.B) {
		took := make([][]time.Duration, goroutines)
		var calls atomic.Int64
		var all sync.WaitGroup
		for g := range goroutines {
			all.Go(func() {
				for calls.Add(1) <= int64(b.N) {
					began := time.Now()
					if err := do(g); err != nil {
						b.Error(err)
						return
					}
					took[g] = append(took[g], time.Since(began))
				}
			})
		}
		all.Wait()
		sorted := slices.Sorted(slices.Values(slices.Concat(took...)))
		b.ReportMetric(float64(sorted[len(sorted)/2]), "p50-ns")
		b.ReportMetric(float64(sorted[len(sorted)*99/100]), "p99-ns")
	})
}

// adding moves 1 from a key to another one, or adds 1 to it if they are the same.
func adding(p *process, from, to string) error {
	return p.Update(context.Background(), nil, func(tx mvcc.DBTx) error {
		in := p.a.In(tx)
		v, _ := in.Get(from)
		in.Set(from, v-1)
		v, _ = in.Get(to)
		in.Set(to, v+1)
		return nil
	})
}

// addingSTM is adding by the transactions of etcd's client. It begins again after an error that
// says that a member is behind: reads after the first one ask any member (issue 11963).
func addingSTM(client *clientv3.Client, from, to string) error {
	for {
		_, err := concurrency.NewSTM(client, func(tx concurrency.STM) error {
			for key, n := range map[string]int{from: -1, to: 1} {
				v, _ := strconv.Atoi(tx.Get(key))
				tx.Put(key, strconv.Itoa(v+n))
			}
			return nil
		})
		if !errors.Is(err, rpctypes.ErrFutureRev) {
			return err
		}
	}
}

func BenchmarkTransfer(b *testing.B) {
	_, _, p, client := three(b)
	side(b, "etcd", 1, func(int) error { return adding(p, "x", "y") })
	side(b, "stm", 1, func(int) error { return addingSTM(client, "x", "y") })
}

// A request by hand compares the revision of a key, and puts that.
func BenchmarkUpdate(b *testing.B) {
	_, _, p, client := three(b)
	for _, goroutines := range []int{1, 64} {
		b.Run(fmt.Sprint("goroutines=", goroutines), func(b *testing.B) {
			revs := make([]int64, goroutines)
			side(b, "etcd", goroutines, func(g int) error {
				return adding(p, fmt.Sprint(g), fmt.Sprint(g))
			})
			side(b, "txn", goroutines, func(g int) error {
				key := fmt.Sprint("txn", goroutines, "/", g)
				resp, err := client.Txn(context.Background()).
					If(clientv3.Compare(clientv3.ModRevision(key), "=", revs[g])).
					Then(clientv3.OpPut(key, "12345678")).Commit()
				if err == nil && !resp.Succeeded {
					err = fmt.Errorf("%s has not revision %d", key, revs[g])
				}
				if err == nil {
					revs[g] = resp.Header.Revision
				}
				return err
			})
		})
	}
}

func BenchmarkBlindWrites(b *testing.B) {
	_, _, p, client := three(b)
	side(b, "etcd", 64, func(g int) error {
		return p.Update(context.Background(), nil, func(tx mvcc.DBTx) error {
			p.a.In(tx).Set(fmt.Sprint(g), 1)
			return nil
		})
	})
	side(b, "put", 64, func(g int) error {
		_, err := client.Put(context.Background(), fmt.Sprint("put", g), "12345678")
		return err
	})
}

// 64 goroutines on one key; and each on its own, and merging into one beside that.
func BenchmarkCrowd(b *testing.B) {
	_, _, p, _ := three(b)
	own := func(g int, merges bool) error {
		return p.Update(context.Background(), nil, func(tx mvcc.DBTx) error {
			in, key := p.a.In(tx), fmt.Sprint("own", g)
			v, _ := in.Get(key)
			if in.Set(key, v+1); merges {
				in.Merge("total", func(old int, _ bool) int { return old + 1 })
			}
			return nil
		})
	}
	side(b, "hot", 64, func(int) error { return adding(p, "hot", "hot") })
	side(b, "own", 64, func(g int) error { return own(g, false) })
	side(b, "own and merge", 64, func(g int) error { return own(g, true) })
}

// 64 goroutines commit over a network that takes 10 ms each way.
func BenchmarkFarAway(b *testing.B) {
	c, prefix, _, _ := three(b)
	far := open(b, c, prefix, func(cfg *etcd.Config) {
		unary(cfg, func(_ context.Context, _, _ any, send func() error) error {
			time.Sleep(10 * time.Millisecond)
			defer time.Sleep(10 * time.Millisecond)
			return send()
		})
	})
	side(b, "blind", 64, func(g int) error {
		return far.Update(context.Background(), nil, func(tx mvcc.DBTx) error {
			far.a.In(tx).Set(fmt.Sprint(g), 1)
			return nil
		})
	})
	side(b, "reads", 64, func(g int) error { return adding(far, fmt.Sprint(g), fmt.Sprint(g)) })
}

// setMany commits 2,000 records, and sumUp sums them up.
func setMany(t testing.TB, p *process) {
	for i := range 20 {
		p.update(t, func(tx mvcc.DBTx) {
			for j := range 100 {
				p.a.In(tx).Set(fmt.Sprint(100*i+j), 1)
			}
		})
	}
}

func sumUp(p *process, tx mvcc.DBTx) error {
	sum := 0
	for _, v := range p.a.In(tx).All() {
		sum += v
	}
	p.b.In(tx).Set("sum", sum)
	return nil
}

// 2,000 records are summed up while they are written 500 times a second, by this process or another
// one.
func BenchmarkSum(b *testing.B) {
	c, prefix, p, _ := three(b)
	setMany(b, p)
	for by, q := range map[string]*process{"this": p, "other": open(b, c, prefix, nil)} {
		ctx, stop := context.WithCancel(context.Background())
		var writers sync.WaitGroup
		for g := range 10 {
			writers.Go(func() {
				for i := g; ctx.Err() == nil; i += 7 {
					time.Sleep(20 * time.Millisecond)
					_ = adding(q, fmt.Sprint(i%2000), fmt.Sprint(i%2000))
				}
			})
		}
		side(b, by, 1, func(int) error {
			return p.Update(context.Background(), nil, func(tx mvcc.DBTx) error { return sumUp(p, tx) })
		})
		stop()
		writers.Wait()
	}
}

// One counter is incremented by three replicas, or clients, of 16 goroutines each.
func BenchmarkCounter(b *testing.B) {
	c, prefix, p, client := three(b)
	all, clients := []*process{p}, []*clientv3.Client{client}
	for range 2 {
		all, clients = append(all, open(b, c, prefix, nil)), append(clients, dial(b, c))
	}
	side(b, "etcd", 48, func(g int) error {
		return all[g%3].Update(context.Background(), nil, adders["merged"](all[g%3]))
	})
	side(b, "stm", 48, func(g int) error { return addingSTM(clients[g%3], "x", "x") })
}

func BenchmarkSync(b *testing.B) {
	_, _, p, client := three(b)
	side(b, "etcd", 64, func(int) error {
		_, err := p.Sync(context.Background())
		return err
	})
	side(b, "get", 1, func(int) error {
		_, err := client.Get(context.Background(), "x")
		return err
	})
}

// A commit is waited for in another replica, or in that of the writer.
func BenchmarkLag(b *testing.B) {
	c, prefix, p, _ := three(b)
	for by, q := range map[string]*process{"writer": p, "other": open(b, c, prefix, nil)} {
		side(b, by, 16, func(g int) (err error) {
			if err = adding(p, fmt.Sprint(g), fmt.Sprint(g)); err == nil {
				err = q.WaitFor(context.Background(), p.Epoch())
			}
			return err
		})
	}
}

// Reads beside a plain DB, at rest and while another replica commits.
func BenchmarkReads(b *testing.B) {
	const records = 10_000
	c, prefix, p, _ := three(b)
	db := mvcc.NewDB(nil)
	defer db.Close()
	plain := mvcc.NewOrderedTable[string, int](db, "b", nil)
	keys := make([]string, records)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%07d", i)
	}
	for some := range slices.Chunk(keys, 100) { // by transactions both, which lay them out alike
		p.update(b, func(tx mvcc.DBTx) {
			for _, key := range some {
				p.b.In(tx).Set(key, 1)
			}
		})
		require.NoError(b, db.Update(within(b), nil, func(tx mvcc.DBTx) error {
			for _, key := range some {
				plain.In(tx).Set(key, 1)
			}
			return nil
		}))
	}
	hundred := func(in mvcc.Snapshot[string, int], from string) {
		n := 0
		for range in.Ascend(mvcc.From(from)) {
			if n++; n == 100 {
				break
			}
		}
	}
	q := open(b, c, prefix, nil)
	for _, rest := range []time.Duration{time.Hour, time.Millisecond} {
		stop, stopped := make(chan bool), make(chan bool)
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				case <-time.After(rest):
					q.set(b, q.b, keys[0], 1)
				}
			}
		}()
		for name, read := range map[string]func(key string){
			"Load/by=etcd":  func(key string) { p.b.Load(key) },
			"Load/by=plain": func(key string) { plain.Load(key) },
			"View/by=etcd": func(key string) {
				_ = p.View(func(s mvcc.DBSnapshot) error { hundred(p.b.At(s), key); return nil })
			},
			"View/by=plain": func(key string) {
				_ = db.View(func(s mvcc.DBSnapshot) error { hundred(plain.At(s), key); return nil })
			},
		} {
			b.Run(fmt.Sprintf("rest=%v/%s", rest, name), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					read(keys[i%(records-100)])
				}
			})
		}
		close(stop)
		<-stopped
	}
}

// BenchmarkOpen opens a replica, which loads the records.
func BenchmarkOpen(b *testing.B) {
	c, prefix := start(b, 1, 0), newPrefix()
	p := open(b, c, prefix, nil)
	for i := 0; i < *perOpen; i += 100 {
		p.update(b, func(tx mvcc.DBTx) {
			for j := range 100 {
				p.a.In(tx).Set(fmt.Sprintf("%0100d", i+j), j)
			}
		})
	}
	for b.Loop() {
		q := open(b, c, prefix, nil)
		require.Equal(b, p.a.Len(), q.a.Len())
		b.StopTimer()
		require.NoError(b, q.Close())
		b.StartTimer()
	}
}
