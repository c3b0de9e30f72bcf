package etcdtest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// The outcome of each Update is known, and its effect is there once or not at all, whatever becomes of
// the request and its answer: also if the request arrives after Update has tried again.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fault{
		"the answer is lost": func(ctx context.Context, send func(context.Context) error) error {
			_ = send(ctx)
			return errBroken
		},
		"the request is lost": func(context.Context, func(context.Context) error) error { return errBroken },
		"the context ends while the answer comes": func(ctx context.Context, send func(context.Context) error) error {
			_ = send(ctx)
			return context.DeadlineExceeded
		},
	} {
		for kind, add := range adders {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				p := open(t, shared(t), newPrefix(), nil)
				p.set(t, p.a, "x", 10)
				for i := range 3 {
					p.wire.once(f)
					require.NoError(t, p.Update(within(t), nil, add(p)))
					v, _ := p.a.Load("x")
					require.Equal(t, 11+i, v)
				}
				require.EqualValues(t, 3, p.Stats().Unclear)
			})
		}
	}
	for kind, add := range adders {
		t.Run("the request comes late, "+kind, func(t *testing.T) {
			t.Parallel()
			p := open(t, shared(t), newPrefix(), nil)
			p.set(t, p.a, "x", 10)
			for i := range 3 {
				late := make(chan func(context.Context) error, 1)
				p.wire.once(func(_ context.Context, send func(context.Context) error) error {
					late <- send
					return errBroken
				})
				require.NoError(t, p.Update(within(t), nil, add(p)))
				require.NoError(t, (<-late)(within(t)))
				_, err := p.Sync(within(t))
				require.NoError(t, err)
				v, _ := p.a.Load("x")
				require.Equal(t, 11+i, v)
			}
		})
	}
}

// adders are ways to add 1 to x.
var adders = map[string]func(p *process) func(tx mvcc.DBTx) error{
	"read and written": func(p *process) func(tx mvcc.DBTx) error {
		return func(tx mvcc.DBTx) error {
			v, _ := p.a.In(tx).Get("x")
			p.a.In(tx).Set("x", v+1)
			return nil
		}
	},
	"merged": func(p *process) func(tx mvcc.DBTx) error {
		return func(tx mvcc.DBTx) error {
			p.a.In(tx).Merge("x", func(old int, _ bool) int { return old + 1 })
			return nil
		}
	},
}

// A request that comes late does nothing, not even if it compares nothing that was read.
func TestLateBlindWrite(t *testing.T) {
	t.Parallel()
	p := open(t, shared(t), newPrefix(), nil)
	p.set(t, p.a, "x", 0)
	late := make(chan func(context.Context) error, 1)
	p.wire.once(func(_ context.Context, send func(context.Context) error) error {
		late <- send
		return errBroken
	})
	p.set(t, p.a, "x", 1)
	p.set(t, p.a, "x", 2)
	require.NoError(t, (<-late)(within(t)))
	_, err := p.Sync(within(t))
	require.NoError(t, err)
	v, _ := p.a.Load("x")
	require.Equal(t, 2, v)
}

