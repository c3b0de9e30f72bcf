package etcdtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// lastStep is a program that decodes codec two only.
func lastStep() *etcd.TableOptions[int, userTwo] {
	return &etcd.TableOptions[int, userTwo]{Codec: "two", Encode: thirdStep().Encode,
		Decode: func(b []byte) (u userTwo, err error) { return u, json.Unmarshal(b, &u) }}
}

// fillUsers fills the table with records of codec one.
func fillUsers(t *testing.T, c *Cluster, prefix string, records int) {
	t.Helper()
	p, users, err := openUsers(t, c, prefix, secondStep(), nil)
	require.NoError(t, err)
	for i := 0; i < records; i += 50 {
		p.update(t, func(tx mvcc.DBTx) {
			for j := i; j < min(i+50, records); j++ {
				name := fmt.Sprint("user", j)
				users.In(tx).Set(j, userTwo{name, name + "@example.com"})
			}
		})
	}
	require.NoError(t, p.Close())
}

// ofOne returns how many records there are, and how many of codec one.
func ofOne(t *testing.T, c *Cluster, prefix string) (all, one int) {
	t.Helper()
	got := kept(t, c, prefix+"t/users/")
	for _, kv := range got {
		if strings.HasPrefix(string(kv.Value), "one:") {
			one++
		}
	}
	return len(got), one
}

// What was written before is written anew, beside programs that write the same records, of which
// nothing is lost; and then a program may be opened that decodes nothing else.
func TestRewrite(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	const records = 320
	fillUsers(t, c, prefix, records)
	p, users, err := openUsers(t, c, prefix, thirdStep(), nil)
	require.NoError(t, err)
	var schema *etcd.SchemaError
	_, _, err = openUsers(t, c, prefix, lastStep(), nil)
	require.ErrorAs(t, err, &schema)
	require.Error(t, p.Rewrite(within(t), "nobody", nil))
	var busy crew
	added := make([]int, records)
	for g := range 2 { // each has records of its own, spread over all
		q, users, err := openUsers(t, c, prefix, thirdStep(), nil)
		require.NoError(t, err)
		busy.Go(func() {
			for i := 7 * g; !busy.over.Load(); i++ {
				key := (2*i + g) % records
				if err := q.Update(within(t), func(tx mvcc.DBTx) error {
					u, _ := users.In(tx).Get(key)
					if u.Mail += "!"; key == 10 {
						users.In(tx).Delete(20)
					}
					users.In(tx).Set(key, u)
					return nil
				}); err != nil {
					t.Error(err)
				}
				added[key]++
			}
		})
	}
	var looked, written int
	require.NoError(t, p.Rewrite(within(t), "users", &etcd.RewriteOptions{Progress: func(l, w int) {
		require.LessOrEqual(t, looked, l)
		looked, written = l, w
	}}))
	busy.over.Store(true)
	busy.Wait()
	t.Log("looked at", looked, "wrote", written)
	all, one := ofOne(t, c, prefix)
	require.GreaterOrEqual(t, all, records-1)
	require.Zero(t, one)
	_, err = p.Sync(within(t))
	require.NoError(t, err)
	for i, n := range added {
		name := fmt.Sprint("user", i)
		if u, _ := users.Load(i); i != 20 {
			require.Equal(t, userTwo{name, name + "@example.com" + strings.Repeat("!", n)}, u)
		}
	}
	last, users, err := openUsers(t, c, prefix, lastStep(), nil)
	require.NoError(t, err)
	require.Equal(t, all, users.Len())
	require.NoError(t, last.Rewrite(within(t), "users", &etcd.RewriteOptions{Progress: func(_, w int) {
		require.Zero(t, w)
	}}))
	_, _, err = openUsers(t, c, prefix, firstStep(), nil)
	require.ErrorAs(t, err, &schema)
}

