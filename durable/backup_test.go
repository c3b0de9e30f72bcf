package durable_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

var writeBackups = flag.Bool("write-backups", false,
	"write the backups of testdata anew: only for a new version of the format")

var codecs = []durable.Codec{durable.Gob, durable.JSON}

// allForms has as well the JSON of a version that did not write lines.
var allForms = append([]durable.Codec{framedJSON()}, codecs...)

func framedJSON() durable.Codec {
	c := durable.JSON
	c.Lines = false
	return c
}

// A part is a record with fields that a codec may stumble over.
type part struct {
	Name  string
	Count int
	When  time.Time
	Of    []string
	Next  *part
}

// A shop is a database with tables of all sorts.
type shop struct {
	*mvcc.DB
	parts  *mvcc.Map[string, part]
	counts *mvcc.Map[int, int]
	set    *mvcc.Map[[2]int, struct{}]
	ptrs   *mvcc.Map[string, *part]
	byEnd  *mvcc.Index[string, int, int] // of the counts, by their last digit
}

// newDB returns a database that is closed when the test ends.
func newDB(t testing.TB) *mvcc.DB {
	db := mvcc.NewDB(nil)
	t.Cleanup(db.Close)
	return db
}

func newShop(t testing.TB) *shop {
	db := newDB(t)
	s := &shop{
		DB:     db,
		parts:  mvcc.NewTable[string, part](db, "parts", nil),
		counts: mvcc.NewOrderedTable[int, int](db, "counts", nil),
		set:    mvcc.NewTable[[2]int, struct{}](db, "set", nil),
		ptrs:   mvcc.NewTable[string, *part](db, "ptrs", nil),
	}
	var err error
	s.byEnd, err = mvcc.NewIndex(s.counts, "end", func(_, n int) []string {
		return []string{fmt.Sprint(n % 10)}
	}, nil)
	require.NoError(t, err)
	return s
}

func (s *shop) fill(n int) *shop {
	for i := range n {
		s.counts.Store(i, i*i)
		s.set.Store([2]int{i, -i}, struct{}{})
		p := part{Name: fmt.Sprint("part ", i%7), Count: i, When: time.Unix(int64(i), 0).UTC(),
			Of: []string{"a", "b"}}
		s.parts.Store(fmt.Sprint(i), p)
		s.ptrs.Store(fmt.Sprint(i), &p)
	}
	s.ptrs.Store("nil", nil)
	s.parts.Store("nested", part{Name: "nested", Next: &part{Name: "inner"}})
	return s
}

// content is all that a shop has.
func (s *shop) content() (all []any) {
	_ = s.View(func(sn mvcc.DBSnapshot) error {
		all = []any{
			maps.Collect(s.parts.At(sn).All()), maps.Collect(s.counts.At(sn).All()),
			maps.Collect(s.set.At(sn).All()),
			maps.Collect(s.ptrs.At(sn).All()), maps.Collect(s.byEnd.Get(s.counts.At(sn), "9")),
		}
		return nil
	})
	return all
}

func save(t testing.TB, s *shop, c durable.Codec, opts *durable.SaveOptions) ([]byte, durable.Backup) {
	var b bytes.Buffer
	info, err := durable.Save(t.Context(), s.DB, &b, c, opts)
	require.NoError(t, err)
	require.Equal(t, int64(b.Len()), info.Bytes)
	return b.Bytes(), info
}

// The records saved are those loaded, whatever was in the tables before; and the stream is not read
// beyond the backup.
func TestSaveAndLoad(t *testing.T) {
	for _, c := range allForms {
		for _, n := range []int{0, 1, 3000} {
			from, to := newShop(t).fill(n), newShop(t).fill(10)
			to.counts.Store(-1, -1)
			data, info := save(t, from, c, &durable.SaveOptions{Version: 3})
			require.Equal(t, 4*n+2, info.Records)
			stream := iotest.HalfReader(io.MultiReader(bytes.NewReader(data),
				bytes.NewReader([]byte("more"))))
			calls := 0
			loaded, err := durable.Load(t.Context(), to.DB, stream, c, &durable.LoadOptions{Version: 3,
				Progress: func(int, int64) {
					calls++
				}})
			require.NoError(t, err)
			require.EqualExportedValues(t, info, loaded)
			require.Positive(t, calls)
			require.Equal(t, from.content(), to.content())
			rest, err := io.ReadAll(stream)
			require.NoError(t, err)
			require.Equal(t, "more", string(rest))
		}
	}
}

