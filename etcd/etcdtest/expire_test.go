package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A clock is ahead of the machine's by as much as a test says.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) set(ahead time.Duration) { c.ahead.Store(int64(ahead)) }

// A visit is a process with two tables: sessions, which expire at the time that is their value, and
// how many have, by their keys.
type visit struct {
	*process
	clock    *clock
	sessions *etcd.Table[string, int64]
	gone     *etcd.Table[string, int]
}

// declareVisit declares the tables of a visit.
func declareVisit(before func(key string) error) (*etcd.Schema, *visit) {
	s := etcd.NewSchema(nil)
	v := &visit{clock: &clock{}, sessions: etcd.NewTable[string, int64](s, "sessions", nil),
		gone: etcd.NewTable[string, int](s, "gone", nil)}
	v.sessions.Expire(func(_ string, at int64) time.Time {
		switch at {
		case 0:
			return time.Time{}
		case -1:
			panic("mine")
		}
		return time.UnixMilli(at)
	})
	v.sessions.OnExpire(func(tx mvcc.DBTx, key string, _ int64) error {
		if before != nil {
			if err := before(key); err != nil {
				return err
			}
		}
		v.gone.In(tx).Merge(key, func(n int, _ bool) int { return n + 1 })
		return nil
	})
	return s, v
}

// openVisit opens a replica whose records expire; before is called in the transaction of the expirer.
func openVisit(t testing.TB, c *Cluster, prefix string, ahead, lease time.Duration,
	before func(key string) error) *visit {
	t.Helper()
	s, v := declareVisit(before)
	v.clock.set(ahead)
	v.process = open(t, c, prefix, func(cfg *etcd.Config) {
		cfg.Schema, cfg.Lease, cfg.Now = s, lease, v.clock.now
	})
	return v
}

// begin commits a session that ends after a time, by the clock of the machine, or never.
func (v *visit) begin(t testing.TB, key string, ends time.Duration) {
	t.Helper()
	v.update(t, func(tx mvcc.DBTx) {
		v.sessions.In(tx).Set(key, time.Now().Add(ends).UnixMilli())
	})
}

// wait waits until a session has expired here, and says how often it has.
func (v *visit) wait(t testing.TB, key string) int {
	t.Helper()
	for ctx := within(t); ; time.Sleep(time.Millisecond) {
		_, there := v.sessions.Load(key)
		if n, _ := v.gone.Load(key); n > 0 && !there {
			return n
		}
		require.NoError(t, ctx.Err(), "%s does not expire", key)
	}
}

// Records go when their time has come by the clock of the process that is elected, once, together
// with the writes of OnExpire, in all processes; those whose time has not come stay, and those that
// never expire.
func TestExpire(t *testing.T) {
	t.Parallel()
	const n = 60
	c, prefix := shared(t), newPrefix()
	p := openVisit(t, c, prefix, 0, time.Hour, nil)
	q := openVisit(t, c, prefix, 0, time.Hour, nil)
	for i := range n {
		p.begin(t, fmt.Sprint("early", i), time.Duration(i)*time.Millisecond)
	}
	q.begin(t, "hour", time.Hour)
	q.begin(t, "renewed", 0)
	q.begin(t, "renewed", 3*time.Hour)
	q.update(t, func(tx mvcc.DBTx) {
		q.sessions.In(tx).Set("never", 0)
	})
	for i := range n {
		require.Equal(t, 1, q.wait(t, fmt.Sprint("early", i)))
	}
	for _, key := range []string{"hour", "never", "renewed"} {
		_, there := q.sessions.Load(key)
		require.True(t, there, key)
	}
	p.clock.set(2 * time.Hour)
	q.clock.set(2 * time.Hour)
	require.Equal(t, 1, q.wait(t, "hour"))
	_, there := q.sessions.Load("renewed")
	require.True(t, there)
	renewed, _ := q.gone.Load("renewed") // it may have gone before it was renewed
	require.Eventually(t, func() bool {  // it is counted when there is an answer
		return p.Stats().Expired+q.Stats().Expired == uint64(n+1+renewed)
	}, patience, time.Millisecond)
	require.True(t, p.Stats().Expired == 0 || q.Stats().Expired == 0, "both were elected")
}

