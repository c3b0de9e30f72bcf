package journal

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/internal/stage"
	"github.com/mvccmap/mvccmap/mvcc"
)

// What Inspect says of two lives of a journal.
func TestInspect(t *testing.T) {
	for _, c := range codecs {
		dir, l := t.TempDir(), newLedger(t)
		j, err := Open(t.Context(), dir, l.DB, c, &Options{Version: 7})
		require.NoError(t, err)
		var epochs []uint64
		for range 10 {
			l.commit(1)
			epochs = append(epochs, l.Epoch())
			require.NoError(t, j.Sync(t.Context()))
		}
		var was image
		stage.Eventually(t, func() bool { // the mark of the last group comes after Sync
			was = imageOf(t, dir, 0)
			data := was.files[journalName(1)]
			at := bytes.LastIndex(data, markMagic[:])
			epoch, _, n, err := readMark(bytes.NewReader(data[max(at, 0):]))
			return err == nil && at+int(n) == len(data) && epoch == epochs[9]
		}, "no mark")
		info, err := Inspect(dir)
		require.NoError(t, err)
		require.NoError(t, info.Err)
		require.Equal(t, was, imageOf(t, dir, 0))
		require.Equal(t, c.Name, info.Codec)
		require.Equal(t, 7, info.Version)
		require.Equal(t, epochs[9], info.Epoch)
		require.Equal(t, epochs[9], info.Acknowledged)
		require.False(t, info.Closed)
		require.Zero(t, info.Incomplete)
		require.Nil(t, info.Before)
		require.Len(t, info.Files, 2)
		require.Equal(t, backupName(1), info.Files[0].Name)
		require.True(t, info.Files[0].Backup && info.Files[0].Used)
		groups := info.Files[1].Groups
		require.Len(t, groups, 11)
		require.Equal(t, groups[0].Since, groups[0].Epoch)
		require.Equal(t, []mvcc.Position{l.Position(groups[0].Epoch)}, info.Lives)
		groups = groups[1:]
		for i, g := range groups {
			require.Equal(t, epochs[i], g.Epoch)
			if i > 0 {
				require.Equal(t, groups[i-1].Epoch, g.Since)
			}
			require.Equal(t, "mvccmap\x02", string(was.files[journalName(1)][g.Offset:][:8]))
		}
		require.Equal(t, info.Files[1].Epoch, groups[0].Since)
		names := map[string]TableInfo{}
		for _, table := range info.Tables {
			names[table.Name] = table
		}
		require.Len(t, names, 4)
		require.Equal(t, 20, names["counts"].Changes)
		require.Equal(t, "[]uint8", names["things"].Value)
		require.Equal(t, "[]uint8", names["things"].ValueShape.String())
		require.NoError(t, j.Close())

		next := newLedger(t)
		j, err = Open(t.Context(), dir, next.DB, c, &Options{Version: 7})
		require.NoError(t, err)
		info, err = Inspect(dir)
		require.NoError(t, err)
		require.NoError(t, info.Err)
		require.Nil(t, info.Before)
		require.Len(t, info.Lives, 2)
		require.Equal(t, next.Position(info.Epoch), info.Lives[1])
		require.Len(t, info.Files, 3)
		for _, table := range info.Tables {
			if table.Name == "log" {
				require.Equal(t, 10, table.Changes)
			}
		}
		require.NoError(t, j.Close())
		before := newLedger(t)
		mvcc.NewTable[int, int](before.DB, "more", nil)
		j, err = Open(t.Context(), dir, before.DB, c, &Options{Version: 7})
		require.NoError(t, err)
		info, err = Inspect(dir)
		require.NoError(t, err)
		require.NoError(t, info.Err)
		require.NotNil(t, info.Before)
		require.Equal(t, next.Epoch(), info.Before.Epoch)
		require.True(t, info.Before.Closed)
		require.NoError(t, j.Close())
		info, err = Inspect(dir)
		require.NoError(t, err)
		require.True(t, info.Closed)
		require.NotNil(t, info.Before)
	}
}

