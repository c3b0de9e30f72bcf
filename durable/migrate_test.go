package durable_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Three versions of a program's account.
type (
	account1 struct{ Name string }
	account2 struct {
		First, Last string
		Cents       int
	}
	account3 struct {
		Full  string
		Euros float64
	}
)

func accountSteps() []durable.Migration {
	return []durable.Migration{
		durable.Migrate("accounts", func(_ int, a account1) (account2, error) {
			first, last, _ := strings.Cut(a.Name, " ")
			return account2{first, last, 100}, nil
		}),
		durable.Migrate("accounts", func(_ int, a account2) (account3, error) {
			if a.Last == "" {
				return account3{}, durable.ErrDrop
			}
			return account3{a.First + " " + a.Last, float64(a.Cents) / 100}, nil
		}),
	}
}

// savedTable returns a backup of a table.
func savedTable[K comparable, V any](
	t testing.TB, c durable.Codec, name string, all map[K]V, opts *durable.SaveOptions,
) []byte {
	db := mvcc.NewDB(nil)
	defer db.Close()
	m := mvcc.NewTable[K, V](db, name, nil)
	for k, v := range all {
		m.Store(k, v)
	}
	var b bytes.Buffer
	_, err := durable.Save(t.Context(), db, &b, c, opts)
	require.NoError(t, err)
	return b.Bytes()
}

// A program loads the backups of each version of it: by all steps, by one, and as it is.
func TestMigrate(t *testing.T) {
	for _, c := range codecs {
		now := map[int]account3{1: {"Ada Lovelace", 1}, 2: {"Alan Turing", 1}}
		for i, data := range [][]byte{
			savedTable(t, c, "accounts", map[int]account1{1: {"Ada Lovelace"}, 2: {"Alan Turing"}, 3: {"Bot"}}, nil),
			savedTable(t, c, "accounts", map[int]account2{1: {"Ada", "Lovelace", 100}, 2: {"Alan", "Turing", 100},
				3: {First: "Bot"}}, nil),
			savedTable(t, c, "accounts", now, nil),
		} {
			db := newDB(t)
			m := mvcc.NewTable[int, account3](db, "accounts", nil)
			names, err := mvcc.NewIndex(m, "by name", func(_ int, a account3) []string { return []string{a.Full} }, nil)
			require.NoError(t, err)
			m.Store(7, account3{})
			loaded, err := durable.Load(t.Context(), db, bytes.NewReader(data), c,
				&durable.LoadOptions{Migrate: accountSteps()})
			require.NoError(t, err)
			require.Equal(t, now, maps.Collect(m.All()), "version %d", i+1)
			require.Equal(t, i < 2, len(loaded.Migrated()) == 1)
			require.Equal(t, "accounts", loaded.SavedTables()[0].Name)
			var again bytes.Buffer
			_, err = durable.Save(t.Context(), db, &again, c, nil)
			require.NoError(t, err)
			loaded, err = durable.Load(t.Context(), db, &again, c, &durable.LoadOptions{Migrate: accountSteps()})
			require.NoError(t, err)
			require.Nil(t, loaded.Migrated())
			require.Equal(t, now, maps.Collect(m.All()))
			require.Equal(t, []int{1}, slices.Collect(maps.Keys(maps.Collect(names.Get(m, "Ada Lovelace")))))
		}
	}
}

// Values may be nothing, before or now; and mere additions need no migration, but may have one.
func TestMigrateNothing(t *testing.T) {
	type nothing struct{}
	for _, c := range codecs {
		db := newDB(t)
		set := mvcc.NewTable[int, nothing](db, "set", nil)
		m := mvcc.NewTable[int, int](db, "map", nil)
		_, err := durable.Load(t.Context(), db, bytes.NewReader(savedTable(t, c, "set", map[int]bool{1: true, 2: false}, nil)),
			c, &durable.LoadOptions{Migrate: []durable.Migration{
				durable.Migrate("set", func(_ int, in bool) (n nothing, err error) {
					if !in {
						err = durable.ErrDrop
					}
					return n, err
				})}})
		require.NoError(t, err)
		require.Equal(t, map[int]nothing{1: {}}, maps.Collect(set.All()))
		data := savedTable(t, c, "set", map[int]nothing{3: {}}, nil)
		_, err = durable.Load(t.Context(), db, bytes.NewReader(data), c, &durable.LoadOptions{
			Rename: map[string]string{"set": "map"}, Migrate: []durable.Migration{
				durable.Migrate("map", func(key int, _ nothing) (int, error) { return -key, nil })}})
		require.NoError(t, err)
		require.Equal(t, map[int]int{3: -3}, maps.Collect(m.All()))
		_, err = durable.Load(t.Context(), db, bytes.NewReader(data), c, &durable.LoadOptions{
			Migrate: []durable.Migration{
				durable.MigrateTo("set", "map", func(key int, _ nothing) (int, int, error) { return 2 * key, key, nil }),
			}})
		require.NoError(t, err)
		require.Equal(t, map[int]nothing{3: {}}, maps.Collect(set.All()), "it was saved as it is now")
		require.Equal(t, map[int]int{3: -3}, maps.Collect(m.All()), "so nothing is moved")
	}
}

