package durable

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

var codecs = []Codec{Gob, JSON}

// A ledger is a database of which every state that a prefix of its commits leads to can be told
// from any other: commit number n writes n into the log, adds one to the number of its writer,
// and stores or deletes things in another table.
type ledger struct {
	*mvcc.DB
	log    *mvcc.Map[int, int] // number: writer
	counts *mvcc.Map[int, int] // writer: how many it has made, and at -1 all
	things *mvcc.Map[string, []byte]
	flags  *mvcc.Map[int, struct{}]
}

func newLedger(t testing.TB) *ledger {
	db := mvcc.NewDB(nil)
	if t != nil { // else it is for a process that is killed
		t.Cleanup(db.Close)
	}
	l := &ledger{
		DB:     db,
		log:    mvcc.NewOrderedTable[int, int](db, "log", nil),
		counts: mvcc.NewTable[int, int](db, "counts", nil),
		things: mvcc.NewTable[string, []byte](db, "things", nil),
		flags:  mvcc.NewTable[int, struct{}](db, "flags", nil),
	}
	_, err := mvcc.NewIndex(l.things, "first", func(_ string, b []byte) []byte {
		return b[:1]
	}, nil)
	if err != nil {
		panic(err)
	}
	return l
}

// thing returns the key and value that commit n writes to the things.
func thing(n int) (key string, value []byte) {
	return fmt.Sprint(n * n % 101), fmt.Appendf(nil, "%c of commit %d", 'a'+n%7, n)
}

// commit makes one, and returns its number.
func (l *ledger) commit(writer int) (n int) {
	_ = l.Update(context.Background(), nil, func(tx mvcc.DBTx) error {
		counts := l.counts.In(tx)
		all, _ := counts.Get(-1)
		own, _ := counts.Get(writer)
		n = all + 1
		counts.Set(-1, n)
		counts.Set(writer, own+1)
		l.log.In(tx).Set(n, writer)
		key, value := thing(n)
		if things := l.things.In(tx); n%5 == 0 {
			things.Delete(key)
		} else {
			things.Set(key, value)
		}
		if flags := l.flags.In(tx); n%3 == 0 {
			flags.Delete(n * n % 13)
		} else {
			flags.Set(n*n%13, struct{}{})
		}
		return nil
	})
	return n
}

// check says whether the ledger is as after some number of commits, and after how many.
func (l *ledger) check() (n int, err error) {
	err = l.View(func(s mvcc.DBSnapshot) error {
		n, _ = l.counts.At(s).Get(-1)
		counts, things, flags := map[int]int{}, map[string]string{}, map[int]struct{}{}
		for i := 1; i <= n; i++ {
			writer, ok := l.log.At(s).Get(i)
			if !ok {
				return fmt.Errorf("commit %d of %d is missing", i, n)
			}
			counts[writer]++
			key, value := thing(i)
			if things[key] = string(value); i%5 == 0 {
				delete(things, key)
			}
			if flags[i*i%13] = (struct{}{}); i%3 == 0 {
				delete(flags, i*i%13)
			}
		}
		if n > 0 {
			counts[-1] = n
		}
		is := map[string]string{}
		for key, value := range l.things.At(s).All() {
			is[key] = string(value)
		}
		switch {
		case l.log.At(s).Len() != n:
			return fmt.Errorf("there are %d commits, and %d are counted", l.log.At(s).Len(), n)
		case !maps.Equal(counts, maps.Collect(l.counts.At(s).All())):
			return fmt.Errorf("after %d commits the counts are %v", n, maps.Collect(l.counts.At(s).All()))
		case !maps.Equal(things, is):
			return fmt.Errorf("after %d commits the things are %v", n, is)
		case !maps.Equal(flags, maps.Collect(l.flags.At(s).All())):
			return fmt.Errorf("after %d commits the flags are %v", n, maps.Collect(l.flags.At(s).All()))
		}
		return nil
	})
	return n, err
}

// must checks that there are n commits, or, if more is set, at least so many.
func (l *ledger) must(t testing.TB, n int, more bool) int {
	got, err := l.check()
	require.NoError(t, err)
	if !more || got < n {
		require.Equal(t, n, got)
	}
	return got
}

