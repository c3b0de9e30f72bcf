package etcdtest

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// The heartbeat looks at the history and at the watch also if one endpoint has not answered since Open.
func TestBeatBesideDeadEndpoint(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and never answers
	require.NoError(t, err)
	defer silent.Close()
	var answered atomic.Int64
	count := func(_ context.Context, req, _ any, send func() error) error {
		err := send()
		get, ok := req.(*etcdserverpb.RangeRequest)
		if ok && strings.HasSuffix(string(get.Key), "/g/") && err == nil { // and not of elections
			answered.Add(1)
		}
		return err
	}
	open(t, shared(t), newPrefix(), func(cfg *etcd.Config) {
		cfg.Client.Endpoints = append(cfg.Client.Endpoints, "http://"+silent.Addr().String())
		unary(cfg, count)
		cfg.RequestTimeout, cfg.Heartbeat = time.Second, 200*time.Millisecond
	})
	answered.Store(0)
	require.Eventually(t, func() bool { return answered.Load() >= 4 }, patience, 10*time.Millisecond,
		"two heartbeats ask twice each")
}

// A watch whose stream hangs, without an error, is noticed by the next heartbeats, and begins anew.
func TestWatchHangs(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	q := open(t, c, prefix, nil)
	var left atomic.Int64
	p := open(t, c, prefix, func(cfg *etcd.Config) {
		cfg.Heartbeat = 200 * time.Millisecond
		hanging(cfg, &left)
	})
	require.NoError(t, p.WaitFor(within(t), q.set(t, q.a, "x", 1)))
	left.Store(1)
	require.NoError(t, p.WaitFor(within(t), q.set(t, q.a, "x", 2)))
	require.NotZero(t, p.Stats().Restarts)
	v, _ := p.a.Load("x")
	require.Equal(t, 2, v)
	require.NoError(t, p.Err())
}

// An Update that was committed, and waits for a watch that hangs, has it begin anew without a
// heartbeat; again if the next one hangs as well.
func TestWatchHangsBesideUpdate(t *testing.T) {
	t.Parallel()
	var left atomic.Int64
	p := open(t, shared(t), newPrefix(), func(cfg *etcd.Config) {
		cfg.Heartbeat, cfg.RequestTimeout = time.Hour, 300*time.Millisecond
		hanging(cfg, &left)
	})
	p.set(t, p.a, "x", 1)
	left.Store(3)
	p.update(t, func(tx mvcc.DBTx) {
		p.a.In(tx).Set("x", 2)
	})
	v, _ := p.a.Load("x")
	require.Equal(t, 2, v)
	require.GreaterOrEqual(t, p.Stats().Restarts, uint64(3))
}

// After a conflict Update runs again once the commit in the way is applied here, and not before: it
// would read the same, and use up its attempts.
func TestConflictWaits(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	q := open(t, c, prefix, nil)
	var left atomic.Int64
	p := open(t, c, prefix, func(cfg *etcd.Config) {
		cfg.Heartbeat, cfg.RequestTimeout, cfg.MaxAttempts = time.Hour, time.Second, 2
		hanging(cfg, &left)
	})
	require.NoError(t, p.WaitFor(within(t), q.set(t, q.a, "x", 1)))
	left.Store(1)
	q.set(t, q.a, "x", 10)
	p.update(t, func(tx mvcc.DBTx) {
		v, _ := p.a.In(tx).Get("x")
		p.a.In(tx).Set("x", v+1)
	})
	v, _ := p.a.Load("x")
	require.Equal(t, 11, v)
}

// hanging has as many watches of a process hang as are left, each from its next events on.
func hanging(cfg *etcd.Config, left *atomic.Int64) {
	received(cfg, func(ctx context.Context, msg any) {
		if resp, ok := msg.(*etcdserverpb.WatchResponse); ok && len(resp.Events) > 0 && left.Add(-1) >= 0 {
			<-ctx.Done()
		}
	})
}
