package durable

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Two programs, one after the other: users by number; people by name.
type (
	number struct{ Name string }
	named  struct{ Number int }
)

var toNames = &Options{Version: 2, Versions: []int{0}, Migrate: []Migration{
	MigrateTo("users", "people", func(n int, u number) (string, named, error) {
		return u.Name, named{n}, nil
	})}}

// program opens the journal of a program with one table.
func program[K comparable, V any](
	t *testing.T, dir, table string, opts *Options,
) (m *mvcc.Map[K, V], j *Journal, err error) {
	db := mvcc.NewDB(nil)
	t.Cleanup(db.Close)
	m = mvcc.NewTable[K, V](db, table, nil)
	if j, err = Open(t.Context(), db, dir, opts); err == nil {
		t.Cleanup(func() { _ = j.Close() })
	}
	return m, j, err
}

// crash copies a folder as a crash would leave it, with the folders in it.
func crash(t *testing.T, dir string) string {
	t.Helper()
	require.DirExists(t, dir)
	to := t.TempDir()
	for err := os.CopyFS(to, os.DirFS(dir)); err != nil; err = os.CopyFS(to, os.DirFS(dir)) {
		require.ErrorIs(t, err, os.ErrNotExist, "the journal takes a backup meanwhile")
		to = t.TempDir()
	}
	return to
}

var first = &Options{Version: 7}

// usersWritten writes a journal with users, in a backup and some groups of two lives: numbers swap
// their names, and go. A first version has left its files too. It returns the records in the end.
func usersWritten(t *testing.T, dir string) map[int]number {
	users, j, err := program[int, number](t, dir, "users", first)
	require.NoError(t, err)
	for n := range 10 {
		users.Store(n, number{fmt.Sprint("name ", n)})
	}
	require.NoError(t, j.Close())
	users, j, err = program[int, number](t, dir, "users", &Options{Versions: []int{first.Version}})
	require.NoError(t, err)
	for n := range 5 {
		if n == 2 {
			require.NoError(t, j.Close())
			users, j, err = program[int, number](t, dir, "users", nil)
			require.NoError(t, err)
		}
		require.NoError(t, users.Update(t.Context(), nil, func(tx mvcc.Tx[int, number]) error {
			a, _ := tx.Get(n)
			b, _ := tx.Get(n + 1)
			tx.Set(n, b)
			tx.Set(n+1, a)
			return nil
		}))
		require.NoError(t, j.Sync(t.Context()))
		users.Delete(n)
		require.NoError(t, j.Sync(t.Context()))
	}
	users.Store(20, number{"name 1"})
	require.NoError(t, j.Sync(t.Context()))
	return maps.Collect(users.All())
}

func namesOf(users map[int]number) map[string]named {
	people := map[string]named{}
	for n, u := range users {
		people[u.Name] = named{n}
	}
	return people
}

// The backup and the groups of a program are migrated; the old files stay for that program.
func TestJournalMigrates(t *testing.T) {
	dir := t.TempDir()
	users := usersWritten(t, dir)
	dir = crash(t, dir) // it was not closed
	before := filepath.Join(dir, beforeName)
	earlier := imageOf(t, before, 0)

	people, j, err := program[string, named](t, dir, "people", toNames)
	require.NoError(t, err)
	require.Positive(t, j.Stats().Loaded, "there were groups")
	require.Equal(t, namesOf(users), maps.Collect(people.All()))
	people.Store("new", named{30})
	require.NoError(t, j.Sync(t.Context()))

	// It crashes. Its files are found, and not migrated once more.
	crashed := crash(t, dir)
	kept := imageOf(t, filepath.Join(crashed, beforeName), 0)
	people, j2, err := program[string, named](t, crashed, "people", toNames)
	require.NoError(t, err)
	require.Equal(t, len(users)+1, people.Len())
	require.NoError(t, j2.Sync(t.Context()))
	require.Equal(t, kept, imageOf(t, filepath.Join(crashed, beforeName), 0))

	// The program before cannot read it, and goes back to its own files.
	other := crash(t, dir)
	_, _, err = program[int, number](t, other, "users", &Options{Version: 5, Versions: []int{4}})
	var version *VersionError
	require.ErrorAs(t, err, &version)
	require.Equal(t, other, filepath.Dir(version.File))
	require.Equal(t, VersionError{Saved: 2, Version: 5, Versions: []int{4}, File: version.File}, *version)
	_, _, err = program[int, number](t, crash(t, dir), "users", &Options{Version: 2})
	require.ErrorContains(t, err, `there is no table "people"`)
	back := crash(t, before)
	was, _, err := program[int, number](t, back, "users", nil)
	require.NoError(t, err)
	require.Equal(t, users, maps.Collect(was.All()))
	require.Equal(t, earlier, imageOf(t, filepath.Join(back, beforeName), 0), "so can the one before that")

	require.NoError(t, j.Close())
	require.DirExists(t, before)
	require.NoDirExists(t, filepath.Join(dir, nextName))
	people, j, err = program[string, named](t, dir, "people", toNames)
	require.NoError(t, err)
	require.Equal(t, len(users)+1, people.Len())
	require.NoError(t, j.Close())
}

