package etcdtest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A process that counts in two tables at once, and prints how far it has come, until it is killed.
const counting = "MVCCMAP_ETCDTEST_COUNTS"

func count(where string) error {
	prefix, endpoints, _ := strings.Cut(where, " ")
	s := etcd.NewSchema(nil)
	a, b := etcd.NewTable[string, int](s, "a", nil), etcd.NewOrderedTable[string, int](s, "b", nil)
	db, err := etcd.Open(context.Background(), etcd.Config{Prefix: prefix, Schema: s,
		Client: clientv3.Config{Endpoints: strings.Fields(endpoints)}})
	if err != nil {
		return err
	}
	for {
		n := 0
		if err := db.Update(context.Background(), func(tx mvcc.DBTx) error {
			n, _ = a.In(tx).Get("x")
			n++
			a.In(tx).Set("x", n)
			b.In(tx).Set("x", n)
			return nil
		}); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// A process that is killed amid its commits leaves whole ones: all that it knew of, and at most the one
// that was under way. The next one goes on.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	watcher := open(t, c, prefix, nil)
	last := 0
	for range 5 {
		self, err := os.Executable()
		require.NoError(t, err)
		cmd := exec.CommandContext(within(t), self)
		cmd.Env = append(os.Environ(), counting+"="+prefix+" "+strings.Join(c.Endpoints(), " "))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines, known := bufio.NewScanner(out), 0
		for first := last; known < first+20 && lines.Scan(); {
			_, err := fmt.Sscan(lines.Text(), &known)
			require.NoError(t, err)
		}
		require.NoError(t, cmd.Process.Kill())
		for lines.Scan() { // what it had printed
			_, err := fmt.Sscan(lines.Text(), &known)
			require.NoError(t, err)
		}
		_ = cmd.Wait() // says that it was killed
		require.Greater(t, known, last)
		require.NoError(t, watcher.ViewFresh(within(t), func(s mvcc.DBSnapshot) error {
			x, _ := watcher.a.At(s).Get("x")
			y, _ := watcher.b.At(s).Get("x")
			require.Equal(t, x, y)
			require.GreaterOrEqual(t, x, known)
			require.LessOrEqual(t, x, known+1)
			last = x
			return nil
		}))
	}
}
