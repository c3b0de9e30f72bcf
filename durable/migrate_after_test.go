package durable_test

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

type (
	parent      struct{ Name string }
	child       struct{ Parent int }
	childBefore struct{ ParentID int }
)

// Parents get other ids, in "people", and the table that refers to them is saved before them.
func renumbered(calls *[]string) []durable.Migration {
	ids := map[int]int{}
	return []durable.Migration{
		durable.Migrate("kids", func(_ int, old childBefore) (child, error) {
			*calls = append(*calls, "kids")
			return child{ids[old.ParentID]}, nil
		}).After("parents", "gone"),
		durable.MigrateTo("parents", "people", func(id int, old parent) (int, parent, error) {
			*calls = append(*calls, "parents")
			ids[id] = 10 * id
			return 10 * id, old, nil
		}).After("settings"),
		durable.Migrate("settings", func(_ int, old bool) (string, error) {
			*calls = append(*calls, "settings")
			return "on", nil
		}),
		durable.Migrate("gone", func(int, bool) (string, error) { return "", nil }),
	}
}

// TestAfter: the records of tables are migrated in the order that is asked for, else in that of their
// names, in backups and in differences.
func TestAfter(t *testing.T) {
	for _, c := range codecs {
		was, db := newDB(t), newDB(t)
		kidsThen := mvcc.NewTable[int, childBefore](was, "children", nil)
		parents := mvcc.NewTable[int, parent](was, "parents", nil)
		settings := mvcc.NewTable[int, bool](was, "settings", nil)
		parents.Store(1, parent{"Ada"})
		kidsThen.Store(1, childBefore{1})
		settings.Store(1, true)
		s := was.Snapshot()
		defer s.Close()
		var full, since bytes.Buffer
		_, err := durable.Save(t.Context(), was, &full, c, &durable.SaveOptions{Of: s})
		require.NoError(t, err)
		parents.Store(2, parent{"Alan"})
		kidsThen.Store(2, childBefore{2})
		kidsThen.Delete(1)
		_, err = durable.Save(t.Context(), was, &since, c, &durable.SaveOptions{Since: s})
		require.NoError(t, err)

		var calls []string
		opts := &durable.LoadOptions{Migrate: renumbered(&calls), Rename: map[string]string{"children": "kids"}}
		kids := mvcc.NewTable[int, child](db, "kids", nil)
		people := mvcc.NewTable[int, parent](db, "people", nil)
		mvcc.NewTable[int, string](db, "settings", nil)
		loaded, err := durable.Load(t.Context(), db, bytes.NewReader(full.Bytes()), c, opts)
		require.NoError(t, err)
		require.Equal(t, []string{"settings", "parents", "kids"}, calls)
		require.Equal(t, map[int]child{1: {10}}, maps.Collect(kids.All()))
		calls = nil
		_, err = durable.LoadCommits(t.Context(), db, &since, c, loaded, opts)
		require.NoError(t, err)
		require.Equal(t, []string{"parents", "kids"}, calls)
		require.Equal(t, map[int]child{2: {20}}, maps.Collect(kids.All()))
		require.Equal(t, map[int]parent{10: {"Ada"}, 20: {"Alan"}}, maps.Collect(people.All()))

		// Of a table that has waited, damage and the end of the context are found as of others.
		for cut := range full.Len() {
			_, err = durable.Load(t.Context(), db, bytes.NewReader(full.Bytes()[:cut]), c, opts)
			require.ErrorAs(t, err, new(*durable.DamageError))
		}
	}
}

// TestAfterRefuses: an order that there is not, and names that nothing has, are refused.
func TestAfterRefuses(t *testing.T) {
	step := func(of string, after ...string) durable.Migration {
		return durable.Migrate(of, func(_, old int) (string, error) { return "", nil }).After(after...)
	}
	c := codecs[0]
	was := newDB(t)
	for _, name := range []string{"a", "b", "c"} {
		mvcc.NewTable[int, int](was, name, nil).Store(1, 1)
	}
	var b bytes.Buffer
	_, err := durable.Save(t.Context(), was, &b, c, nil)
	require.NoError(t, err)
	for want, use := range map[string][]durable.Migration{
		`by Migration.After tables ["a" "b"] wait for each other`: {step("a", "b"), step("b", "a"), step("c")},
		`by Migration.After tables ["a"] wait for each other`:     {step("a", "a"), step("b"), step("c")},
		`Migrate[0], of table "a", is After "x", which is the name of no table`: {
			step("a", "x"), step("b"), step("c")},
	} {
		db := newDB(t)
		a := mvcc.NewTable[int, string](db, "a", nil)
		mvcc.NewTable[int, string](db, "b", nil)
		mvcc.NewTable[int, string](db, "c", nil)
		_, err := durable.Load(t.Context(), db, bytes.NewReader(b.Bytes()), c, &durable.LoadOptions{Migrate: use})
		require.ErrorContains(t, err, want)
		require.Zero(t, a.Len())
	}
	require.PanicsWithValue(t, "durable: Migration.After: the name of a table is empty", func() { step("a", "") })
	require.PanicsWithValue(t, "durable: Migration.After: the Migration is zero",
		func() { durable.Migration{}.After("a") })
}

