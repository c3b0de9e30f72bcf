package etcdtest

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/mvccmap/mvccmap/etcd"
)

// The heartbeat looks at the history and at the watch also if one endpoint has not answered since Open.
func TestBeatBesideDeadEndpoint(t *testing.T) {
	t.Parallel()
	refuses, err := freePort()
	require.NoError(t, err)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and never answers
	require.NoError(t, err)
	defer silent.Close()
	for name, dead := range map[string]string{"refuses": refuses, "is silent": "http://" + silent.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			var answered atomic.Int64
			count := func(
				ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
				opts ...grpc.CallOption,
			) error {
				err := invoke(ctx, method, req, reply, cc, opts...)
				if method == "/etcdserverpb.KV/Range" && err == nil {
					answered.Add(1)
				}
				return err
			}
			open(t, shared(t), newPrefix(), func(cfg *etcd.Config) {
				cfg.Client.Endpoints = append(cfg.Client.Endpoints, dead)
				cfg.Client.DialOptions = append(cfg.Client.DialOptions, grpc.WithChainUnaryInterceptor(count))
				cfg.RequestTimeout, cfg.Heartbeat = time.Second, 200*time.Millisecond
			})
			answered.Store(0)
			require.Eventually(t, func() bool { return answered.Load() >= 4 }, patience, 10*time.Millisecond,
				"two heartbeats ask twice each")
		})
	}
}
