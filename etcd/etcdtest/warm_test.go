package etcdtest

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// saved returns what SaveReplica writes, and its revision.
func saved(t testing.TB, p *process) ([]byte, uint64) {
	t.Helper()
	var b bytes.Buffer
	rev, err := p.SaveReplica(within(t), &b)
	require.NoError(t, err)
	return b.Bytes(), rev
}

func from(file []byte, log io.Writer) func(*etcd.Config) {
	return func(cfg *etcd.Config) {
		cfg.Replica, cfg.Logger = bytes.NewReader(file), slog.New(slog.NewTextHandler(log, nil))
	}
}

// records returns all of them.
func records(p *process) map[string]int {
	all := map[string]int{}
	for key, v := range p.a.All() {
		all["a/"+key] = v
	}
	for key, v := range p.b.All() {
		all["b/"+key] = v
	}
	return all
}

// A replica that begins with what another one has written, while that went on, has what was committed
// since, when it is open; with the revisions that the records were written at.
func TestWarmStart(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	p := open(t, c, prefix, nil)
	p.set(t, p.a, "x", 1)
	for i := range 20 {
		p.update(t, func(tx mvcc.DBTx) {
			for j := range 50 {
				p.a.In(tx).Set(fmt.Sprint(i, "-", j), i)
			}
			p.b.In(tx).Set(fmt.Sprint(i), i)
		})
	}
	p.delete(t, p.a, "3-3")
	all := records(p)
	p = open(t, c, prefix, nil) // which has loaded them, page by page
	require.Equal(t, all, records(p))
	p.set(t, p.a, "x", 2)
	var busy crew
	next := 0
	busy.Go(func() {
		for !busy.over.Load() {
			next++
			p.set(t, p.b, "beside", next)
		}
	})
	file, rev := saved(t, p)
	busy.over.Store(true)
	busy.Wait()
	require.LessOrEqual(t, rev, p.Epoch())
	p.set(t, p.a, "x", 3)
	p.set(t, p.a, "new", 4)
	p.delete(t, p.a, "4-4")
	p.delete(t, p.b, "5")
	var log buffer
	r := open(t, c, prefix, from(file, &log))
	require.Empty(t, log.String())
	require.GreaterOrEqual(t, r.Stats().Warm, 1000+19)
	require.Equal(t, records(p), records(r))
	require.NoError(t, r.View(func(s mvcc.DBSnapshot) error {
		for key := range r.byTen.Get(r.b.At(s), 7) {
			v, _ := r.b.At(s).Get(key)
			require.Equal(t, 7, v%10)
		}
		require.True(t, r.b.At(s).Has("17"))
		_, _, ok := r.byTen.First(r.b.At(s), 7)
		require.True(t, ok)
		return nil
	}))
	runs := 0
	r.update(t, func(tx mvcc.DBTx) {
		runs++
		for i := range 20 {
			key := fmt.Sprint(i, "-", 0)
			v, _ := r.a.In(tx).Get(key)
			r.a.In(tx).Set(key, v+1)
		}
		r.b.In(tx).Get("7")
		r.a.In(tx).Get("4-4")
	})
	require.Equal(t, 1, runs)
	again, _ := saved(t, r)
	q := open(t, c, prefix, from(again, &log))
	require.Empty(t, log.String())
	require.Equal(t, records(r), records(q))
	require.Equal(t, len(records(r)), q.Stats().Warm)
}

// What is damaged, of something else, or too old is not used, and the logger is told why; the replica has
// what is in the cluster all the same.
func TestWarmStartRefused(t *testing.T) {
	t.Parallel()
	c, prefix := start(t, 1, 0), newPrefix()
	p := open(t, c, prefix, nil)
	p.set(t, p.a, "x", 1)
	file, _ := saved(t, p)
	damaged := bytes.Clone(file)
	damaged[len(damaged)/2] ^= 1
	other := open(t, c, newPrefix(), nil)
	other.set(t, other.a, "x", 2)
	ofOther, _ := saved(t, other)
	elsewhere := shared(t)
	there := open(t, elsewhere, prefix, nil)
	there.set(t, there.a, "x", 3)
	ofElsewhere, _ := saved(t, there)
	refuses := func(file []byte, why string) {
		t.Helper()
		var log buffer
		q := open(t, c, prefix, from(file, &log))
		require.Contains(t, log.String(), why)
		require.Zero(t, q.Stats().Warm)
		require.Equal(t, records(p), records(q))
		require.NoError(t, q.Close())
	}
	refuses(nil, "not what SaveReplica writes")
	refuses(file[:len(file)-1], "damaged")
	refuses(damaged, "damaged")
	refuses(ofOther, "it is of prefix")
	refuses(ofElsewhere, "it is of prefix")
	p.set(t, p.a, "x", 4)
	compact(t, c, p.Epoch())
	refuses(file, "is compacted")
}

