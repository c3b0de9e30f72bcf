package etcdtest

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling/prom"
)

// A revision that was passed over, because everything was loaded anew, is no state.
func TestSnapshotAtBesideResync(t *testing.T) {
	c, prefix := start(t, 1, 0), newPrefix()
	p, q := open(t, c, prefix, nil), open(t, c, prefix, nil)
	q.set(t, q.a, "x", 1)
	_, err := p.Sync(within(t))
	require.NoError(t, err)
	p.gate.set(true)
	second := q.set(t, q.a, "x", 2)
	q.set(t, q.a, "x", 3)
	last := q.set(t, q.a, "x", 4)
	compact(t, c, last)
	p.gate.set(false)
	require.NoError(t, p.WaitFor(within(t), last))
	require.EqualValues(t, 1, p.Stats().Resyncs)
	require.NoError(t, p.WaitFor(within(t), second))
	_, err = p.SnapshotAt(second)
	require.ErrorIs(t, err, mvcc.ErrEpochGone)
}

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
// the server needs longer than the heartbeat waits.
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
	t.Logf("%+v", p.Stats())
}

// Values are those of Stats, and their names are good for Prometheus.
func TestValues(t *testing.T) {
	t.Parallel()
	p := open(t, shared(t), newPrefix(), nil)
	p.set(t, p.a, "x", 1)
	w := httptest.NewRecorder()
	prom.Handler(nil, nil, map[string]func() []prom.Value{"bank": p.Values}).
		ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	require.Contains(t, w.Body.String(), "# TYPE mvccmap_etcd_commits_total counter\n"+
		`mvccmap_etcd_commits_total{of="bank"} 1`)
	require.Contains(t, w.Body.String(), "# TYPE mvccmap_etcd_behind_revisions gauge\n"+
		`mvccmap_etcd_behind_revisions{of="bank"} 0`)
	require.Contains(t, w.Body.String(), fmt.Sprintf("mvccmap_etcd_revision{of=\"bank\"} %d\n", p.Epoch()))
	for _, v := range p.Values() {
		require.NotEmpty(t, v.Help)
		require.Regexp(t, `^mvccmap_etcd_[a-z_]+$`, v.Metric)
	}
}
