package etcdtest

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

func TestMain(m *testing.M) {
	Main()
	if where := os.Getenv(expiring); where != "" {
		fmt.Fprintln(os.Stderr, expire(where))
		os.Exit(1)
	}
	_ = flag.Set("test.parallel", "8") // they wait more than they work
	code := m.Run()
	if one.cluster != nil {
		_ = one.cluster.Stop()
		_ = os.RemoveAll(one.dir)
	}
	os.Exit(code)
}

// patience is far more than anything takes.
const patience = 2 * time.Minute

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// one is a cluster of one member that tests share, each with a prefix of its own.
var one struct {
	sync.Once
	cluster *Cluster
	dir     string
	err     error
	number  atomic.Int64
}

func shared(t testing.TB) *Cluster {
	t.Helper()
	one.Do(func() {
		if one.dir, one.err = os.MkdirTemp("", "etcdtest"); one.err == nil {
			one.cluster, one.err = Start(within(t), 1, one.dir, Options{})
		}
	})
	require.NoError(t, one.err)
	return one.cluster
}

// start starts a cluster that ends with the test.
func start(t testing.TB, n int, quota int64) *Cluster {
	t.Helper()
	c, err := Start(within(t), n, t.TempDir(), Options{Quota: quota})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Stop() })
	return c
}

func newPrefix() string { return fmt.Sprintf("test%d/", one.number.Add(1)) }

// A process stands for one: a replica with connections of its own, which a test can break.
type process struct {
	*etcd.DB
	a, b  *etcd.Table[string, int]
	byTen *mvcc.Index[int, string, int]
	gate  *gate
	wire  *wire
}

// open opens a replica.
func open(t testing.TB, c *Cluster, prefix string, change func(*etcd.Config)) *process {
	t.Helper()
	p, err := tryOpen(t, c, prefix, change)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func tryOpen(t testing.TB, c *Cluster, prefix string, change func(*etcd.Config)) (*process, error) {
	t.Helper()
	s := etcd.NewSchema(&mvcc.Options{Retain: time.Hour})
	p := &process{a: etcd.NewTable[string, int](s, "a", nil), b: etcd.NewOrderedTable[string, int](s, "b", nil),
		gate: &gate{conns: map[net.Conn]bool{}}, wire: &wire{}}
	var err error
	p.byTen, err = etcd.NewIndex(p.b, "by ten", func(_ string, v int) []int { return []int{v % 10} }, nil)
	require.NoError(t, err)
	cfg := etcd.Config{Prefix: prefix, Schema: s, RequestTimeout: 3 * time.Second, Heartbeat: time.Second,
		Client: clientv3.Config{Endpoints: c.Endpoints(), DialOptions: []grpc.DialOption{
			grpc.WithContextDialer(p.gate.dial), grpc.WithChainUnaryInterceptor(p.wire.intercept)}}}
	if change != nil {
		change(&cfg)
	}
	p.DB, err = etcd.Open(within(t), cfg)
	return p, err
}

// dial returns a client, which is closed with the test.
func dial(t testing.TB, c *Cluster) *clientv3.Client {
	t.Helper()
	client, err := c.Client()
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// compact compacts the history up to a revision.
func compact(t testing.TB, c *Cluster, rev uint64) {
	t.Helper()
	_, err := dial(t, c).Compact(within(t), int64(rev), clientv3.WithCompactPhysical())
	if !errors.Is(err, rpctypes.ErrCompacted) { // the client has asked twice
		require.NoError(t, err)
	}
}

// kept returns the keys with a prefix in etcd.
func kept(t testing.TB, c *Cluster, prefix string) []*mvccpb.KeyValue {
	t.Helper()
	client, err := c.Client()
	require.NoError(t, err)
	defer client.Close()
	resp, err := client.Get(within(t), prefix, clientv3.WithPrefix())
	require.NoError(t, err)
	return resp.Kvs
}

// failed waits until a replica fails, and returns why.
func failed(t testing.TB, p *process) error {
	t.Helper()
	select {
	case <-p.Failed():
	case <-time.After(patience / 2):
		require.Fail(t, "it was not noticed")
	}
	return p.Err()
}

// unary has each request of a process go through f, which is given a function that sends it.
func unary(cfg *etcd.Config, f func(ctx context.Context, req, reply any, send func() error) error) {
	cfg.Client.DialOptions = append(cfg.Client.DialOptions, grpc.WithChainUnaryInterceptor(func(
		ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
		opts ...grpc.CallOption,
	) error {
		return f(ctx, req, reply, func() error { return invoke(ctx, method, req, reply, cc, opts...) })
	}))
}

// received has each message that a stream brings to a process go through f. Once f returns it is
// lost if the context of the stream has ended.
func received(cfg *etcd.Config, f func(ctx context.Context, msg any)) {
	cfg.Client.DialOptions = append(cfg.Client.DialOptions, grpc.WithChainStreamInterceptor(func(
		ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer,
		opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		stream, err := open(ctx, desc, cc, method, opts...)
		return &receiver{stream, f}, err
	}))
}

type receiver struct {
	grpc.ClientStream
	f func(ctx context.Context, msg any)
}

func (r *receiver) RecvMsg(msg any) error {
	err := r.ClientStream.RecvMsg(msg)
	r.f(r.Context(), msg)
	return cmp.Or(err, r.Context().Err())
}

// update commits the writes of fn.
func (p *process) update(t testing.TB, fn func(tx mvcc.DBTx)) {
	t.Helper()
	require.NoError(t, p.Update(within(t), nil, func(tx mvcc.DBTx) error {
		fn(tx)
		return nil
	}))
}

// set commits a value.
func (p *process) set(t testing.TB, table *etcd.Table[string, int], key string, value int) (rev uint64) {
	t.Helper()
	p.update(t, func(tx mvcc.DBTx) {
		table.In(tx).Set(key, value)
		tx.OnCommit(func(at uint64) { rev = at })
	})
	return rev
}

func (p *process) delete(t testing.TB, table *etcd.Table[string, int], key string) {
	t.Helper()
	p.update(t, func(tx mvcc.DBTx) { table.In(tx).Delete(key) })
}

// backUp returns a copy of the folders of the members, for [Cluster.Restore].
func backUp(t testing.TB, c *Cluster) (dir string) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, c.Copy(dir))
	return dir
}