// A table that was renamed is found by both names, and as one in differences; its migrations have
// the name of now.
func TestRename(t *testing.T) {
	for _, c := range codecs {
		was := newDB(t)
		accounts := mvcc.NewTable[int, account1](was, "members", nil)
		accounts.Store(1, account1{"Ada Lovelace"})
		accounts.Store(2, account1{"Alan Turing"})
		s := was.Snapshot()
		defer s.Close()
		var full, since, closed bytes.Buffer
		_, err := durable.Save(t.Context(), was, &full, c, &durable.SaveOptions{Of: s})
		require.NoError(t, err)
		accounts.Delete(1)
		s2 := was.Snapshot()
		defer s2.Close()
		_, err = durable.Save(t.Context(), was, &since, c, &durable.SaveOptions{Of: s2, Since: s})
		require.NoError(t, err)
		accounts.Close()
		_, err = durable.Save(t.Context(), was, &closed, c, &durable.SaveOptions{Since: s2})
		require.NoError(t, err)

		opts := &durable.LoadOptions{Migrate: accountSteps(),
			Rename: map[string]string{"members": "accounts", "nobody": "accounts"}}
		db := newDB(t)
		m := mvcc.NewTable[int, account3](db, "accounts", nil)
		loaded, err := durable.Load(t.Context(), db, bytes.NewReader(full.Bytes()), c, opts)
		require.NoError(t, err)
		require.Equal(t, 2, m.Len())
		require.Equal(t, []string{"members"}, loaded.Migrated())
		loaded, err = durable.LoadCommits(t.Context(), db, &since, c, loaded, opts)
		require.NoError(t, err)
		require.Equal(t, map[int]account3{2: {"Alan Turing", 1}}, maps.Collect(m.All()))
		var now bytes.Buffer
		_, err = durable.Save(t.Context(), db, &now, c, nil)
		require.NoError(t, err)
		_, err = durable.LoadCommits(t.Context(), db, &closed, c, loaded, opts)
		require.NoError(t, err)
		require.Zero(t, m.Len())
		loaded, err = durable.Load(t.Context(), db, &now, c, opts)
		require.NoError(t, err)
		require.Equal(t, 1, m.Len())
		require.Nil(t, loaded.Migrated())

		plain := mvcc.NewTable[int, account1](db, "plain", nil)
		loaded, err = durable.Load(t.Context(), db, bytes.NewReader(full.Bytes()), c,
			&durable.LoadOptions{Rename: map[string]string{"members": "plain"}})
		require.NoError(t, err)
		require.Equal(t, 2, plain.Len())
		require.Equal(t, []string{"members"}, loaded.Migrated())
		_, err = durable.Load(t.Context(), db, bytes.NewReader(full.Bytes()), c,
			&durable.LoadOptions{Rename: map[string]string{"members": "gone"}})
		require.ErrorContains(t, err, `there is no table "gone"`)
	}
}