// Rewrite ends in the middle. What it has done stays, and so do the notes; another process does the rest.
func TestRewriteInterrupted(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	const records = 300
	fillUsers(t, c, prefix, records)
	p, _, err := openUsers(t, c, prefix, thirdStep(), nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(within(t))
	require.ErrorIs(t, p.Rewrite(ctx, "users", &etcd.RewriteOptions{Progress: func(_, written int) {
		if written >= 100 {
			cancel()
		}
	}}), context.Canceled)
	require.NoError(t, p.Close())
	all, left := ofOne(t, c, prefix)
	require.Equal(t, []int{records, 200}, []int{all, left})
	var schema *etcd.SchemaError
	_, _, err = openUsers(t, c, prefix, lastStep(), nil)
	require.ErrorAs(t, err, &schema)
	q, _, err := openUsers(t, c, prefix, thirdStep(), nil)
	require.NoError(t, err)
	written := 0
	require.NoError(t, q.Rewrite(within(t), "users", &etcd.RewriteOptions{
		Progress: func(_, w int) { written = w }}))
	require.Equal(t, left, written)
	_, _, err = openUsers(t, c, prefix, lastStep(), nil)
	require.NoError(t, err)
}

// A deaf process is told nothing by its watch while the lock is held.
type deaf struct{ sync.Mutex }

func (d *deaf) hears(any) {
	d.Lock()
	defer d.Unlock()
}

// A program that writes an older codec, and has not heard that all was written anew, commits
// nothing: it fails once it hears of it.
func TestRewriteBesideOlder(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	fillUsers(t, c, prefix, 10)
	var d deaf
	old, users, err := openUsers(t, c, prefix, secondStep(), func(cfg *etcd.Config) {
		received(cfg, d.hears)
	})
	require.NoError(t, err)
	old.update(t, func(tx mvcc.DBTx) { // it has a slot
		users.In(tx).Set(1, userTwo{"a", "a@example.com"})
	})
	d.Lock()
	p, _, err := openUsers(t, c, prefix, thirdStep(), nil)
	require.NoError(t, err)
	require.NoError(t, p.Rewrite(within(t), "users", nil))
	old.wire.once(func(ctx context.Context, send func(context.Context) error) error {
		defer d.Unlock()
		return send(ctx)
	})
	err = old.Update(within(t), func(tx mvcc.DBTx) error {
		users.In(tx).Set(1, userTwo{"b", "b@example.com"})
		return nil
	})
	_, one := ofOne(t, c, prefix)
	require.Zero(t, one)
	var schema *etcd.SchemaError
	require.ErrorAs(t, err, &schema)
	require.ErrorAs(t, old.Err(), &schema)
	require.Equal(t, "keys: int, values: one", schema.Want)
}

// A program that writes an older codec is opened while all is written anew, behind what was looked
// at: Rewrite says so, and the codec stays in the notes, also if another Rewrite has begun by then.
func TestRewriteOpenedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"alone": false, "and another Rewrite": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, prefix := shared(t), newPrefix()
			fillUsers(t, c, prefix, 10)
			p, _, err := openUsers(t, c, prefix, thirdStep(), nil)
			require.NoError(t, err)
			q, _, err := openUsers(t, c, prefix, thirdStep(), nil)
			require.NoError(t, err)
			stopped := errors.New("stopped")
			err = p.Rewrite(within(t), "users", &etcd.RewriteOptions{Progress: func(_, written int) {
				if written == 0 {
					return
				}
				old, users, err := openUsers(t, c, prefix, secondStep(), nil)
				require.NoError(t, err)
				old.update(t, func(tx mvcc.DBTx) {
					users.In(tx).Set(1, userTwo{"b", "b@example.com"})
				})
				require.NoError(t, old.Close())
				if again {
					ctx, cancel := context.WithCancelCause(within(t))
					require.ErrorIs(t, q.Rewrite(ctx, "users", &etcd.RewriteOptions{
						Progress: func(int, int) { cancel(stopped) }}), context.Canceled)
				}
			}})
			var schema *etcd.SchemaError
			require.ErrorAs(t, err, &schema)
			_, one := ofOne(t, c, prefix)
			require.Equal(t, 1, one)
			_, _, err = openUsers(t, c, prefix, lastStep(), nil)
			require.ErrorAs(t, err, &schema)
			require.NoError(t, p.Rewrite(within(t), "users", nil))
			_, one = ofOne(t, c, prefix)
			require.Zero(t, one)
			_, _, err = openUsers(t, c, prefix, lastStep(), nil)
			require.NoError(t, err)
		})
	}
}

