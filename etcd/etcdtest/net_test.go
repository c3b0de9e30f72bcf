package etcdtest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// What is sent late is applied after its sender has given it up, and what it sends afterwards is not.
func TestNetLate(t *testing.T) {
	t.Parallel()
	c, key := shared(t), newPrefix()
	n := NewNet()
	defer n.Close()
	endpoints, err := n.Endpoints(c, -1)
	require.NoError(t, err)
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints})
	require.NoError(t, err)
	defer client.Close()
	put := func(key string, patience time.Duration) error {
		ctx, cancel := context.WithTimeout(within(t), patience)
		defer cancel()
		_, err := client.Put(ctx, key, "")
		return err
	}
	require.NoError(t, put(key+"first", patience))
	n.Late(-1, 0)
	require.ErrorIs(t, put(key+"late", time.Second), context.DeadlineExceeded)
	require.ErrorIs(t, put(key+"later", time.Second), context.DeadlineExceeded)
	require.Equal(t, 1, kept(t, c, key))
	n.Heal()
	require.Eventually(t, func() bool { return kept(t, c, key) == 2 }, patience, 10*time.Millisecond)
	require.Eventually(t, func() bool { return put(key+"new", patience) == nil }, patience, 10*time.Millisecond)
	require.Equal(t, 3, kept(t, c, key))
}
