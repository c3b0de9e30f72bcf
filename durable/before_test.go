package durable

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Folders of programs with other types, names or versions stay for KeepBefore, each from when it
// was kept: an orderly stop does not remove them, and neither do the lives in between.
func TestKeepBefore(t *testing.T) {
	const hour = time.Hour
	aged := func(dir string, by time.Duration) {
		at := time.Now().Add(-by)
		require.NoError(t, os.Chtimes(dir, at, at))
	}
	for what, c := range map[string]struct {
		keep         time.Duration
		newer, older time.Duration // for how long the folders are there
		has          int           // of them are left
	}{
		"by default":       {0, 24 * hour, 6 * 24 * hour, 2},
		"a week":           {0, 24 * hour, 8 * 24 * hour, 1},
		"both":             {0, 8 * 24 * hour, 9 * 24 * hour, 0},
		"as was asked":     {2 * hour, hour, 3 * hour, 1},
		"nothing any more": {-1, 0, 0, 0},
	} {
		for _, unchanged := range []bool{true, false} { // else Open takes a backup, and keeps the files
			dir := t.TempDir()
			for version := range 3 {
				l := newLedger(t)
				j := opened(t, dir, l, &Options{Version: version, Versions: []int{version - 1}}, nil)
				l.must(t, 10*version, false)
				for range 10 {
					l.commit(1)
				}
				require.NoError(t, j.Close())
			}
			before := filepath.Join(dir, beforeName)
			older := filepath.Join(before, beforeName)
			requireVersion(t, copied(t, before), 1, 20)
			requireVersion(t, copied(t, older), 0, 10)
			require.NoDirExists(t, filepath.Join(older, beforeName))
			aged(older, c.older)
			aged(before, c.newer)
			opts, has := &Options{Version: 2, KeepBefore: c.keep}, c.has
			if !unchanged {
				opts.Version, opts.Versions = 3, []int{2}
				if c.keep >= 0 {
					has++
				}
			}
			l := newLedger(t)
			require.NoError(t, opened(t, dir, l, opts, nil).Close())
			at := dir
			for range has {
				at = filepath.Join(at, beforeName)
				require.DirExists(t, at, what)
			}
			require.NoDirExists(t, filepath.Join(at, beforeName), what)
			require.NoDirExists(t, filepath.Join(at, beforeName+".tmp"), what)
			if unchanged && has == 1 { // it does not begin anew because the older one has gone
				info, err := os.Stat(before)
				require.NoError(t, err)
				require.Greater(t, time.Since(info.ModTime()), c.newer-time.Minute, what)
			}
		}
	}
}

// requireVersion checks that a folder has n commits, for a program of a version.
func requireVersion(t *testing.T, dir string, version, n int) {
	t.Helper()
	l := newLedger(t)
	require.NoError(t, opened(t, dir, l, &Options{Version: version}, nil).Close())
	l.must(t, n, false)
}