// A record that is renewed while the transaction that is to delete it is under way survives.
func TestExpireRenewed(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	var renew atomic.Pointer[func()]
	asked := atomic.Int64{}
	p := openVisit(t, c, prefix, 0, time.Hour, func(key string) error {
		if key == "x" && asked.Add(1) == 1 {
			(*renew.Load())()
		}
		return nil
	})
	p.begin(t, "elected", 0)
	require.Equal(t, 1, p.wait(t, "elected"))
	other := openVisit(t, c, prefix, 0, time.Hour, nil) // which is not
	f := func() { other.begin(t, "x", time.Hour) }
	renew.Store(&f)
	other.begin(t, "x", 0)
	other.begin(t, "after", 0)
	require.Equal(t, 1, p.wait(t, "after"))
	for ctx := within(t); asked.Load() == 0; time.Sleep(time.Millisecond) {
		require.NoError(t, ctx.Err())
	}
	_, err := p.Sync(within(t))
	require.NoError(t, err)
	time.Sleep(500 * time.Millisecond) // a few more sweeps
	_, there := p.sessions.Load("x")
	require.True(t, there, "it was renewed, and has gone")
	require.EqualValues(t, 1, asked.Load())
	n, _ := p.gone.Load("x")
	require.Zero(t, n)
	require.Equal(t, 0, int(other.Stats().Expired))
}

// Two processes take themselves for elected, and their clocks are an hour apart: a record goes when its
// time has come for the one that is ahead, once; and one that is renewed so that it has come for
// neither survives.
func TestExpirersHourApart(t *testing.T) {
	t.Parallel()
	const n = 40
	c, prefix := shared(t), newPrefix()
	slow := openVisit(t, c, prefix, 0, time.Hour, nil)
	slow.begin(t, "elected", 0)
	require.Equal(t, 1, slow.wait(t, "elected"))
	require.Eventually(t, func() bool { return slow.Stats().Expired == 1 }, patience, time.Millisecond)
	client := dial(t, c)
	deleted, err := client.Delete(within(t), prefix+"e/tasks/sessions/", clientv3.WithPrefix())
	require.NoError(t, err)
	require.EqualValues(t, 1, deleted.Deleted) // slow does not know
	fast := openVisit(t, c, prefix, time.Hour, time.Hour, nil)
	slow.begin(t, "half an hour", 30*time.Minute)
	require.Equal(t, 1, slow.wait(t, "half an hour"))
	require.Eventually(t, func() bool { return fast.Stats().Expired == 1 }, patience, time.Millisecond)
	slow.begin(t, "renewed", 0)
	for range 20 {
		slow.begin(t, "renewed", 2*time.Hour)
	}
	gone, _ := slow.gone.Load("renewed")
	for i := range n { // due for both, at once
		slow.begin(t, fmt.Sprint("both", i), -2*time.Hour)
	}
	for i := range n {
		require.Equal(t, 1, slow.wait(t, fmt.Sprint("both", i)))
	}
	_, there := slow.sessions.Load("renewed")
	require.True(t, there)
	after, _ := slow.gone.Load("renewed")
	require.Equal(t, gone, after)
	t.Log("slow", slow.Stats().Expired, "fast", fast.Stats().Expired)
	// The counts follow the answers a little later.
	require.Eventually(t, func() bool {
		return slow.Stats().Expired+fast.Stats().Expired == uint64(2+n+gone)
	}, patience, time.Millisecond)
}

// A record for which OnExpire fails stays, without any write of that call, and is tried again; one
// for which the function of Expire panics stays until it is written anew. Others go.
func TestExpireRefused(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	var allowed atomic.Bool
	p := openVisit(t, c, prefix, 0, time.Hour, func(key string) error {
		switch {
		case allowed.Load():
			return nil
		case key == "error":
			return errors.New("mine")
		case key == "panic":
			panic("mine")
		}
		return nil
	})
	p.update(t, func(tx mvcc.DBTx) {
		for _, key := range []string{"a", "error", "b", "panic", "c"} {
			p.sessions.In(tx).Set(key, 1)
		}
		p.sessions.In(tx).Set("no time", -1)
	})
	for _, key := range []string{"a", "b", "c"} {
		require.Equal(t, 1, p.wait(t, key))
	}
	require.Eventually(t, func() bool { return p.Stats().ExpireFailures >= 3 }, patience, time.Millisecond)
	require.Equal(t, 3, p.sessions.Len())
	require.Equal(t, 3, p.gone.Len())
	allowed.Store(true)
	p.update(t, func(tx mvcc.DBTx) { p.sessions.In(tx).Set("no time", 1) })
	for _, key := range []string{"error", "panic", "no time"} {
		require.Equal(t, 1, p.wait(t, key))
	}
}

// While the cluster is full nothing is held against the records: they go as soon as it is not, though
// the clock stands, by which one that was refused would have to wait.
func TestExpireWhileFull(t *testing.T) {
	t.Parallel()
	s, v := declareVisit(nil)
	began := time.Now()
	v.process = open(t, shared(t), newPrefix(), func(cfg *etcd.Config) {
		cfg.Schema, cfg.Now = s, func() time.Time { return began }
	})
	v.begin(t, "first", -time.Hour)
	v.wait(t, "first")
	v.update(t, func(tx mvcc.DBTx) {
		for i := range 8 {
			v.sessions.In(tx).Set(fmt.Sprint(i), began.Add(time.Hour).UnixMilli())
		}
	})
	var tried atomic.Int64
	full := fault(func(context.Context, func(context.Context) error) error {
		tried.Add(1)
		return rpctypes.ErrGRPCNoSpace
	})
	v.wire.once(func(ctx context.Context, send func(context.Context) error) error {
		err := send(ctx)
		v.wire.fault.Store(&full)
		return err
	})
	v.update(t, func(tx mvcc.DBTx) { // and from now on it is full
		for i := range 8 {
			v.sessions.In(tx).Set(fmt.Sprint(i), 1)
		}
	})
	for ctx := within(t); tried.Load() < 10; time.Sleep(time.Millisecond) {
		require.NoError(t, ctx.Err())
	}
	require.Zero(t, v.Stats().ExpireFailures)
	v.wire.fault.Store(nil)
	for i := range 8 {
		require.Equal(t, 1, v.wait(t, fmt.Sprint(i)))
	}
}

// aged has slots that are not used for two seconds go.
func aged(cfg *etcd.Config) {
	cfg.RequestTimeout, cfg.ResolveTimeout, cfg.SlotAge = 200*time.Millisecond, 300*time.Millisecond, 2*time.Second
	cfg.Lease = 2 * time.Second
}

// The slots of a process that was killed, and those that a process that goes on has not used for long,
// are deleted; that one takes others.
func TestJanitor(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	p := open(t, c, prefix, aged)
	client := dial(t, c)
	_, err := client.Put(within(t), prefix+"a/00000000000000dd/1/2s", "commit 7")
	require.NoError(t, err)
	_, err = client.Put(within(t), prefix+"a/00000000000000dd/2/1h0m0s", "commit 7") // whose process has another age
	require.NoError(t, err)
	for i := range 2 {
		for ctx := within(t); ; time.Sleep(10 * time.Millisecond) { // the machine may be too busy
			err := p.Update(ctx, nil, func(tx mvcc.DBTx) error {
				p.a.In(tx).Set("x", i)
				return nil
			})
			if err == nil {
				break
			}
			require.True(t, errors.Is(err, etcd.ErrOutcomeUnknown) || errors.Is(err, etcd.ErrUnanswered), err)
		}
		require.NoError(t, p.Err())
		for ctx := within(t); len(kept(t, c, prefix+"a/")) != 1; time.Sleep(50 * time.Millisecond) {
			require.NoError(t, ctx.Err())
		}
	}
	require.NoError(t, p.Err())
}

// The slots of killed processes go though no process lives for as long as they stay, and keys that are
// no slots stay.
func TestSlotsOfKilled(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	client := dial(t, c)
	require.NoError(t, open(t, c, prefix, aged).Close())
	none := []string{"a/00000000000000dd/t/2s", "a/m", "a/t/users/7"} // of a database within, say
	for _, name := range append(none, "a/00000000000000dd/1/2s", "a/00000000000000dd/2/1s") {
		_, err := client.Put(within(t), prefix+name, "commit 7")
		require.NoError(t, err)
	}
	for ctx := within(t); len(kept(t, c, prefix+"a/")) > len(none); {
		require.NoError(t, ctx.Err(), "they stay")
		p := open(t, c, prefix, aged)
		time.Sleep(time.Second)
		require.NoError(t, p.Close())
	}
	for i, kv := range kept(t, c, prefix+"a/") {
		require.Equal(t, prefix+none[i], string(kv.Key))
	}
}