// opened opens a journal, with which a failure is tried again soon.
func opened(
	t testing.TB, dir string, l *ledger, opts *Options, create func(string) (file, error),
) *Journal {
	if create == nil {
		create = createFile
	}
	j, err := open(t.Context(), l.DB, dir, opts, create, time.Millisecond)
	require.NoError(t, err)
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// requireKept checks that n commits are there in the next life.
func requireKept(t testing.TB, dir string, n int) {
	t.Helper()
	again := newLedger(t)
	opened(t, dir, again, nil, nil)
	again.must(t, n, false)
}

// The commits are there again, whatever came in between, in any number of lives.
func TestJournal(t *testing.T) {
	for _, c := range codecs {
		dir, n := t.TempDir(), 0
		for life := range 20 {
			l := newLedger(t)
			if life == 0 {
				for range 10 { // before there is a journal
					n = l.commit(0)
				}
			}
			j, err := Open(t.Context(), l.DB, dir, &Options{Codec: c, Compact: 4096, Every: []time.Duration{-1, 1,
				0}[life%3], Version: 2})
			require.NoError(t, err)
			l.must(t, n, false)
			for range rand.IntN(300) {
				if n = l.commit(life); rand.IntN(20) == 0 {
					epoch := l.Epoch()
					require.NoError(t, j.Sync(t.Context()))
					require.GreaterOrEqual(t, j.Stats().Epoch, epoch)
				}
			}
			if life%4 == 3 { // after all else was on disk
				require.NoError(t, j.Sync(t.Context()))
			}
			require.NoError(t, j.Close())
			require.NoError(t, j.Close())
			require.Equal(t, ErrClosed, j.Sync(t.Context()))
			s := j.Stats()
			require.Zero(t, s.Gaps+s.Failures)
			require.Zero(t, s.Dropped)
			require.Zero(t, s.Behind)
		}
	}
}

// When the disk does not keep up a backup takes the place of the commits missed.
func TestGaps(t *testing.T) {
	dir, l := t.TempDir(), newLedger(t)
	slow := func(path string) (file, error) {
		f, err := createFile(path)
		return &faulty{file: f, before: func(int) error { time.Sleep(time.Millisecond); return nil }}, err
	}
	j := opened(t, dir, l, &Options{Buffer: 20}, slow)
	for range 300 {
		l.commit(1)
	}
	require.NoError(t, j.Sync(t.Context()))
	for j.Stats().Gaps == 0 {
		l.commit(1)
	}
	require.NoError(t, j.Close())
	n := l.must(t, 300, true)
	requireKept(t, dir, n)
}

// A faulty file may fail before it writes n bytes, or syncs: then n is -1.
type faulty struct {
	file
	before func(n int) error
}

func (f *faulty) Write(p []byte) (int, error) {
	if err := f.before(len(p)); err != nil {
		n, _ := f.file.Write(p[:rand.IntN(len(p))]) // a part gets there
		return n, err
	}
	return f.file.Write(p)
}

func (f *faulty) Sync() error {
	if err := f.before(-1); err != nil {
		return err
	}
	return f.file.Sync()
}

// A program starts on a full disk if there was something in the folder, with that: nothing there is
// changed. It is told, and commits are written when there is room.
func TestStartOnFullDisk(t *testing.T) {
	full := errors.New("no space left on device")
	for what, opts := range map[string]Options{
		"unchanged":       {},
		"another version": {Version: 1, Versions: []int{0}},
	} {
		for _, way := range []string{"no file can be made", "no file can be written",
			"no backup can be kept", "a file is in the way"} {
			made := way == "no backup can be kept" || way == "a file is in the way"
			if what == "unchanged" && made {
				continue // it takes no backup, and keeps nothing
			}
			dir, l := t.TempDir(), newLedger(t)
			j := opened(t, dir, l, nil, nil)
			n := l.commit(1)
			require.NoError(t, j.Close())
			for number := range 30 {
				if way == "no backup can be kept" {
					require.NoError(t, os.MkdirAll(filepath.Join(dir, backupName(uint64(number+2)), "in it"), 0o700))
				}
			}
			if way == "a file is in the way" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, beforeName), nil, 0o600))
			}
			was, now, room, told := imageOf(t, dir, n), newLedger(t), atomic.Bool{}, atomic.Int64{}
			opts.OnError = func(error) { told.Add(1) }
			j = opened(t, dir, now, &opts, func(path string) (file, error) {
				if room.Load() || made {
					return createFile(path)
				} else if way == "no file can be made" {
					return nil, full
				}
				f, err := createFile(path)
				return &faulty{f, func(int) error { return full }}, err
			})
			now.must(t, n, false)
			n = now.commit(2)
			require.Error(t, j.Sync(t.Context()), "%s: %s", what, way)
			require.Positive(t, told.Load())
			require.Positive(t, j.Stats().Failures)
			is := imageOf(t, dir, n)
			for name, data := range was.files {
				require.Equal(t, data, is.files[name], "%s: %s: %s", what, way, name)
			}
			requireVersion(t, copied(t, dir), 0, n-1)
			room.Store(true)
			for number := range 30 {
				if way == "no backup can be kept" {
					require.NoError(t, os.RemoveAll(filepath.Join(dir, backupName(uint64(number+2)))))
				}
			}
			if way == "a file is in the way" {
				require.NoError(t, os.Remove(filepath.Join(dir, beforeName)))
			}
			require.Eventually(t, func() bool { return j.Sync(t.Context()) == nil }, time.Minute, time.Millisecond)
			require.NoError(t, j.Close())
			requireVersion(t, dir, opts.Version, n)
		}
	}
}

