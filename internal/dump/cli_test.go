package dump

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/journal"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A wrong argument is named, with what would be right, and nothing is printed or written.
func TestUsage(t *testing.T) {
	db, m := fourRecords(t)
	above := t.TempDir()
	dir, text := filepath.Join(above, "data"), filepath.Join(above, "text")
	file := filepath.Join(above, "a.backup")
	_, err := db.SaveFile(t.Context(), file, codec.Gob, nil)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(text, []byte("some text"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(above, "empty"), 0o700))
	j, err := journal.Open(t.Context(), dir, db, codec.Gob, nil)
	require.NoError(t, err)
	m.Store(1, "one")
	require.NoError(t, j.Close())
	was := imageOf(t, dir)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"dump"}, "PATH is missing; expected a backup, or the folder of a journal"},
		{[]string{"dmup", file}, `did you mean "dump"?`},
		{[]string{"dump", file, "--tabel=t"}, `did you mean "--table"?`},
		{[]string{"dump", filepath.Join(above, "none")}, "none: no such file or directory; expected"},
		{[]string{"info", filepath.Join(above, "empty")}, "has no journal in it; expected a backup"},
		{[]string{"check", text}, "is no backup: it does not begin as one; expected a backup"},
		{[]string{"check", filepath.Join(dir, "journal-00000001")},
			"is a part of a journal; expected its folder, " + dir},
		{[]string{"check", filepath.Join(dir, "acknowledged")}, "is a part of a journal"},
		{[]string{"check", os.DevNull}, "is not a file"},
		{[]string{"dump", dir, "--table", "u"}, `--table: there is no table "u"; expected one of "t"`},
		{[]string{"log", dir, "--table", "u"},
			`--table: there is no table "u" in the journal; expected one of "t"`},
		{[]string{"dump", dir, "--format=csv"}, "--format must be one of"},
		{[]string{"log", file}, "is a backup: it does not say which commits"},
		{[]string{"log", dir, "--since=x"}, "--since"},
	} {
		stdout, stderr, code := call(t, c.args...)
		require.Equal(t, ExitUsage, code, "%v: %s", c.args, stderr)
		require.Contains(t, stderr, c.says, c.args)
		require.Contains(t, stderr, "Try mvccdump --help", c.args)
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
	j, err := journal.Open(t.Context(), dir, db, codec.Gob, nil)
	require.NoError(t, err)
	require.NoError(t, j.Close())
	require.NoError(t, os.Remove(filepath.Join(dir, "backup-00000001")))
	require.NoError(t, os.Remove(filepath.Join(dir, "acknowledged")))
	data, err := os.ReadFile(filepath.Join(dir, "journal-00000001"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "journal-00000001"), data[:30], 0o600))
	for _, args := range [][]string{{"dump", dir}, {"log", dir}, {"info", dir}, {"check", dir}} {
		_, stderr, code := call(t, args...)
		require.Equal(t, ExitOK, code, "%v %s", args, stderr)
	}
}

// Help has an example of each command, and the exit codes.
func TestHelp(t *testing.T) {
	all, _, code := call(t)
	require.Equal(t, ExitOK, code)
	for _, name := range []string{"info", "check", "dump", "log"} {
		require.Contains(t, all, "\n  "+name)
		text, _, code := call(t, "help", name)
		require.Equal(t, ExitOK, code)
		require.Contains(t, text, "Usage: mvccdump "+name)
		require.Contains(t, text, "Examples:")
		require.Contains(t, text, "Exit codes:")
		for line := range strings.Lines(text) {
			require.LessOrEqual(t, len(line), 81, line)
		}
	}
	text, _, code := call(t, "--version")
	require.Equal(t, ExitOK, code)
	require.NotEmpty(t, text)
}