// A process stands still in the midst of a commit, so long that its slot is deleted: it says that it does
// not know, and goes on.
func TestSlotGone(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	other := open(t, c, prefix, aged) // is the janitor
	for ctx := within(t); len(kept(t, c, prefix+"e/tasks/")) == 0; time.Sleep(10 * time.Millisecond) {
		require.NoError(t, ctx.Err())
	}
	p := open(t, c, prefix, aged)
	mayBe := []int{0} // values of x
	for i, stood, ctx := 1, false, within(t); !stood; i++ {
		require.NoError(t, ctx.Err(), "no commit stands still")
		if i > 1 {
			p.wire.once(func(context.Context, func(context.Context) error) error {
				for ctx := within(t); len(kept(t, c, prefix+"a/")) > 0; {
					if stood = true; ctx.Err() != nil {
						t.Error("the slot stays")
						break
					}
					time.Sleep(50 * time.Millisecond)
				}
				return errBroken
			})
		}
		err := p.Update(within(t), nil, func(tx mvcc.DBTx) error {
			p.a.In(tx).Set("x", i)
			return nil
		})
		switch {
		case err == nil: // the first time, or it had no slot yet
			mayBe, stood = []int{i}, false
		case stood:
			require.ErrorIs(t, err, etcd.ErrOutcomeUnknown) // and nothing was sent
		case errors.Is(err, etcd.ErrOutcomeUnknown): // the machine is busy
			mayBe = append(mayBe, i)
		default:
			require.ErrorIs(t, err, etcd.ErrUnanswered)
		}
	}
	require.NoError(t, p.Err())
	require.NoError(t, other.Err())
	_, err := p.Sync(within(t))
	require.NoError(t, err)
	v, _ := p.a.Load("x")
	require.Contains(t, mayBe, v)
}

// If the function of Expire ends the goroutine that asks it, records expire all the same, later.
func TestExpireEndsGoroutine(t *testing.T) {
	t.Parallel()
	s := etcd.NewSchema(nil)
	table := etcd.NewTable[string, int64](s, "sessions", nil)
	var asked atomic.Int64
	table.Expire(func(_ string, at int64) time.Time {
		if asked.Add(1) == 1 {
			runtime.Goexit()
		}
		return time.UnixMilli(at)
	})
	p := open(t, shared(t), newPrefix(), func(cfg *etcd.Config) { cfg.Schema, cfg.Lease = s, 2*time.Second })
	p.update(t, func(tx mvcc.DBTx) {
		table.In(tx).Set("a", 1)
	})
	for ctx := within(t); table.Len() > 0; time.Sleep(time.Millisecond) {
		require.NoError(t, ctx.Err(), "it does not expire")
	}
	require.Greater(t, asked.Load(), int64(1))
}

// A record that OnExpire sets again with a time that has come does not keep the cluster busy.
func TestExpireSetAgain(t *testing.T) {
	t.Parallel()
	s := etcd.NewSchema(nil)
	table := etcd.NewTable[string, int64](s, "sessions", nil)
	table.Expire(func(_ string, at int64) time.Time { return time.UnixMilli(at) })
	table.OnExpire(func(tx mvcc.DBTx, key string, at int64) error {
		if key == "again" {
			table.In(tx).Set(key, at+1)
		}
		return nil
	})
	began := time.Now()
	p := open(t, shared(t), newPrefix(), func(cfg *etcd.Config) { cfg.Schema = s })
	set := func(key string) {
		p.update(t, func(tx mvcc.DBTx) {
			table.In(tx).Set(key, 1)
		})
	}
	set("again")
	for i := range 10 {
		set(fmt.Sprint(i))
		for ctx := within(t); table.Len() > 1; time.Sleep(time.Millisecond) {
			require.NoError(t, ctx.Err(), "%d does not expire", i)
		}
	}
	at, _ := table.Load("again")
	require.Greater(t, at, int64(1))
	require.LessOrEqual(t, at, int64(time.Since(began)/(200*time.Millisecond))+3)
}