// TestAllThatDoesNotFit: all tables that do not fit are told at once, and all Migrations that have
// applied to nothing, but for those of tables that are right as they are.
func TestAllThatDoesNotFit(t *testing.T) {
	type v1 struct{ A string }
	type v2 struct{ B string }
	type v3 struct{ C string }
	step := func(of string) durable.Migration {
		return durable.Migrate(of, func(int, v1) (v2, error) { return v2{}, nil })
	}
	use := []durable.Migration{
		durable.RenameFields("fields", map[string]string{"X": "B"}), step("fits"), step("migrated"),
		durable.Migrate("other", func(int, v3) (v2, error) { return v2{}, nil }), step("mistyped"),
	}
	was, db := newDB(t), newDB(t)
	mvcc.NewTable[int, v2](was, "fits", nil)
	mvcc.NewTable[int, v1](was, "absent", nil)
	for _, name := range []string{"migrated", "other", "fields"} {
		mvcc.NewTable[int, v1](was, name, nil)
		mvcc.NewTable[int, v2](db, name, nil)
	}
	mvcc.NewTable[int, v2](db, "fits", nil)
	var b bytes.Buffer
	_, err := durable.Save(t.Context(), was, &b, codecs[0], nil)
	require.NoError(t, err)
	_, err = durable.Load(t.Context(), db, &b, codecs[0], &durable.LoadOptions{Migrate: use})
	require.ErrorAs(t, err, new(*durable.SchemaError))
	lines := strings.Split(err.Error(), "\n\t")
	require.Equal(t, "durable: Load: 6 things are wrong:", lines[0])
	for i, want := range []string{
		`there is no table "absent"`,
		`table "fields" is a Map[int, durable_test.v2], and in the backup it is a Map[int, durable_test.v1]`,
		`table "other" is a Map[int, durable_test.v2], and in the backup`,
		`LoadOptions.Migrate[0] applies to nothing that was saved: it takes other names of fields of table "fields"`,
		`LoadOptions.Migrate[3] applies to nothing that was saved: it takes a Map[int, durable_test.v3] of table "other"`,
		`LoadOptions.Migrate[4] applies to nothing that was saved: it takes a Map[int, durable_test.v1] of table ` +
			`"mistyped", and there is no table "mistyped"`,
	} {
		require.Contains(t, lines[i+1], want)
	}
}

// TestBecomesUnique: where an index is unique now, all pairs of records that collide are told, and
// nothing is loaded; NewIndex tells them too.
func TestBecomesUnique(t *testing.T) {
	type user struct{ Mail string }
	mails := func(_ int, u user) []string { return []string{u.Mail} }
	unique := &mvcc.IndexOptions{Unique: true}
	pairs := func(err error) (all [][2]any) {
		t.Helper()
		var first *mvcc.UniqueError
		require.ErrorAs(t, err, &first)
		for _, e := range append([]*mvcc.UniqueError{first}, first.Others...) {
			require.Equal(t, "users", e.Table)
			require.Equal(t, "mail", e.Index)
			require.Contains(t, err.Error(), e.Key)
			all = append(all, e.Records)
		}
		return all
	}
	for _, c := range codecs {
		data := savedTable(t, c, "users", map[int]user{1: {"a"}, 2: {"b"}, 3: {"b"}, 4: {"a"}, 5: {"c"}, 6: {"a"}}, nil)
		db := newDB(t)
		users := mvcc.NewTable[int, user](db, "users", nil)
		_, _ = mvcc.NewIndex(users, "mail", mails, unique)
		users.Store(9, user{"kept"})
		_, err := durable.Load(t.Context(), db, bytes.NewReader(data), c, nil)
		require.Equal(t, [][2]any{{1, 4}, {1, 6}, {2, 3}}, pairs(err))
		require.Equal(t, map[int]user{9: {"kept"}}, maps.Collect(users.All()))

		users.Close() // and another one, without the index
		users = mvcc.NewTable[int, user](db, "users", nil)
		_, err = durable.Load(t.Context(), db, bytes.NewReader(data), c, nil)
		require.NoError(t, err)
		_, err = mvcc.NewIndex(users, "mail", mails, unique)
		require.Equal(t, [][2]any{{1, 4}, {1, 6}, {2, 3}}, pairs(err))
		users.Store(3, user{"d"})
		users.Delete(4)
		users.Delete(6)
		_, err = mvcc.NewIndex(users, "mail", mails, unique)
		require.NoError(t, err)
	}
}