// The changes of groups, by epoch, table and key.
func TestLog(t *testing.T) {
	db, m := fourRecords(t)
	tmp := mvcc.NewTable[string, int](db, "tmp", nil)
	dir := t.TempDir()
	j, err := journal.Open(t.Context(), dir, db, codec.Gob, nil)
	require.NoError(t, err)
	first := db.Epoch()
	step := func(change func()) uint64 {
		change()
		require.NoError(t, j.Sync(t.Context()))
		return db.Epoch()
	}
	one := step(func() { m.Store(9, "nine") })
	two := step(func() { m.Delete(9) })
	three := step(func() { tmp.Store("a<b", 1) })
	step(tmp.Close)
	require.NoError(t, j.Close())
	words := func(args ...string) (list []string) {
		for _, line := range lines(t, append([]string{"log", dir}, args...)...) {
			list = append(list, strings.Join(strings.Fields(line)[1:], " "))
		}
		return list
	}
	all := []string{"t set 9", "t deleted 9", `tmp set "a<b"`, "tmp closed"}
	require.Equal(t, all, words())
	require.Equal(t, all[2:], words("--since", itoa(two)))
	require.Equal(t, all[:2], words("--table", "t"))
	require.Equal(t, all[:2], words("--key", "9"))
	require.Equal(t, all[2:3], words("--key", "a<b"))
	require.Equal(t, all[2:3], words("--key", `"a<b"`))
	require.Equal(t, all[:3], words("--key", `"a<b"`, "--key", "9"))
	require.Empty(t, words("--key", "10"))
	require.Equal(t, `{"since":`+itoa(first)+`,"epoch":`+itoa(one)+
		`,"file":"journal-00000001","table":"t","change":"set","key":9,"value":"nine"}`,
		lines(t, "log", dir, "--format", "jsonl")[0])
	_, stderr, _ := call(t, "log", dir)
	require.Contains(t, stderr, "backup-00000001 has the state as of epoch "+itoa(first))
	require.Greater(t, three, two)
}

// The commits of a group come one by one, in their order over the tables, each with its epoch; also
// after one in the midst of a group.
func TestLogOfCommits(t *testing.T) {
	db, m := fourRecords(t)
	other := mvcc.NewTable[string, int](db, "other", nil)
	dir := t.TempDir()
	j, err := journal.Open(t.Context(), dir, db, codec.JSON, nil)
	require.NoError(t, err)
	var all []string
	var since []uint64
	add := func(format string, args ...any) {
		all = append(all, fmt.Sprint(db.Epoch())+" "+fmt.Sprintf(format, args...))
		since = append(since, db.Epoch())
	}
	for i := range 500 { // many of which are in one group
		switch i % 3 {
		case 0:
			m.Store(i, "x")
			add("t set %d", i)
		case 1:
			other.Store("k", i)
			add(`other set "k"`)
		case 2:
			require.NoError(t, db.Update(t.Context(), nil, func(tx mvcc.DBTx) error {
				m.In(tx).Delete(i - 2)
				other.In(tx).Set("l", i)
				return nil
			}))
			add("t deleted %d", i-2)
			add(`other set "l"`)
		}
	}
	require.NoError(t, j.Close())
	words := func(args ...string) (list []string) {
		for _, line := range lines(t, append([]string{"log", dir}, args...)...) {
			list = append(list, strings.Join(strings.Fields(line), " "))
		}
		return list
	}
	byEpoch := func(list []string) map[string][]string {
		of := map[string][]string{}
		for i, line := range list {
			epoch, change, _ := strings.Cut(line, " ")
			require.True(t, i == 0 || atoi(t, strings.Fields(list[i-1])[0]) <= atoi(t, epoch), "%s", line)
			of[epoch] = append(of[epoch], change)
			slices.Sort(of[epoch])
		}
		return of
	}
	require.Equal(t, byEpoch(all), byEpoch(words()))
	for _, i := range []int{0, 100, 331, len(all) - 2} {
		first := i + 1
		for first < len(all) && since[first] == since[i] {
			first++
		}
		require.Equal(t, byEpoch(all[first:]), byEpoch(words("--since", itoa(since[i]))))
	}
}

func atoi(t *testing.T, text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err)
	return n
}

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }
