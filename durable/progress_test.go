package durable

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// numbersTable returns a database with a table of numbers.
func numbersTable(t *testing.T) (*mvcc.DB, *mvcc.Map[int, int]) {
	db := mvcc.NewDB(nil)
	t.Cleanup(db.Close)
	return db, mvcc.NewTable[int, int](db, "numbers", nil)
}

// Whoever opens a journal, or loads it, is told how far that has got of the files there are.
func TestProgress(t *testing.T) {
	const saved, stored = 50_000, 100
	dir := t.TempDir()
	db, numbers := numbersTable(t)
	for i := range saved {
		numbers.Store(i, i)
	}
	j, err := Open(t.Context(), db, dir, nil)
	require.NoError(t, err)
	for i := range stored {
		numbers.Store(saved+i, i)
		require.NoError(t, j.Sync(t.Context())) // a group
	}
	require.NoError(t, j.Close())
	var size int64
	for _, name := range []string{backupName(1), journalName(1)} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		size += info.Size()
	}
	for _, call := range []string{"Load", "Open"} {
		calls, lastRecords, lastRead, ended := 0, 0, int64(0), false
		opts := &Options{Progress: func(records int, read, total int64) {
			require.Equal(t, size, total)
			require.LessOrEqual(t, read, total)
			require.GreaterOrEqual(t, records, lastRecords)
			require.GreaterOrEqual(t, read, lastRead)
			require.False(t, ended)
			calls, lastRecords, lastRead, ended = calls+1, records, read, read == total
		}}
		db, numbers := numbersTable(t)
		if call == "Load" {
			_, err = LoadFolder(t.Context(), db, dir, opts)
		} else {
			bad := &Options{Progress: func(int, int64, int64) { panic("oh") }}
			require.Panics(t, func() { _, _ = Open(t.Context(), db, dir, bad) })
			j, err = Open(t.Context(), db, dir, opts) // the folder is not locked
			defer func() { require.NoError(t, j.Close()) }()
		}
		require.NoError(t, err)
		require.Equal(t, saved+stored, numbers.Len())
		require.Equal(t, saved+stored, lastRecords)
		require.True(t, ended)
		require.Greater(t, calls, 1)
	}
}
