package etcdtest

import (
	"cmp"
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A cluster goes back by one commit, which p has seen and q has not, and q goes on with as many: so
// the watch of p finds just the revision it awaits. It notices by itself, without a heartbeat.
func TestHistoryLostInStep(t *testing.T) {
	t.Parallel()
	c, prefix := start(t, 1, 0), newPrefix()
	slow := func(cfg *etcd.Config) { cfg.Heartbeat = time.Hour }
	p, q := open(t, c, prefix, slow), open(t, c, prefix, slow)
	q.set(t, q.a, "other", 0)
	p.set(t, p.a, "x", 1)
	_, err := q.Sync(within(t))
	require.NoError(t, err)
	q.gate.set(true)
	backup := backUp(t, c)
	lost := p.set(t, p.a, "x", 2)
	p.gate.set(true)
	require.NoError(t, c.Restore(backup))
	q.gate.set(false)
	first := q.set(t, q.a, "other", 1)
	t.Log("lost", lost, "in its place", first, "and then", q.set(t, q.a, "third", 2))
	p.gate.set(false)
	require.ErrorIs(t, failed(t, p), etcd.ErrHistoryLost)
	_, has := p.a.Load("third")
	require.False(t, has, "a state that never was")
	require.NoError(t, q.Err())
}

// A cluster goes back, and a process commits before its watch, or a heartbeat, could notice:
// nothing is committed, also if the lost commit was in another table.
func TestHistoryLostAtCommit(t *testing.T) {
	t.Parallel()
	for lost, table := range map[string]func(p *process) *etcd.Table[string, int]{
		"the same table": func(p *process) *etcd.Table[string, int] { return p.a },
		"another table":  func(p *process) *etcd.Table[string, int] { return p.b },
	} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			historyLostAtCommit(t, table)
		})
	}
}

func historyLostAtCommit(t *testing.T, table func(p *process) *etcd.Table[string, int]) {
	c, prefix := start(t, 1, 0), newPrefix()
	var d deaf
	p := open(t, c, prefix, func(cfg *etcd.Config) {
		cfg.Heartbeat, cfg.ResolveTimeout = time.Hour, patience
		received(cfg, d.hears)
	})
	q := open(t, c, prefix, nil)
	p.set(t, p.a, "x", 1)
	p.set(t, p.b, "x", 1)
	require.NoError(t, q.WaitFor(within(t), p.Epoch()))
	backup := backUp(t, c)
	q.update(t, func(tx mvcc.DBTx) { // the slot of p is as it was
		in := table(q).In(tx)
		v, _ := in.Get("x")
		in.Set("x", v+1)
	})
	require.NoError(t, p.WaitFor(within(t), q.Epoch()))
	d.Lock()
	p.gate.set(true)
	require.NoError(t, c.Restore(backup))
	p.gate.set(false)
	err := p.Update(within(t), nil, func(tx mvcc.DBTx) error {
		p.a.In(tx).Set("y", 1)
		return nil
	})
	d.Unlock()
	require.ErrorIs(t, err, etcd.ErrHistoryLost)
	require.Empty(t, kept(t, c, prefix+"t/a/y"))
}

// A cluster is restored so that its revisions go on above all that there were, and the commits
// after it was saved are not there: a replica that has one fails, and another one goes on.
func TestHistoryLostBumped(t *testing.T) {
	t.Parallel()
	c, prefix := start(t, 1, 0), newPrefix()
	p := open(t, c, prefix, nil)
	p.set(t, p.a, "x", 1)
	saved := filepath.Join(t.TempDir(), "saved")
	require.NoError(t, c.Save(within(t), saved))
	lost := p.set(t, p.b, "lost", 1)
	require.NoError(t, c.RestoreBumped(saved, 1_000_000))
	require.ErrorIs(t, failed(t, p), etcd.ErrHistoryLost)
	q := open(t, c, prefix, nil)
	_, has := q.b.Load("lost")
	require.False(t, has)
	v, _ := q.a.Load("x")
	require.Equal(t, 1, v)
	require.Greater(t, q.set(t, q.a, "x", 2), lost+500_000)
}

// A cluster goes back by a commit that a process knows of by its answer only, or has found out, and goes
// on with others: the process notices, once the watch comes to where it was.
func TestHistoryLostUnseen(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]error{"answered": nil, "found out": errBroken} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			historyLostUnseen(t, lost)
		})
	}
}

func historyLostUnseen(t *testing.T, lost error) {
	c, prefix := start(t, 1, 0), newPrefix()
	var d deaf
	p := open(t, c, prefix, func(cfg *etcd.Config) {
		cfg.Heartbeat = time.Hour
		received(cfg, d.hears)
	})
	p.set(t, p.a, "x", 1)
	d.Lock()
	backup := backUp(t, c)
	ctx, cancel := context.WithCancel(within(t))
	sent := make(chan struct{})
	p.wire.once(func(ctx context.Context, send func(context.Context) error) error {
		err := send(ctx)
		close(sent)
		return cmp.Or(err, lost)
	})
	done := make(chan error, 1)
	go func() { done <- p.Update(ctx, nil, adders["read and written"](p)) }()
	<-sent
	require.Never(t, func() bool { return len(done) > 0 }, 500*time.Millisecond, 50*time.Millisecond)
	cancel() // it was committed, and has not come
	require.NoError(t, <-done)
	require.NoError(t, c.Restore(backup))
	q := open(t, c, prefix, nil)
	for range 5 {
		q.set(t, q.a, "y", 1)
	}
	d.Unlock()
	require.ErrorIs(t, failed(t, p), etcd.ErrHistoryLost)
}
