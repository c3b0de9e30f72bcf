package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// All processes have the commits of one: the writer when Update returns, others after Sync or
// WaitFor; and one that opens later. Epochs are revisions everywhere.
func TestReplicated(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	p, q := open(t, c, prefix, nil), open(t, c, prefix, nil)
	rev := p.set(t, p.a, "x", 1)
	v, ok := p.a.Load("x")
	require.True(t, ok)
	require.Equal(t, 1, v)
	require.Equal(t, rev, p.Epoch())
	at, err := q.Sync(within(t))
	require.NoError(t, err)
	require.Equal(t, rev, at)
	v, _ = q.a.Load("x")
	require.Equal(t, 1, v)
	second := q.set(t, q.b, "y", 27)
	require.Greater(t, second, rev)
	require.NoError(t, p.WaitFor(within(t), second))
	s, err := p.SnapshotAt(rev)
	require.NoError(t, err)
	require.False(t, p.b.At(s).Has("y"))
	s.Close()
	require.NoError(t, p.View(func(s mvcc.DBSnapshot) error {
		key, v, ok := p.byTen.First(p.b.At(s), 7)
		require.Equal(t, []any{"y", 27, true}, []any{key, v, ok})
		return nil
	}))
	p.delete(t, p.a, "x")
	r := open(t, c, prefix, nil)
	require.Zero(t, r.a.Len())
	require.Equal(t, 1, r.b.Len())
	require.GreaterOrEqual(t, r.Epoch(), p.Epoch()) // others write to the cluster
	require.EqualValues(t, 2, p.Stats().Commits)
	third := r.set(t, r.b, "y", 28) // it was loaded
	r.update(t, func(tx mvcc.DBTx) {
		v, _ := r.b.In(tx).Get("y")
		r.b.In(tx).Set("y", v+1)
	})
	var told []uint64
	since, err := q.SnapshotAt(second)
	require.NoError(t, err)
	defer since.Close()
	_, err = q.Sync(within(t))
	require.NoError(t, err)
	for commit, err := range q.Watch(within(t), &mvcc.DBWatchOptions{Since: since}) {
		require.NoError(t, err)
		told = append(told, commit.Epoch)
		break
	}
	require.Len(t, told, 1)
	require.GreaterOrEqual(t, told[0], third)
}

// Update does not return before the process has applied its commit: here that is held up.
func TestUpdateWaits(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	s := etcd.NewSchema(nil)
	decoding, goOn := make(chan bool), make(chan bool)
	var decoded atomic.Int64
	slow := etcd.NewTable(s, "slow", &etcd.TableOptions[string, int]{Codec: "slow",
		Encode: func(int) ([]byte, error) { return nil, nil },
		Decode: func([]byte) (int, error) {
			if decoded.Add(1) > 1 { // and not before it is sent
				decoding <- true
				<-goOn
			}
			return 1, nil
		}})
	p, err := tryOpen(t, c, prefix, func(cfg *etcd.Config) { cfg.Schema = s })
	require.NoError(t, err)
	defer p.Close()
	release := sync.OnceFunc(func() { close(goOn) })
	defer release()
	done := make(chan error, 1)
	go func() {
		done <- p.Update(within(t), nil, func(tx mvcc.DBTx) error {
			slow.In(tx).Set("x", 1)
			return nil
		})
	}()
	<-decoding
	q := open(t, c, newPrefix(), nil)
	for i := range 20 { // the answer has come long since
		q.set(t, q.a, "x", i)
	}
	require.Empty(t, done)
	require.Zero(t, slow.Len())
	release()
	require.NoError(t, <-done)
	require.Equal(t, 1, slow.Len())
}

