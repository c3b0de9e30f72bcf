package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// Config configures [Open]. Every field that is zero means the default, but for Schema, Prefix and
// the endpoints of Client, which must be given.
type Config struct {
	// Client says where etcd is, and by which certificates and user: see [clientv3.Config]. Where
	// it does not say otherwise the connection is probed every 10 seconds; one that is broken is
	// tried again after 2 seconds at the latest; and the client logs nothing: it would log errors
	// that it returns, or after which it tries again.
	Client clientv3.Config

	// Password, if not nil, gives the password of Client.Username whenever etcd wants it: when the
	// replica is opened, for new connections, and after it was changed. It is called by several
	// goroutines, and has [Config.RequestTimeout]. Without it Updates after a change of the
	// password return etcd's error.
	Password func(ctx context.Context) (string, error)

	// Prefix is the beginning of the names of all keys in etcd. It ends with a slash. Open refuses
	// it if it begins with another database's prefix, or is the beginning of one. Nobody else may
	// write there: a record that somebody else writes is applied, but not compared with the ranges
	// that transactions have read.
	Prefix string

	// Schema has the tables. It can be opened by one DB.
	Schema *Schema

	// Version is your own version of the contents of the tables, and Versions are further ones that
	// the program takes. Open refuses others with a [*SchemaError] that wraps a
	// [*durable.VersionError], and a replica that is open fails with it when a program of another
	// version is opened. The version that is kept is that of the program that was opened last.
	Version  int
	Versions []int

	// Rolling says that programs with an older version, or with fewer fields, are still to be
	// opened beside this one, or after it. Such a program writes the records that have nothing in
	// fields that it has not. An Update that writes another one returns a [*SchemaError] there, so
	// nothing is lost, as it does in programs that run when one is opened without Rolling.
	Rolling bool

	// MaxAttempts is how often the function of an Update may run. Default: 100.
	MaxAttempts int

	// MaxInFlight is how many commits may be on their way at a time; further ones wait. Default:
	// 64.
	MaxInFlight int

	// MaxTxnOps and MaxRequestBytes are the limits of the servers, --max-txn-ops and
	// --max-request-bytes. Default: 128 and 1.5 MiB, as theirs.
	MaxTxnOps       int
	MaxRequestBytes int

	// RequestTimeout is how long to wait for the answer to one request, and ResolveTimeout how long
	// Update tries to find out the outcome of one that was not answered, before it returns
	// [ErrOutcomeUnknown]. A request that the leader had when it died is never answered, so
	// RequestTimeout is for how long nothing may be committed then: it should be somewhat more than
	// an election takes, and than commits do when much is going on. If an Update or Sync waits for
	// so long for a commit, and the watch brings nothing, the watch begins anew. Default: 2
	// seconds, and 15 seconds.
	RequestTimeout time.Duration
	ResolveTimeout time.Duration

	// Heartbeat is how often the replica looks whether its watch goes on, and whether the cluster
	// still has the history that it had. Default: 5 seconds.
	Heartbeat time.Duration

	// Lease is how long it may take until another process takes over the tasks that one does for
	// all, see [Table.Expire], if that one dies; in whole seconds, and servers want 2 at the least.
	// Default: 10 seconds.
	Lease time.Duration

	// SlotAge is how long a slot may be unused until it is deleted, by the clock of the servers. A
	// slot tells a process the outcome of its commit: a process that stands still for longer, amid
	// a commit, does not learn it. At least 4 x (RequestTimeout + ResolveTimeout). Default: 24 hours.
	SlotAge time.Duration

	// Now is the clock by which records expire. Default: [time.Now].
	Now func() time.Time

	// Logger is told, at level Warn, when the watch begins anew or everything is loaded anew, and
	// at level Error when the replica fails, and of records that cannot be decoded, or that somebody
	// else has written. Default: [slog.Default].
	Logger *slog.Logger

	_ struct{}
}

// errPassword says that Config.Password has failed.
var errPassword = errors.New("etcd: Config.Password")

