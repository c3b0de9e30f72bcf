package etcd

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A watch of the client goes on by itself over another stream if its connection breaks, and says
// nothing of it. The cluster may have gone back meanwhile, and have got further than this replica
// with other commits: then the stream begins right after the last commit that is applied here, as
// if nothing was missing. So each watch has one stream, and ends with it: see [DB.watchOnce], which
// compares the newest guard that is known once a stream has answered.
type oneStream struct{}

// withOneStream returns a context for a watch with one stream.
func withOneStream(ctx context.Context) context.Context {
	return context.WithValue(ctx, oneStream{}, new(atomic.Bool))
}

// openOnce refuses the second stream of such a context.
func openOnce(
	ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer,
	opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	if opened, ok := ctx.Value(oneStream{}).(*atomic.Bool); ok && opened.Swap(true) {
		return nil, status.Error(codes.Aborted, "the stream of the watch has ended")
	}
	return open(ctx, desc, cc, method, opts...)
}
