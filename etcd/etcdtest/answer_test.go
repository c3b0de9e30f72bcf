package etcdtest

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"

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
				err := p.Update(within(t), func(tx mvcc.DBTx) error {
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
		if txns.Add(1)%2 == 1 { // and what finds out is answered
			return errBroken
		}
		return send(ctx)
	})
	for name, add := range adders {
		p.wire.fault.Store(&f)
		err := p.Update(within(t), add(p))
		require.ErrorIs(t, err, etcd.ErrUnanswered, name)
		require.ErrorContains(t, err, "2 attempts")
		require.NotErrorIs(t, err, mvcc.ErrConflict)
		p.wire.fault.Store(nil)
		p.update(t, func(tx mvcc.DBTx) { // a slot is there again
			p.a.In(tx).Set("x", 1)
		})
	}
}

// Open waits for an etcd that is started later.
func TestOpenWaits(t *testing.T) {
	t.Parallel()
	c := start(t, 1, 0)
	require.NoError(t, c.Kill(0))
	go func() {
		time.Sleep(time.Second) // the first attempt has failed
		_ = c.Run(0)
	}()
	p, err := tryOpen(t, c, newPrefix(), func(cfg *etcd.Config) { cfg.RequestTimeout = 500 * time.Millisecond })
	require.NoError(t, err)
	require.NoError(t, p.Close())
}

// If it is another cluster that answers, and it has committed what was asked for, Update does not say
// that nothing was; neither if it does not know what has become of it.
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
			err := p.Update(within(t), adders["read and written"](p))
			require.ErrorIs(t, err, etcd.ErrOutcomeUnknown)
			require.ErrorIs(t, err, etcd.ErrHistoryLost)
			require.ErrorIs(t, p.Err(), etcd.ErrHistoryLost)
		})
	}
}
