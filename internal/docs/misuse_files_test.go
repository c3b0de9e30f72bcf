package docs

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/journal"
	"github.com/mvccmap/mvccmap/mvcc"
)

// misusedFiles are programs that watch too slowly, or misuse backups and journals.
var misusedFiles = []misuses{
	{"Watches that are too slow", []misuse{
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
	}},
	{"Backups and journals", []misuse{
		{"`Load` where a table has other types", func(t *testing.T) error {
			db := mvcc.NewDB(nil)
			mvcc.NewTable[string, string](db, "users", nil)
			mvcc.NewTable[string, int](db, "orders", nil)
			_, err := db.Load(bg, saved(t), codec.Gob, nil)
			return err
		}, ""},
		{"`Load` where a table is missing", func(t *testing.T) error {
			db := mvcc.NewDB(nil)
			mvcc.NewTable[string, int](db, "orders", nil)
			_, err := db.Load(bg, saved(t), codec.Gob, nil)
			return err
		}, ""},
		{"`Load` with another codec", func(t *testing.T) error {
			db, _, _ := newShop(t)
			_, err := db.Load(bg, saved(t), codec.JSON, nil)
			return err
		}, ""},
		{"`Load` of a file that was cut off", func(t *testing.T) error {
			db, _, _ := newShop(t)
			_, err := db.Load(bg, bytes.NewReader(saved(t).Bytes()[:100]), codec.Gob, nil)
			return err
		}, "nothing is loaded"},
		{"`Load` of what is no backup", func(t *testing.T) error {
			db, _, _ := newShop(t)
			_, err := db.Load(bg, strings.NewReader(strings.Repeat("rubbish ", 99)), codec.Gob, nil)
			return err
		}, ""},
		{"`Load` of differences alone", func(t *testing.T) error {
			db, users, _ := newShop(t)
			s := db.Snapshot()
			defer s.Close()
			users.Store("k", 2)
			var b bytes.Buffer
			if _, err := db.Save(bg, &b, codec.Gob, &mvcc.SaveOptions{Since: s}); err != nil {
				return err
			}
			_, err := db.Load(bg, &b, codec.Gob, nil)
			return err
		}, ""},
		{"`Load` of another version", func(t *testing.T) error {
			db, _, _ := newShop(t)
			_, err := db.Load(bg, saved(t), codec.Gob, &mvcc.LoadOptions{Version: 2})
			return err
		}, ""},
		{"`Load` that renames two tables to one", func(t *testing.T) error {
			db, _, _ := newShop(t)
			_, err := db.Load(bg, saved(t), codec.Gob,
				&mvcc.LoadOptions{Rename: map[string]string{"orders": "users"}})
			return err
		}, ""},
		{"`Load` with a `Migration` that gives two records one key", func(*testing.T) error {
			db := mvcc.NewDB(nil)
			users := mvcc.NewOrderedTable[int, string](db, "users", nil)
			users.Store(1, "ada")
			users.Store(2, "ada")
			var b bytes.Buffer
			if _, err := db.Save(bg, &b, codec.Gob, nil); err != nil {
				return err
			}
			users.Close()
			mvcc.NewTable[string, int](db, "users", nil)
			_, err := db.Load(bg, &b, codec.Gob, &mvcc.LoadOptions{Migrate: []mvcc.Migration{
				mvcc.MigrateTo("users", "users", func(id int, name string) (string, int, error) {
					return name, id, nil
				})}})
			return err
		}, "nothing is loaded"},
		{"`Load` with a `Migration` whose types have one shape", func(t *testing.T) error {
			db, _, _ := newShop(t)
			_, err := db.Load(bg, saved(t), codec.Gob, &mvcc.LoadOptions{Migrate: []mvcc.Migration{
				mvcc.Migrate("users", func(_ string, cents int) (int, error) { return cents / 100, nil })}})
			return err
		}, ""},
		{"`Load` with a zero `Migration`", func(t *testing.T) error {
			db, _, _ := newShop(t)
			_, err := db.Load(bg, saved(t), codec.Gob, &mvcc.LoadOptions{Migrate: make([]mvcc.Migration, 1)})
			return err
		}, ""},
		{"`RenameFields` to a field that there is not", func(t *testing.T) error {
			db, _, _ := newShop(t)
			_, err := db.Load(bg, saved(t), codec.Gob, &mvcc.LoadOptions{Migrate: []mvcc.Migration{
				mvcc.RenameFields("users", map[string]string{"Name": "FulName"})}})
			return err
		}, "nothing is loaded"},
		{"`RenameFields` with a codec of your own", func(t *testing.T) error {
			db, _, _ := newShop(t)
			own, b := codec.Gob, &bytes.Buffer{}
			own.Name = "own"
			_, err := db.Save(bg, b, own, nil)
			require.NoError(t, err)
			_, err = db.Load(bg, b, own, &mvcc.LoadOptions{Migrate: []mvcc.Migration{
				mvcc.RenameFields("users", map[string]string{"Name": "FullName"})}})
			return err
		}, "nothing is loaded"},
		{"`RenameFields` out of a struct", func(*testing.T) error {
			mvcc.RenameFields("users", map[string]string{"Street": "Address.Street"})
			return nil
		}, ""},
		{"`Migrate` or `MigrateTo` of a table without a name", func(*testing.T) error {
			mvcc.Migrate("", func(int, int) (string, error) { return "", nil })
			return nil
		}, ""},
		{"`Save` of values without exported fields", func(*testing.T) error {
			db := mvcc.NewDB(nil)
			mvcc.NewTable[int, struct{ n int }](db, "hidden", nil).Store(1, struct{ n int }{2})
			_, err := db.Save(bg, io.Discard, codec.Gob, nil)
			return err
		}, ""},
		{"`Save` of a key that the codec changes", func(*testing.T) error {
			type key struct{ a, B int }
			db := mvcc.NewDB(nil)
			mvcc.NewTable[key, int](db, "keys", nil).Store(key{1, 2}, 1)
			_, err := db.Save(bg, io.Discard, codec.Gob, nil)
			return err
		}, "no two keys become one"},
		{"a journal with a record that the codec refuses", func(t *testing.T) error {
			db := mvcc.NewDB(nil)
			mvcc.NewTable[int, float64](db, "floats", nil).Store(1, math.NaN())
			j, err := journal.Open(bg, t.TempDir(), db, codec.JSON,
				&journal.Options{OnError: func(error) {}})
			require.NoError(t, err)
			return j.Close()
		}, "so does `Sync`; `Options.OnError` is told, or a logger"},
		{"`Save` of a snapshot of another database", func(t *testing.T) error {
			db, _, _ := newShop(t)
			other, _, _ := newShop(t)
			s := other.Snapshot()
			defer s.Close()
			_, err := db.Save(bg, io.Discard, codec.Gob, &mvcc.SaveOptions{Of: s})
			return err
		}, ""},
		{"`journal.Open` of a folder that another journal has", func(t *testing.T) error {
			db, _, _ := newShop(t)
			dir := t.TempDir()
			j, err := journal.Open(bg, dir, db, codec.Gob, nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, j.Close()) }()
			_, err = journal.Open(bg, dir, db, codec.Gob, nil)
			return err
		}, ""},
		{"`journal.Open` with another codec than before", func(t *testing.T) error {
			dir := t.TempDir()
			db, _, _ := newShop(t)
			j, err := journal.Open(bg, dir, db, codec.Gob, nil)
			require.NoError(t, err)
			require.NoError(t, j.Close())
			_, err = journal.Open(bg, dir, db, codec.JSON, nil)
			return err
		}, ""},
		{"`journal.Open` with a type that has lost a field", func(t *testing.T) error {
			type User struct{ Name string }
			type Renamed struct{ FullName string }
			dir, db, now := t.TempDir(), mvcc.NewDB(nil), mvcc.NewDB(nil)
			mvcc.NewTable[int, User](db, "users", nil)
			mvcc.NewTable[int, Renamed](now, "users", nil)
			j, err := journal.Open(bg, dir, db, codec.Gob, nil)
			require.NoError(t, err)
			require.NoError(t, j.Close())
			_, err = journal.Open(bg, dir, now, codec.Gob, nil)
			return err
		}, "nothing is written"},
		{"`journal.Open` where somebody has removed a file", func(t *testing.T) error {
			dir := t.TempDir()
			db, _, _ := newShop(t)
			j, err := journal.Open(bg, dir, db, codec.Gob, nil)
			require.NoError(t, err)
			require.NoError(t, j.Close())
			require.NoError(t, os.Remove(filepath.Join(dir, "journal-00000001")))
			_, err = journal.Open(bg, dir, db, codec.Gob, nil)
			return err
		}, ""},
	}},
}
