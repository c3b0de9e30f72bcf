package etcdtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Values of three versions of a program: the second has a field more, in the third one that has
// another type.
type (
	userOne   struct{ Name string }
	userTwo   struct{ Name, Mail string }
	userThree struct {
		Name string
		Mail int
	}
)

// openUsers opens a replica of a program whose values are of type V.
func openUsers[V any](
	t testing.TB, c *Cluster, prefix string, opts *etcd.TableOptions[int, V], change func(*etcd.Config),
) (*process, *etcd.Table[int, V], error) {
	t.Helper()
	s := etcd.NewSchema(nil)
	users := etcd.NewTable(s, "users", opts)
	p, err := tryOpen(t, c, prefix, func(cfg *etcd.Config) {
		cfg.Schema = s
		if change != nil {
			change(cfg)
		}
	})
	if err == nil {
		t.Cleanup(func() { _ = p.Close() })
	}
	return p, users, err
}

// A program that would lose a field, or has another type for it, is refused, with both sides; but
// not as long as the one that has more says that others are to be opened beside it.
func TestShapes(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	var log buffer
	old, _, err := openUsers[userOne](t, c, prefix, nil, func(cfg *etcd.Config) {
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	require.NoError(t, err)
	rolling := func(cfg *etcd.Config) { cfg.Rolling = true }
	_, _, err = openUsers[userTwo](t, c, prefix, nil, rolling)
	require.NoError(t, err)
	_, _, err = openUsers[userOne](t, c, prefix, nil, nil) // the way back
	require.NoError(t, err)
	p, users, err := openUsers[userTwo](t, c, prefix, nil, nil) // from now on all have it
	require.NoError(t, err)
	p.update(t, func(tx mvcc.DBTx) {
		users.In(tx).Set(1, userTwo{"a", "b"})
	})
	_, err = old.Sync(within(t))
	require.NoError(t, err)
	require.Contains(t, log.String(), "the field Mail of the value is gone")
	for range 2 {
		_, _, err = openUsers[userOne](t, c, prefix, nil, nil)
		var schema *etcd.SchemaError
		require.ErrorAs(t, err, &schema)
		require.Equal(t, []string{"users", "struct{Name string; Mail string}", "struct{Name string}"},
			[]string{schema.Table, schema.Kept, schema.Want})
		var types *durable.SchemaError
		require.ErrorAs(t, err, &types)
		require.Equal(t, []string{"the field Mail of the value is gone"}, types.Lost)
		_, _, err = openUsers(t, c, prefix, &etcd.TableOptions[int, userOne]{AnyShape: true}, nil)
		require.NoError(t, err)
	}
	_, _, err = openUsers[userThree](t, c, prefix, nil, nil)
	require.ErrorContains(t, err, "was string, and is int")
}

// A program of a version that another one does not take is not opened beside it unnoticed: that
// one, or this one, says so; and each goes back if it takes the other's version.
func TestProgramVersions(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	tables := map[*process]*etcd.Table[int, userOne]{}
	program := func(version int, takes ...int) (*process, error) {
		p, users, err := openUsers[userOne](t, c, prefix, nil, func(cfg *etcd.Config) {
			cfg.Version, cfg.Versions = version, takes
		})
		tables[p] = users
		return p, err
	}
	refused := func(err error, saved, version int) {
		t.Helper()
		var v *durable.VersionError
		require.ErrorAs(t, err, &v)
		require.Equal(t, []int{saved, version}, []int{v.Saved, v.Version})
	}
	strict, err := program(1)
	require.NoError(t, err)
	old, err := program(1, 2)
	require.NoError(t, err)
	_, err = program(2)
	refused(err, 1, 2)
	require.NoError(t, strict.Err())
	next, err := program(2, 1)
	require.NoError(t, err)
	require.Error(t, failed(t, strict))
	refused(strict.Err(), 2, 1)
	_, err = program(1)
	refused(err, 2, 1)
	_, err = program(1, 2) // the way back
	require.NoError(t, err)
	_, err = program(1)
	require.NoError(t, err)
	for _, p := range []*process{old, next} {
		p.update(t, func(tx mvcc.DBTx) { // it has seen the newest meta
			tables[p].In(tx).Set(1, userOne{"ann"})
		})
		require.NoError(t, p.Err())
	}
}

// A program that is opened while another one, whose version it does not take, is opened notices it.
func TestProgramVersionsAtOnce(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	var once sync.Once
	_, err := tryOpen(t, c, prefix, func(cfg *etcd.Config) {
		cfg.Version = 1
		unary(cfg, func(ctx context.Context, req, reply any, send func() error) error {
			if get, ok := req.(*etcdserverpb.RangeRequest); ok && string(get.Key) == prefix+"t/" {
				once.Do(func() {
					open(t, c, prefix, func(cfg *etcd.Config) { cfg.Version, cfg.Versions = 2, []int{1} })
				})
			}
			return send()
		})
	})
	var v *durable.VersionError
	require.ErrorAs(t, err, &v)
	require.Equal(t, []int{2, 1}, []int{v.Saved, v.Version})
}

// A table gets another encoding, of another type, while programs run: each step is a program that
// all processes have before the next one is opened, and the way back is the same.
//
//  1. The start: userOne, by a codec "one".
//  2. userTwo, still encoded as "one", which decodes "two" as well.
//  3. userTwo, encoded as "two", which still decodes "one".
func TestRollingCodec(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	one, second, third := firstStep(), secondStep(), thirdStep()
	a, users, err := openUsers(t, c, prefix, one, nil)
	require.NoError(t, err)
	a.update(t, func(tx mvcc.DBTx) {
		users.In(tx).Set(1, userOne{"ann"})
	})
	set := func(p *process, users *etcd.Table[int, userTwo], key int, u userTwo) error {
		return p.Update(within(t), nil, func(tx mvcc.DBTx) error {
			users.In(tx).Set(key, u)
			return nil
		})
	}
	b, two, err := openUsers(t, c, prefix, second, nil)
	require.NoError(t, err)
	v, _ := two.Load(1)
	require.Equal(t, userTwo{"ann", "ann@example.com"}, v)
	require.NoError(t, set(b, two, 2, userTwo{"bob", "bob@example.com"}))
	_, err = a.Sync(within(t))
	require.NoError(t, err)
	old, _ := users.Load(2)
	require.Equal(t, userOne{"bob"}, old) // beside the first
	var codec *etcd.CodecError
	require.ErrorAs(t, set(b, two, 3, userTwo{"cy", "other"}), &codec)
	a, _, err = openUsers(t, c, prefix, one, nil) // the way back from the second
	require.NoError(t, err)
	require.NoError(t, a.Close())
	d, three, err := openUsers(t, c, prefix, third, nil)
	require.NoError(t, err)
	require.NoError(t, set(d, three, 3, userTwo{"cy", "other"}))
	_, err = b.Sync(within(t))
	require.NoError(t, err)
	v, _ = two.Load(3)
	require.Equal(t, userTwo{"cy", "other"}, v)        // beside the second
	_, two, err = openUsers(t, c, prefix, second, nil) // the way back from the third
	require.NoError(t, err)
	v, _ = two.Load(3)
	require.Equal(t, userTwo{"cy", "other"}, v)
	_, _, err = openUsers(t, c, prefix, one, nil) // there is no way back to the first any more
	var schema *etcd.SchemaError
	require.ErrorAs(t, err, &schema)
	require.Equal(t, "keys: int, values: two", schema.Kept)
}

func firstStep() *etcd.TableOptions[int, userOne] {
	return &etcd.TableOptions[int, userOne]{Codec: "one",
		Encode: func(u userOne) ([]byte, error) { return []byte("one:" + u.Name), nil },
		Decode: func(b []byte) (userOne, error) {
			name, ok := strings.CutPrefix(string(b), "one:")
			if !ok {
				return userOne{}, fmt.Errorf("%q is not of codec one", b)
			}
			return userOne{name}, nil
		}}
}

// decodeUser migrates values of codec one as they are read.
func decodeUser(b []byte) (u userTwo, err error) {
	if name, ok := strings.CutPrefix(string(b), "one:"); ok {
		return userTwo{name, name + "@example.com"}, nil
	}
	err = json.Unmarshal(b, &u)
	return u, err
}

func secondStep() *etcd.TableOptions[int, userTwo] {
	return &etcd.TableOptions[int, userTwo]{Codec: "one", Codecs: []string{"two"}, Decode: decodeUser,
		Encode: func(u userTwo) ([]byte, error) {
			if u.Mail != u.Name+"@example.com" {
				return nil, fmt.Errorf("an address that codec one does not keep: %s", u.Mail)
			}
			return []byte("one:" + u.Name), nil
		}}
}

func thirdStep() *etcd.TableOptions[int, userTwo] {
	return &etcd.TableOptions[int, userTwo]{Codec: "two", Codecs: []string{"one"}, Decode: decodeUser,
		Encode: func(u userTwo) ([]byte, error) { return json.Marshal(u) }}
}

// A deaf process is told nothing by its watch while the lock is held.
type deaf struct{ sync.Mutex }

func (d *deaf) hears(context.Context, any) {
	d.Lock()
	defer d.Unlock()
}

// A buffer may be written and read by several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Open refuses a prefix within that of another database, and one that another database is within,
// whichever of them was first; databases side by side are none of these.
func TestPrefixesApart(t *testing.T) {
	t.Parallel()
	c := shared(t)
	for inner, outer := range map[string]string{"": "shop/", "a/": "", "t/users/": "", "b/c/": "b/"} {
		for _, first := range []bool{true, false} {
			base := newPrefix()
			here, there := base+inner, base+outer
			if len(here) < len(there) != first {
				here, there = there, here
			}
			open(t, c, here, nil)
			open(t, c, base[:len(base)-1]+"-beside/", nil)
			_, err := tryOpen(t, c, there, nil)
			require.ErrorContains(t, err, "Config.Prefix", "%s beside %s", there, here)
			require.NoError(t, open(t, c, here, nil).Err())
		}
	}
}

// Two programs are opened at once where no database has been: both are.
func TestOpenedAtOnce(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	var once sync.Once
	open(t, c, prefix, func(cfg *etcd.Config) {
		unary(cfg, func(ctx context.Context, req, reply any, send func() error) error {
			if get, ok := req.(*etcdserverpb.RangeRequest); ok && string(get.Key) == prefix {
				once.Do(func() { open(t, c, prefix, nil) })
			}
			return send()
		})
	})
}

// A program commits a value that another one cannot decode: there that record is broken, and all
// else goes on, also in a replica that is opened then; it is mended by a write.
func TestBrokenRecord(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	p := open(t, c, prefix, nil)
	p.set(t, p.a, "x", 1)
	p.set(t, p.a, "y", 1)
	s := etcd.NewSchema(nil)
	narrow := etcd.NewTable[string, int8](s, "a", &etcd.TableOptions[string, int8]{AnyShape: true})
	q, err := tryOpen(t, c, prefix, func(cfg *etcd.Config) { cfg.Schema = s })
	require.NoError(t, err)
	defer q.Close()
	p.set(t, p.a, "x", 1000)
	require.NoError(t, q.WaitFor(within(t), p.set(t, p.a, "y", 2)))
	var broken *etcd.CodecError
	require.ErrorAs(t, narrow.Broken("x"), &broken)
	require.ErrorAs(t, q.Update(within(t), nil, func(tx mvcc.DBTx) error {
		v, _ := narrow.In(tx).Get("x")
		narrow.In(tx).Set("z", v)
		return nil
	}), &broken)
	q.update(t, func(tx mvcc.DBTx) { narrow.In(tx).Merge("y", func(v int8, _ bool) int8 { return v + 1 }) })
	s = etcd.NewSchema(nil)
	again := etcd.NewTable[string, int8](s, "a", &etcd.TableOptions[string, int8]{AnyShape: true})
	r, err := tryOpen(t, c, prefix, func(cfg *etcd.Config) { cfg.Schema = s })
	require.NoError(t, err)
	defer r.Close()
	require.ErrorAs(t, again.Broken("x"), &broken)
	v, _ := again.Load("y")
	require.EqualValues(t, 3, v)
	r.update(t, func(tx mvcc.DBTx) { again.In(tx).Set("x", 5) })
	require.NoError(t, again.Broken("x"))
	require.NoError(t, p.WaitFor(within(t), r.Epoch()))
	w, _ := p.a.Load("x")
	require.Equal(t, 5, w)
}

// Three versions of a program run, each with a field more, however they are opened: an older one writes
// the records that have nothing in the new fields, and is refused where it would lose something, also
// after it was opened again; no field is lost.
func TestRollingKeepsFields(t *testing.T) {
	t.Parallel()
	type userMore struct {
		Name, Mail string
		Tel        struct{ Home, Work []string }
	}
	for _, rolling := range []bool{false, true} {
		t.Run(fmt.Sprint("Rolling ", rolling), func(t *testing.T) {
			t.Parallel()
			c, prefix := shared(t), newPrefix()
			first := func(cfg *etcd.Config) { cfg.Rolling = rolling }
			var d deaf
			one, ones, err := openUsers[userOne](t, c, prefix, nil, func(cfg *etcd.Config) { received(cfg, d.hears) })
			require.NoError(t, err)
			one.update(t, func(tx mvcc.DBTx) { ones.In(tx).Set(1, userOne{"ann"}) })
			d.Lock() // it has not heard of the others
			two, twos, err := openUsers[userTwo](t, c, prefix, nil, first)
			require.NoError(t, err)
			more, mores, err := openUsers[userMore](t, c, prefix, nil, first)
			require.NoError(t, err)
			all := map[int]userMore{1: {Name: "ann"}, 2: {Name: "bob", Mail: "b@"}, 3: {Name: "cid"}}
			last := all[3]
			last.Tel.Work = []string{"1"}
			all[3] = last
			more.update(t, func(tx mvcc.DBTx) {
				for i, u := range all {
					mores.In(tx).Set(i, u)
				}
			})
			writes := func(p *process, users *etcd.Table[int, userOne]) {
				for name, write := range map[string]func(in mvcc.Tx[int, userOne], key int){
					"set": func(in mvcc.Tx[int, userOne], key int) { in.Set(key, userOne{"new"}) },
					"read and set": func(in mvcc.Tx[int, userOne], key int) {
						u, _ := in.Get(key)
						in.Set(key, userOne{u.Name + "!"})
					},
					"merged": func(in mvcc.Tx[int, userOne], key int) {
						in.Merge(key, func(u userOne, _ bool) userOne { return userOne{u.Name + "!"} })
					},
				} {
					for key, field := range map[int]string{1: "", 2: "Mail", 3: "Tel", 4: ""} {
						err := p.Update(within(t), nil, func(tx mvcc.DBTx) error {
							write(users.In(tx), key)
							return nil
						})
						var schema *etcd.SchemaError
						if field != "" {
							require.ErrorAs(t, err, &schema, name)
							require.ErrorContains(t, err, field)
						} else {
							require.NoError(t, err, name)
						}
					}
				}
			}
			early := make(chan error, 1)
			go func() {
				early <- one.Update(within(t), nil, func(tx mvcc.DBTx) error {
					ones.In(tx).Set(2, userOne{"new"})
					return nil
				})
			}()
			require.Never(t, func() bool { return len(early) > 0 }, 300*time.Millisecond, 10*time.Millisecond)
			d.Unlock()
			require.ErrorContains(t, <-early, "Mail")
			writes(one, ones)
			if rolling {
				again, users, err := openUsers[userOne](t, c, prefix, nil, nil)
				require.NoError(t, err)
				writes(again, users)
			}
			require.Error(t, two.Update(within(t), nil, func(tx mvcc.DBTx) error {
				twos.In(tx).Set(3, userTwo{"cid", "c@"})
				return nil
			}))
			two.update(t, func(tx mvcc.DBTx) { twos.In(tx).Set(2, userTwo{"bob", "b@"}) })
			_, err = more.Sync(within(t))
			require.NoError(t, err)
			for _, i := range []int{2, 3} {
				u, _ := mores.Load(i)
				require.Equal(t, all[i], u)
			}
			require.Equal(t, 4, mores.Len())
			type other struct{ Name, Street string }
			_, _, err = openUsers[other](t, c, prefix, nil, first)
			var schema *etcd.SchemaError
			require.ErrorAs(t, err, &schema, "it and the newest would lose each other's fields")
		})
	}
}
