package etcdtest

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A transaction that the servers, or the client, find too large is refused as that, whatever Config says;
// and one that they allow is not.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]struct {
		size, most, sends int
		fits              bool
	}{
		"Config":       {2_000_000, 0, 0, false},
		"the servers":  {1_700_000, 10 << 20, 0, false}, // by --max-request-bytes
		"their gRPC":   {3_000_000, 10 << 20, 0, false},
		"the client":   {1_000_000, 0, 500_000, false},
		"just allowed": {1_400_000, 10 << 20, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := etcd.NewSchema(nil)
			a := etcd.NewTable[string, string](s, "a", nil)
			p, err := tryOpen(t, shared(t), newPrefix(), func(cfg *etcd.Config) {
				cfg.Schema, cfg.MaxRequestBytes, cfg.Client.MaxCallSendMsgSize = s, run.most, run.sends
			})
			require.NoError(t, err)
			defer p.Close()
			for _, reads := range []bool{false, true} {
				err := p.Update(within(t), nil, func(tx mvcc.DBTx) error {
					if reads {
						a.In(tx).Has("x")
					}
					a.In(tx).Set("x", strings.Repeat("x", run.size))
					return nil
				})
				if run.fits {
					require.NoError(t, err)
					continue
				}
				var large *etcd.TooLargeError
				require.ErrorAs(t, err, &large)
				require.Greater(t, large.Bytes, run.size)
				require.Zero(t, a.Len())
			}
		})
	}
}

// An Update none of whose requests was answered does not say that others were in its way.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	p := open(t, shared(t), newPrefix(), func(cfg *etcd.Config) {
		cfg.MaxAttempts, cfg.RequestTimeout = 2, patience
	})
	p.set(t, p.a, "x", 1)
	var txns atomic.Int64
	f := fault(func(ctx context.Context, send func(context.Context) error) error {
		if txns.Add(1)%2 == 1 { // and the request that finds out is answered
			return errBroken
		}
		return send(ctx)
	})
	for name, add := range adders {
		p.wire.fault.Store(&f)
		err := p.Update(within(t), nil, add(p))
		require.ErrorIs(t, err, etcd.ErrUnanswered, name)
		require.ErrorContains(t, err, "2 attempts")
		require.NotErrorIs(t, err, mvcc.ErrConflict)
		p.wire.fault.Store(nil)
		p.update(t, func(tx mvcc.DBTx) { // a slot is there again
			p.a.In(tx).Set("x", 1)
		})
	}
}

// Each call of a process that is cut off ends within RequestTimeout and ResolveTimeout, and says so,
// however often it is tried; and the process goes on afterwards.
func TestCutOffEnds(t *testing.T) {
	t.Parallel()
	for name, add := range adders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, shared(t), newPrefix(), func(cfg *etcd.Config) {
				cfg.RequestTimeout, cfg.ResolveTimeout = 300*time.Millisecond, 700*time.Millisecond
			})
			p.set(t, p.a, "x", 1)
			p.gate.set(true)
			ends := func(call func() error) error {
				done := make(chan error, 1)
				go func() { done <- call() }()
				select {
				case err := <-done:
					return err
				case <-time.After(patience / 2):
					require.Fail(t, "it does not return")
					return nil
				}
			}
			err := ends(func() error { return p.Update(context.Background(), nil, add(p)) })
			require.ErrorIs(t, err, etcd.ErrOutcomeUnknown)
			for range 3 {
				err = ends(func() error { return p.Update(context.Background(), nil, add(p)) })
				require.ErrorIs(t, err, etcd.ErrUnanswered)
			}
			err = ends(func() error { _, err := p.Sync(context.Background()); return err })
			require.ErrorIs(t, err, etcd.ErrUnanswered)
			require.NotErrorIs(t, err, context.DeadlineExceeded)
			p.gate.set(false)
			require.Eventually(t, func() bool { return p.Update(within(t), nil, add(p)) == nil }, patience, time.Millisecond)
		})
	}
}

// An Update whose process is cut off after the commit, before that has come to it, does not say that
// it is there.
func TestCutOffAfterCommit(t *testing.T) {
	t.Parallel()
	var held deaf
	p := open(t, shared(t), newPrefix(), func(cfg *etcd.Config) {
		cfg.RequestTimeout, cfg.ResolveTimeout = time.Second, time.Second
		received(cfg, held.hears)
	})
	p.set(t, p.a, "x", 1)
	held.Lock()
	p.wire.once(func(ctx context.Context, send func(context.Context) error) error {
		defer p.gate.set(true)
		return send(context.WithoutCancel(ctx)) // however long that takes
	})
	var at uint64
	err := p.Update(context.Background(), nil, func(tx mvcc.DBTx) error {
		p.a.In(tx).Set("x", 2)
		tx.OnCommit(func(rev uint64) { at = rev })
		return nil
	})
	v, _ := p.a.Load("x")
	held.Unlock()
	p.gate.set(false)
	var unknown *etcd.UnknownError
	require.ErrorAs(t, err, &unknown)
	committed, known := unknown.Wait(within(t))
	require.True(t, committed && known == nil)
	require.NotErrorIs(t, err, etcd.ErrUnanswered)
	require.Equal(t, 1, v)
	require.NoError(t, p.WaitFor(within(t), at))
	v, _ = p.a.Load("x")
	require.Equal(t, 2, v)
}