// Records of differences that were cut off are not noted; those of which the transaction has failed
// are, so the knowledge of the tables is not right any more.
func TestMigrateGoesOn(t *testing.T) {
	p := newPeopleBefore(t)
	p.users.Store(1, userBefore{Name: "ada", Mail: "a"})
	p.users.Store(2, userBefore{Name: "alan", Mail: "b"})
	s := p.db.Snapshot()
	defer s.Close()
	var full, since, more bytes.Buffer
	_, err := durable.Save(t.Context(), p.db, &full, codecs[0], &durable.SaveOptions{Of: s})
	require.NoError(t, err)
	require.NoError(t, p.db.Update(t.Context(), nil, func(tx mvcc.DBTx) error {
		p.users.In(tx).Set(1, userBefore{Name: "ada", Mail: "b"})
		p.users.In(tx).Set(2, userBefore{Name: "alan", Mail: "a"})
		return nil
	}))
	s2 := p.db.Snapshot()
	defer s2.Close()
	_, err = durable.Save(t.Context(), p.db, &since, codecs[0], &durable.SaveOptions{Of: s2, Since: s})
	require.NoError(t, err)
	p.users.Delete(1)
	_, err = durable.Save(t.Context(), p.db, &more, codecs[0], &durable.SaveOptions{Since: s2})
	require.NoError(t, err)

	opts := &durable.LoadOptions{Migrate: migratedPeople()}
	load := func() (*mvcc.DB, *mvcc.Map[string, person], durable.Backup) {
		to := newDB(t)
		people := mvcc.NewTable[string, person](to, "people", nil)
		mvcc.NewTable[int, bool](to, "old", nil)
		mvcc.NewTable[int, noteNow](to, "notes", nil)
		loaded, err := durable.Load(t.Context(), to, bytes.NewReader(full.Bytes()), codecs[0], opts)
		require.NoError(t, err)
		return to, people, loaded
	}
	to, people, loaded := load()
	for cut := range since.Len() {
		_, err := durable.LoadCommits(t.Context(), to, bytes.NewReader(since.Bytes()[:cut]), codecs[0], loaded, opts)
		require.ErrorAs(t, err, new(*durable.DamageError))
	}
	swapped := map[string]person{"a": {"alan", "2"}, "b": {"ada", "1"}}
	next, err := durable.LoadCommits(t.Context(), to, bytes.NewReader(since.Bytes()), codecs[0], loaded, opts)
	require.NoError(t, err)
	require.Equal(t, swapped, maps.Collect(people.All()))
	_, err = durable.LoadCommits(t.Context(), to, bytes.NewReader(since.Bytes()), codecs[0], loaded, opts)
	require.ErrorContains(t, err, "what is known of them is not that of the backup before")
	require.Equal(t, swapped, maps.Collect(people.All()))
	_, err = durable.LoadCommits(t.Context(), to, bytes.NewReader(more.Bytes()), codecs[0], next, opts)
	require.NoError(t, err)
	require.Equal(t, map[string]person{"a": {"alan", "2"}}, maps.Collect(people.All()))

	to, people, loaded = load()
	_, err = mvcc.NewIndex(people, "by name", func(_ string, p person) []string {
		return []string{p.Name}
	}, &mvcc.IndexOptions{Unique: true})
	require.NoError(t, err)
	p.users.Store(3, userBefore{Name: "alan", Mail: "c"})
	more.Reset()
	_, err = durable.Save(t.Context(), p.db, &more, codecs[0], &durable.SaveOptions{Since: s})
	require.NoError(t, err)
	_, err = durable.LoadCommits(t.Context(), to, bytes.NewReader(more.Bytes()), codecs[0], loaded, opts)
	require.ErrorAs(t, err, new(*mvcc.UniqueError))
	require.Equal(t, map[string]person{"a": {"ada", "1"}, "b": {"alan", "2"}}, maps.Collect(people.All()))
	_, err = durable.LoadCommits(t.Context(), to, bytes.NewReader(since.Bytes()), codecs[0], loaded, opts)
	require.ErrorContains(t, err, "Load them again")

	// Where the notes are changed already, and the records that follow from them were refused.
	to, _, loaded = load()
	require.NoError(t, p.db.Update(t.Context(), nil, func(tx mvcc.DBTx) error {
		p.users.In(tx).Set(3, userBefore{Name: "eve", Mail: "a"})
		return nil
	}))
	more.Reset()
	_, err = durable.Save(t.Context(), p.db, &more, codecs[0], &durable.SaveOptions{Since: s, Of: snapshotOf(t, p.db)})
	require.NoError(t, err)
	_, err = durable.LoadCommits(t.Context(), to, bytes.NewReader(more.Bytes()), codecs[0], loaded, opts)
	require.ErrorAs(t, err, new(*durable.MigrationError))
	_, err = durable.LoadCommits(t.Context(), to, bytes.NewReader(since.Bytes()), codecs[0], loaded, opts)
	require.ErrorContains(t, err, "Load them again")
}

func snapshotOf(t *testing.T, db *mvcc.DB) mvcc.DBSnapshot {
	s := db.Snapshot()
	t.Cleanup(s.Close)
	return s
}