// If nobody can be asked, Update says that the outcome is not known, and the process goes on to work. It
// was applied, or has no effect any more once etcd could be asked again, and Wait says which.
func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	for name, applied := range map[string]bool{"applied": true, "late": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, prefix := shared(t), newPrefix()
			p := open(t, c, prefix, func(cfg *etcd.Config) { cfg.ResolveTimeout = 100 * time.Millisecond })
			p.set(t, p.a, "x", 10)
			var first sync.Once
			var late func(context.Context) error
			f := fault(func(_ context.Context, send func(context.Context) error) error {
				first.Do(func() {
					if late = send; applied {
						require.NoError(t, send(within(t)))
					}
				})
				return errBroken
			})
			p.wire.fault.Store(&f)
			err := p.Update(within(t), nil, adders["read and written"](p))
			require.ErrorIs(t, err, etcd.ErrOutcomeUnknown)
			var unknown *etcd.UnknownError
			require.ErrorAs(t, err, &unknown)
			short, cancel := context.WithCancel(within(t))
			cancel()
			_, err = unknown.Wait(short)
			require.ErrorIs(t, err, context.Canceled)
			p.wire.fault.Store(nil)
			committed, err := unknown.Wait(within(t))
			require.NoError(t, err)
			require.Equal(t, applied, committed)
			for ctx := within(t); len(kept(t, c, prefix+"a/")) > 0; time.Sleep(10 * time.Millisecond) {
				require.NoError(t, ctx.Err(), "its slot stays")
			}
			want := 12
			if !applied {
				want = 11
				require.NoError(t, late(within(t)))
			}
			_, err = p.Sync(within(t))
			require.NoError(t, err)
			require.NoError(t, p.Update(within(t), nil, adders["read and written"](p)))
			v, _ := p.a.Load("x")
			require.Equal(t, want, v)
			require.EqualValues(t, 1, p.Stats().Unknown)
			p.wire.fault.Store(&f)
			require.ErrorAs(t, p.Update(within(t), nil, adders["read and written"](p)), &unknown)
			require.NoError(t, p.Close())
			_, err = unknown.Wait(within(t))
			require.ErrorIs(t, err, etcd.ErrClosed)
		})
	}
}

// A context that ends while a commit is under way: either it was committed, and Update says nil, or
// not, and it never will be.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	p := open(t, shared(t), newPrefix(), nil)
	p.set(t, p.a, "x", 0)
	mine := errors.New("mine")
	for _, applied := range []bool{true, false} {
		ctx, cancel := context.WithCancelCause(within(t))
		p.wire.once(func(inner context.Context, send func(context.Context) error) error {
			if applied {
				_ = send(inner)
			}
			cancel(mine)
			return inner.Err()
		})
		err := p.Update(ctx, nil, adders["read and written"](p))
		if applied {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, mine)
		}
		_, err = p.Sync(within(t))
		require.NoError(t, err)
		v, _ := p.a.Load("x")
		require.Equal(t, 1, v)
	}
}

// A process without a connection goes on to read; its updates fail or wait; and when it is back it
// has the commits that others made meanwhile, also if the revisions in between are compacted: then
// in one commit, while snapshots stay as they are.
func TestCutOff(t *testing.T) {
	t.Parallel()
	for _, compacted := range []bool{false, true} {
		c, prefix := start(t, 1, 0), newPrefix() // one of its own: it is compacted
		p, q := open(t, c, prefix, nil), open(t, c, prefix, nil)
		q.set(t, q.a, "x", 1)
		q.set(t, q.a, "gone", 1)
		q.set(t, q.a, "kept", 1)
		_, err := p.Sync(within(t))
		require.NoError(t, err)
		before := p.Snapshot()
		p.gate.set(true)
		var passed uint64
		for i := range 5 {
			passed = q.set(t, q.a, "x", 2+i)
		}
		q.delete(t, q.a, "gone")
		last := q.set(t, q.b, "new", 3)
		if compacted {
			compact(t, c, last)
		}
		v, _ := p.a.Load("x")
		require.Equal(t, 1, v)
		short, cancel := context.WithTimeout(within(t), 100*time.Millisecond)
		_, err = p.Sync(short)
		require.Error(t, err)
		cancel()
		p.gate.set(false)
		require.NoError(t, p.WaitFor(within(t), last))
		require.NoError(t, p.View(func(s mvcc.DBSnapshot) error {
			v, _ := p.a.At(s).Get("x")
			require.Equal(t, 6, v)
			require.False(t, p.a.At(s).Has("gone"))
			key, _, _ := p.byTen.First(p.b.At(s), 3)
			require.Equal(t, "new", key)
			return nil
		}))
		v, _ = p.a.At(before).Get("x")
		require.Equal(t, 1, v)
		require.True(t, p.a.At(before).Has("gone"))
		before.Close()
		want := uint64(0)
		if compacted {
			want = 1
			_, err = p.SnapshotAt(passed) // it was passed over, and is no state
			require.ErrorIs(t, err, mvcc.ErrEpochGone)
		}
		require.Equal(t, want, p.Stats().Resyncs)
		for _, key := range []string{"x", "kept"} { // one that has changed, and one that has not
			runs := 0
			p.update(t, func(tx mvcc.DBTx) {
				runs++
				v, _ := p.a.In(tx).Get(key)
				p.a.In(tx).Set(key, v+1)
			})
			require.Equal(t, 1, runs)
		}
		require.NoError(t, p.Err())
	}
}

