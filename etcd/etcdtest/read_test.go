package etcdtest

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/mvccmap/mvccmap/etcd"
)

// aheadStream has answers of a watch that say, in their headers, that the cluster has got far above
// the events that they have, as they do where the rest comes with the next answer.
type aheadStream struct{ grpc.ClientStream }

func (s *aheadStream) RecvMsg(msg any) error {
	err := s.ClientStream.RecvMsg(msg)
	if resp, ok := msg.(*etcdserverpb.WatchResponse); ok && err == nil && len(resp.Events) > 0 {
		resp.Header.Revision += 1000
	}
	return err
}

// The header of an answer does not say up to where all has come.
func TestHeaderIsAhead(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	p := open(t, c, prefix, func(cfg *etcd.Config) {
		cfg.Client.DialOptions = append(cfg.Client.DialOptions, grpc.WithChainStreamInterceptor(func(
			ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer,
			opts ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			stream, err := open(ctx, desc, cc, method, opts...)
			return &aheadStream{stream}, err
		}))
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

// Nothing is asked for that a member may answer from what it has, which may be old.
func TestReadsAreLinearizable(t *testing.T) {
	t.Parallel()
	c, prefix := start(t, 1, 0), newPrefix() // one of its own: it is compacted
	q := open(t, c, prefix, nil)
	q.set(t, q.a, "x", 1)
	var asked, stale atomic.Int64
	p := open(t, c, prefix, func(cfg *etcd.Config) {
		cfg.Client.DialOptions = append(cfg.Client.DialOptions, grpc.WithChainUnaryInterceptor(func(
			ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
			opts ...grpc.CallOption,
		) error {
			if get, ok := req.(*etcdserverpb.RangeRequest); ok {
				if asked.Add(1); get.Serializable {
					stale.Add(1)
				}
			}
			return invoke(ctx, method, req, reply, cc, opts...)
		}))
	})
	opened := asked.Load()
	require.Positive(t, opened)
	_, err := p.Sync(within(t))
	require.NoError(t, err)
	p.gate.set(true)
	last := q.set(t, q.a, "x", 2)
	client, err := c.Client()
	require.NoError(t, err)
	defer client.Close()
	_, err = client.Compact(within(t), int64(last), clientv3.WithCompactPhysical())
	require.NoError(t, err)
	p.gate.set(false)
	require.NoError(t, p.WaitFor(within(t), last))
	require.EqualValues(t, 1, p.Stats().Resyncs)
	require.Greater(t, asked.Load(), opened)
	require.Zero(t, stale.Load())
}
