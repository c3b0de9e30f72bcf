package etcdtest

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/mvccmap/mvccmap/etcd"
)

// The header of an answer to a watch does not say up to where all has come: it may be far above the
// events, where the rest comes with the next answer.
func TestHeaderIsAhead(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	p := open(t, c, prefix, func(cfg *etcd.Config) {
		received(cfg, func(_ context.Context, msg any) {
			if resp, ok := msg.(*etcdserverpb.WatchResponse); ok && len(resp.Events) > 0 {
				resp.Header.Revision += 1000
			}
		})
	})
	q := open(t, c, prefix, nil)
	for i := range 3 {
		rev := q.set(t, q.a, "x", i)
		require.NoError(t, p.WaitFor(within(t), rev))
		require.Equal(t, rev, p.Epoch())
		v, _ := p.a.Load("x")
		require.Equal(t, i, v)
	}
}

// No request lets a member answer from its own state, which may be old.
func TestReadsAreLinearizable(t *testing.T) {
	t.Parallel()
	c, prefix := start(t, 1, 0), newPrefix() // one of its own: it is compacted
	q := open(t, c, prefix, nil)
	q.set(t, q.a, "x", 1)
	var asked, stale atomic.Int64
	p := open(t, c, prefix, func(cfg *etcd.Config) {
		unary(cfg, func(ctx context.Context, req, reply any, send func() error) error {
			if get, ok := req.(*etcdserverpb.RangeRequest); ok {
				if asked.Add(1); get.Serializable {
					stale.Add(1)
				}
			}
			return send()
		})
	})
	opened := asked.Load()
	require.Positive(t, opened)
	_, err := p.Sync(within(t))
	require.NoError(t, err)
	p.gate.set(true)
	last := q.set(t, q.a, "x", 2)
	compact(t, c, last)
	p.gate.set(false)
	require.NoError(t, p.WaitFor(within(t), last))
	require.EqualValues(t, 1, p.Stats().Resyncs)
	require.Greater(t, asked.Load(), opened)
	require.Zero(t, stale.Load())
}