// A table that was closed is not there any more, and one that was made again is another one.
func TestInspectTables(t *testing.T) {
	dir, s := t.TempDir(), newShop(t, "A", true)
	defer s.Close()
	j, err := s.open(t, dir, 0, createFile)
	require.NoError(t, err)
	for range remade + 2 {
		s.sell()
	}
	_ = j.Sync(t.Context())
	info, err := Inspect(dir)
	require.NoError(t, err)
	require.NoError(t, info.Err)
	var tmp []TableInfo
	for _, table := range info.Tables {
		if table.Name == "tmp" {
			tmp = append(tmp, table)
		}
	}
	require.Len(t, tmp, 1)
	require.Equal(t, "string", tmp[0].ValueShape.String())
	s.tmp.Close()
	_ = j.Sync(t.Context())
	_ = j.Close()
	info, err = Inspect(dir)
	require.NoError(t, err)
	for _, table := range info.Tables {
		require.NotEqual(t, "tmp", table.Name)
	}
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
	// The name of what was acknowledged, and none of the files.
	l := newLedger(t)
	j := opened(t, dir, l, nil, nil)
	l.commit(1)
	require.NoError(t, j.Close())
	require.NoError(t, os.Remove(filepath.Join(dir, backupName(1))))
	require.NoError(t, os.Remove(filepath.Join(dir, journalName(1))))
	info, err = Inspect(dir)
	require.NoError(t, err)
	require.ErrorIs(t, info.Err, fs.ErrNotExist)
	require.ErrorContains(t, info.Err, journalName(1))
}

// Cut at each length, and with each byte flipped: Inspect finds damage where Open does, and the
// same epoch, and changes nothing.
func TestInspectDamage(t *testing.T) {
	dir, l := t.TempDir(), newLedger(t)
	j := opened(t, dir, l, nil, nil)
	for range 3 {
		l.commit(1)
		require.NoError(t, j.Sync(t.Context()))
	}
	require.NoError(t, j.Close())
	whole := imageOf(t, dir, 0)
	damage, fine := 0, 0
	try := func(name string, data []byte) {
		bad := t.TempDir()
		whole.write(t, bad)
		require.NoError(t, os.WriteFile(filepath.Join(bad, name), data, 0o600))
		was := imageOf(t, bad, 0)
		info, err := Inspect(bad)
		require.NoError(t, err)
		require.Equal(t, was, imageOf(t, bad, 0))
		epoch, err := loadedEpoch(t, bad)
		if err == nil {
			require.NoError(t, info.Err)
			require.Equal(t, epoch, info.Epoch)
			fine++
			return
		}
		require.EqualError(t, info.Err, err.Error())
		damage++
	}
	step := 1
	if testing.Short() {
		step = 7
	}
	for name, data := range whole.files {
		for at := 0; at < len(data); at += step {
			try(name, data[:at])
			flipped := append([]byte{}, data...)
			flipped[at] ^= 1 << (at % 8)
			try(name, flipped)
		}
	}
	require.Positive(t, damage)
	require.Positive(t, fine)
}

// loadedEpoch returns the epoch to which Open would load a folder.
func loadedEpoch(t *testing.T, dir string) (uint64, error) {
	l := newLedger(t)
	defer l.Close()
	j := &Journal{db: l.DB, dir: dir, codec: codec.Gob}
	f, err := openFolder(dir)
	require.NoError(t, err)
	defer f.close()
	if f.foreign != nil {
		return 0, f.foreign
	}
	in := j.loader(t.Context(), f)
	_, _, err = in.all(f.listing)
	return in.after.Epoch, err
}

// A journal that is written to, and takes one backup after the other, is never damaged, and has at
// least what was acknowledged before.
func TestInspectWhileWritten(t *testing.T) {
	dir, l := t.TempDir(), newLedger(t)
	j := opened(t, dir, l, &Options{Compact: 2000, Every: -1}, nil)
	var sure atomic.Uint64
	var over atomic.Bool
	ended := make(chan error, 1)
	go func() {
		for !over.Load() {
			l.commit(1)
			epoch := l.Epoch()
			if err := j.Sync(t.Context()); err != nil {
				ended <- err
				return
			}
			sure.Store(epoch)
		}
		ended <- nil
	}()
	numbers := map[uint64]bool{}
	for i := 0; i < 100 || len(numbers) < 10; i++ { // files were removed meanwhile
		before := sure.Load()
		info, err := Inspect(dir)
		require.NoError(t, err)
		require.NoError(t, info.Err)
		for _, file := range info.Files {
			numbers[file.Number] = true
		}
		require.Empty(t, ended)
		require.GreaterOrEqual(t, info.Epoch, before)
		require.GreaterOrEqual(t, info.Epoch, info.Acknowledged)
	}
	over.Store(true)
	require.NoError(t, <-ended)
}

// What is acknowledged after the files were opened is not missed, and a file that a compaction
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
