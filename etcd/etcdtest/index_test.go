package etcdtest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A shop has the items of one process, by their names, which are unique, and by shelves; or those
// of a program that has no indexes.
type shop struct {
	*process
	items   *etcd.Table[int, item]
	names   *mvcc.Index[string, int, item]
	shelves *mvcc.Index[shelf, int, item]
	prices  *mvcc.Index[float64, int, item]
	boxed   *mvcc.Index[any, int, item]
}

type item struct {
	Name  string
	Shelf int
	Price float64
}

type shelf struct {
	Room string
	N    int
}

func byName(_ int, v item) []string { return []string{v.Name} }
func byShelf(_ int, v item) []shelf { return []shelf{{"room", v.Shelf}} }
func byPrice(_ int, v item) []float64 {
	return []float64{v.Price}
}
func byBoxed(_ int, v item) []any { return []any{v.Price} }

func openShop(t testing.TB, c *Cluster, prefix string, indexed bool) *shop {
	t.Helper()
	s := etcd.NewSchema(nil)
	one := &shop{items: etcd.NewTable[int, item](s, "items", nil)}
	if indexed {
		var err error
		one.names, err = etcd.NewOrderedIndex(one.items, "names", byName, &mvcc.IndexOptions{Unique: true})
		require.NoError(t, err)
		one.shelves, err = etcd.NewIndex(one.items, "shelves", byShelf, nil)
		require.NoError(t, err)
		one.prices, err = etcd.NewIndex(one.items, "prices", byPrice, nil)
		require.NoError(t, err)
		one.boxed, err = etcd.NewIndex(one.items, "boxed", byBoxed, nil)
		require.NoError(t, err)
	}
	one.process = open(t, c, prefix, func(cfg *etcd.Config) { cfg.Schema = s })
	return one
}

func (s *shop) put(t testing.TB, key int, v item) {
	t.Helper()
	s.update(t, func(tx mvcc.DBTx) {
		s.items.In(tx).Set(key, v)
	})
}

func (s *shop) remove(t testing.TB, key int) {
	t.Helper()
	s.update(t, func(tx mvcc.DBTx) {
		s.items.In(tx).Delete(key)
	})
}

// A transaction that has read an index key, or gives it to a record where it is unique, runs again if a
// record enters or leaves it meanwhile, whoever has committed that; and not if one does with another
// index key, if the processes have the same indexes.
func TestIndexKeys(t *testing.T) {
	t.Parallel()
	third := func(s *shop, tx mvcc.DBTx) { // nobody is there
		for range s.shelves.Get(s.items.In(tx), shelf{"room", 3}) {
		}
	}
	second := func(s *shop, tx mvcc.DBTx) { s.shelves.First(s.items.In(tx), shelf{"room", 2}) }
	named := func(s *shop, tx mvcc.DBTx) { s.names.First(s.items.In(tx), "new") }
	insert := func(s *shop, tx mvcc.DBTx) { s.items.In(tx).Set(100, item{"hundred", 100, 0}) }
	names := func(s *shop, tx mvcc.DBTx) {
		for range s.names.Ascend(s.items.In(tx), mvcc.From("x")) {
		}
	}
	price := func(s *shop, tx mvcc.DBTx) { s.prices.First(s.items.In(tx), 7) }
	boxed := func(s *shop, tx mvcc.DBTx) { s.boxed.First(s.items.In(tx), 7.0) }
	set := func(key int, v item) func(t *testing.T, s *shop) {
		return func(t *testing.T, s *shop) { s.put(t, key, v) }
	}
	remove := func(key int) func(t *testing.T, s *shop) {
		return func(t *testing.T, s *shop) { s.remove(t, key) }
	}
	for name, run := range map[string]struct {
		reads  func(s *shop, tx mvcc.DBTx)
		writes func(t *testing.T, s *shop) // meanwhile
		old    bool                        // by a program without indexes
		runs   int
	}{
		"another key is entered":     {third, set(9, item{"new", 4, 0}), false, 1},
		"it is entered":              {third, set(9, item{"new", 3, 0}), false, 2},
		"it is entered by a change":  {third, set(1, item{"a", 3, 0}), false, 2},
		"it is left":                 {second, set(2, item{"b", 4, 0}), false, 2},
		"it is left by a deletion":   {second, remove(2), false, 2},
		"another key is left":        {third, remove(2), false, 1},
		"another record changes":     {second, set(1, item{"a", 1, 5}), false, 1},
		"a record changes":           {second, set(2, item{"b", 2, 5}), false, 2}, // which was read
		"unique, other keys":         {insert, set(9, item{"new", 4, 0}), false, 1},
		"unique, a key is free":      {named, remove(1), false, 1},
		"unique, entered":            {named, set(9, item{"new", 4, 0}), false, 2},
		"many are entered":           {third, fill, false, 2},
		"many records, unique":       {insert, fill, false, 2},
		"range":                      {names, set(9, item{"new", 4, 0}), false, 2},
		"a float, another key":       {price, set(9, item{"new", 4, 5}), false, 1},
		"a float, it is entered":     {price, set(9, item{"new", 4, 7}), false, 2},
		"keys that are interfaces":   {boxed, set(9, item{"new", 4, 5}), false, 2},
		"old program, another key":   {third, set(9, item{"new", 4, 0}), true, 2},
		"old program, it is entered": {third, set(9, item{"new", 3, 0}), true, 2},
		"old program, it is left":    {second, remove(2), true, 2},
		"old program, unique":        {insert, set(9, item{"new", 4, 0}), true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, prefix := shared(t), newPrefix()
			q := openShop(t, c, prefix, !run.old)
			q.put(t, 1, item{"a", 1, 0})
			q.put(t, 2, item{"b", 2, 0})
			p := openShop(t, c, prefix, true) // it has loaded them
			runs := 0
			p.update(t, func(tx mvcc.DBTx) {
				runs++
				run.reads(p, tx)
				p.items.In(tx).Set(50, item{"fifty", 50, 0})
				if runs == 1 {
					run.writes(t, q)
				}
			})
			require.Equal(t, run.runs, runs)
			require.NoError(t, p.Err())
			require.NoError(t, q.Err())
		})
	}
}