// A transaction runs again if something that it has read is written meanwhile by another process, in
// whatever way it has read it, and however it is written; and not otherwise.
func TestConflicts(t *testing.T) {
	t.Parallel()
	many := func(n int) func(p *process, tx mvcc.DBTx) {
		return func(p *process, tx mvcc.DBTx) {
			for i := range n {
				p.a.In(tx).Get(fmt.Sprint("many", i))
			}
		}
	}
	all := func(seq func(func(string, int) bool)) { seq(func(string, int) bool { return true }) }
	key := func(p *process, tx mvcc.DBTx) { p.a.In(tx).Get("x") }
	absent := func(p *process, tx mvcc.DBTx) { p.a.In(tx).Has("new") }
	between := func(p *process, tx mvcc.DBTx) { all(p.b.In(tx).Ascend(mvcc.From("c").Before("f"))) }
	everything := func(p *process, tx mvcc.DBTx) { all(p.a.In(tx).All()) }
	index := func(p *process, tx mvcc.DBTx) { all(p.byTen.Get(p.b.In(tx), 7)) }
	merge := func(p *process, tx mvcc.DBTx) {
		p.a.In(tx).Merge("x", func(old int, _ bool) int { return old + 1 })
	}
	long := func(p *process, tx mvcc.DBTx) { all(p.b.In(tx).Ascend(mvcc.Prefix("long"))) }
	mergeTotal := func(p *process, tx mvcc.DBTx) {
		p.a.In(tx).Merge("total", func(old int, _ bool) int { return old + 1 })
	}
	setA := func(key string) func(t *testing.T, q *process) {
		return func(t *testing.T, q *process) { q.set(t, q.a, key, 5) }
	}
	setB := func(key string) func(t *testing.T, q *process) {
		return func(t *testing.T, q *process) { q.set(t, q.b, key, 7) }
	}
	for name, run := range map[string]struct {
		reads  func(p *process, tx mvcc.DBTx)
		writes func(t *testing.T, q *process) // meanwhile
		runs   int
	}{
		"key overwritten":      {key, setA("x"), 2},
		"key deleted":          {key, func(t *testing.T, q *process) { q.delete(t, q.a, "x") }, 2},
		"key deleted and back": {key, func(t *testing.T, q *process) { q.delete(t, q.a, "x"); q.set(t, q.a, "x", 1) }, 2},
		"another key":          {key, setA("other"), 1},
		"absent key made":      {absent, setA("new"), 2},
		"absent key made and gone": {absent, func(t *testing.T, q *process) {
			q.set(t, q.a, "new", 5)
			q.delete(t, q.a, "new")
		}, 1},
		"range, inserted":      {between, setB("d2"), 2},
		"range, deleted":       {between, func(t *testing.T, q *process) { q.delete(t, q.b, "d") }, 2},
		"range, another table": {between, setA("d"), 1},
		"range, outside":       {between, setB("f"), 1},
		"range, deleted outside": {func(p *process, tx mvcc.DBTx) { all(p.b.In(tx).Ascend(mvcc.From("e").Before("f"))) },
			func(t *testing.T, q *process) { q.delete(t, q.b, "d") }, 1},
		"long range, deleted":         {long, func(t *testing.T, q *process) { q.delete(t, q.b, "long7") }, 2},
		"long range, deleted outside": {long, func(t *testing.T, q *process) { q.delete(t, q.b, "d") }, 2}, // or inside
		"merge and a read": {func(p *process, tx mvcc.DBTx) { key(p, tx); mergeTotal(p, tx) },
			setA("total"), 1},
		"merge and a read that changes": {func(p *process, tx mvcc.DBTx) { key(p, tx); mergeTotal(p, tx) }, setA("x"), 2},
		"all, inserted":                 {everything, setA("new"), 2},
		"all, deleted":                  {everything, func(t *testing.T, q *process) { q.delete(t, q.a, "x") }, 2},
		"index, entered":                {index, setB("new"), 2},
		"index, left":                   {index, func(t *testing.T, q *process) { q.set(t, q.b, "d", 11) }, 2},
		"more keys than fit":            {many(300), setA("many299"), 2},
		"merge":                         {merge, setA("x"), 1},
		"nothing read":                  {func(p *process, tx mvcc.DBTx) { p.a.In(tx).Set("x", 8) }, setA("x"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, prefix := shared(t), newPrefix()
			p, q := open(t, c, prefix, nil), open(t, c, prefix, nil)
			q.set(t, q.a, "x", 1)
			q.set(t, q.b, "d", 7)
			q.update(t, func(tx mvcc.DBTx) {
				for i := range 60 {
					q.b.In(tx).Set(fmt.Sprint("long", i), 8)
				}
			})
			_, err := p.Sync(within(t))
			require.NoError(t, err)
			runs := 0
			p.update(t, func(tx mvcc.DBTx) {
				runs++
				run.reads(p, tx)
				p.a.In(tx).Set("result", runs)
				if runs == 1 {
					_, err := q.Sync(within(t))
					require.NoError(t, err)
					run.writes(t, q)
				}
			})
			require.Equal(t, run.runs, runs)
			if key := map[string]string{"merge": "x", "merge and a read": "total"}[name]; key != "" {
				v, _ := p.a.Load(key)
				require.Equal(t, 6, v, "the increment is lost, or the write that came between")
			}
		})
	}
}