// A backup of this version, and of those before, can be read for ever.
func TestOldBackups(t *testing.T) {
	for _, c := range codecs {
		version := map[bool]int{false: 2, true: 3}[c.Lines]
		if *writeBackups {
			data, _ := save(t, newShop(t).fill(20), c, nil)
			path := filepath.Join("testdata", fmt.Sprint("backup-", version, ".", c.Name))
			require.NoError(t, os.WriteFile(path, data, 0o600))
		}
		for v := 1; v <= version; v++ {
			to := newShop(t)
			path := filepath.Join("testdata", fmt.Sprint("backup-", v, ".", c.Name))
			// That of version 1 has no shapes, and names of types of another package.
			info, err := durable.LoadFile(t.Context(), to.DB, path, c, &durable.LoadOptions{AnyShape: v == 1})
			require.NoError(t, err)
			require.Equal(t, 82, info.Records)
			require.Equal(t, newShop(t).fill(20).content(), to.content())
			require.Equal(t, v > 1, !info.SavedTables()[0].KeyShape.IsZero())
		}
	}
}

// Differences lead from one backup to the next, deletions included.
func TestDifferences(t *testing.T) {
	from := newShop(t).fill(50)
	first := from.Snapshot()
	defer first.Close()
	full, _ := save(t, from, durable.Gob, &durable.SaveOptions{Of: first})
	from.counts.Delete(7)
	from.counts.Store(8, -8)
	from.parts.Store("new", part{Name: "part 3"})
	from.parts.Delete("3")
	second := from.Snapshot()
	defer second.Close()
	one, info := save(t, from, durable.Gob, &durable.SaveOptions{Of: second, Since: first})
	require.Equal(t, 4, info.Records)
	from.counts.Store(7, 77)
	from.set.Clear()
	two, _ := save(t, from, durable.Gob, &durable.SaveOptions{Since: second})
	load := func(to *shop, streams ...[]byte) error {
		var opts durable.LoadOptions
		for _, data := range streams[1:] {
			opts.Then = append(opts.Then, bytes.NewReader(data))
		}
		_, err := durable.Load(t.Context(), to.DB, bytes.NewReader(streams[0]), durable.Gob, &opts)
		return err
	}
	to := newShop(t)
	require.NoError(t, load(to, full, one, two))
	require.Equal(t, from.content(), to.content())
	to = newShop(t)
	require.ErrorContains(t, load(to, one), "has only the differences to another one")
	require.ErrorContains(t, load(to, full, two), "Then[0] does not follow the one before")
	require.ErrorContains(t, load(to, full, one, one), "Then[1] does not follow the one before")
	require.ErrorContains(t, load(to, full, full), "Then[0] does not follow the one before")
	var damage *durable.DamageError
	require.ErrorAs(t, load(to, full, one[:len(one)-1]), &damage)
	require.Equal(t, 1, damage.Backup)
	require.ErrorContains(t, damage, "Then[0] is damaged at offset")
	require.Zero(t, to.counts.Len())
}

// A cut, a flipped bit, and frames that change places are found, and nothing is loaded.
func TestDamagedBackups(t *testing.T) {
	for _, c := range allForms {
		data, _ := save(t, newShop(t).fill(3), c, nil)
		to := newShop(t).fill(1)
		was := to.content()
		check := func(data []byte, what string, at int) {
			_, err := durable.Load(t.Context(), to.DB, bytes.NewReader(data), c, nil)
			var damage *durable.DamageError
			require.ErrorAs(t, err, &damage, "%s at %d", what, at)
			require.LessOrEqual(t, damage.Offset, int64(at), "%s at %d", what, at)
		}
		for at := range data {
			check(data[:at], "cut", at)
			flipped := bytes.Clone(data)
			flipped[at] ^= 1 << (at % 8)
			check(flipped, "flipped", at)
			if at > 0 && data[at] != data[at-1] {
				swapped := bytes.Clone(data)
				swapped[at], swapped[at-1] = data[at-1], data[at]
				check(swapped, "swapped", at)
			}
		}
		require.Equal(t, was, to.content())
		path := filepath.Join(t.TempDir(), "b")
		require.NoError(t, os.WriteFile(path, append(data, 0), 0o600))
		_, err := durable.LoadFile(t.Context(), to.DB, path, c, nil)
		require.ErrorContains(t, err, "it should end here")
		require.Equal(t, was, to.content())
	}
}