// fill writes so many records that their guards do not fit.
func fill(t *testing.T, s *shop) {
	s.update(t, func(tx mvcc.DBTx) {
		for i := range 60 {
			s.items.In(tx).Set(1000+i, item{fmt.Sprint("many", i), 1000 + i, 0})
		}
	})
}

// Of processes that insert records with the same unique key one succeeds, each time.
func TestUniqueRaces(t *testing.T) {
	t.Parallel()
	const processes, each = 3, 40
	c, prefix := shared(t), newPrefix()
	var all []*shop
	for range processes {
		all = append(all, openShop(t, c, prefix, true))
	}
	for i := range each {
		var work sync.WaitGroup
		var owners atomic.Int64
		begin := make(chan struct{})
		for n, s := range all {
			work.Go(func() {
				<-begin
				err := s.Update(within(t), nil, func(tx mvcc.DBTx) error {
					s.items.In(tx).Set(1000*n+i, item{fmt.Sprint("same", i), 1000*n + i, 0})
					return nil
				})
				if err == nil {
					owners.Add(1)
				} else if !errors.As(err, new(*mvcc.UniqueError)) {
					t.Error(err)
				}
			})
		}
		close(begin)
		work.Wait()
		require.EqualValues(t, 1, owners.Load())
	}
	for _, s := range all {
		_, err := s.Sync(within(t))
		require.NoError(t, err)
		require.Equal(t, each, s.items.Len())
		require.NoError(t, s.Err())
	}
}

// Programs that do not agree on an index notice it: one whose function has changed under the same
// name, and one whose function sees a part of the value that is not kept.
func TestIndexFunctionsDiffer(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	opened := func(prefix string, keys func(int, string) []string, encode func(string) ([]byte, error)) (
		*process, *etcd.Table[int, string],
	) {
		s := etcd.NewSchema(nil)
		opts := &etcd.TableOptions[int, string]{Codec: "text", Encode: encode,
			Decode: func(b []byte) (string, error) { return string(b), nil }}
		table := etcd.NewTable(s, "items", opts)
		_, err := etcd.NewIndex(table, "names", keys, nil)
		require.NoError(t, err)
		return open(t, c, prefix, func(cfg *etcd.Config) { cfg.Schema = s }), table
	}
	same := func(_ int, v string) []string { return []string{v} }
	text := func(v string) ([]byte, error) { return []byte(v), nil }
	upper := func(_ int, v string) []string { return []string{strings.ToUpper(v)} }
	p, items := opened(prefix, same, text)
	q, _ := opened(prefix, upper, text)
	set := func() error {
		return p.Update(within(t), nil, func(tx mvcc.DBTx) error {
			items.In(tx).Set(1, "a")
			return nil
		})
	}
	require.NoError(t, set())
	require.Error(t, failed(t, q))
	var index *etcd.IndexError
	require.ErrorAs(t, q.Err(), &index)
	require.Equal(t, "A", index.Key)
	require.NoError(t, p.Err())
	p, items = opened(newPrefix(), same, func(v string) ([]byte, error) { return []byte(v + "!"), nil })
	var codec *etcd.CodecError
	require.ErrorAs(t, set(), &codec)
	require.ErrorContains(t, codec, `index "names"`)
	require.Zero(t, items.Len())
}
