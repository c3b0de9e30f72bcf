package schemas_test

import (
	"io/fs"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// table makes a table with records.
func table[K comparable, V any](db *mvcc.DB, name string, all map[K]V) *mvcc.Map[K, V] {
	m := mvcc.NewTable[K, V](db, name, nil)
	for k, v := range all {
		m.Store(k, v)
	}
	return m
}

// written returns the folder of a journal that a program of version 1 has written.
func written(t *testing.T, makeTables func(db *mvcc.DB)) (dir string) {
	dir = t.TempDir()
	db := mvcc.NewDB(nil)
	defer db.Close()
	makeTables(db)
	j, err := durable.Open(t.Context(), db, dir, &durable.Options{Version: 1})
	require.NoError(t, err)
	require.NoError(t, j.Close())
	return dir
}

// migrated checks the tables of a folder after migrations: twice, as the second program finds
// the files of the first one.
func migrated[K comparable, V any](
	t *testing.T, dir string, name string, want map[K]V, migrations ...durable.Migration,
) {
	for range 2 {
		db := mvcc.NewDB(nil)
		defer db.Close()
		m := mvcc.NewTable[K, V](db, name, nil)
		j, err := durable.Open(t.Context(), db, dir, &durable.Options{Version: 1, Migrate: migrations})
		require.NoError(t, err)
		require.Equal(t, want, maps.Collect(m.All()))
		require.NoError(t, j.Close())
	}
}

// memberV1 is the type of a program before fullNames, which need not have it.
type memberV1 struct {
	Name    string
	Address struct{ Street string }
}

// membersBefore returns members, and their present form.
func membersBefore() (map[int]memberV1, map[int]Member) {
	was, is := memberV1{Name: "Ada"}, Member{FullName: "Ada"}
	was.Address.Street, is.Address.Road = "Main Street", "Main Street"
	return map[int]memberV1{1: was}, map[int]Member{1: is}
}

func TestFields(t *testing.T) {
	guests := map[int]GuestV1{1: {"Ada"}}
	dir := written(t, func(db *mvcc.DB) { table(db, "guests", guests) })
	migrated(t, dir, "guests", map[int]Guest{1: {"Ada", "en"}}, languages)
	dir = written(t, func(db *mvcc.DB) { table(db, "guests", guests) })
	migrated(t, dir, "guests", map[int]Guest{1: {Name: "Ada"}})

	members, ada := membersBefore()
	dir = written(t, func(db *mvcc.DB) { table(db, "members", members) })
	migrated(t, dir, "members", ada, fullNames)

	dir = written(t, func(db *mvcc.DB) { table(db, "visitors", map[int]VisitorV1{1: {"36"}, 2: {""}}) })
	migrated(t, dir, "visitors", map[int]Visitor{1: {36}}, agesAsNumbers)
}

func TestKeys(t *testing.T) {
	dir := written(t, func(db *mvcc.DB) {
		table(db, "accounts", map[int]AccountV1{7: {"Ada@example.org", "Ada"}, 8: {"alan@example.org", "Alan"}})
	})
	migrated(t, dir, "accounts",
		map[string]Account{"ada@example.org": {"Ada", 7}, "alan@example.org": {"Alan", 8}}, byMail)
}

func TestTables(t *testing.T) {
	dir := written(t, func(db *mvcc.DB) {
		table(db, "persons", map[int]PersonV1{1: {"Ada", "ada@example.org", "Main Street"}, 2: {Name: "Alan"}})
	})
	for range 2 {
		db := mvcc.NewDB(nil)
		defer db.Close()
		persons := mvcc.NewTable[int, Person](db, "persons", nil)
		addresses := mvcc.NewTable[int, Address](db, "addresses", nil)
		j, err := durable.Open(t.Context(), db, dir, &durable.Options{Version: 1, Migrate: split})
		require.NoError(t, err)
		require.Equal(t, map[int]Person{1: {"Ada", "ada@example.org"}, 2: {Name: "Alan"}},
			maps.Collect(persons.All()))
		require.Equal(t, map[int]Address{1: {"Main Street"}}, maps.Collect(addresses.All()))
		require.NoError(t, j.Close())
	}
}

func TestReferences(t *testing.T) {
	dir := t.TempDir()
	db := mvcc.NewDB(nil)
	defer db.Close()
	players := table(db, "players", map[int]PlayerV1{1: {7}}) // it comes before the teams
	teams := table(db, "teams", map[int]TeamV1{7: {"Reds"}})
	j, err := durable.Open(t.Context(), db, dir, &durable.Options{Version: 1})
	require.NoError(t, err)
	require.NoError(t, db.Update(t.Context(), nil, func(tx mvcc.DBTx) error {
		players.In(tx).Set(2, PlayerV1{8})
		players.In(tx).Set(3, PlayerV1{7})
		teams.In(tx).Set(8, TeamV1{"Blues"})
		return nil
	}))
	require.NoError(t, j.Close())
	for range 2 {
		db := mvcc.NewDB(nil)
		defer db.Close()
		players := mvcc.NewTable[int, Player](db, "players", nil)
		teams := mvcc.NewTable[string, Team](db, "teams", nil)
		j, err := durable.Open(t.Context(), db, dir, &durable.Options{Version: 1, Migrate: teamsByName()})
		require.NoError(t, err)
		require.Equal(t, map[int]Player{1: {"reds"}, 2: {"blues"}, 3: {"reds"}}, maps.Collect(players.All()))
		require.Equal(t, map[string]Team{"reds": {"Reds", 7}, "blues": {"Blues", 8}},
			maps.Collect(teams.All()))
		require.NoError(t, j.Close())
	}
}

func TestUnique(t *testing.T) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	readers := table(db, "readers", map[int]Reader{1: {"a"}, 2: {"b"}, 3: {"a"}, 4: {"a"}, 5: {}, 6: {}})
	_, err := byUniqueMail(readers)
	require.NoError(t, err)
	require.Equal(t, map[int]Reader{1: {"a"}, 2: {"b"}, 3: {}, 4: {}, 5: {}, 6: {}},
		maps.Collect(readers.All()))
}

// The purpose of all together: the table has another name, and a field has become another one; and
// the program before can come back.
func TestOpenAndBack(t *testing.T) {
	type customer struct{ Name string }
	was := map[int]customer{1: {"Ada"}}
	membersThen, membersNow := membersBefore()
	dir := written(t, func(db *mvcc.DB) {
		table(db, "clients", was)
		table(db, "members", membersThen)
	})
	db := mvcc.NewDB(nil)
	defer db.Close()
	customers := mvcc.NewTable[int, customer](db, "customers", nil)
	members := mvcc.NewTable[int, Member](db, "members", nil)
	j, err := open(t.Context(), db, dir)
	require.NoError(t, err)
	require.Equal(t, was, maps.Collect(customers.All()))
	require.Equal(t, membersNow, maps.Collect(members.All()))

	require.NoError(t, j.Close())
	require.NoError(t, goBack(dir))
	old := mvcc.NewDB(nil)
	defer old.Close()
	clients := mvcc.NewTable[int, customer](old, "clients", nil)
	mvcc.NewTable[int, memberV1](old, "members", nil)
	before, err := durable.Open(t.Context(), old, dir, &durable.Options{Version: 1})
	require.NoError(t, err)
	require.Equal(t, was, maps.Collect(clients.All()))
	require.NoError(t, before.Close())
	require.ErrorIs(t, goBack(dir), fs.ErrNotExist)
	_, err = durable.Open(t.Context(), old, dir+".now", &durable.Options{Version: 1})
	require.ErrorAs(t, err, new(*durable.VersionError))
}
