package durable

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/seam/door"
	"github.com/mvccmap/mvccmap/mvcc"
)

// An image has the files of a folder at a moment, and how many commits were acknowledged by then.
type image struct {
	files map[string][]byte
	sure  int
}

func imageOf(t testing.TB, dir string, sure int) image {
	i := image{map[string][]byte{}, sure}
	for _, name := range names(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if !errors.Is(err, os.ErrNotExist) {
			require.NoError(t, err)
			i.files[name] = data
		}
	}
	return i
}

func (i image) names() []string { return slices.Sorted(maps.Keys(i.files)) }

// A folder, or a file, that is removed under a running journal is noticed, and is mended without
// help.
func TestFilesGoMeanwhile(t *testing.T) {
	for _, what := range []string{"the folder", "backup-00000001", "journal-00000001"} {
		dir, l := filepath.Join(t.TempDir(), "j"), newLedger(t)
		j := opened(t, dir, l, nil, nil)
		l.commit(1)
		require.NoError(t, j.Sync(t.Context()))
		if what == "the folder" {
			require.NoError(t, os.RemoveAll(dir))
		} else {
			require.NoError(t, os.Remove(filepath.Join(dir, what)))
		}
		err := j.Sync(t.Context()) // all was on disk, and is not any more
		require.ErrorContains(t, err, "a file has gone", what)
		require.ErrorIs(t, err, os.ErrNotExist, what)
		l.commit(1)
		require.Eventually(t, func() bool {
			return j.Sync(t.Context()) == nil
		}, time.Minute, time.Millisecond)
		_, err = Open(t.Context(), newLedger(t).DB, dir, nil)
		require.ErrorContains(t, err, "is in use by another journal")
		require.NoError(t, j.Close())
		requireKept(t, dir, 2)
	}
	dir, l := t.TempDir(), newLedger(t)
	j := opened(t, dir, l, nil, nil)
	l.commit(1)
	require.NoError(t, j.Sync(t.Context()))
	require.NoError(t, os.RemoveAll(dir))
	require.ErrorContains(t, j.Close(), "a file has gone")
}

// A journal of the version before can be opened, and goes on in the present format.
func TestOldJournals(t *testing.T) {
	for _, c := range codecs {
		dir := copied(t, filepath.Join("testdata", "1."+c.Name))
		for n := 20; n < 23; n++ {
			l := newLedger(t)
			j, err := Open(t.Context(), l.DB, dir, &Options{Codec: c})
			require.NoError(t, err)
			l.must(t, n, false)
			l.commit(1)
			require.NoError(t, j.Close())
		}
	}
}

// Epochs go on from one life to the next, so that none means two states: after a Close, and after
// a crash.
func TestEpochsGoOn(t *testing.T) {
	dir, last := t.TempDir(), uint64(0)
	for life := range 10 {
		l := newLedger(t)
		j := opened(t, dir, l, nil, nil)
		require.GreaterOrEqual(t, l.Epoch(), last)
		for range 5 {
			require.NoError(t, l.Update(t.Context(), nil, func(tx mvcc.DBTx) error {
				l.log.In(tx).Set(life, 1)
				tx.OnCommit(func(e uint64) {
					require.Greater(t, e, last)
					last = e
				})
				return nil
			}))
		}
		tx := l.Begin(nil) // an epoch that is drawn, and nothing is committed
		l.log.In(tx).Set(-1, 1)
		tx.Rollback()
		require.NoError(t, j.Sync(t.Context()))
		last = l.Epoch()
		l.log.Store(-2, life) // may be lost
		if life%3 == 0 {
			dir = copied(t, dir)
		} else {
			last = l.Epoch()
		}
		require.NoError(t, j.Close())
	}
}

// From the highest epoch that a program can skip to on, all that is written can be read, in each
// life.
func TestHighestEpoch(t *testing.T) {
	dir := t.TempDir()
	for n := range 3 {
		l := newLedger(t)
		j := opened(t, dir, l, nil, nil)
		l.must(t, n, false)
		door.Of(l.DB).SkipTo(1<<51, false)
		require.Equal(t, n+1, l.commit(1))
		require.Greater(t, l.Epoch(), uint64(1<<51))
		require.NoError(t, j.Close())
		var b bytes.Buffer
		_, err := Save(t.Context(), l.DB, &b, Gob, nil)
		require.NoError(t, err)
		_, err = Load(t.Context(), newLedger(t).DB, &b, Gob, nil)
		require.NoError(t, err)
	}
}

