package dump

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// The records of a backup, and of a journal as of its last commit, are those of the tables, as package
// json prints them, which has the types; of gob without zeros.
func TestDump(t *testing.T) {
	for seed := range uint64(6) {
		for _, c := range codecs {
			dir, w := lived(t, c, seed, 60)
			was := imageOf(t, dir)
			want := w.printed(t)
			require.Equal(t, want, normalOf(t, lines(t, "dump", dir)))
			require.Equal(t, was, imageOf(t, dir))

			file := filepath.Join(t.TempDir(), "a.backup")
			_, err := durable.SaveFile(t.Context(), w.DB, file, c, nil)
			require.NoError(t, err)
			require.Equal(t, want, normalOf(t, lines(t, "dump", file)))

			var numbers []string
			for _, line := range want {
				if strings.Contains(line, `"table":"numbers"`) {
					numbers = append(numbers, line)
				}
			}
			require.Equal(t, numbers, normalOf(t, lines(t, "dump", file, "--table", "numbers")))
			lines(t, "info", dir)
			lines(t, "info", file)
		}
	}
}

// Each record is one line for all readers, also for those that end one at U+0085, U+2028 or U+2029.
func TestLineEnds(t *testing.T) {
	const ends = "\u0085\u2028\u2029"
	plain := durable.JSON // as it was written before
	plain.NewEncoder = func(w io.Writer) interface{ Encode(any) error } {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return enc
	}
	for i, c := range append(codecs, plain) {
		db := mvcc.NewDB(nil)
		m := mvcc.NewTable[string, string](db, "t"+ends, nil)
		m.Store("a"+ends, "b"+ends)
		dir, file := t.TempDir(), filepath.Join(t.TempDir(), "a")
		_, err := durable.SaveFile(t.Context(), db, file, c, nil)
		require.NoError(t, err)
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		if i == 1 {
			require.False(t, strings.ContainsAny(string(data), ends), "%q", data)
		}
		j, err := durable.Open(t.Context(), db, dir, &durable.Options{Codec: c})
		require.NoError(t, err)
		m.Store("c"+ends, "d"+ends)
		require.NoError(t, j.Close())
		for _, args := range [][]string{{"dump", file}, {"dump", dir}, {"log", dir}, {"info", file}} {
			text := strings.Join(lines(t, args...), "\n")
			require.False(t, strings.ContainsAny(text, ends), "%v: %q", args, text)
		}
		to := mvcc.NewDB(nil)
		copied := mvcc.NewTable[string, string](to, "t"+ends, nil)
		_, err = durable.LoadFile(t.Context(), to, file, c, nil)
		require.NoError(t, err)
		v, _ := copied.Load("a" + ends)
		require.Equal(t, "b"+ends, v)
	}
}

// A backup of differences has deletions; whole backups are needed elsewhere.
func TestDifferences(t *testing.T) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	m := mvcc.NewOrderedTable[int, string](db, "t", nil)
	m.Store(1, "a")
	m.Store(2, "b")
	s := db.Snapshot()
	defer s.Close()
	m.Delete(1)
	m.Store(3, "c")
	file := filepath.Join(t.TempDir(), "differences")
	_, err := durable.SaveFile(t.Context(), db, file, durable.Gob, &durable.SaveOptions{Since: s})
	require.NoError(t, err)
	require.Equal(t, []string{`{"table":"t","key":1,"deleted":true}`,
		`{"table":"t","key":3,"value":"c"}`}, lines(t, "dump", file))
	require.Contains(t, strings.Join(lines(t, "info", file), "\n"), "the differences from epoch")
}

// The records of a codec that is not known cannot be printed.
func TestUnknownCodec(t *testing.T) {
	mine := durable.JSON
	mine.Name = "mine"
	db, m := fourRecords(t)
	dir := t.TempDir()
	j, err := durable.Open(t.Context(), db, dir, &durable.Options{Codec: mine})
	require.NoError(t, err)
	m.Store(5, "five")
	require.NoError(t, j.Close())
	for _, name := range []string{"dump", "log"} {
		stdout, stderr, code := call(t, name, dir)
		require.Equal(t, ExitFailed, code)
		require.Empty(t, stdout)
		require.Contains(t, stderr, `the codec "mine" is not known`)
	}
	lines(t, "info", dir)
}

// Records that were refused are not there, and that is said.
func TestRefused(t *testing.T) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	m := mvcc.NewOrderedTable[int, string](db, "t", nil)
	m.Store(1, "a")
	dir := t.TempDir()
	c := durable.Gob
	c.NewEncoder = func(w io.Writer) interface{ Encode(any) error } {
		return picky{durable.Gob.NewEncoder(w)}
	}
	j, err := durable.Open(t.Context(), db, dir, &durable.Options{Codec: c, OnError: func(error) {}})
	require.NoError(t, err)
	m.Store(1, "refused")
	m.Store(2, "b")
	require.Error(t, j.Close())
	stdout, stderr, code := call(t, "dump", dir)
	require.Equal(t, ExitOK, code, stderr)
	require.Equal(t, `{"table":"t","key":2,"value":"b"}`+"\n", stdout)
	require.Contains(t, stderr, "the codec has refused records, which are not in the files: 1")
	require.Contains(t, strings.Join(lines(t, "info", dir), "\n"), `"t": the codec has refused 1 record`)
}

// When ctx ends, so does each command.
func TestCancelled(t *testing.T) {
	dir, _ := lived(t, durable.Gob, 1, 20)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"dump", dir}, {"info", dir}, {"log", dir}} {
		var errs strings.Builder
		require.Equal(t, ExitInterrupted, Run(ctx, args, io.Discard, &errs), args)
		require.Empty(t, errs.String())
	}
}