// Migrations that cannot be right are refused, and nothing is loaded.
func TestMigrateRefuses(t *testing.T) {
	type (
		v1 struct{ A string }
		v2 struct{ B string }
		v3 struct{ C string }
	)
	to := func(to string) durable.Migration {
		return durable.MigrateTo("t", to, func(_ int, v v1) (string, v2, error) { return v.A, v2{v.A}, nil })
	}
	step := func(of string) durable.Migration {
		return durable.Migrate(of, func(int, v1) (v2, error) { return v2{}, nil })
	}
	failing := func(err error) durable.Migration {
		return durable.Migrate("ints", func(int, v1) (v2, error) { return v2{}, err })
	}
	boom := errors.New("boom")
	for name, x := range map[string]struct {
		rename string
		use    []durable.Migration
		want   string
	}{
		"fails": {"ints", []durable.Migration{failing(boom)}, `the migration of table "ints" fails at key 1: boom`},
		"EOF":   {"ints", []durable.Migration{failing(io.EOF)}, `the migration of table "ints" fails at key 1: EOF`},
		"two keys": {"t", []durable.Migration{durable.MigrateTo("t", "strings", func(int, v1) (string, v2, error) {
			return "a", v2{}, nil
		})}, `its new key is "a", and so is that of key `},
		"not equal to itself": {"t", []durable.Migration{durable.MigrateTo("t", "floats",
			func(int, v1) (float64, v2, error) { return math.NaN(), v2{}, nil })},
			`the migration of table "t" to table "floats" fails at key 1: the key NaN (float64) is not equal`},
		"cannot be compared": {"t", []durable.Migration{durable.MigrateTo("t", "anys",
			func(int, v1) (any, v2, error) { return []int{1}, v2{}, nil })},
			`fails at key 1: its new key [1] ([]int) cannot be compared`},
		"two steps": {"ints", []durable.Migration{step("ints"), step("ints")},
			`two Migrations take a Map[int, durable_test.v1] of table "ints": want one Migrate, or one or more`},
		"a step and a move": {"t", []durable.Migration{to("strings"), step("t")},
			`two Migrations take a Map[int, durable_test.v1] of table "t": want one Migrate, or one or more`},
		"two moves":     {"t", []durable.Migration{to("strings"), to("strings")}, `two Migrations lead from table "t" to`},
		"no table":      {"t", []durable.Migration{to("nowhere")}, `no table "nowhere": make it with mvcc.NewTable[string`},
		"another table": {"t", []durable.Migration{to("ints")}, `a Migration makes a Map[string, durable_test.v2] of table "ints"`},
		"no step goes on": {"third", []durable.Migration{step("third")},
			`a Migration makes a Map[int, durable_test.v2] of table "third", which is a Map[int, durable_test.v3]`},
		"round in a circle": {"third", []durable.Migration{step("third"),
			durable.Migrate("third", func(int, v2) (v1, error) { return v1{}, nil })}, `a Migration makes a Map[int, `},
		"another shape": {"ints", []durable.Migration{
			durable.Migrate("ints", func(int, v3) (v2, error) { return v2{}, nil })},
			`the field A of the value is gone: see LoadOptions.Migrate and AnyShape`},
	} {
		for _, c := range codecs {
			db := newDB(t)
			ints := mvcc.NewTable[int, v2](db, "ints", nil)
			ints.Store(7, v2{"seven"})
			strs := mvcc.NewTable[string, v2](db, "strings", nil)
			strs.Store("seven", v2{"seven"})
			mvcc.NewTable[float64, v2](db, "floats", nil)
			mvcc.NewTable[any, v2](db, "anys", nil)
			mvcc.NewTable[int, v3](db, "third", nil)
			all := map[int]v1{1: {"a"}}
			if name == "two keys" {
				all[2] = v1{"b"}
			}
			_, err := durable.Load(t.Context(), db, bytes.NewReader(savedTable(t, c, "saved", all, nil)), c,
				&durable.LoadOptions{Migrate: x.use, Rename: map[string]string{"saved": x.rename}})
			require.ErrorContains(t, err, x.want, name)
			require.True(t, strings.HasPrefix(err.Error(), "durable: Load: "), err)
			require.Equal(t, map[int]v2{7: {"seven"}}, maps.Collect(ints.All()))
			require.Equal(t, map[string]v2{"seven": {"seven"}}, maps.Collect(strs.All()))
			var failed *durable.MigrationError
			if errors.As(err, &failed) {
				require.Equal(t, x.rename, failed.Table, name)
				require.Contains(t, []any{1, 2}, failed.Key)
			}
			require.Equal(t, name == "fails", errors.Is(err, boom))
			if name == "two keys" {
				require.Regexp(t, `fails at key (1: .* key 2|2: .* key 1) of table "t"`, err.Error())
			}
		}
	}
}