// copied returns a copy of a folder, as it is after a crash of the process: of one moment, between
// two of which files came or went.
func copied(t testing.TB, dir string) string {
	for {
		to, before := t.TempDir(), names(t, dir)
		for _, name := range before {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if errors.Is(err, os.ErrNotExist) {
				break // removed meanwhile, or renamed
			}
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(to, name), data, 0o600))
		}
		if slices.Equal(before, names(t, dir)) {
			return to
		}
	}
}

// names returns the names of the files of a folder.
func names(t testing.TB, dir string) (all []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if !e.IsDir() {
			all = append(all, e.Name())
		}
	}
	return all
}

func TestMisuse(t *testing.T) {
	l, ctx := newLedger(t), t.Context()
	dir := t.TempDir()
	j := opened(t, dir, l, &Options{Version: 1}, nil)
	_, err := Open(ctx, l.DB, dir, nil)
	require.ErrorContains(t, err, "is in use by another journal")
	l.commit(1)
	require.NoError(t, j.Close())
	_, err = Open(ctx, l.DB, dir, nil)
	require.ErrorContains(t, err, "the version of the backup is 1")
	_, err = Open(ctx, l.DB, dir, &Options{Codec: JSON, Version: 1})
	require.ErrorContains(t, err, `the codec of the backup is "gob"`)
	_, err = Open(ctx, mvcc.NewDB(nil), dir, &Options{Version: 1})
	require.ErrorContains(t, err, "there is no table")
	_, err = Open(ctx, l.DB, filepath.Join(dir, "lock"), nil)
	require.ErrorContains(t, err, "durable: mkdir")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = Open(ended, newLedger(t).DB, dir, &Options{Version: 1})
	require.ErrorIs(t, err, context.Canceled)
	again := newLedger(t)
	opened(t, dir, again, &Options{Version: 1}, nil)
	again.must(t, 1, false)
	for want, opts := range map[string]*Options{
		"durable: Open: Options.Compact is -1, want 0 or more": {Compact: -1},
		"durable: Open: Options.Buffer is -2, want 0 or more":  {Buffer: -2},
		"durable: Open: Options.Migrate[0] is zero, want what Migrate, MigrateTo or RenameFields " +
			"returns": {Migrate: []Migration{{}}},
	} {
		require.PanicsWithValue(t, want, func() { _, _ = Open(ctx, l.DB, t.TempDir(), opts) })
	}
}

// A database may be closed before its journal. A Close of the journal finds the folder free
// afterwards, also beside others.
func TestCloseBesideClose(t *testing.T) {
	dir := t.TempDir()
	for n := range 20 {
		l := newLedger(t)
		j := opened(t, dir, l, nil, nil)
		l.must(t, n, false)
		l.commit(1)
		require.Equal(t, n == 0, l.Stats().Backups > 0)
		require.NoError(t, j.Sync(t.Context()))
		require.Zero(t, l.Stats().JournalLag)
		l.Close()
		var wg sync.WaitGroup
		var one sync.Mutex
		for range 3 {
			wg.Go(func() {
				assert.NoError(t, j.Close())
				one.Lock()
				defer one.Unlock()
				again, err := lockDir(dir)
				if assert.NoError(t, err) {
					assert.NoError(t, again.Close())
				}
			})
		}
		wg.Wait()
		l.commit(1)
		require.Zero(t, l.Stats().JournalLag, "of none")
	}
}
