package durable_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"io"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// plainJSON is a codec as a program may have one: it changes strings that are not UTF-8.
var plainJSON = durable.Codec{
	Name:       "json",
	NewEncoder: func(w io.Writer) interface{ Encode(v any) error } { return json.NewEncoder(w) },
	NewDecoder: func(r io.Reader) interface{ Decode(v any) error } { return json.NewDecoder(r) },
}

// saveKeys returns the error of saving a table with these keys, once the keys saved are those
// loaded.
func saveKeys[K comparable](t *testing.T, c durable.Codec, keys ...K) error {
	db, to := newDB(t), newDB(t)
	m, copied := mvcc.NewTable[K, int](db, "t", nil), mvcc.NewTable[K, int](to, "t", nil)
	for i, key := range keys {
		m.Store(key, i)
	}
	refused := map[K]bool{}
	var b bytes.Buffer
	_, err := durable.Save(t.Context(), db, &b, c, &durable.SaveOptions{Refused: func(e *durable.CodecError) {
		refused[e.Key.(K)] = true
	}})
	require.NoError(t, err)
	_, err = durable.Load(t.Context(), to, &b, c, nil)
	require.NoError(t, err)
	want := maps.Collect(m.All())
	maps.DeleteFunc(want, func(key K, _ int) bool { return refused[key] })
	require.Equal(t, want, maps.Collect(copied.All()))
	_, err = durable.Save(t.Context(), db, io.Discard, c, nil)
	require.Equal(t, len(refused) > 0, err != nil)
	return err
}

type sharded struct {
	ID    int
	shard int
}

// A key comes back as it was, or it is refused: so no two of them become one.
func TestKeysComeBack(t *testing.T) {
	gob.Register(sharded{})
	now, within := time.Now(), map[string]any{}
	within["a"] = within
	for _, c := range []durable.Codec{durable.Gob, durable.JSON, plainJSON} {
		require.NoError(t, saveKeys(t, c, "", "a", "\u00e4", "\ufffd"))
		require.NoError(t, saveKeys(t, c, sharded{1, 0}, sharded{2, 0}))
		require.NoError(t, saveKeys(t, c, -1, 0, 1))
		require.NoError(t, saveKeys(t, c, 0.5, 1e300, -1))
		// A codec may leave out a zero, which must not be taken from the key before.
		require.NoError(t, saveKeys[float64](t, c, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9))
		require.NoError(t, saveKeys(t, c, strings.Split(",a,b,c,d,e,f,g,h,i,j,k,l,m,n", ",")...))
		require.NoError(t, saveKeys(t, c, [2]string{"a", "b"}, [2]string{"b", "a"}))
		require.NoError(t, saveKeys(t, c, now.UTC().Round(0)))
		require.ErrorContains(t, saveKeys(t, c, now), `table "t", key `)
		require.ErrorContains(t, saveKeys(t, c, sharded{1, 1}, sharded{1, 2}), `table "t", key {1 `)
		require.ErrorContains(t, saveKeys(t, c, new(int)), `table "t", key `)
		require.ErrorContains(t, saveKeys(t, c, &within), `table "t", key a *map[string]interface {}: `)
	}
	require.NoError(t, saveKeys(t, durable.Gob, "\xff", "\xfe"))
	require.NoError(t, saveKeys[any](t, durable.Gob, 1, 1.0, "1", nil, sharded{1, 0}))
	for _, c := range []durable.Codec{durable.JSON, plainJSON} {
		require.Error(t, saveKeys(t, c, "\xff", "\xfe"))
		require.Error(t, saveKeys[any](t, c, 1, 1.0))
		require.NoError(t, saveKeys[any](t, c, 1.5, "1", nil, true))
	}
	require.ErrorContains(t, saveKeys(t, plainJSON, "\xff"),
		`durable: table "t", key "\xff": the codec json cannot save the record: `+
			`the key would come back as "\ufffd"`)
}

// A deletion of a key that would come back as another one leaves that one alone.
func TestDeletionOfAnotherKey(t *testing.T) {
	for _, c := range []durable.Codec{plainJSON, durable.JSON} {
		db, to := newDB(t), newDB(t)
		m, copied := mvcc.NewTable[string, int](db, "t", nil), mvcc.NewTable[string, int](to, "t", nil)
		m.Store("\ufffd", 1)
		first := db.Snapshot()
		defer first.Close()
		m.Store("\xff", 2)
		second := db.Snapshot()
		defer second.Close()
		m.Delete("\xff")
		refused := 0
		opts := func(of, since mvcc.DBSnapshot) *durable.SaveOptions {
			return &durable.SaveOptions{Of: of, Since: since, Refused: func(*durable.CodecError) { refused++ }}
		}
		var full, one, two bytes.Buffer
		_, err := durable.Save(t.Context(), db, &full, c, opts(first, mvcc.DBSnapshot{}))
		require.NoError(t, err)
		_, err = durable.Save(t.Context(), db, &one, c, opts(second, first))
		require.NoError(t, err)
		require.Equal(t, 1, refused)
		_, err = durable.Save(t.Context(), db, &two, c, opts(mvcc.DBSnapshot{}, second))
		require.NoError(t, err)
		require.Equal(t, 1, refused)
		_, err = durable.Load(t.Context(), to, &full, c, &durable.LoadOptions{Then: []io.Reader{&one, &two}})
		require.NoError(t, err)
		require.Equal(t, map[string]int{"\ufffd": 1}, maps.Collect(copied.All()))
	}
}

// duplicating is JSON, but that it writes each record twice.
func duplicating() durable.Codec {
	c := plainJSON
	c.NewEncoder = func(w io.Writer) interface{ Encode(v any) error } {
		enc := json.NewEncoder(w)
		return encodeFunc(func(v any) error {
			if err := enc.Encode(v); err != nil {
				return err
			}
			return enc.Encode(v)
		})
	}
	return c
}

// A backup with two records of one key, or with a key that cannot be one, is refused.
func TestLoadRefusesKeys(t *testing.T) {
	db, to := newDB(t), newDB(t)
	m := mvcc.NewTable[int, int](db, "t", nil)
	m.Store(7, 1)
	var b bytes.Buffer
	_, err := durable.Save(t.Context(), db, &b, duplicating(), nil)
	require.NoError(t, err)
	copied := mvcc.NewTable[int, int](to, "t", nil)
	copied.Store(1, 1)
	_, err = durable.Load(t.Context(), to, bytes.NewReader(b.Bytes()), plainJSON, nil)
	require.ErrorContains(t, err, `durable: Load: table "t", record 2,`)
	require.ErrorContains(t, err, "its key is 7, and so is that of record 1")
	require.Equal(t, 1, copied.Len())

	type point struct{ X int }
	b.Reset()
	from := newDB(t)
	mvcc.NewTable[point, int](from, "any", nil).Store(point{1}, 1)
	_, err = durable.Save(t.Context(), from, &b, plainJSON, nil)
	require.NoError(t, err)
	mvcc.NewTable[any, int](to, "any", nil)
	_, err = durable.Load(t.Context(), to, &b, plainJSON, &durable.LoadOptions{AnyShape: true})
	require.ErrorContains(t, err, "the key map[X:1] (map[string]interface {}) cannot be compared")
}