// A program with further fields does not begin with what one without them has written: it would miss them.
func TestWarmStartOtherTypes(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	old, _, err := openUsers[userOne](t, c, prefix, nil, nil)
	require.NoError(t, err)
	p, users, err := openUsers[userTwo](t, c, prefix, nil, nil)
	require.NoError(t, err)
	p.update(t, func(tx mvcc.DBTx) {
		users.In(tx).Set(1, userTwo{"ann", "mail"})
	})
	_, err = old.Sync(within(t))
	require.NoError(t, err)
	file, _ := saved(t, old)
	var log buffer
	q, users, err := openUsers[userTwo](t, c, prefix, nil, from(file, &log))
	require.NoError(t, err)
	require.Contains(t, log.String(), "has other types")
	v, _ := users.Load(1)
	require.Equal(t, userTwo{"ann", "mail"}, v)
	require.Zero(t, q.Stats().Warm)
}

// What was written before the cluster was restored from a backup, with commits that are not there any
// more, is not used, though the cluster has come further since.
func TestWarmStartOtherHistory(t *testing.T) {
	t.Parallel()
	c, prefix := start(t, 1, 0), newPrefix()
	p := open(t, c, prefix, nil)
	p.set(t, p.a, "x", 1)
	require.NoError(t, p.Close())
	backup := backUp(t, c)
	p = open(t, c, prefix, nil)
	p.set(t, p.a, "x", 2)
	p.set(t, p.a, "lost", 1)
	file, rev := saved(t, p)
	require.NoError(t, p.Close())
	require.NoError(t, c.Restore(backup))
	var log buffer
	q := open(t, c, prefix, from(file, &log))
	require.Contains(t, log.String(), "another history")
	for q.set(t, q.a, "x", 3) <= rev {
	}
	var again buffer
	r := open(t, c, prefix, from(file, &again))
	require.Contains(t, again.String(), "another history")
	require.Equal(t, map[string]int{"a/x": 3}, records(r))
}

// A replica begins with what was written before something happened that has ended those that were open:
// one opened now does without it, as it does if it loads everything.
func TestWarmStartAfterFailures(t *testing.T) {
	t.Parallel()
	c := shared(t)
	client := dial(t, c)
	for name, happens := range map[string]func(t *testing.T, prefix string){
		"written by somebody else": func(t *testing.T, prefix string) {
			_, err := client.Put(within(t), prefix+"t/a/y", "7")
			require.NoError(t, err)
		},
		"deleted by somebody else": func(t *testing.T, prefix string) {
			_, err := client.Delete(within(t), prefix+"t/a/x")
			require.NoError(t, err)
		},
		"cannot be decoded": func(t *testing.T, prefix string) {
			s := etcd.NewSchema(nil)
			a := etcd.NewTable[string, any](s, "a", &etcd.TableOptions[string, any]{AnyShape: true})
			p := open(t, c, prefix, func(cfg *etcd.Config) { cfg.Schema = s })
			for _, v := range []any{"text", 8.0} {
				p.update(t, func(tx mvcc.DBTx) {
					a.In(tx).Set("y", v)
				})
			}
		},
		"another version": func(t *testing.T, prefix string) {
			for i, takes := range [][]int{{0}, {1}} {
				p := open(t, c, prefix, func(cfg *etcd.Config) { cfg.Version, cfg.Versions = 1-i, takes })
				require.NoError(t, p.Close())
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			prefix := newPrefix()
			p := open(t, c, prefix, nil)
			p.set(t, p.a, "x", 1)
			p.set(t, p.b, "x", 1)
			file, _ := saved(t, p)
			happens(t, prefix)
			<-p.Failed()
			cold := open(t, c, prefix, nil)
			var log buffer
			warm := open(t, c, prefix, from(file, &log))
			require.Equal(t, records(cold), records(warm))
			require.Equal(t, name == "another version", log.String() == "")
			warm.set(t, warm.a, "x", 2)
			require.Equal(t, uint64(0), warm.Stats().Conflicts)
			for _, one := range []*process{cold, warm} {
				one.update(t, func(tx mvcc.DBTx) { // of the exact revisions
					v, _ := one.a.In(tx).Get("y")
					w, _ := one.b.In(tx).Get("x")
					one.a.In(tx).Set("y", v+w)
				})
				require.NoError(t, one.Err())
			}
			_, err := warm.Sync(within(t))
			require.NoError(t, err)
			require.Equal(t, records(cold)["a/x"], records(warm)["a/x"])
		})
	}
}