func TestSaveFile(t *testing.T) {
	s, dir := newShop(t).fill(10), t.TempDir()
	path := filepath.Join(dir, "shop")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	only := func(content string) {
		list, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, list, 1)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		if content != "" {
			require.Equal(t, content, string(data))
		}
	}
	failing := durable.Gob
	failing.NewEncoder = func(io.Writer) interface{ Encode(v any) error } {
		return encodeFunc(func(any) error { return io.ErrClosedPipe })
	}
	_, err := durable.SaveFile(t.Context(), s.DB, path, failing, nil)
	require.ErrorIs(t, err, io.ErrClosedPipe)
	only("old")
	failing.NewEncoder = func(io.Writer) interface{ Encode(v any) error } {
		return encodeFunc(func(any) error { panic("no") })
	}
	require.Panics(t, func() { _, _ = durable.SaveFile(t.Context(), s.DB, path, failing, nil) })
	only("old")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = durable.SaveFile(ended, s.DB, path, durable.Gob, nil)
	require.ErrorIs(t, err, context.Canceled)
	only("old")
	info, err := durable.SaveFile(t.Context(), s.DB, path, durable.Gob, nil)
	require.NoError(t, err)
	only("")
	to := newShop(t)
	loaded, err := durable.LoadFile(t.Context(), to.DB, path, durable.Gob, nil)
	require.NoError(t, err)
	require.EqualExportedValues(t, info, loaded)
	require.Equal(t, s.content(), to.content())
	_, err = durable.SaveFile(t.Context(), s.DB, filepath.Join(dir, "none", "shop"), durable.Gob, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = durable.LoadFile(t.Context(), s.DB, filepath.Join(dir, "none"), durable.Gob, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

type encodeFunc func(v any) error

func (f encodeFunc) Encode(v any) error { return f(v) }

// A codec, version, table or index that does not fit is named, and nothing is loaded.
func TestBackupMisfits(t *testing.T) {
	s := newShop(t).fill(5)
	data, _ := save(t, s, durable.Gob, &durable.SaveOptions{Version: 1})
	load := func(db *mvcc.DB, c durable.Codec, opts *durable.LoadOptions) error {
		_, err := durable.Load(t.Context(), db, bytes.NewReader(data), c, opts)
		require.Zero(t, db.Stats().Keys)
		return err
	}
	one := &durable.LoadOptions{Version: 1}
	require.ErrorContains(t, load(newShop(t).DB, durable.JSON, one),
		`the codec of the backup is "gob", and that given is "json"`)
	require.ErrorContains(t, load(newShop(t).DB, durable.Gob, nil),
		"the version of the backup is 1, and LoadOptions.Version is 0")
	db := newDB(t)
	require.ErrorContains(t, load(db, durable.Gob, one),
		`there is no table "counts": make it with mvcc.NewTable[int, int]`)
	mvcc.NewTable[int, int](db, "counts", nil)
	parts := mvcc.NewTable[string, *part](db, "parts", nil)
	require.ErrorContains(t, load(db, durable.Gob, one),
		`table "parts" is a Map[string, *durable_test.part], and in the backup it is a `+
			`Map[string, durable_test.part]`)
	mvcc.NewTable[[2]int, struct{}](db, "set", nil)
	mvcc.NewTable[string, *part](db, "ptrs", nil)
	_, err := durable.Load(t.Context(), db, bytes.NewReader(data), durable.Gob,
		&durable.LoadOptions{Version: 1, AnyShape: true})
	require.NoError(t, err)
	got, _ := parts.Load("4")
	require.Equal(t, 4, got.Count)

	// A codec that does not get along with a table, and a unique index that would not be unique.
	type user struct{ name string }
	mvcc.NewTable[int, user](db, "hidden", nil).Store(1, user{name: "of an example"})
	_, err = durable.Save(t.Context(), db, io.Discard, durable.Gob, nil)
	require.ErrorContains(t, err,
		`durable: table "hidden", key 1: the codec gob cannot save the record: V.name is "of`)
	to := newShop(t)
	_, err = mvcc.NewIndex(to.counts, "unique", func(int, int) []string {
		return []string{"the only one"}
	}, &mvcc.IndexOptions{Unique: true})
	require.NoError(t, err)
	to.counts.Store(-1, 1)
	data, _ = save(t, s, durable.Gob, nil)
	_, err = durable.Load(t.Context(), to.DB, bytes.NewReader(data), durable.Gob, nil)
	var unique *mvcc.UniqueError
	require.ErrorAs(t, err, &unique)
	require.Equal(t, 1, to.counts.Len())
	require.Zero(t, to.parts.Len())

	require.Panics(t, func() { _, _ = durable.Save(t.Context(), s.DB, io.Discard, durable.Codec{}, nil) })
	other := newShop(t).Snapshot()
	defer other.Close()
	require.Panics(t, func() {
		_, _ = durable.Save(t.Context(), s.DB, io.Discard, durable.Gob, &durable.SaveOptions{Of: other})
	})
	require.Panics(t, func() {
		_, _ = durable.Save(t.Context(), s.DB, io.Discard, durable.Gob, &durable.SaveOptions{Since: other})
	})
}
