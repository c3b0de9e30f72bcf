package durable

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// stamps returns the contents of a folder, with the mode and time of each file.
func stamps(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := e.Info()
		require.NoError(t, err)
		all[path] = info.Mode().String() + info.ModTime().String()
		if !e.IsDir() {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			all[path] += string(data)
		}
		return nil
	}))
	return all
}

// Load reads a journal, whoever has it open, and touches nothing.
func TestLoad(t *testing.T) {
	dir, n := t.TempDir(), 0
	load := func(dir string, opts *Options) (l *ledger, s Stats) {
		stage.Eventually(t, func() bool { // who has it open may be about to write a mark
			var err error
			l = newLedger(t)
			was := stamps(t, dir)
			s, err = LoadFolder(t.Context(), l.DB, dir, opts)
			require.NoError(t, err)
			require.GreaterOrEqual(t, l.Epoch(), s.Epoch)
			return maps.Equal(was, stamps(t, dir))
		}, "the files change each time")
		return l, s
	}
	for range 3 { // lives
		l := newLedger(t)
		j := opened(t, dir, l, nil, nil)
		for range 10 {
			n = l.commit(1)
			require.NoError(t, j.Sync(t.Context()))
		}
		is, s := load(dir, nil) // while it is open
		is.must(t, n, false)
		require.Equal(t, l.Epoch(), s.Epoch)
		require.NoError(t, j.Close())
		is, _ = load(dir, nil)
		is.must(t, n, false)
		is.commit(1) // is kept nowhere
	}
	require.NoError(t, os.Remove(filepath.Join(dir, lockName)))
	torn := copied(t, dir)
	files, err := list(torn)
	require.NoError(t, err)
	last := filepath.Join(torn, journalName(files.journals[len(files.journals)-1]))
	require.NoError(t, os.Truncate(last, 1000))
	require.NoError(t, os.Remove(filepath.Join(torn, boundName)))
	is, _ := load(torn, nil)
	is.must(t, 20, true)
	require.NoError(t, os.Chmod(dir, 0o500))
	defer os.Chmod(dir, 0o700)
	is, _ = load(dir, &Options{Version: 1, Versions: []int{0}})
	is.must(t, n, false)
}

// A folder that cannot be loaded is an error, and nothing is made in its place.
func TestLoadFails(t *testing.T) {
	dir := t.TempDir()
	load := func(dir string, opts *Options) error {
		_, err := LoadFolder(t.Context(), newLedger(t).DB, dir, opts)
		return err
	}
	require.ErrorIs(t, load(dir, nil), fs.ErrNotExist)
	require.ErrorIs(t, load(filepath.Join(dir, "none"), nil), fs.ErrNotExist)
	require.Empty(t, stamps(t, dir)[filepath.Join(dir, "none")])
	l := newLedger(t)
	j := opened(t, dir, l, &Options{Version: 1}, nil)
	l.commit(1)
	require.NoError(t, j.Close())
	require.ErrorAs(t, load(dir, nil), new(*VersionError))
	was := stamps(t, dir)
	require.NoError(t, os.Truncate(filepath.Join(dir, journalName(1)), 100))
	require.ErrorAs(t, load(dir, &Options{Version: 1}), new(*DamageError))
	require.Equal(t, len(was), len(stamps(t, dir)))
	require.PanicsWithValue(t, "durable: LoadFolder: the Codec has an empty field", func() {
		_, _ = LoadFolder(t.Context(), l.DB, dir, &Options{Codec: Codec{Name: "gob"}})
	})
}

// Whoever looks at a journal while it is written, by Inspect or Load, finds no damage, and all that
// was acknowledged before, whatever a compaction removes meanwhile.
func TestLoadWhileWritten(t *testing.T) {
	dir, l := t.TempDir(), newLedger(t)
	j := opened(t, dir, l, &Options{Compact: 2000}, nil)
	var commits, epoch atomic.Int64 // that were acknowledged
	over, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-over:
				ended <- nil
				return
			default:
			}
			n := l.commit(1)
			at := l.Epoch()
			if err := j.Sync(t.Context()); err != nil {
				ended <- err
				return
			}
			commits.Store(int64(n))
			epoch.Store(int64(at))
		}
	}()
	for j.Stats().Backups < 20 {
		sure, at := int(commits.Load()), uint64(epoch.Load())
		info, err := Inspect(dir)
		require.NoError(t, err)
		require.NoError(t, info.Err)
		require.GreaterOrEqual(t, info.Epoch, max(at, info.Acknowledged))
		is := newLedger(t)
		_, err = LoadFolder(t.Context(), is.DB, dir, nil)
		require.NoError(t, err)
		is.must(t, sure, true)
	}
	close(over)
	require.NoError(t, <-ended)
}
