package durable_test

import (
	"bytes"
	"errors"
	"maps"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

type visitor struct{ Called string }

// mergedVisitors merges visitors into the people that there are.
func mergedVisitors() []durable.Migration {
	return []durable.Migration{durable.MigrateTo("visitors", "people",
		func(_ int, v visitor) (string, person, error) { return v.Called, person{v.Called, "visitor"}, nil })}
}

// A merging has a program of before with people and visitors, and one of now with people alone.
type merging struct {
	t        *testing.T
	was, is  *mvcc.DB
	people   *mvcc.Map[string, person]
	visitors *mvcc.Map[int, visitor]
	now      *mvcc.Map[string, person]
	at       mvcc.DBSnapshot
	loaded   durable.Backup
}

func newMerging(t *testing.T) *merging {
	m := &merging{t: t, was: mvcc.NewDB(nil), is: mvcc.NewDB(nil)}
	t.Cleanup(m.was.Close)
	t.Cleanup(m.is.Close)
	m.people = mvcc.NewTable[string, person](m.was, "people", nil)
	m.visitors = mvcc.NewTable[int, visitor](m.was, "visitors", nil)
	m.now = mvcc.NewTable[string, person](m.is, "people", nil)
	return m
}

// load loads all that there is, or the differences since then.
func (m *merging) load(opts *durable.LoadOptions) (err error) {
	var b bytes.Buffer
	s := m.was.Snapshot()
	m.t.Cleanup(s.Close)
	_, err = durable.Save(m.t.Context(), m.was, &b, durable.Gob, &durable.SaveOptions{Of: s, Since: m.at})
	require.NoError(m.t, err)
	var loaded durable.Backup
	if m.at == (mvcc.DBSnapshot{}) {
		loaded, err = durable.Load(m.t.Context(), m.is, &b, durable.Gob, opts)
	} else {
		loaded, err = durable.LoadCommits(m.t.Context(), m.is, &b, durable.Gob, m.loaded, opts)
	}
	if err == nil {
		m.loaded, m.at = loaded, s
	}
	return err
}

// A table may be merged into one that stays as it is.
func TestMergeIntoATable(t *testing.T) {
	m := newMerging(t)
	opts := &durable.LoadOptions{Migrate: mergedVisitors()}
	m.people.Store("ada", person{Name: "Ada"})
	m.visitors.Store(1, visitor{"alan"})
	require.NoError(t, m.load(opts))
	require.Equal(t, map[string]person{"ada": {Name: "Ada"}, "alan": {"alan", "visitor"}},
		maps.Collect(m.now.All()))
	require.Equal(t, []string{"people", "visitors"}, m.loaded.Migrated())

	// In one commit a visitor gets to be one of the people, and the other way round.
	require.NoError(t, m.was.Update(t.Context(), nil, func(tx mvcc.DBTx) error {
		m.visitors.In(tx).Set(1, visitor{"ada"})
		m.people.In(tx).Delete("ada")
		m.people.In(tx).Set("alan", person{Name: "Alan"})
		return nil
	}))
	require.NoError(t, m.load(opts))
	require.Equal(t, map[string]person{"alan": {Name: "Alan"}, "ada": {"ada", "visitor"}},
		maps.Collect(m.now.All()))

	m.people.Store("ada", person{Name: "Ada"})
	err := m.load(opts)
	var failed *durable.MigrationError
	require.ErrorAs(t, err, &failed)
	require.EqualError(t, err, `the migration of table "people" fails at key "ada": its new key is `+
		`"ada", and so is that of key 1 of table "visitors"`)
	require.Equal(t, 2, m.now.Len())
}

// Two records of differences do not get one key, nor do those of a backup.
func TestMergeOneKey(t *testing.T) {
	m := newMerging(t)
	opts := &durable.LoadOptions{Migrate: mergedVisitors()}
	m.visitors.Store(1, visitor{"alan"})
	require.NoError(t, m.load(opts))
	m.visitors.Store(2, visitor{"alan"})
	require.EqualError(t, m.load(opts), `the migration of table "visitors" to table "people" `+
		`fails at key 2: its new key is "alan", and so is that of key 1 of table "visitors"`)
	require.Equal(t, map[string]person{"alan": {"alan", "visitor"}}, maps.Collect(m.now.All()))

	m = newMerging(t)
	m.visitors.Store(1, visitor{"alan"})
	m.people.Store("alan", person{})
	require.EqualError(t, m.load(opts), `durable: Load: the migration of table "visitors" to table "people" `+
		`fails at key 1: its new key is "alan", and so is that of key "alan" of table "people"`)
	require.Zero(t, m.now.Len())
}

// A table that was made after the backup is refused where it would be merged into a table that was
// loaded as it is; unless it is closed in the end. One that is made once more is another one.
func TestMergeLater(t *testing.T) {
	m := newMerging(t)
	opts := durable.Followed(durable.LoadOptions{Migrate: mergedVisitors()}, nil)
	m.visitors.Close()
	m.people.Store("ada", person{})
	require.NoError(t, m.load(opts))
	m.visitors = mvcc.NewTable[int, visitor](m.was, "visitors", nil)
	m.visitors.Store(1, visitor{"alan"})
	require.NoError(t, m.load(opts))
	require.ErrorContains(t, m.loaded.Missing(),
		`table "visitors" was made after the backup, and cannot be `+
			`merged into table "people", which was loaded by then`)
	m.visitors.Close()
	m.people.Store("eve", person{})
	require.NoError(t, m.load(opts))
	require.NoError(t, m.loaded.Missing())
	require.Equal(t, map[string]person{"ada": {}, "eve": {}}, maps.Collect(m.now.All()))

	m = newMerging(t)
	m.people.Store("ada", person{})
	m.visitors.Store(1, visitor{"alan"})
	require.NoError(t, m.load(opts))
	m.visitors.Close()
	m.visitors = mvcc.NewTable[int, visitor](m.was, "visitors", nil)
	m.visitors.Store(2, visitor{"alan"})
	m.people.Close()
	require.NoError(t, m.load(opts))
	require.Equal(t, map[string]person{"alan": {"alan", "visitor"}}, maps.Collect(m.now.All()))
	m.visitors.Close()
	require.NoError(t, m.load(opts))
	require.Zero(t, m.now.Len())
}

// A table that others are merged into must fit itself.
func TestMergeMisfit(t *testing.T) {
	type other struct{ Name, From, More string }
	was, is := newDB(t), newDB(t)
	mvcc.NewTable[string, other](was, "people", nil).Store("ada", other{More: "more"})
	mvcc.NewTable[int, visitor](was, "visitors", nil).Store(1, visitor{"alan"})
	people := mvcc.NewTable[string, person](is, "people", nil)
	var b bytes.Buffer
	_, err := durable.Save(t.Context(), was, &b, durable.Gob, nil)
	require.NoError(t, err)
	opts := &durable.LoadOptions{Migrate: mergedVisitors()}
	_, err = durable.Load(t.Context(), is, bytes.NewReader(b.Bytes()), durable.Gob, opts)
	var schema *durable.SchemaError
	require.ErrorAs(t, err, &schema)
	require.Equal(t, []string{"the field More of the value is gone"}, schema.Lost)
	require.Zero(t, people.Len())

	// With a step it fits.
	opts.Migrate = append(opts.Migrate, durable.Migrate("people",
		func(_ string, o other) (person, error) { return person{o.Name, o.More}, nil }))
	_, err = durable.Load(t.Context(), is, &b, durable.Gob, opts)
	require.NoError(t, err)
	require.Equal(t, map[string]person{"ada": {"", "more"}, "alan": {"alan", "visitor"}},
		maps.Collect(people.All()))
}

// Whatever a function does, nothing is loaded, and the next call is right.
func TestMigratePanics(t *testing.T) {
	data := savedTable(t, durable.Gob, "people", map[int]visitor{1: {"ada"}, 2: {"alan"}}, nil)
	db := newDB(t)
	people := mvcc.NewTable[string, person](db, "people", nil)
	people.Store("eve", person{})
	load := func(do func()) error {
		_, err := durable.Load(t.Context(), db, bytes.NewReader(data), durable.Gob, &durable.LoadOptions{
			Migrate: []durable.Migration{durable.MigrateTo("people", "people",
				func(key int, v visitor) (string, person, error) {
					if key == 2 {
						do()
					}
					return v.Called, person{}, nil
				})}})
		return err
	}
	boom := errors.New("boom")
	require.PanicsWithError(t, "boom", func() { _ = load(func() { panic(boom) }) })
	require.Equal(t, map[string]person{"eve": {}}, maps.Collect(people.All()))
	ended, returned := make(chan struct{}), false
	go func() {
		defer close(ended)
		_ = load(runtime.Goexit)
		returned = true
	}()
	<-ended
	require.False(t, returned)
	require.Equal(t, map[string]person{"eve": {}}, maps.Collect(people.All()))
	require.NoError(t, load(func() {
		require.Equal(t, 1, people.Len(), "it may read the database")
		people.Store("bob", person{})
	}))
	require.Equal(t, map[string]person{"ada": {}, "alan": {}}, maps.Collect(people.All()))
}

// Migrations that can never be right panic: shapes that cannot be told apart, and empty arguments.
func TestMigrateMisuse(t *testing.T) {
	same := func(_ int, p person) (person, error) { return p, nil }
	load := func(m durable.Migration) func() {
		return func() {
			db := newDB(t)
			_, _ = durable.Load(t.Context(), db, new(bytes.Buffer), durable.Gob, &durable.LoadOptions{Migrate: []durable.Migration{m}})
		}
	}
	for want, do := range map[string]func(){
		`durable: Load: LoadOptions.Migrate[0], of table "people", has old and new types of one shape: which ` +
			`of them was saved cannot be told`: load(durable.Migrate("people", same)),
		"durable: Load: LoadOptions.Migrate[0] is zero, want what Migrate, MigrateTo or RenameFields returns": load(durable.Migration{}),
		"durable: Migrate: fn is nil":                      func() { durable.Migrate[int, int, int]("a", nil) },
		"durable: MigrateTo: fn is nil":                    func() { durable.MigrateTo[int, int, int, int]("a", "b", nil) },
		"durable: Migrate: the name of a table is empty":   func() { durable.Migrate("", same) },
		"durable: MigrateTo: the name of a table is empty": func() { durable.MigrateTo[int, int, int, int]("a", "", nil) },
	} {
		require.PanicsWithValue(t, want, do)
	}
}

// A version that is not expected is said with both, and with the file; others may be allowed.
func TestVersions(t *testing.T) {
	data := savedTable(t, durable.Gob, "people", map[int]int{1: 1}, &durable.SaveOptions{Version: 3})
	db := newDB(t)
	m := mvcc.NewTable[int, int](db, "people", nil)
	_, err := durable.Load(t.Context(), db, bytes.NewReader(data), durable.Gob,
		&durable.LoadOptions{Version: 5, Versions: []int{4, 2}})
	var version *durable.VersionError
	require.ErrorAs(t, err, &version)
	require.Equal(t, &durable.VersionError{Saved: 3, Version: 5, Versions: []int{4, 2}}, version)
	require.EqualError(t, err,
		"durable: Load: the version of the backup is 3, and LoadOptions.Version is 5, and Versions [4 2]")
	require.Zero(t, m.Len())
	_, err = durable.Load(t.Context(), db, bytes.NewReader(data), durable.Gob,
		&durable.LoadOptions{Version: 5, Versions: []int{3}})
	require.NoError(t, err)
	require.Equal(t, 1, m.Len())
}

// Old records are not kept: when the last one is migrated the others are garbage.
func TestMigrateKeepsNothing(t *testing.T) {
	type blob struct{ Text string }
	type length struct{ Count int }
	const n, size = 4000, 4096
	all := map[int]blob{}
	for i := range n {
		all[i] = blob{strings.Repeat("x", size)}
	}
	data := savedTable(t, durable.Gob, "blobs", all, nil)
	all = nil
	for name, migrate := range map[string]func(called func()) durable.Migration{
		"Migrate": func(called func()) durable.Migration {
			return durable.Migrate("blobs", func(_ int, b blob) (length, error) {
				called()
				return length{len(b.Text)}, nil
			})
		},
		"MigrateTo": func(called func()) durable.Migration {
			return durable.MigrateTo("blobs", "lengths", func(key int, b blob) (int, length, error) {
				called()
				return -key, length{len(b.Text)}, nil
			})
		},
	} {
		db := newDB(t)
		mvcc.NewTable[int, length](db, "blobs", nil)
		mvcc.NewTable[int, length](db, "lengths", nil)
		live := func() int {
			runtime.GC()
			var s runtime.MemStats
			runtime.ReadMemStats(&s)
			return int(s.HeapAlloc)
		}
		before, calls := live(), 0
		_, err := durable.Load(t.Context(), db, bytes.NewReader(data), durable.Gob, &durable.LoadOptions{
			Migrate: []durable.Migration{migrate(func() {
				if calls++; calls == n {
					require.Less(t, live()-before, n*size/4, name)
				}
			})}})
		require.NoError(t, err)
		require.Equal(t, n, calls)
	}
	runtime.KeepAlive(data)
}
