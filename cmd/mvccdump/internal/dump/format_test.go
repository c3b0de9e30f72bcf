package dump

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

var writeVectors = flag.Bool("write-vectors", false,
	"write the test vectors anew: only for a new version of the format")

// A vector is a folder with files that were written with a codec, and the output for them.
type vector struct {
	dir   string
	codec durable.Codec
	names []string // a backup, a journal, or both
	files []string // that are written in the same way today
}

var vectors = []vector{
	{"testdata/format-2/gob", durable.Gob, []string{"backup", "journal"}, vectorFiles[:1]},
	{"testdata/format-2/json", inFrames(durable.JSON), []string{"backup", "journal"}, vectorFiles[:1]},
	{"testdata/format-3/json", durable.JSON, []string{"backup"}, vectorFiles[:1]},
	{"testdata/format-4/gob", durable.Gob, []string{"journal"}, vectorFiles[1:]},
	{"testdata/format-4/json", inFrames(durable.JSON), []string{"journal"}, vectorFiles[1:]},
}

const newest = "format-4"

// inFrames is the codec of a version that did not write lines.
func inFrames(c durable.Codec) durable.Codec {
	c.Lines = false
	return c
}

type user struct {
	Name string
	Born time.Time
	Mail *string
}

// picky refuses a record by its name.
type picky struct {
	to interface{ Encode(any) error }
}

func (p picky) Encode(v any) error {
	if strings.Contains(fmt.Sprintf("%v", v), "refused") {
		return errors.New("refused")
	}
	return p.to.Encode(v)
}

// writeVector writes the backup and the journal that the vectors are: users, of which one is
// refused, a set, and a table that is closed.
func writeVector(t *testing.T, dir string, c durable.Codec) {
	whole := c.NewEncoder
	c.NewEncoder = func(w io.Writer) interface{ Encode(any) error } { return picky{whole(w)} }
	db := mvcc.NewDB(nil)
	defer db.Close()
	users := mvcc.NewOrderedTable[int, user](db, "users", nil)
	set := mvcc.NewOrderedTable[string, struct{}](db, "set", nil)
	old := mvcc.NewOrderedTable[int8, float64](db, "old \xff", nil)
	mail := "ada@example.com"
	users.Store(0, user{Name: "Ada", Born: time.Date(1815, 12, 10, 1, 2, 3, 4, time.UTC), Mail: &mail})
	users.Store(1, user{Name: "refused"})
	users.Store(-300, user{})
	set.Store("ä", struct{}{})
	old.Store(1, 0.5)
	_, err := durable.SaveFile(t.Context(), db, filepath.Join(dir, "backup"), c,
		&durable.SaveOptions{Version: 3, Refused: func(*durable.CodecError) {}})
	require.NoError(t, err)
	users.Delete(1)
	j, err := durable.Open(t.Context(), db, filepath.Join(dir, "journal"), &durable.Options{Codec: c, Every: -1, Version: 3})
	require.NoError(t, err)
	for _, change := range []func(){
		func() { users.Store(2, user{Name: "Bob"}) },
		func() { users.Delete(0) },
		func() { set.Store("", struct{}{}) },
		func() { old.Close() },
	} {
		change()
		require.NoError(t, j.Sync(t.Context()))
	}
	require.NoError(t, j.Close())
	require.NoError(t, os.Remove(filepath.Join(dir, "journal", "lock")))
}

// vectorFiles are all that docs/format.md describes.
var vectorFiles = []string{"backup", "journal/acknowledged", "journal/backup-00000001",
	"journal/journal-00000001"}

// The vectors can be read, and have the records that they had when they were written.
func TestVectors(t *testing.T) {
	for _, v := range vectors {
		write := *writeVectors && strings.Contains(v.dir, newest)
		if write {
			all := t.TempDir()
			writeVector(t, all, v.codec)
			require.NoError(t, os.RemoveAll(v.dir))
			for _, name := range v.files {
				data, err := os.ReadFile(filepath.Join(all, name))
				require.NoError(t, err)
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(v.dir, name)), 0o777))
				require.NoError(t, os.WriteFile(filepath.Join(v.dir, name), data, 0o666))
			}
		}
		for _, name := range v.names {
			path := filepath.Join(v.dir, name)
			got, _, code := call(t, "dump", path)
			require.Equal(t, ExitOK, code)
			logged, _, _ := call(t, "log", path)
			got += logged
			if write {
				require.NoError(t, os.WriteFile(path+".jsonl", []byte(got), 0o666))
			}
			want, err := os.ReadFile(path + ".jsonl")
			require.NoError(t, err)
			require.Equal(t, string(want), got)
			lines(t, "info", path)
		}
	}
}

// Files written today are those written then, frame by frame, but for the random name of the
// database, and the numbers of types in gob, which depend on the types used before.
func TestFormat(t *testing.T) {
	for _, v := range vectors {
		dir := t.TempDir()
		writeVector(t, dir, v.codec)
		for tries := 0; compacted(t, dir, v.codec); tries++ {
			require.Less(t, tries, 100)
			dir = t.TempDir()
			writeVector(t, dir, v.codec)
		}
		for _, name := range v.files {
			want := framesOf(t, filepath.Join(v.dir, name), v.codec)
			got := framesOf(t, filepath.Join(dir, name), v.codec)
			require.NotEmpty(t, want)
			if strings.HasSuffix(name, "journal-00000001") {
				mark := slices.IndexFunc(want, func(f frame) bool { return f.kind == "m" })
				require.Contains(t, got, want[mark])
				want, got = withoutMarks(want), withoutMarks(got)
			}
			for i := range min(len(got), len(want)) {
				require.Equal(t, want[i], got[i], "%s %s, frame %d", v.dir, name, i)
			}
			require.Len(t, got, len(want))
		}
	}
}

