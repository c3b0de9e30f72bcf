package etcdtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// crowd has goroutines commit, each a few times, and returns how often the function of one has run
// at most.
func crowd(t *testing.T, p *process, goroutines int, fn func(g int, tx mvcc.DBTx)) (most int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for range 10 {
				runs := 0
				if err := p.Update(within(t), nil, func(tx mvcc.DBTx) error {
					runs++
					fn(g, tx)
					return nil
				}); err != nil {
					t.Error(err)
				}
				mu.Lock()
				most = max(most, runs)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return most
}

// Goroutines of a process that merge into one key, and write others of their own, do not conflict;
// those that read one key and write it run again in their turn, and not until they are lucky.
func TestCrowd(t *testing.T) {
	t.Parallel()
	p := open(t, shared(t), newPrefix(), func(cfg *etcd.Config) { cfg.RequestTimeout = patience / 4 })
	require.Equal(t, 1, crowd(t, p, 32, func(g int, tx mvcc.DBTx) {
		own := fmt.Sprint("own", g)
		v, _ := p.a.In(tx).Get(own)
		p.a.In(tx).Set(own, v+1)
		p.a.In(tx).Merge("total", func(old int, _ bool) int { return old + 1 })
	}))
	require.Zero(t, p.Stats().Conflicts)
	require.LessOrEqual(t, crowd(t, p, 32, func(_ int, tx mvcc.DBTx) {
		v, _ := p.a.In(tx).Get("hot")
		p.a.In(tx).Set("hot", v+1)
	}), 3)
	require.LessOrEqual(t, crowd(t, p, 32, func(_ int, tx mvcc.DBTx) { // these cannot go together
		v, _ := p.a.In(tx).Get("both")
		p.a.In(tx).Set("both", v+1)
		p.a.In(tx).Merge("total", func(old int, _ bool) int { return old + 1 })
	}), 3)
	for name, want := range map[string]int{"own7": 10, "total": 640, "hot": 320, "both": 320} {
		v, _ := p.a.Load(name)
		require.Equal(t, want, v, name)
	}
}

// Who has read a whole table, and lost, has its turn before those that come to write there later.
func TestLongReader(t *testing.T) {
	t.Parallel()
	p := open(t, shared(t), newPrefix(), nil)
	p.set(t, p.a, "x", 1)
	sent, gate, reader, runs := make(chan bool), make(chan bool), make(chan error), 0
	go func() {
		reader <- p.Update(within(t), nil, func(tx mvcc.DBTx) error {
			switch err := sumUp(p, tx); {
			case err != nil:
				return err
			case runs == 0:
				p.set(t, p.a, "x", 2)
			case runs == 1:
				p.wire.once(heldUp(sent, gate))
			}
			runs++
			return nil
		})
	}()
	<-sent
	writer := begun(t, p, func(in mvcc.Tx[string, int]) { in.Set("x", 3) })
	time.Sleep(50 * time.Millisecond)
	close(gate)
	require.NoError(t, <-reader)
	require.NoError(t, <-writer)
	require.Equal(t, 2, runs)
	v, _ := p.b.Load("sum")
	require.Equal(t, 2, v)
}

// heldUp has a request stay on its way until gate is closed; sent is closed once it is sent.
func heldUp(sent, gate chan bool) fault {
	return func(ctx context.Context, send func(context.Context) error) error {
		close(sent)
		<-gate
		return send(ctx)
	}
}

// stopped has the next request of a process stay on its way until the function that it returns is
// called, with a transaction that does fn, and goes on once it is sent.
func stopped(t *testing.T, p *process, fn func(in mvcc.Tx[string, int])) (goOn func(), done chan error) {
	p.set(t, p.a, "x", 0) // which makes a slot
	sent, gate := make(chan bool), make(chan bool)
	p.wire.once(heldUp(sent, gate))
	done = begun(t, p, fn)
	<-sent
	return func() { close(gate) }, done
}

func begun(t *testing.T, p *process, fn func(in mvcc.Tx[string, int])) (done chan error) {
	done = make(chan error, 1)
	go func() {
		done <- p.Update(within(t), nil, func(tx mvcc.DBTx) error {
			fn(p.a.In(tx))
			return nil
		})
	}()
	return done
}

// A transaction that has read nothing does not wait for the request of another one, unless that
// writes the same: then it comes after it.
func TestUnderWay(t *testing.T) {
	t.Parallel()
	p := open(t, shared(t), newPrefix(), nil)
	goOn, first := stopped(t, p, func(in mvcc.Tx[string, int]) { in.Set("x", 1) })
	second := begun(t, p, func(in mvcc.Tx[string, int]) { in.Set("x", 2) })
	p.set(t, p.a, "other", 2)
	require.Empty(t, second)
	goOn()
	require.NoError(t, <-first)
	require.NoError(t, <-second)
	v, _ := p.a.Load("x")
	require.Equal(t, 2, v)
}

// One that has read does not go together with another one before it that writes that: here they wait
// for the same key, and neither order has x read as 0 and y as 10.
func TestTogether(t *testing.T) {
	t.Parallel()
	p := open(t, shared(t), newPrefix(), nil)
	merge := func(in mvcc.Tx[string, int]) {
		in.Merge("total", func(old int, _ bool) int { return old + 1 })
	}
	goOn, first := stopped(t, p, merge)
	second := begun(t, p, func(in mvcc.Tx[string, int]) { merge(in); in.Set("x", 1); in.Set("y", 1) })
	time.Sleep(50 * time.Millisecond)
	third := begun(t, p, func(in mvcc.Tx[string, int]) {
		merge(in)
		x, _ := in.Get("x")
		in.Set("y", x+10)
	})
	time.Sleep(50 * time.Millisecond)
	goOn()
	for _, done := range []chan error{first, second, third} {
		require.NoError(t, <-done)
	}
	y, _ := p.a.Load("y")
	require.Contains(t, []int{1, 11}, y)
}

// One election is enough for all tables.
func TestOneElection(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	s := etcd.NewSchema(nil)
	var tables []*etcd.Table[string, int]
	for i := range 3 {
		tables = append(tables, etcd.NewTable[string, int](s, fmt.Sprint("t", i), nil))
		tables[i].Expire(func(string, int) time.Time { return time.Unix(1, 0) })
	}
	p, err := tryOpen(t, c, prefix, func(cfg *etcd.Config) { cfg.Schema = s })
	require.NoError(t, err)
	defer p.Close()
	for i, table := range tables {
		p.set(t, table, "x", 1)
		for ctx := within(t); table.Len() > 0; time.Sleep(10 * time.Millisecond) {
			require.NoError(t, ctx.Err(), i)
		}
	}
	require.Len(t, kept(t, c, prefix+"e/"), 1)
}
