package etcdtest

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A process that is cut off tries again and again, without longer and longer pauses: gRPC would come to
// the ninth attempt after more than a minute, and then wait for two.
func TestConnectsAgain(t *testing.T) {
	t.Parallel()
	c, prefix := start(t, 1, 0), newPrefix()
	p := open(t, c, prefix, nil)
	p.gate.set(true)
	dials := func() int {
		p.gate.mu.Lock()
		defer p.gate.mu.Unlock()
		return p.gate.dials
	}
	first := dials()
	require.Eventually(t, func() bool { return dials() >= first+9 }, 50*time.Second, 10*time.Millisecond)
	p.gate.set(false)
	p.set(t, p.a, "x", 1)
}

// Where nothing is committed, but others write in the cluster, and history is compacted, a watch
// that begins anew goes on, and nothing is loaded anew; commits that others made before come.
func TestIdleIsNotLoadedAnew(t *testing.T) {
	t.Parallel()
	c, prefix := start(t, 1, 0), newPrefix()
	p := open(t, c, prefix, func(cfg *etcd.Config) { cfg.Heartbeat = 100 * time.Millisecond })
	p.set(t, p.a, "x", 1)
	client := dial(t, c)
	var at uint64
	for range 100 {
		put, err := client.Put(within(t), "elsewhere", "")
		require.NoError(t, err)
		at = uint64(put.Header.Revision)
	}
	require.Eventually(t, func() bool { return p.Stats().Revision >= at }, patience, 10*time.Millisecond)
	p.gate.set(true)
	compact(t, c, at-1)
	p.gate.set(false)
	q := open(t, c, prefix, nil)
	require.NoError(t, p.WaitFor(within(t), q.set(t, q.b, "y", 1)))
	require.Zero(t, p.Stats().Resyncs)
}

// A process that was cut off during many commits of many small records catches up: by a watch in pieces
// the server needs longer than the heartbeat waits. One that is opened then loads the same.
func TestCatchesUp(t *testing.T) {
	t.Parallel()
	c, prefix := start(t, 1, 0), newPrefix()
	p, q := open(t, c, prefix, nil), open(t, c, prefix, nil)
	p.gate.set(true)
	var last uint64
	const commits, each = 1000, 120
	for i := range commits {
		q.update(t, func(tx mvcc.DBTx) {
			for j := range each {
				q.a.In(tx).Set(fmt.Sprint("a key that is as long as those of programs are ", i*each+j), i)
			}
			tx.OnCommit(func(at uint64) { last = at })
		})
	}
	p.gate.set(false)
	ctx, cancel := context.WithTimeout(within(t), time.Minute)
	defer cancel()
	require.NoError(t, p.WaitFor(ctx, last))
	require.Equal(t, commits*each, p.a.Len())
	require.Zero(t, p.Stats().Resyncs)
	require.Equal(t, maps.Collect(p.a.All()), maps.Collect(open(t, c, prefix, nil).a.All())) // in pages
	t.Logf("%+v", p.Stats())
}

// Each request of Open that a member does not answer is sent again; and where it asks for
// so many records that they do not come in time, for fewer.
func TestMemberHangs(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	q := open(t, c, prefix, nil)
	q.update(t, func(tx mvcc.DBTx) {
		for i := range 100 {
			q.a.In(tx).Set(fmt.Sprint(i), i)
		}
	})
	var mu sync.Mutex
	hung, smallest := map[string]int{}, int64(100)
	hangs := func(req any) (name string) { // the first request of each kind, and all for many records
		mu.Lock()
		defer mu.Unlock()
		switch req := req.(type) {
		case *etcdserverpb.RangeRequest:
			name = strings.TrimPrefix(string(req.Key), prefix)
			if strings.HasPrefix(name, "t/") {
				name, smallest = "records", min(smallest, req.Limit)
			}
			if req.Limit > 20 {
				return "many records"
			}
		case *etcdserverpb.TxnRequest:
			if puts := req.Success; string(puts[0].GetRequestPut().GetKey()) == prefix+"m" {
				name = "put m"
			}
		}
		if hung[name]++; name == "" || strings.HasPrefix(name, "e/") || hung[name] > 1 {
			return ""
		}
		return name
	}
	p := open(t, c, prefix, func(cfg *etcd.Config) {
		cfg.RequestTimeout = 200 * time.Millisecond
		unary(cfg, func(ctx context.Context, req, reply any, send func() error) error {
			if name := hangs(req); name != "" {
				if ends, ok := ctx.Deadline(); !ok || time.Until(ends) > patience/4 {
					t.Error("it has no limit of its own:", name)
					return errBroken
				}
				<-ctx.Done()
				return ctx.Err()
			}
			return send()
		})
	})
	require.Equal(t, 100, p.a.Len())
	mu.Lock()
	defer mu.Unlock()
	require.Greater(t, smallest, int64(1), "it asks for fewer and fewer, though they come")
}