// A gate is on the way of all connections of a process.
type gate struct {
	mu    sync.Mutex
	shut  bool
	conns map[net.Conn]bool
	dials int
}

func (g *gate) dial(ctx context.Context, addr string) (net.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dials++; g.shut {
		return nil, errors.New("the gate is shut")
	}
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr)
	if err == nil {
		g.conns[conn] = true
	}
	return conn, err
}

// set shuts the gate, which breaks all connections, or opens it.
func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut = shut; shut {
		for conn := range g.conns {
			_ = conn.Close()
		}
		g.conns = map[net.Conn]bool{}
	}
}

// A wire can do something else with the requests to commit than to send them.
type wire struct{ fault atomic.Pointer[fault] }

// A fault is given a function that sends the request, and returns the error that the client is to
// see.
type fault func(ctx context.Context, send func(ctx context.Context) error) error

func (w *wire) intercept(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	opts = slices.DeleteFunc(slices.Clone(opts), func(o grpc.CallOption) bool {
		_, peer := o.(grpc.PeerCallOption)
		return peer // which the client looks at when a request that comes late may be under way
	})
	send := func(ctx context.Context) error { return invoke(ctx, method, req, reply, cc, opts...) }
	if f := w.fault.Load(); f != nil && method == "/etcdserverpb.KV/Txn" && !elects(req) {
		return (*f)(ctx, send)
	}
	return send(ctx)
}

// elects reports whether a request is that of a process that wants to be elected, which comes when it
// likes.
func elects(req any) bool {
	txn, _ := req.(*etcdserverpb.TxnRequest)
	return len(txn.GetSuccess()) == 1 && txn.GetSuccess()[0].GetRequestPut().GetLease() != 0
}

// once has the next request to commit go through f.
func (w *wire) once(f fault) {
	var done atomic.Bool
	g := fault(func(ctx context.Context, send func(ctx context.Context) error) error {
		if done.Swap(true) {
			return send(ctx)
		}
		return f(ctx, send)
	})
	w.fault.Store(&g)
}

var errBroken = status.Error(codes.Unavailable, "the connection is broken")