// A program that has the types, names and version of the files begins a journal, and takes no
// backup, however it has ended: until there are too many. Then it does so while it goes on.
func TestOpenUnchanged(t *testing.T) {
	dir, long, n := t.TempDir(), "", 0
	for life := range mostLives + 2 {
		if life == mostLives+1 {
			long = copied(t, dir)
		}
		l := newLedger(t)
		j := opened(t, dir, l, nil, nil)
		l.must(t, n, false)
		if life == mostLives+1 {
			require.Eventually(t, func() bool { return j.Stats().Backups == 1 }, time.Minute, time.Millisecond)
		} else if life > 0 {
			require.Zero(t, j.Stats().Backups)
		}
		if life%3 > 0 { // else it has nothing to write
			n = l.commit(life)
		}
		require.NoError(t, j.Sync(t.Context()))
		require.NoDirExists(t, filepath.Join(dir, beforeName))
		if life%2 > 0 {
			dir = copied(t, dir)
		}
		require.NoError(t, j.Close())
	}
	for what, c := range map[string]struct {
		opts   *Options
		change func(l *ledger)
		backup bool
	}{
		"the log is long": {&Options{Compact: 1}, func(*ledger) {}, false},
		"the version":     {&Options{Version: 1, Versions: []int{0}}, func(*ledger) {}, true},
		"a table more": {nil, func(l *ledger) { mvcc.NewTable[int, int](l.DB, "more", nil).Store(1, 1) },
			true},
		"another shape": {&Options{AnyShape: true}, func(l *ledger) {
			l.flags.Close()
			mvcc.NewTable[int, bool](l.DB, "flags", nil)
		}, true},
	} {
		to, l := copied(t, long), newLedger(t)
		c.change(l)
		j, err := Open(t.Context(), l.DB, to, c.opts)
		require.NoError(t, err, what)
		if c.backup {
			require.EqualValues(t, 1, j.Stats().Backups, what)
			require.DirExists(t, filepath.Join(to, beforeName), what)
		}
		require.Eventually(t, func() bool { return j.Stats().Backups > 0 }, time.Minute, time.Millisecond, what)
		require.NoError(t, j.Close())
		_, err = os.Stat(filepath.Join(to, beforeName))
		require.Equal(t, c.backup, err == nil, what)
	}
}

// Something that is written while a journal is opened is kept, though nobody should: it is not
// taken for a record of the files.
func TestWrittenWhileOpening(t *testing.T) {
	dir, l := t.TempDir(), newLedger(t)
	j := opened(t, dir, l, nil, nil)
	for range 10 {
		l.commit(1)
		require.NoError(t, j.Sync(t.Context()))
	}
	require.NoError(t, j.Close())
	for at := 1; ; at += 3 { // in the backup, and then in each group
		now, to, records := newLedger(t), copied(t, dir), 0
		c := Gob
		c.NewDecoder = func(r io.Reader) interface{ Decode(v any) error } {
			d := Gob.NewDecoder(r)
			return decodeFunc(func(v any) error {
				if records++; records == at {
					now.things.Store("of another", []byte("x"))
				}
				return d.Decode(v)
			})
		}
		j, err := Open(t.Context(), now.DB, to, &Options{Codec: c})
		require.NoError(t, err)
		things := now.things.Len()
		require.NoError(t, j.Close())
		again := newLedger(t)
		opened(t, to, again, nil, nil)
		require.Equal(t, things, again.things.Len(), at)
		if records < at {
			break
		}
	}
}

// A table that was closed and made again with other types, and whatever else was closed, is not
// needed by those that open the journal.
func TestTableOfOtherTypes(t *testing.T) {
	dir := t.TempDir()
	open := func(dir string, make func(db *mvcc.DB)) (*mvcc.DB, *Journal, error) {
		db := mvcc.NewDB(nil)
		t.Cleanup(db.Close)
		make(db)
		j, err := Open(t.Context(), db, dir, nil)
		return db, j, err
	}
	db, j, err := open(dir, func(db *mvcc.DB) {
		mvcc.NewTable[int, int](db, "tmp", nil).Store(1, 1)
		mvcc.NewTable[int, int](db, "gone", nil).Store(1, 1)
	})
	require.NoError(t, err)
	ints, _ := mvcc.Table[int, int](db, "tmp")
	ints.Close()
	mvcc.NewTable[int, string](db, "tmp", nil).Store(1, "1")
	gone, _ := mvcc.Table[int, int](db, "gone")
	gone.Close()
	require.NoError(t, j.Sync(t.Context()))
	crashed := copied(t, dir)
	require.NoError(t, j.Close())
	for _, dir := range []string{dir, crashed} {
		_, _, err = open(dir, func(db *mvcc.DB) { mvcc.NewTable[int, int](db, "tmp", nil) })
		require.ErrorContains(t, err, `table "tmp" is a Map[int, int]`)
		_, _, err = open(dir, func(*mvcc.DB) {})
		require.ErrorContains(t, err, `there is no table "tmp"`)
		db, j, err = open(dir, func(db *mvcc.DB) { mvcc.NewTable[int, string](db, "tmp", nil) })
		require.NoError(t, err)
		strings, _ := mvcc.Table[int, string](db, "tmp")
		require.Equal(t, map[int]string{1: "1"}, maps.Collect(strings.All()))
		require.NoError(t, j.Close())
	}
}