// authenticate puts the password into a request for a token.
func (c *Config) authenticate(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	if ask, ok := req.(*etcdserverpb.AuthenticateRequest); ok {
		if err := guarded(func() (err error) {
			ask.Password, err = c.Password(ctx)
			return err
		}); err != nil {
			return fmt.Errorf("%w: %w", errPassword, err)
		}
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

// withDefaults returns a copy with the defaults put in, or an error that says which field is wrong.
func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Schema == nil:
		return c, fmt.Errorf("etcd: Open: Config.Schema is nil, want one by etcd.NewSchema")
	case c.Prefix == "" || !strings.HasSuffix(c.Prefix, "/"):
		return c, fmt.Errorf("etcd: Open: Config.Prefix is %q, want one that ends with a slash", c.Prefix)
	case len(c.Client.Endpoints) == 0:
		return c, fmt.Errorf("etcd: Open: Config.Client.Endpoints is empty, want the addresses of members")
	}
	if err := errors.Join(
		orDefault("MaxAttempts", &c.MaxAttempts, 100),
		orDefault("MaxInFlight", &c.MaxInFlight, 64),
		orDefault("MaxTxnOps", &c.MaxTxnOps, 128),
		orDefault("MaxRequestBytes", &c.MaxRequestBytes, 3<<19),
		orDefault("RequestTimeout", &c.RequestTimeout, 2*time.Second),
		orDefault("ResolveTimeout", &c.ResolveTimeout, 15*time.Second),
		orDefault("Heartbeat", &c.Heartbeat, 5*time.Second),
		orDefault("Lease", &c.Lease, 10*time.Second),
		orDefault("SlotAge", &c.SlotAge, 24*time.Hour),
		orDefault("Client.DialKeepAliveTime", &c.Client.DialKeepAliveTime, 10*time.Second),
		orDefault("Client.DialKeepAliveTimeout", &c.Client.DialKeepAliveTimeout, 5*time.Second),
	); err != nil {
		return c, err
	}
	if send := &c.Client.MaxCallSendMsgSize; *send == 0 { // as much as a server takes
		*send = max(2<<20, c.MaxRequestBytes+1<<19)
		if most := c.Client.MaxCallRecvMsgSize; most > 0 {
			*send = min(*send, most) // the client wants that
		}
	}
	if c.Password != nil {
		if c.Client.Username == "" {
			return c, fmt.Errorf("etcd: Open: Config.Password is given, and Client.Username is empty")
		}
		c.Client.Password = "of Config.Password" // or the client would not ask
		c.Client.DialOptions = append([]grpc.DialOption{grpc.WithChainUnaryInterceptor(c.authenticate)},
			c.Client.DialOptions...)
	}
	// By itself gRPC waits for up to two minutes, so that a process that was cut off for that long
	// is cut off for as long again.
	c.Client.DialOptions = append([]grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
		Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2,
			MaxDelay: 2 * time.Second},
		MinConnectTimeout: 5 * time.Second,
	}), grpc.WithChainStreamInterceptor(openOnce)}, c.Client.DialOptions...)
	c.Client.Logger = cmp.Or(c.Client.Logger, zap.NewNop())
	if c.Lease < time.Second {
		return c, fmt.Errorf("etcd: Open: Config.Lease is %v, want a second or more", c.Lease)
	}
	if least := 4 * (c.RequestTimeout + c.ResolveTimeout); c.SlotAge < least {
		return c, fmt.Errorf("etcd: Open: Config.SlotAge is %v, want %v or more: 4 x (RequestTimeout + "+
			"ResolveTimeout)", c.SlotAge, least)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c, nil
}

// orDefault gives a field its default, if it is zero, or returns an error if it is below that.
func orDefault[T int | time.Duration](name string, at *T, def T) error {
	if *at < 0 {
		return fmt.Errorf("etcd: Open: Config.%s is %v, want 0 or more", name, *at)
	}
	*at = cmp.Or(*at, def)
	return nil
}