// A replica notices that the cluster has lost a commit that it has seen, and fails: it can be read,
// nothing can be written, and watches say so.
func TestHistoryLost(t *testing.T) {
	t.Parallel()
	c, prefix := start(t, 1, 0), newPrefix()
	p := open(t, c, prefix, nil)
	p.set(t, p.a, "x", 1)
	backup := backUp(t, c)
	p.set(t, p.a, "x", 2)
	watch, all := p.a.Watch(within(t), nil), p.Watch(within(t), nil)
	followed := make(chan error, 1)
	go func() {
		followed <- p.Follow(context.Background(), nil, func(mvcc.DBSnapshot) error { return nil },
			func(mvcc.DBCommit) error { return nil })
	}()
	require.NoError(t, c.Restore(backup))
	require.ErrorIs(t, failed(t, p), etcd.ErrHistoryLost)
	for _, err := range watch {
		require.ErrorIs(t, err, etcd.ErrHistoryLost)
	}
	for _, err := range all {
		require.ErrorIs(t, err, etcd.ErrHistoryLost)
	}
	require.ErrorIs(t, <-followed, etcd.ErrHistoryLost)
	require.ErrorIs(t, p.Update(within(t), nil, adders["merged"](p)), etcd.ErrHistoryLost)
	v, _ := p.a.Load("x")
	require.Equal(t, 2, v)
}

// A cluster without space refuses, and says so only of transactions that were not committed.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	c := start(t, 1, 400_000)
	s := etcd.NewSchema(nil)
	texts := etcd.NewTable[int, []byte](s, "texts", nil)
	prefix := newPrefix()
	p, err := tryOpen(t, c, prefix, func(cfg *etcd.Config) { cfg.Schema = s })
	require.NoError(t, err)
	defer p.Close()
	for i := 0; ; i++ {
		err := p.Update(within(t), nil, func(tx mvcc.DBTx) error {
			texts.In(tx).Has(i) // not blind
			texts.In(tx).Set(i, make([]byte, 40_000))
			return nil
		})
		got := kept(t, c, prefix+"t/texts/")
		if err != nil {
			require.ErrorIs(t, err, etcd.ErrNoSpace)
			require.Len(t, got, i, "what was refused is there")
			break
		}
		require.Len(t, got, i+1, "what was committed is not there")
	}
}

// Close waits for requests under way, and leaves nothing of the process behind.
func TestClose(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	p := open(t, c, prefix, nil)
	p.set(t, p.a, "x", 1)
	sent, answer := make(chan bool), make(chan bool)
	p.wire.once(func(ctx context.Context, send func(context.Context) error) error {
		err := send(ctx)
		close(sent)
		<-answer
		return err
	})
	done := make(chan error, 1)
	go func() {
		done <- p.Update(within(t), nil, adders["read and written"](p))
	}()
	<-sent
	closed := make(chan error, 1)
	go func() { closed <- p.Close() }()
	<-p.Failed()
	require.Empty(t, closed)
	close(answer)
	require.NoError(t, <-closed)
	require.NoError(t, <-done)
	v, _ := open(t, c, prefix, nil).a.Load("x")
	require.Equal(t, 2, v)
	got := kept(t, c, prefix+"a/")
	require.Empty(t, got)
	require.NoError(t, p.Close()) // once more
}
