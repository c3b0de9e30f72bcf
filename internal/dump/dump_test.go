package dump

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/journal"
	"github.com/mvccmap/mvccmap/mvcc"
)

// What is printed of a backup, and of a journal as of its last commit, is what the tables have, as
// package json prints it, which has the types.
func TestDump(t *testing.T) {
	for seed := range uint64(6) {
		for _, c := range codecs {
			dir, w := lived(t, c, seed, 60)
			was := imageOf(t, dir)
			want := w.printed(t)
			require.Equal(t, want, normalOf(t, lines(t, "dump", dir)))
			require.Equal(t, was, imageOf(t, dir))

			file := filepath.Join(t.TempDir(), "a.backup")
			_, err := w.SaveFile(t.Context(), file, c, nil)
			require.NoError(t, err)
			require.Equal(t, want, normalOf(t, lines(t, "dump", file)))
			require.Empty(t, lines(t, "diff", "--exit-code", file, dir))

			var numbers []string
			for _, line := range want {
				if strings.Contains(line, `"table":"numbers"`) {
					numbers = append(numbers, line)
				}
			}
			require.Equal(t, numbers, normalOf(t, lines(t, "dump", file, "--table", "numbers")))
			require.Contains(t, strings.Join(lines(t, "check", dir), "\n"), dir+": ok")
			require.Contains(t, strings.Join(lines(t, "check", file), "\n"), file+": ok")
		}
	}
}

// allJSON reports whether each line is an object.
func allJSON(data []byte) bool {
	for line := range bytes.Lines(data) {
		if json.Unmarshal(line, &map[string]any{}) != nil {
			return false
		}
	}
	return true
}

// A compacted journal is a backup that loads, with the same records, and differences go on from it.
func TestCompact(t *testing.T) {
	for seed := range uint64(6) {
		for _, c := range codecs {
			dir, w := lived(t, c, seed, 60)
			was, file := imageOf(t, dir), filepath.Join(t.TempDir(), "a.backup")
			require.Len(t, lines(t, "compact", dir, "-o", file), 1)
			require.Equal(t, was, imageOf(t, dir))
			require.Equal(t, w.printed(t), normalOf(t, lines(t, "dump", file)))
			lines(t, "check", file)
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, c.Lines, allJSON(data), "it is what SaveFile writes")
			again := newWorld(t)
			if w.tmp == nil {
				again.tmp.Close()
				again.tmp = nil
			}
			b, err := again.LoadFile(t.Context(), file, c, nil)
			require.NoError(t, err)
			require.Equal(t, w.printed(t), again.printed(t))
			info, err := journal.Inspect(dir)
			require.NoError(t, err)
			require.Equal(t, info.Epoch, b.Epoch)
			require.Equal(t, info.DB, b.DB)
			entries, err := os.ReadDir(filepath.Dir(file))
			require.NoError(t, err)
			require.Len(t, entries, 1, "nothing else is left")
		}
	}
}

// Values of interface types bring their definitions along, in the middle of records.
func TestCompactInterfaces(t *testing.T) {
	gob.Register(spot{})
	gob.Register(person{})
	gob.Register([]any{})
	gob.Register(map[string]any{})
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		db := mvcc.NewDB(nil)
		m := mvcc.NewTable[int, any](db, "any", nil)
		dir := t.TempDir()
		change := func() {
			switch k := rng.IntN(6); rng.IntN(5) {
			case 0:
				m.Store(k, spot{k, rng.IntN(9)})
			case 1:
				m.Store(k, []any{person{Name: "x"}, spot{1, 2}})
			case 2:
				m.Store(k, map[string]any{"a": spot{}, "b": []any{}})
			case 3:
				m.Store(k, rng.IntN(9))
			case 4:
				m.Delete(k)
			}
		}
		for range 5 {
			change()
		}
		j, err := journal.Open(t.Context(), dir, db, codec.Gob, nil)
		require.NoError(t, err)
		for range 20 {
			change()
			if rng.IntN(2) == 0 {
				require.NoError(t, j.Sync(t.Context()))
			}
		}
		require.NoError(t, j.Close())
		file := filepath.Join(t.TempDir(), "any.backup")
		lines(t, "compact", dir, "-o", file)
		require.Equal(t, normalOf(t, lines(t, "dump", dir)), normalOf(t, lines(t, "dump", file)))
		other := mvcc.NewDB(nil)
		again := mvcc.NewTable[int, any](other, "any", nil)
		_, err = other.LoadFile(t.Context(), file, codec.Gob, nil)
		require.NoError(t, err)
		require.Equal(t, m.Len(), again.Len())
		for k, v := range m.All() {
			got, _ := again.Load(k)
			require.Equal(t, v, got)
		}
		db.Close()
		other.Close()
	}
}