// Each request of Open and Rewrite that a member does not answer is sent again; and where it asks for
// so many records that they do not come in time, for fewer.
func TestMemberHangs(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	fillUsers(t, c, prefix, 100)
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
	p, _, err := openUsers(t, c, prefix, thirdStep(), func(cfg *etcd.Config) {
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
	require.NoError(t, err)
	mu.Lock()
	clear(hung)
	mu.Unlock()
	require.NoError(t, p.Rewrite(within(t), "users", nil))
	_, one := ofOne(t, c, prefix)
	require.Zero(t, one)
	mu.Lock()
	defer mu.Unlock()
	require.Greater(t, smallest, int64(1), "it asks for fewer and fewer, though they come")
}

// A program that has less than one that is opened while Rewrite runs does not go on: it would lose it.
func TestRewriteByLessThanMeanwhile(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	old, _, err := openUsers[userOne](t, c, prefix, nil, nil)
	require.NoError(t, err)
	var users *etcd.Table[int, userTwo]
	var p *process
	var schema *etcd.SchemaError
	require.ErrorAs(t, old.Rewrite(within(t), "users", &etcd.RewriteOptions{Progress: func(int, int) {
		if p != nil {
			return
		}
		p, users, err = openUsers[userTwo](t, c, prefix, nil, nil)
		require.NoError(t, err)
		p.update(t, func(tx mvcc.DBTx) {
			users.In(tx).Set(1, userTwo{"ann", "a@"})
		})
	}}), &schema)
	_, err = p.Sync(within(t))
	require.NoError(t, err)
	v, _ := users.Load(1)
	require.Equal(t, userTwo{"ann", "a@"}, v)
}

// Nor does one that cannot decode what another one writes, which goes on.
func TestRewriteByOlder(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	fillUsers(t, c, prefix, 10)
	old, _, err := openUsers(t, c, prefix, thirdStep(), nil)
	require.NoError(t, err)
	next := thirdStep()
	next.Codec, next.Codecs = "three", []string{"one", "two"}
	p, users, err := openUsers(t, c, prefix, next, nil)
	require.NoError(t, err)
	var schema *etcd.SchemaError
	require.ErrorAs(t, old.Rewrite(within(t), "users", nil), &schema)
	p.update(t, func(tx mvcc.DBTx) {
		users.In(tx).Delete(1)
	})
	require.NoError(t, p.Rewrite(within(t), "users", nil))
	_, err = p.Sync(within(t))
	require.NoError(t, err)
	require.Equal(t, 9, users.Len())
}

// A field of a table in JSON gets another name, in the same steps.
func TestRewriteRenamesField(t *testing.T) {
	t.Parallel()
	type renamed struct{ Name, Address string } // which was Mail
	c, prefix := shared(t), newPrefix()
	p, users, err := openUsers[userTwo](t, c, prefix, nil, nil)
	require.NoError(t, err)
	p.update(t, func(tx mvcc.DBTx) {
		users.In(tx).Set(1, userTwo{"ann", "a@"})
	})
	decode := func(b []byte) (renamed, error) {
		var u struct{ Name, Mail, Address string }
		err := json.Unmarshal(b, &u)
		return renamed{u.Name, u.Mail + u.Address}, err
	}
	step2, _, err := openUsers(t, c, prefix, &etcd.TableOptions[int, renamed]{Codec: "json",
		Codecs: []string{"renamed"}, Decode: decode,
		Encode: func(u renamed) ([]byte, error) { return json.Marshal(userTwo{u.Name, u.Address}) }}, nil)
	require.NoError(t, err)
	require.NoError(t, p.Close())
	step3, three, err := openUsers(t, c, prefix, &etcd.TableOptions[int, renamed]{Codec: "renamed",
		Codecs: []string{"json"}, Decode: decode,
		Encode: func(u renamed) ([]byte, error) { return json.Marshal(u) }}, nil)
	require.NoError(t, err)
	require.NoError(t, step2.Close())
	require.NoError(t, step3.Rewrite(within(t), "users", nil))
	v, _ := three.Load(1)
	require.Equal(t, renamed{"ann", "a@"}, v)
	got := kept(t, c, prefix+"t/users/")
	require.Len(t, got, 1)
	require.JSONEq(t, `{"Name": "ann", "Address": "a@"}`, string(got[0].Value))
	_, last, err := openUsers(t, c, prefix, &etcd.TableOptions[int, renamed]{Codec: "renamed",
		Decode: func(b []byte) (u renamed, err error) { return u, json.Unmarshal(b, &u) },
		Encode: func(u renamed) ([]byte, error) { return json.Marshal(u) }}, nil)
	require.NoError(t, err)
	v, _ = last.Load(1)
	require.Equal(t, renamed{"ann", "a@"}, v)
}
