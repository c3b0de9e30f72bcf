package dump

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/journal"
	"github.com/mvccmap/mvccmap/mvcc"
)

// fourRecords returns a table of four records, in order.
func fourRecords(t testing.TB) (*mvcc.DB, *mvcc.Map[int, string]) {
	db := mvcc.NewDB(nil)
	t.Cleanup(db.Close)
	m := mvcc.NewOrderedTable[int, string](db, "t", nil)
	for i := range 4 {
		m.Store(i, fmt.Sprint("value ", i))
	}
	return db, m
}

// A backup that is cut at any length, or has any byte flipped, is damaged: nothing of it is
// printed, or, if that is asked for, what comes before the damage.
func TestDamagedBackup(t *testing.T) {
	for _, c := range codecs {
		db, _ := fourRecords(t)
		dir := t.TempDir()
		file, bad := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		_, err := db.SaveFile(t.Context(), file, c, nil)
		require.NoError(t, err)
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		whole, _, code := call(t, "dump", file)
		require.Equal(t, ExitOK, code)
		some := 0
		try := func(what string, data []byte) {
			require.NoError(t, os.WriteFile(bad, data, 0o600))
			for _, name := range []string{"dump", "info"} {
				stdout, stderr, code := call(t, name, bad)
				require.Equal(t, ExitFailed, code, "%s %s", what, name)
				require.Regexp(t, bad+" is (damaged at offset|no backup)", stderr, what)
				if name == "dump" {
					require.Empty(t, stdout, what)
				}
			}
			stdout, _, code := call(t, "dump", "--partial", bad)
			require.NotEqual(t, ExitOK, code, what)
			require.True(t, strings.HasPrefix(whole, stdout), what)
			if stdout != "" {
				some++
			}
		}
		step := 1
		if testing.Short() {
			step = 9
		}
		for at := 0; at < len(data); at += step {
			try(fmt.Sprint("cut at ", at), data[:at])
			flipped := append([]byte{}, data...)
			flipped[at] ^= 1 << (at % 8)
			try(fmt.Sprint("flipped at ", at), flipped)
		}
		try("with more", append(append([]byte{}, data...), 0))
		require.Positive(t, some)
	}
}

// Likewise for the files of a journal, as far as something is lost by that.
func TestDamagedJournal(t *testing.T) {
	db, m := fourRecords(t)
	dir := t.TempDir()
	j, err := journal.Open(t.Context(), dir, db, codec.JSON, nil)
	require.NoError(t, err)
	m.Store(4, "more")
	require.NoError(t, j.Sync(t.Context()))
	m.Delete(0)
	require.NoError(t, j.Close())
	whole, good := imageOf(t, dir), lines(t, "dump", dir)
	require.Len(t, good, 4)
	damaged, fine := 0, 0
	for name, data := range whole {
		step := 1
		if testing.Short() {
			step = 9
		}
		for at := 0; at < len(data); at += step {
			flipped := []byte(data)
			flipped[at] ^= 1 << (at % 8)
			for _, to := range []string{data[:at], string(flipped)} {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(to), 0o600))
				what := fmt.Sprint(name, " at ", at)
				stdout, stderr, code := call(t, "dump", dir)
				_, _, infoCode := call(t, "info", dir)
				require.Equal(t, code, infoCode, what)
				if code == ExitOK { // what follows the last mark, or what was acknowledged is not known
					require.Equal(t, strings.Join(good, "\n")+"\n", stdout, what)
					fine++
					continue
				}
				require.Equal(t, ExitFailed, code, what)
				require.Empty(t, stdout, what)
				require.Contains(t, stderr, filepath.Join(dir, name), what)
				if damaged++; damaged%8 > 0 {
					continue
				}
				for _, args := range [][]string{{"dump", "--partial"}, {"log"}} {
					_, _, code = call(t, append(args, dir)...)
					require.Equal(t, ExitFailed, code, what)
				}
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
	require.Positive(t, damaged)
	require.Positive(t, fine)
	// A file that is missing.
	require.NoError(t, os.Remove(filepath.Join(dir, "journal-00000001")))
	_, stderr, code := call(t, "info", dir)
	require.Equal(t, ExitFailed, code)
	require.Contains(t, stderr, "journal-00000001 is missing")
}

// Checksums that are right do not make records of anything.
func TestRecordsThatAreNone(t *testing.T) {
	db, _ := fourRecords(t)
	file := filepath.Join(t.TempDir(), "a")
	for name, as := range map[string]mvcc.Codec{"json": codec.Gob, "gob": codec.JSON} {
		as.Name = name
		_, err := db.SaveFile(t.Context(), file, as, nil)
		require.NoError(t, err)
		_, stderr, code := call(t, "dump", file)
		require.Equal(t, ExitFailed, code)
		require.Contains(t, stderr, `record 1 of table "t" cannot be decoded`)
	}
}

// A journal that is written to, and takes one backup after the other, can be looked at all the
// time: what is printed is one of its states, and all commands find it whole.
func TestWhileWritten(t *testing.T) {
	for _, c := range codecs {
		db := mvcc.NewDB(nil)
		a := mvcc.NewTable[int, int](db, "a", nil)
		b := mvcc.NewTable[int, int](db, "b", nil)
		for i := range 10 {
			a.Store(i, 0)
			b.Store(i, 0)
		}
		dir := t.TempDir()
		j, err := journal.Open(t.Context(), dir, db, c, &journal.Options{Compact: 3000, Every: -1})
		require.NoError(t, err)
		var over atomic.Bool
		var commits atomic.Int64
		ended := make(chan error, 1)
		go func() {
			err := error(nil)
			for i := 0; err == nil && !over.Load(); i++ {
				err = db.Update(t.Context(), nil, func(tx mvcc.DBTx) error { // both have the same sum
					a.In(tx).Merge(i%10, func(n int, _ bool) int { return n + i })
					b.In(tx).Merge(i*3%10, func(n int, _ bool) int { return n + i })
					return nil
				})
				if err == nil {
					err = j.Sync(t.Context())
				}
				commits.Add(1)
			}
			ended <- err
		}()
		backups := map[uint64]bool{}
		for len(backups) < 8 {
			require.Empty(t, ended)
			info, err := journal.Inspect(dir)
			require.NoError(t, err)
			for _, f := range info.Files {
				if f.Backup && f.Used {
					backups[f.Number] = true
				}
			}
			sums := map[string]int{}
			for _, line := range lines(t, "dump", dir) {
				var table string
				var key, value int
				_, err := fmt.Sscanf(line, `{"table":%q,"key":%d,"value":%d}`, &table, &key, &value)
				require.NoError(t, err, line)
				sums[table] += value
			}
			require.Equal(t, sums["a"], sums["b"])
			lines(t, "log", dir)
			lines(t, "info", dir)
		}
		over.Store(true)
		require.NoError(t, <-ended)
		require.NoError(t, j.Close())
		db.Close()
	}
}
