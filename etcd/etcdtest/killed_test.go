package etcdtest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// again runs this program again, with its task in a variable, until it is killed.
func again(t *testing.T, variable, value string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(within(t), self)
	cmd.Env = append(os.Environ(), variable+"="+value)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

// A process that expires sessions, prints the key of each, and stands still where it is told, until it is
// killed.
const expiring = "MVCCMAP_ETCDTEST_EXPIRES"

// Where it stands still: in OnExpire, or when the answer to a commit has come, before it knows of it.
const (
	inFunction = "function"
	atAnswer   = "answer"
)

func expire(where string) error {
	fields := strings.Fields(where)
	calls := 0
	s, _ := declareVisit(func(key string) error {
		fmt.Println(key)
		if calls++; fields[0] == inFunction && calls == 40 { // amid the second sweep
			select {}
		}
		return nil
	})
	_, err := etcd.Open(context.Background(), etcd.Config{Prefix: fields[1], Schema: s, Lease: 2 * time.Second,
		Client: clientv3.Config{Endpoints: fields[2:], DialOptions: []grpc.DialOption{
			grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any,
				cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
				err := invoke(ctx, method, req, reply, cc, opts...)
				txn, _ := req.(*etcdserverpb.TxnRequest)
				if fields[0] == atAnswer && len(txn.GetSuccess()) > 20 && calls >= 40 {
					fmt.Println(atAnswer)
					select {}
				}
				return err
			})}}})
	if err == nil {
		select {}
	}
	return err
}

// A process that expires records for all is killed amid that: another one goes on. None is deleted
// twice or before its time, the writes of OnExpire are there once, and none that is due stays.
func TestExpirerKilled(t *testing.T) {
	t.Parallel()
	const n = 300
	for where, gone := range map[string]int{inFunction: 25, atAnswer: 50} { // by the one that is killed
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			c, prefix := shared(t), newPrefix()
			s := etcd.NewSchema(nil)
			sessions := etcd.NewTable[string, int64](s, "sessions", nil)
			writer := open(t, c, prefix, func(cfg *etcd.Config) { cfg.Schema = s })
			for i := range 3 {
				writer.update(t, func(tx mvcc.DBTx) {
					for j := range n / 3 {
						sessions.In(tx).Set(fmt.Sprint(i*n/3+j), 1)
					}
				})
			}
			cmd, lines := again(t, expiring, strings.Join(append([]string{where, prefix}, c.Endpoints()...), " "))
			for asked := 0; asked < 40 && lines.Scan(); asked++ { // it is elected
			}
			for where == atAnswer && lines.Text() != atAnswer {
				require.True(t, lines.Scan())
			}
			p, q := openVisit(t, c, prefix, 0, 2*time.Second, nil), openVisit(t, c, prefix, 0, 2*time.Second, nil)
			p.begin(t, "hour", time.Hour)
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait() // says that it was killed
			for i := range n {
				require.Equal(t, 1, p.wait(t, fmt.Sprint(i)))
			}
			require.Eventually(t, func() bool { // they are counted when there is an answer
				return p.Stats().Expired+q.Stats().Expired == uint64(n-gone)
			}, patience, time.Millisecond)
			_, err := p.Sync(within(t))
			require.NoError(t, err)
			require.Equal(t, n, p.gone.Len())
			for key, times := range p.gone.All() {
				require.Equal(t, 1, times, key)
			}
			require.Equal(t, 1, p.sessions.Len())
		})
	}
}
