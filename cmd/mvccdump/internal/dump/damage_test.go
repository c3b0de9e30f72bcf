package dump

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
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
// printed, or, if that is asked for, the part before the damage.
func TestDamagedBackup(t *testing.T) {
	for _, c := range codecs {
		db, _ := fourRecords(t)
		dir := t.TempDir()
		file, bad := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		_, err := durable.SaveFile(t.Context(), db, file, c, nil)
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

// Checksums that are right do not make records of anything.
func TestRecordsThatAreNone(t *testing.T) {
	db, _ := fourRecords(t)
	file := filepath.Join(t.TempDir(), "a")
	for name, as := range map[string]durable.Codec{"json": durable.Gob, "gob": durable.JSON} {
		as.Name = name
		_, err := durable.SaveFile(t.Context(), db, file, as, nil)
		require.NoError(t, err)
		_, stderr, code := call(t, "dump", file)
		require.Equal(t, ExitFailed, code)
		require.Contains(t, stderr, `record 1 of table "t" cannot be decoded`)
	}
}
