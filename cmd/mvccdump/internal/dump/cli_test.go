package dump

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
)

// A wrong argument is named, with the right form, and nothing is printed or written.
func TestUsage(t *testing.T) {
	db, m := fourRecords(t)
	above := t.TempDir()
	dir, text := filepath.Join(above, "data"), filepath.Join(above, "text")
	file := filepath.Join(above, "a.backup")
	_, err := durable.SaveFile(t.Context(), db, file, durable.Gob, nil)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(text, []byte("some text"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(above, "empty"), 0o700))
	j, err := durable.Open(t.Context(), db, dir, nil)
	require.NoError(t, err)
	m.Store(1, "one")
	require.NoError(t, j.Close())
	was := imageOf(t, dir)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, ExitUsage, "expected one of"},
		{[]string{"dump"}, ExitUsage, `expected "<path>"`},
		{[]string{"dmup", file}, ExitUsage, `did you mean "dump"?`},
		{[]string{"dump", file, "--tabel=t"}, ExitUsage, `did you mean "--table"?`},
		{[]string{"dump", filepath.Join(above, "none")}, ExitFailed, "none: no such file or directory; expected"},
		{[]string{"info", filepath.Join(above, "empty")}, ExitFailed, "has no journal in it; expected a backup"},
		{[]string{"info", text}, ExitFailed, "is no backup: it does not begin as one; expected a backup"},
		{[]string{"info", filepath.Join(dir, "journal-00000001")}, ExitFailed, "is no backup"},
		{[]string{"info", os.DevNull}, ExitFailed, "is not a file"},
		{[]string{"dump", dir, "--table", "u"}, ExitFailed, `--table: there is no table "u"; expected one of ["t"]`},
		{[]string{"log", file}, ExitFailed, "is a backup: it does not say which commits"},
	} {
		stdout, stderr, code := call(t, c.args...)
		require.Equal(t, c.code, code, "%v: %s", c.args, stderr)
		require.Contains(t, stderr, c.says, c.args)
		require.Equal(t, code == ExitUsage, strings.Contains(stderr, "Try mvccdump --help"), c.args)
		require.Empty(t, stdout, c.args)
	}
	require.Equal(t, was, imageOf(t, dir))
	entries, err := os.ReadDir(above)
	require.NoError(t, err)
	require.Len(t, entries, 4)
}

// The first backup of a journal is not there yet: that is no damage.
func TestNoBackupYet(t *testing.T) {
	db, _ := fourRecords(t)
	dir := t.TempDir()
	j, err := durable.Open(t.Context(), db, dir, nil)
	require.NoError(t, err)
	require.NoError(t, j.Close())
	require.NoError(t, os.Remove(filepath.Join(dir, "backup-00000001")))
	require.NoError(t, os.Remove(filepath.Join(dir, "acknowledged")))
	require.NoError(t, os.Truncate(filepath.Join(dir, "journal-00000001"), 30))
	for _, name := range []string{"dump", "log", "info"} {
		_, stderr, code := call(t, name, dir)
		require.Equal(t, ExitOK, code, "%s %s", name, stderr)
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"info", "--help"}, {"dump", "--help"}, {"log", "--help"}} {
		text, _, code := call(t, args...)
		require.Equal(t, ExitOK, code)
		require.Contains(t, text, "Usage: mvccdump ")
	}
	text, _, code := call(t, "--version")
	require.Equal(t, ExitOK, code)
	require.NotEmpty(t, text)
}
