package docs

import (
	"bytes"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// misusedFiles are programs that watch too slowly, or misuse backups and journals.
var misusedFiles = []misuses{
	{"Slow watches, backups and journals", []misuse{
		{"a loop over `Watch` that does not keep up", onMap(func(m *table) (err error) {
			watch := m.Watch(bg, &mvcc.WatchOptions[string, int]{Buffer: 4})
			for m.Stats().Gaps == 0 {
				m.Store("k", 1)
			}
			for _, err = range watch {
				continue
			}
			return err
		}), "at the end of what it kept"},
		{"`Load` where a table has other types", func(t *testing.T) error {
			db := mvcc.NewDB(nil)
			mvcc.NewTable[string, string](db, "users", nil)
			mvcc.NewTable[string, int](db, "orders", nil)
			_, err := durable.Load(bg, db, saved(t), durable.Gob, nil)
			return err
		}, ""},
		{"`Load` where a table is missing", func(t *testing.T) error {
			db := mvcc.NewDB(nil)
			mvcc.NewTable[string, int](db, "orders", nil)
			_, err := durable.Load(bg, db, saved(t), durable.Gob, nil)
			return err
		}, ""},
		{"`Load` with another codec", func(t *testing.T) error {
			db, _, _ := newShop(t)
			_, err := durable.Load(bg, db, saved(t), durable.JSON, nil)
			return err
		}, ""},
		{"`Load` of a file that was cut off", func(t *testing.T) error {
			db, _, _ := newShop(t)
			_, err := durable.Load(bg, db, bytes.NewReader(saved(t).Bytes()[:100]), durable.Gob, nil)
			return err
		}, "nothing is loaded"},
		{"`RenameFields` with a codec of your own", func(t *testing.T) error {
			db, _, _ := newShop(t)
			own, b := durable.Gob, &bytes.Buffer{}
			own.Name = "own"
			_, err := durable.Save(bg, db, b, own, nil)
			require.NoError(t, err)
			_, err = durable.Load(bg, db, b, own, &durable.LoadOptions{Migrate: []durable.Migration{
				durable.RenameFields("users", map[string]string{"Name": "FullName"})}})
			return err
		}, "nothing is loaded"},
		{"`Save` of values without exported fields", func(*testing.T) error {
			db := mvcc.NewDB(nil)
			mvcc.NewTable[int, struct{ n int }](db, "hidden", nil).Store(1, struct{ n int }{2})
			_, err := durable.Save(bg, db, io.Discard, durable.Gob, nil)
			return err
		}, ""},
		{"`Save` of a key that the codec changes", func(*testing.T) error {
			type key struct{ a, B int }
			db := mvcc.NewDB(nil)
			mvcc.NewTable[key, int](db, "keys", nil).Store(key{1, 2}, 1)
			_, err := durable.Save(bg, db, io.Discard, durable.Gob, nil)
			return err
		}, "no two keys become one"},
		{"a journal with a record that the codec refuses", func(t *testing.T) error {
			db := mvcc.NewDB(nil)
			mvcc.NewTable[int, float64](db, "floats", nil).Store(1, math.NaN())
			j, err := durable.Open(bg, db, t.TempDir(), &durable.Options{Codec: durable.JSON, OnError: func(error) {}})
			require.NoError(t, err)
			return j.Close()
		}, "so does `Sync`; `Options.OnError` is told, or a logger"},
		{"`Save` of a snapshot of another database", func(t *testing.T) error {
			db, _, _ := newShop(t)
			other, _, _ := newShop(t)
			s := other.Snapshot()
			defer s.Close()
			_, err := durable.Save(bg, db, io.Discard, durable.Gob, &durable.SaveOptions{Of: s})
			return err
		}, ""},
		{"`durable.Open` of a folder that another journal has", func(t *testing.T) error {
			db, _, _ := newShop(t)
			dir := t.TempDir()
			j, err := durable.Open(bg, db, dir, nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, j.Close()) }()
			_, err = durable.Open(bg, db, dir, nil)
			return err
		}, ""},
		{"`durable.Open` with a type that has lost a field", func(t *testing.T) error {
			type User struct{ Name string }
			type Renamed struct{ FullName string }
			dir, db, now := t.TempDir(), mvcc.NewDB(nil), mvcc.NewDB(nil)
			mvcc.NewTable[int, User](db, "users", nil)
			mvcc.NewTable[int, Renamed](now, "users", nil)
			j, err := durable.Open(bg, db, dir, nil)
			require.NoError(t, err)
			require.NoError(t, j.Close())
			_, err = durable.Open(bg, now, dir, nil)
			return err
		}, "nothing is written"},
	}},
}
