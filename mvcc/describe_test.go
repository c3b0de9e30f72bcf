package mvcc_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/seam"
	"github.com/mvccmap/mvccmap/internal/seam/door"
	"github.com/mvccmap/mvccmap/mvcc"
)

func TestDescribe(t *testing.T) {
	db := mvcc.NewDB(&mvcc.Options{TracePins: true, ManualReclaim: true})
	defer db.Close()
	people := mvcc.NewTable[int, string](db, "people", nil)
	words := mvcc.NewOrderedTable[string, int](db, "words", nil)
	words.Expire(func(string, int) time.Time { return time.Time{} })
	initial := func(_ int, name string) []string { return []string{name[:1], name[1:2]} }
	_, err := mvcc.NewIndex(people, "initial", initial, nil)
	require.NoError(t, err)
	_, err = mvcc.NewOrderedIndex(people, "by name",
		func(_ int, name string) []string { return []string{name} }, &mvcc.IndexOptions{Unique: true})
	require.NoError(t, err)
	people.Store(1, "ann")
	people.Store(2, "abe")

	s := db.Snapshot()
	people.Store(3, "bob")
	ctx, cancel := context.WithCancel(t.Context())
	watch := people.Watch(ctx, &mvcc.WatchOptions[int, string]{Buffer: 10})
	people.Delete(3)
	door.Of(db).RequestProgress()

	d := door.Of(db).Describe()
	want := []seam.TableInfo{{
		Name: "people", Key: reflect.TypeFor[int](), Value: reflect.TypeFor[string](),
		Indexes: []seam.IndexInfo{
			{Name: "by name", Key: reflect.TypeFor[string](), Unique: true, Ordered: true, Entries: 2,
				Keys: 2},
			{Name: "initial", Key: reflect.TypeFor[string](), Entries: 4, Keys: 3},
		},
	}, {
		Name: "words", Key: reflect.TypeFor[string](), Value: reflect.TypeFor[int](), Ordered: true,
		Natural: true, Expires: true,
	}}
	types := cmp.Comparer(func(a, b reflect.Type) bool { return a == b })
	require.Empty(t, cmp.Diff(want, d.Tables, types,
		cmpopts.IgnoreFields(seam.TableInfo{}, "Keys", "Entries", "Bytes", "Conflicts")))
	require.Equal(t, 2, d.Tables[0].Keys)
	require.Equal(t, []seam.WatchInfo{{Table: "people", Epoch: db.Epoch(), Waiting: 1, Buffer: 10}},
		d.Watches)
	require.Len(t, d.Readers, 1)
	require.Equal(t, s.Epoch(), d.Readers[0].Epoch)
	require.True(t, strings.HasSuffix(d.Readers[0].Began[0].Function, ".TestDescribe"))
	first := d.Readers[0].Age
	require.Greater(t, door.Of(db).Describe().Readers[0].Age, first)

	s.Close()
	cancel()
	for _, err := range watch {
		require.ErrorIs(t, err, context.Canceled)
	}
	d = door.Of(db).Describe()
	require.Empty(t, d.Readers)
	require.Empty(t, d.Watches)
}

// Of very many readers the oldest ones are described.
func TestDescribeReaders(t *testing.T) {
	db := mvcc.NewDB(&mvcc.Options{ManualReclaim: true})
	defer db.Close()
	m := mvcc.NewTable[int, int](db, "t", nil)
	var all []mvcc.DBSnapshot
	for range 4 {
		for range 100 {
			all = append(all, db.Snapshot())
			m.Store(1, 1)
		}
		require.NoError(t, db.Reclaim(t.Context()))
	}
	for _, s := range all[:350] { // also such as have been promoted
		s.Close()
	}
	d := door.Of(db).Describe()
	require.Len(t, d.Readers, 32)
	for i, r := range d.Readers {
		require.Equal(t, all[350+i].Epoch(), r.Epoch)
	}
	for _, s := range all[350:] {
		s.Close()
	}
}