// Open waits for an etcd that is started later, also with a user, of which it asks that for a token.
func TestOpenWaits(t *testing.T) {
	t.Parallel()
	c := start(t, 1, 0)
	require.NoError(t, c.Kill(0))
	go func() {
		time.Sleep(time.Second) // the first attempt has failed
		_ = c.Run(0)
	}()
	var opened sync.WaitGroup
	for _, user := range []string{"", "shop"} {
		opened.Go(func() {
			p, err := tryOpen(t, c, newPrefix(), func(cfg *etcd.Config) {
				cfg.RequestTimeout = 500 * time.Millisecond
				cfg.Client.Username, cfg.Client.Password = user, user
			})
			if assert.NoError(t, err) {
				assert.NoError(t, p.Close())
			}
		})
	}
	opened.Wait()
}

// After its password was changed a process says at once that etcd refuses it, and logs that once; one
// that is asked for the new one goes on. A wrong one is refused by Open.
func TestPasswordChanged(t *testing.T) {
	t.Parallel()
	c, prefix := start(t, 1, 0), newPrefix()
	ctx := within(t)
	require.NoError(t, c.Protect(ctx, "shop", "first", prefix))
	var log buffer
	var password atomic.Value
	password.Store("first")
	p := open(t, c, prefix, func(cfg *etcd.Config) {
		cfg.Client.Username, cfg.Client.Password, cfg.Lease = "shop", "first", time.Hour
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	q := open(t, c, prefix, func(cfg *etcd.Config) {
		cfg.Client.Username = "shop"
		cfg.Password = func(context.Context) (string, error) { return password.Load().(string), nil }
	})
	p.set(t, p.a, "x", 1)
	q.set(t, q.a, "x", 2)
	password.Store("second")
	_, err := dial(t, c).UserChangePassword(ctx, "shop", "second")
	require.NoError(t, err)
	p.gate.set(true)
	p.gate.set(false)
	said := func() (n int) {
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, "the watch has ended") && strings.Contains(line, "authentication failed") {
				n++
			}
		}
		return n
	}
	require.Eventually(t, func() bool { return said() > 0 }, patience, time.Millisecond)
	for range 3 { // by now no request goes out over the connection that was cut
		err := p.Update(ctx, nil, adders["read and written"](p))
		require.ErrorIs(t, err, rpctypes.ErrAuthFailed)
		require.NotErrorIs(t, err, etcd.ErrOutcomeUnknown)
	}
	require.Zero(t, p.Stats().Unclear)
	require.NoError(t, q.WaitFor(ctx, q.set(t, q.a, "x", 3)))
	require.Never(t, func() bool { return said() > 1 }, 2*time.Second, 100*time.Millisecond)
	_, err = tryOpen(t, c, prefix, func(cfg *etcd.Config) {
		cfg.Client.Username, cfg.Client.Password = "shop", "first"
	})
	require.ErrorIs(t, err, rpctypes.ErrAuthFailed)
}

// If another cluster answers, and it has committed the transaction, Update does not say that
// nothing was committed; neither if the outcome is not known.
func TestAnotherCluster(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]bool{"answers": false, "answers later": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var other atomic.Bool
			p := open(t, shared(t), newPrefix(), func(cfg *etcd.Config) {
				unary(cfg, func(_ context.Context, _, reply any, send func() error) error {
					err := send()
					if r, ok := reply.(*etcdserverpb.TxnResponse); ok && err == nil && other.Load() {
						r.Header.ClusterId++
					}
					return err
				})
			})
			p.set(t, p.a, "x", 1)
			other.Store(true)
			if broken {
				p.wire.once(func(context.Context, func(context.Context) error) error { return errBroken })
			}
			err := p.Update(within(t), nil, adders["read and written"](p))
			var unknown *etcd.UnknownError
			require.ErrorAs(t, err, &unknown)
			require.ErrorIs(t, err, etcd.ErrHistoryLost)
			_, err = unknown.Wait(within(t))
			require.ErrorIs(t, err, etcd.ErrHistoryLost)
			require.ErrorIs(t, p.Err(), etcd.ErrHistoryLost)
		})
	}
}
