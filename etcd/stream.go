package etcd

import (
	"context"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// A watch of the client goes on by itself over another stream if its connection breaks, and says
// nothing of it. The cluster may have gone back meanwhile, and have got further than this replica
// with other commits: then the stream begins right after the last commit that is applied here, as
// if nothing was missing. So streams counts those from which something has come, and the guards
// that were applied are compared before anything that has come from a new one is applied.
type streams struct {
	count  atomic.Uint64
	opened chan struct{} // has an element after one was counted
}

// intercept returns the options of a connection whose streams are counted.
func (s *streams) intercept(options []grpc.DialOption) []grpc.DialOption {
	s.opened = make(chan struct{}, 1)
	return append(options[:len(options):len(options)], grpc.WithChainStreamInterceptor(s.stream))
}

func (s *streams) stream(
	ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer,
	opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	stream, err := open(ctx, desc, cc, method, opts...)
	if err != nil || method != etcdserverpb.Watch_Watch_FullMethodName {
		return stream, err
	}
	return &counted{ClientStream: stream, by: s}, nil
}

// A counted stream is counted when its first message has come, which is before the client has it.
type counted struct {
	grpc.ClientStream
	by   *streams
	came bool
}

func (c *counted) RecvMsg(m any) error {
	err := c.ClientStream.RecvMsg(m)
	if err == nil && !c.came { // one goroutine receives
		c.came = true
		c.by.count.Add(1)
		select {
		case c.by.opened <- struct{}{}:
		default:
		}
	}
	return err
}

// checkStream compares the guards that are applied here with those of the cluster, if a stream was
// opened since the one with a number.
func (db *DB) checkStream(last *uint64) error {
	n := db.streams.count.Load()
	if n == *last {
		return nil
	}
	if err := db.checkPast(0); err != nil {
		return err
	}
	*last = n
	return nil
}
