package durable

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// The findings of Inspect on two lives of a journal, and on the files of a program with other
// tables.
func TestInspect(t *testing.T) {
	dir, epochs := t.TempDir(), []uint64{}
	inspect := func() Info {
		was := imageOf(t, dir, 0)
		info, err := Inspect(dir)
		require.NoError(t, err)
		require.NoError(t, info.Err)
		require.Subset(t, imageOf(t, dir, 0).names(), was.names())
		require.Equal(t, "gob", info.Codec)
		require.Equal(t, 7, info.Version)
		return info
	}
	l := newLedger(t)
	j := opened(t, dir, l, &Options{Version: 7}, nil)
	for range 10 {
		l.commit(1)
		epochs = append(epochs, l.Epoch())
		require.NoError(t, j.Sync(t.Context()))
	}
	info := inspect()
	require.Equal(t, epochs[9], info.Epoch)
	require.Equal(t, epochs[9], info.Acknowledged)
	require.False(t, info.Closed)
	require.Nil(t, info.Before)
	require.Len(t, info.Files, 2)
	require.Equal(t, backupName(1), info.Files[0].Name)
	require.True(t, info.Files[0].Backup && info.Files[0].Used)
	groups := info.Files[1].Groups
	require.Len(t, groups, 11)
	require.Equal(t, groups[0].Since, groups[0].Epoch)
	require.Equal(t, []mvcc.Position{l.Position(groups[0].Epoch)}, info.Lives)
	for i, g := range groups[1:] {
		require.Equal(t, epochs[i], g.Epoch)
		require.Equal(t, groups[i].Epoch, g.Since)
		require.Equal(t, "mvccmap\x02", string(imageOf(t, dir, 0).files[journalName(1)][g.Offset:][:8]))
	}
	require.Equal(t, info.Files[1].Epoch, groups[0].Since)
	require.Len(t, info.Tables, 4)
	for _, table := range info.Tables {
		if table.Name == "counts" {
			require.Equal(t, 20, table.Changes)
			require.Equal(t, "int", table.ValueShape.String())
		}
	}
	require.NoError(t, j.Close())

	next := newLedger(t)
	j = opened(t, dir, next, &Options{Version: 7}, nil)
	info = inspect()
	require.Len(t, info.Lives, 2)
	require.Equal(t, next.Position(info.Epoch), info.Lives[1])
	require.Len(t, info.Files, 3)
	require.NoError(t, j.Close())
	more := newLedger(t)
	mvcc.NewTable[int, int](more.DB, "more", nil)
	j = opened(t, dir, more, &Options{Version: 7}, nil)
	require.NoError(t, j.Close())
	info = inspect()
	require.True(t, info.Closed)
	require.NotNil(t, info.Before)
	require.Equal(t, next.Epoch(), info.Before.Epoch)
	require.True(t, info.Before.Closed)
}

func TestInspectNothing(t *testing.T) {
	dir := t.TempDir()
	_, err := Inspect(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = Inspect(file)
	require.ErrorContains(t, err, file)
	info, err := Inspect(dir)
	require.NoError(t, err)
	require.NoError(t, info.Err)
	require.Empty(t, info.Files)
}

// An epoch acknowledged after the files were opened is not missed, and a file that a compaction
// removes before that is not missing.
func TestInspectMeanwhile(t *testing.T) {
	defer func(was func(bool)) { meanwhile = was }(meanwhile)
	dir, l := t.TempDir(), newLedger(t)
	j := opened(t, dir, l, &Options{Compact: 1000}, nil)
	l.commit(1)
	require.NoError(t, j.Sync(t.Context()))
	for _, open := range []bool{true, false} {
		calls := 0
		meanwhile = func(is bool) {
			if is != open {
				return
			}
			if calls++; calls > 1 {
				return
			}
			backups := j.Stats().Backups
			for range 3 { // each takes a backup, or more
				for j.Stats().Backups == backups {
					l.commit(1)
					require.NoError(t, j.Sync(t.Context()))
				}
				backups = j.Stats().Backups
			}
		}
		info, err := Inspect(dir)
		require.NoError(t, err)
		require.NoError(t, info.Err)
		require.Equal(t, !open, calls > 1, "files have gone, so it begins again")
	}
}