// Wherever the process ends while the files of a program are kept, those of that before it stay
// too; and as long as there is no backup of the program of now, they are kept once.
func TestMigrateCrashes(t *testing.T) {
	from := t.TempDir()
	users := usersWritten(t, from)
	check := func(dir string) {
		people, j, err := program[string, named](t, dir, "people", toNames)
		require.NoError(t, err)
		require.Equal(t, namesOf(users), maps.Collect(people.All()))
		before := filepath.Join(dir, beforeName)
		was, _, err := program[int, number](t, crash(t, before), "users", nil)
		require.NoError(t, err)
		require.Equal(t, users, maps.Collect(was.All()))
		earlier, _, err := program[int, number](t, crash(t, filepath.Join(before, beforeName)), "users", first)
		require.NoError(t, err)
		require.Equal(t, 10, earlier.Len())
		require.NoDirExists(t, filepath.Join(before, beforeName, beforeName))
		require.NoError(t, j.Close())
		for _, name := range []string{nextName, beforeName + ".tmp"} {
			require.NoDirExists(t, filepath.Join(dir, name))
		}
	}
	prepare := func() (dir, before, next string) {
		dir = crash(t, from)
		before, next = filepath.Join(dir, beforeName), filepath.Join(dir, nextName)
		j := &Journal{dir: dir}
		files, err := list(dir)
		require.NoError(t, err)
		names := []string{backupName(files.backups[0])}
		for _, n := range files.journals {
			names = append(names, journalName(n))
		}
		require.NoError(t, j.linkAll(names, next))
		return dir, before, next
	}
	dir, before, next := prepare()
	require.NoError(t, os.Rename(next, before+".tmp"))
	check(dir)
	dir, _, _ = prepare()
	check(dir)
	dir, before, next = prepare()
	require.NoError(t, os.Rename(before, filepath.Join(next, beforeName)))
	check(dir)

	dir = crash(t, from)
	for range 3 {
		db := mvcc.NewDB(nil)
		defer db.Close()
		mvcc.NewTable[string, named](db, "people", nil)
		full := errors.New("the disk is full")
		opts := *toNames
		opts.OnError = func(err error) { require.ErrorIs(t, err, full) }
		j, err := open(t.Context(), db, dir, &opts,
			func(string) (file, error) { return nil, full }, time.Second)
		require.NoError(t, err)
		require.ErrorIs(t, j.Close(), full)
	}
	check(dir)
}

// Whatever the function of a migration does, the files stay as they are, and can be opened.
func TestMigrateFails(t *testing.T) {
	dir := t.TempDir()
	users := usersWritten(t, dir)
	dir = crash(t, dir)
	was := imageOf(t, dir, 0)
	open := func(do func() error) error {
		_, _, err := program[string, named](t, dir, "people", &Options{Migrate: []Migration{
			MigrateTo("users", "people", func(n int, u number) (string, named, error) {
				var err error
				if n == 20 { // it is in a group
					err = do()
				}
				return u.Name, named{n}, err
			})}})
		return err
	}
	for _, why := range []error{errors.New("boom"), &DamageError{Reason: "boom"}, os.ErrNotExist, errMissing} {
		err := open(func() error { return why })
		require.ErrorIs(t, err, why)
		var failed *MigrationError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, 20, failed.Key)
		require.ErrorContains(t, err, "journal-")
		require.Equal(t, was.files[boundName], imageOf(t, dir, 0).files[boundName])
		require.Equal(t, was, imageOf(t, dir, 0))
	}
	require.PanicsWithValue(t, "boom", func() { _ = open(func() error { panic("boom") }) })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = open(func() error { runtime.Goexit(); return nil })
	}()
	<-ended
	require.Equal(t, was, imageOf(t, dir, 0))
	people, _, err := program[string, named](t, dir, "people", toNames)
	require.NoError(t, err)
	require.Equal(t, len(users), people.Len())
}