// compacted reports whether the journal has ended its first file, because a table was closed, before it
// was closed itself: on a slow machine it gets so far.
func compacted(t *testing.T, dir string, c durable.Codec) bool {
	first := filepath.Join(dir, "journal", "journal-00000001")
	for _, name := range []string{first, filepath.Join(dir, "journal", "backup-00000001")} {
		if _, err := os.Stat(name); err != nil {
			require.ErrorIs(t, err, os.ErrNotExist)
			return true
		}
	}
	return slices.ContainsFunc(framesOf(t, first, c), func(f frame) bool {
		return f.kind == "h" && strings.Contains(f.payload, `"tables":null`)
	})
}

// A frame is one of a stream that begins with a magic.
type frame struct {
	magic   string
	kind    string
	payload string
}

// withoutMarks leaves out marks: how many there are depends on the disk.
func withoutMarks(list []frame) []frame {
	return slices.DeleteFunc(list, func(f frame) bool { return f.kind == "m" })
}

// dbName is a life, which had half as many digits in format 2.
var dbName = regexp.MustCompile(`[0-9a-f]{32}|[0-9a-f]{16}`)

// framesOf reads a file as docs/format.md describes it, and shares no code with the writer.
func framesOf(t *testing.T, path string, of durable.Codec) (list []frame) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	if strings.HasPrefix(string(data), "{") {
		return linesOf(t, path, string(data))
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	for len(data) > 0 {
		magic := string(data[:8])
		sum := crc32.Checksum(data[:8], table)
		data = data[8:]
		for last := false; !last; {
			kind, n := string(data[:1]), binary.LittleEndian.Uint32(data[1:])
			payload := string(data[5 : 5+n])
			sum = crc32.Update(sum, table, data[:5+n])
			require.Equal(t, sum, binary.LittleEndian.Uint32(data[5+n:]), path)
			data = data[5+n+4:]
			last = magic[:7] != "mvccmap" || kind == "e"
			if payload = dbName.ReplaceAllString(payload, "database"); kind == "d" && of.Name == "gob" {
				payload = "gob"
			}
			list = append(list, frame{magic, kind, payload})
		}
	}
	return list
}

var head = regexp.MustCompile(`^\{("mvccmap":3,)?"crc32c":"([0-9a-f]{8})","bytes": *([0-9]+),`)

// linesOf is framesOf for a backup in lines.
func linesOf(t *testing.T, path, data string) (list []frame) {
	summed := ""
	for i := 0; len(data) > 0; i++ {
		m := head.FindStringSubmatchIndex(data)
		require.NotNil(t, m, path)
		require.Equal(t, i == 0, m[2] >= 0, path)
		require.Equal(t, 12, m[7]-m[6]+strings.Count(data[:m[6]], " "), path)
		n, err := strconv.Atoi(data[m[6]:m[7]])
		require.NoError(t, err)
		to := m[1] + n
		summed += data[:m[4]] + data[m[5]:to]
		sum := crc32.Checksum([]byte(summed), crc32.MakeTable(crc32.Castagnoli))
		require.Equal(t, fmt.Sprintf("%08x", sum), data[m[4]:m[5]], path)
		key, rest, _ := strings.Cut(data[m[1]:to], ":")
		list = append(list, frame{"", key, dbName.ReplaceAllString(rest, "database")})
		for _, line := range strings.SplitAfter(data[:to], "\n") {
			require.True(t, line == "" || json.Valid([]byte(line)), line)
		}
		data = data[to:]
	}
	return list
}

// A backup of lines, and one of frames, have the same records.
func TestLinesAndFrames(t *testing.T) {
	for _, end := range []string{"backup", "backup.jsonl"} {
		frames, err := os.ReadFile("testdata/format-2/json/" + end)
		require.NoError(t, err)
		text, err := os.ReadFile("testdata/format-3/json/" + end)
		require.NoError(t, err)
		if end == "backup.jsonl" {
			require.Equal(t, string(frames), string(text))
			return
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, `{"k":`) {
				require.Contains(t, string(frames), line)
			}
		}
	}
}

// Files of the version before have no shapes. Those of the codec json print as those of this
// version, and those of gob too, but for values that may be nil or zero.
func TestVersionBefore(t *testing.T) {
	old, now := "../../../../durable/testdata/backup-1.", "../../../../durable/testdata/backup-2."
	text := normalOf(t, lines(t, "dump", now+"json"))
	require.Len(t, text, 82)
	require.Equal(t, text, normalOf(t, lines(t, "dump", now+"gob")))
	require.Equal(t, text, normalOf(t, lines(t, "dump", old+"json")))
	require.Equal(t, text, normalOf(t, lines(t, "dump", "../../../../durable/testdata/backup-3.json")))
	gob := lines(t, "dump", old+"gob")
	require.Len(t, gob, 82)
	require.Contains(t, gob, `{"table":"counts","key":0,"value":0}`)
	require.Contains(t, gob, `{"table":"ptrs","key":"nil","value":null}`)
	for _, c := range codecs {
		dir := "../../../../durable/testdata/1." + c.Name
		require.Len(t, lines(t, "log", dir), 71)
		require.Regexp(t, `journal-\d+ +\d+ +7-22 +15`, strings.Join(lines(t, "info", dir), "\n"))
	}
}
