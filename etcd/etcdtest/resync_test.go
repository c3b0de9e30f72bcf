package etcdtest

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