// Update refuses transactions, each by its error, and commits nothing of them.
func TestRefused(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	p := open(t, c, prefix, nil)
	rev := p.set(t, p.a, "x", 1)
	mine := errors.New("mine")
	require.ErrorIs(t, p.Update(within(t), nil, func(tx mvcc.DBTx) error {
		p.a.In(tx).Set("x", 2)
		return mine
	}), mine)
	var large *etcd.TooLargeError
	require.ErrorAs(t, p.Update(within(t), nil, func(tx mvcc.DBTx) error {
		for i := range 127 {
			p.a.In(tx).Set(fmt.Sprint(i), 2)
		}
		return nil
	}), &large)
	require.Equal(t, 129, large.Ops)
	require.ErrorContains(t, large, "127 records")
	require.ErrorIs(t, p.Update(within(t), nil, func(tx mvcc.DBTx) error {
		p.a.In(tx).Set("x", 2)
		require.Error(t, tx.Commit())
		return nil
	}), mvcc.ErrTxDone)
	ended, cancel := context.WithCancelCause(within(t))
	cancel(mine)
	require.ErrorIs(t, p.Update(ended, nil, func(mvcc.DBTx) error { return nil }), mine)
	require.Equal(t, rev, p.Epoch())
	p.update(t, func(tx mvcc.DBTx) { // as many as fit
		for i := range 126 {
			p.a.In(tx).Set(fmt.Sprint(i), 2)
		}
	})
	require.Equal(t, 127, p.a.Len())
	for each, want := range map[int]int{1: 300, 7: 300, 130: 0} { // records of an item
		items := func(yield func(int) bool) {
			for i := 0; i < 300 && yield(i); i++ {
			}
		}
		done, err := etcd.InParts(within(t), p.DB, items, func(tx mvcc.DBTx, i int) error {
			for j := range each {
				p.b.In(tx).Set(fmt.Sprint(each, " ", i, " ", j), 1)
			}
			return nil
		})
		require.Equal(t, want, done)
		require.Equal(t, want == 0, errors.As(err, &large))
	}
	require.Equal(t, 300+7*300, p.b.Len())
	done, err := p.b.Import(within(t), p.DB, p.a.All())
	require.NoError(t, err)
	require.Equal(t, 127, done)
	done, err = p.b.DeleteRange(within(t), p.DB, mvcc.Prefix("7 "))
	require.NoError(t, err)
	require.Equal(t, 7*300, done)
	done, err = p.b.Clear(within(t), p.DB)
	require.NoError(t, err)
	require.Equal(t, 300+127, done)
	require.Zero(t, p.b.Len())
	runs := 0
	q := open(t, c, prefix, func(cfg *etcd.Config) { cfg.MaxAttempts = 3 })
	err = q.Update(within(t), nil, func(tx mvcc.DBTx) error {
		runs++
		q.a.In(tx).Get("x")
		q.a.In(tx).Set("y", 1)
		p.set(t, p.a, "x", runs)
		return nil
	})
	require.ErrorIs(t, err, mvcc.ErrConflict)
	require.ErrorContains(t, err, `over table "a", key x: 3 attempts`)
	require.Equal(t, 3, runs)
	require.NoError(t, p.Close())
	require.ErrorIs(t, p.Update(within(t), nil, func(mvcc.DBTx) error { return nil }), etcd.ErrClosed)
	v, _ := p.a.Load("x")
	require.Equal(t, 3, v, "what was there can be read")
}

// Open refuses a schema or a configuration that does not fit, and says why.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	open(t, c, prefix, nil)
	s := etcd.NewSchema(nil)
	etcd.NewTable(s, "a", &etcd.TableOptions[string, int]{Codec: "mine",
		Encode: func(int) ([]byte, error) { return nil, nil },
		Decode: func([]byte) (int, error) { return 0, nil }})
	_, err := tryOpen(t, c, prefix, func(cfg *etcd.Config) { cfg.Schema = s })
	var schema *etcd.SchemaError
	require.ErrorAs(t, err, &schema)
	require.Equal(t, "a", schema.Table)
	s = etcd.NewSchema(nil)
	etcd.NewTable[string, int](s, "a", nil)
	nobody, err := freePort()
	require.NoError(t, err)
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = etcd.Open(short, etcd.Config{Prefix: prefix, Schema: s, RequestTimeout: 100 * time.Millisecond,
		Client: clientv3.Config{Endpoints: []string{nobody}}})
	require.ErrorContains(t, err, "no server answers")
	again, err := tryOpen(t, c, prefix, func(cfg *etcd.Config) { cfg.Schema = s })
	require.NoError(t, err)
	require.NoError(t, again.Close())
	_, err = tryOpen(t, c, prefix, func(cfg *etcd.Config) { cfg.Schema = s })
	require.ErrorContains(t, err, "was opened before")
	_, err = tryOpen(t, c, "no slash", nil)
	require.ErrorContains(t, err, "ends with a slash")
	_, err = tryOpen(t, c, prefix, func(cfg *etcd.Config) { cfg.Lease = time.Millisecond })
	require.ErrorContains(t, err, "Config.Lease is 1ms, want a second or more")
	require.Panics(t, func() { etcd.NewTable[string, int](s, "late", nil) })
	require.Panics(t, func() { etcd.NewTable[float64, int](etcd.NewSchema(nil), "floats", nil) })
}