// Keys that are equal are the same key, also 0 and -0.
func TestEqualKeys(t *testing.T) {
	for _, c := range codecs {
		db := mvcc.NewDB(nil)
		m := mvcc.NewTable[[2]float64, int](db, "f", nil)
		zero := 0.0
		m.Store([2]float64{zero, 1}, 1)
		dir := t.TempDir()
		j, err := journal.Open(t.Context(), dir, db, c, nil)
		require.NoError(t, err)
		m.Delete([2]float64{zero, 1})
		m.Store([2]float64{negativeZero(), 1}, 3)
		require.NoError(t, j.Close())
		require.Len(t, lines(t, "dump", dir), 1)
		db.Close()
	}
	for from, to := range map[string]string{"-0": "0", "[-0,1]": "[0,1]", "-0.5": "-0.5",
		`"-0"`: `"-0"`, `{"a\"-0":-0}`: `{"a\"-0":0}`, "1e-05": "1e-05", "-05": "-05"} {
		require.Equal(t, to, string(withoutNegativeZero([]byte(from))))
	}
}

func negativeZero() float64 {
	zero := 0.0
	return -zero
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
	_, err := db.SaveFile(t.Context(), file, codec.Gob, &mvcc.SaveOptions{Since: s})
	require.NoError(t, err)
	require.Equal(t, []string{`{"table":"t","key":1,"deleted":true}`,
		`{"table":"t","key":3,"value":"c"}`}, lines(t, "dump", file))
	require.Contains(t, strings.Join(lines(t, "info", file), "\n"), "the differences from epoch")
	_, stderr, code := call(t, "diff", file, file)
	require.Equal(t, ExitUsage, code)
	require.Contains(t, stderr, "has only the differences to another backup")
}

// Of a codec that is not known there are bytes.
func TestUnknownCodec(t *testing.T) {
	mine := codec.JSON
	mine.Name = "mine"
	dir, _ := lived(t, mine, 1, 10)
	stdout, stderr, code := call(t, "dump", dir)
	require.Equal(t, ExitOK, code)
	require.Contains(t, stderr, `the codec "mine" is not known`)
	require.Contains(t, stdout, `{"table":"numbers","base64":"`)
	require.Contains(t, strings.Join(lines(t, "check", dir), "\n"), "records were not decoded")
	require.Contains(t, strings.Join(lines(t, "log", dir), "\n"), "changed")
	file := filepath.Join(t.TempDir(), "x")
	for _, args := range [][]string{{"diff", dir, dir}, {"compact", dir, "-o", file}} {
		_, stderr, code := call(t, args...)
		require.Equal(t, ExitFailed, code)
		require.Contains(t, stderr, `the codec "mine" is not known`)
	}
}

// Records that were refused are not there, and that is said.
func TestRefused(t *testing.T) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	m := mvcc.NewOrderedTable[int, string](db, "t", nil)
	m.Store(1, "a")
	dir := t.TempDir()
	c := codec.Gob
	c.NewEncoder = func(w io.Writer) interface{ Encode(any) error } {
		return picky{codec.Gob.NewEncoder(w)}
	}
	j, err := journal.Open(t.Context(), dir, db, c, &journal.Options{OnError: func(error) {}})
	require.NoError(t, err)
	m.Store(1, "refused")
	m.Store(2, "b")
	require.Error(t, j.Close())
	stdout, stderr, code := call(t, "dump", dir)
	require.Equal(t, ExitOK, code, stderr)
	require.Equal(t, `{"table":"t","key":2,"value":"b"}`+"\n", stdout)
	require.Contains(t, stderr, "the codec has refused records, which are not in the files: 1")
	require.Contains(t, strings.Join(lines(t, "info", dir), "\n"), "t: the codec has refused 1 record")
}

// When ctx ends, what was begun is not there.
func TestCancelled(t *testing.T) {
	dir, _ := lived(t, codec.Gob, 1, 20)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"dump", dir}, {"check", dir}, {"diff", dir, dir}, {"log", dir},
		{"compact", dir, "-o", filepath.Join(dir, "..", "x")}} {
		var errs strings.Builder
		require.Equal(t, ExitInterrupted, Run(ctx, args, io.Discard, &errs), args)
		require.Empty(t, errs.String())
	}
	require.NoFileExists(t, filepath.Join(dir, "..", "x"))
}
