package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// A piece is a frame, or the name of a table, of kind 0.
type piece struct {
	kind    byte
	payload string
}

func (p piece) String() string {
	return fmt.Sprintf("%c %.40q (%d)", p.kind, p.payload, len(p.payload))
}

func counts(list ...uint64) string { return string(uvarints(list)) }

// pieces are a backup with two tables, of which the second one has refused a record.
var pieces = []piece{
	{BackupHeader, `{"db":"x"}`},
	{0, "users"},
	{BackupData, "{\"k\":1}\n{\"k\":2}\n"},
	{BackupData, "{\"k\":3}\n"},
	{BackupTable, counts(3)},
	{0, "odd \xff \"}\n"},
	{BackupData, "{\"k\":1}\n"},
	{BackupAnew, ""},
	{BackupData, "{\"k\":2}\n"},
	{BackupTable, counts(2, 1, 3, 1, 1<<62, 1)},
	{BackupEnd, counts(5)},
}

// inLines returns a backup in lines, and where its frames begin.
func inLines(t testing.TB, pieces []piece) (data []byte, starts []int) {
	var b bytes.Buffer
	w := NewLineWriter(&b)
	for _, p := range pieces {
		at := b.Len()
		if p.kind == 0 {
			require.NoError(t, w.Table(p.payload))
		} else {
			require.NoError(t, w.Frame(p.kind, []byte(p.payload)))
		}
		if b.Len() > at {
			starts = append(starts, at)
		}
	}
	require.Equal(t, int64(b.Len()), w.Written())
	return b.Bytes(), starts
}

// framesIn reads all frames up to the end of a backup.
func framesIn(r io.Reader) (list []piece, from *Reader, err error) {
	from = NewBackupReader(r)
	for {
		kind, payload, err := from.Frame()
		if err != nil {
			return list, from, err
		}
		if list = append(list, piece{kind, string(payload)}); kind == BackupEnd {
			return list, from, nil
		}
	}
}

func withoutNames(list []piece) (frames []piece) {
	for _, p := range list {
		if p.kind != 0 {
			frames = append(frames, p)
		}
	}
	return frames
}

// Frames written as lines come back, whatever the reader gives at once; no more is read than was
// asked for; and each line is an object in JSON.
func TestLines(t *testing.T) {
	large := strings.Repeat("x", 3*largeLine)
	for name, list := range map[string][]piece{
		"small": pieces,
		"large": {{BackupHeader, "{}"}, {BackupData, `{"k":"` + large + "\"}\n"},
			{BackupData, "{\"k\":1}\n"}, {BackupEnd, counts(2)}},
		"long header": {{BackupHeader, `"` + large[1:MaxPayload]}, {BackupHeader, large[:MaxPayload]},
			{BackupHeader, `"`}, {BackupEnd, counts(0)}},
		"header of whole frames": {{BackupHeader, `"` + large[2:MaxPayload] + `"`}, {BackupHeader, ""},
			{BackupEnd, counts(0)}},
	} {
		data, _ := inLines(t, list)
		require.True(t, BeginsBackup(data))
		for line := range bytes.Lines(data) {
			var object map[string]any
			require.NoError(t, json.Unmarshal(line, &object), name)
		}
		for _, r := range []func(io.Reader) io.Reader{iotest.HalfReader, iotest.DataErrReader,
			func(r io.Reader) io.Reader { return r }} {
			stream := r(io.MultiReader(bytes.NewReader(data), strings.NewReader("more")))
			got, from, err := framesIn(stream)
			require.NoError(t, err, name)
			require.Equal(t, withoutNames(list), got, name)
			require.Equal(t, int64(len(data)), from.Read())
			require.Equal(t, byte(3), from.Version())
			require.ErrorContains(t, from.End(), "it should end here")
		}
		_, _, err := framesIn(io.MultiReader(bytes.NewReader(data[:len(data)-1]),
			iotest.ErrReader(io.ErrClosedPipe)))
		require.Equal(t, io.ErrClosedPipe, err)
	}
}

// Whatever is cut off, flipped, removed, doubled or put elsewhere, a byte or a line, is found, in
// the frame that it is in, and the frames before it are right.
func TestDamagedLines(t *testing.T) {
	data, starts := inLines(t, pieces)
	want := withoutNames(pieces)
	frameOf := func(at int) (start int64) {
		for _, s := range starts {
			if s <= at {
				start = int64(s)
			}
		}
		return start
	}
	check := func(what string, damaged []byte, at int) {
		t.Helper()
		require.NotEqual(t, data, damaged)
		got, _, err := framesIn(bytes.NewReader(damaged))
		var damage *DamageError
		require.ErrorAs(t, err, &damage, "%s at %d", what, at)
		require.Equal(t, frameOf(at), damage.Offset, "%s at %d: %v", what, at, err)
		require.Equal(t, want[:len(got)], append([]piece{}, got...))
	}
	for at := range data {
		check("cut", data[:at], at)
		for bit := range 8 {
			flipped := bytes.Clone(data)
			flipped[at] ^= 1 << bit
			check("flipped", flipped, at)
		}
		double := append(bytes.Clone(data[:at+1]), data[at:]...)
		if at < len(data)-1 { // else it follows the end
			check("doubled", double, firstDifference(data, double))
		}
		gone := append(bytes.Clone(data[:at]), data[at+1:]...)
		check("gone", gone, firstDifference(data, gone))
	}
	_, from, err := framesIn(bytes.NewReader(append(bytes.Clone(data), '\n')))
	require.NoError(t, err)
	require.ErrorContains(t, from.End(), "it should end here")

	lines := bytes.SplitAfter(data, newline)
	lines = lines[:len(lines)-1]
	moved := 0
	for i := range lines {
		for j := range lines {
			var other [][]byte // line i gone, and put before line j of the rest
			other = append(append(other, lines[:i]...), lines[i+1:]...)
			try := func(other [][]byte) {
				if all := bytes.Join(other, nil); !bytes.Equal(all, data) && !bytes.HasPrefix(all, data) {
					moved++
					check("moved", all, firstDifference(data, all))
				}
			}
			try(other)
			try(append(append(append([][]byte{}, other[:min(j, len(other))]...), lines[i]),
				other[min(j, len(other)):]...))
			try(append(append(append([][]byte{}, lines[:j]...), lines[i]), lines[j:]...))
		}
	}
	require.Greater(t, moved, 400)
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// A version that is not known yet is called that.
func TestNewerVersions(t *testing.T) {
	lines, _ := inLines(t, pieces)
	for data, version := range map[string]int{
		strings.Replace(string(lines), `"mvccmap":3`, `"mvccmap":4`, 1): 4, "mvccmap\x0c": 12,
	} {
		_, _, err := framesIn(strings.NewReader(data))
		require.ErrorContains(t, err, fmt.Sprintf("it is of version %d of the format, which a newer "+
			"program has written, or is damaged; this one reads those up to 3", version))
	}
	for _, data := range []string{"mvccmap\x00", "mvccmap\x03", `{"mvccmap":2,`, `{"mvccmap":x,`, "mvccmark"} {
		_, _, err := framesIn(strings.NewReader(data + string(lines[13:])))
		require.ErrorContains(t, err, "it does not begin as it should", data)
	}
}

// Half a line is not written.
func TestPart(t *testing.T) {
	w := NewLineWriter(io.Discard)
	require.Equal(t, 4, w.Part([]byte("{}\n\n{")))
	require.Zero(t, w.Part([]byte("{")))
	require.Panics(t, func() { _ = w.Frame(BackupData, []byte("{}\n{")) })
	require.Equal(t, MaxPayload, NewWriter(io.Discard, BackupMagic).Part(make([]byte, MaxPayload+1)))
}

// A line with a checksum that is right may have anything else in it.
func FuzzForgedLines(f *testing.F) {
	for _, p := range []struct{ key, value string }{{"end", "1"}, {"counts", "[1,2]"}, {"header", "{}"},
		{"table", `"x"`}, {"anew", "true"}, {"records", "1"}, {"", ""}, {"end", "-1"}, {`e":`, "}"},
		{"counts", "[-1]"}, {"counts", "{}"}, {"\n", "\n"}} {
		f.Add(p.key, p.value, "{}\n")
	}
	f.Fuzz(func(t *testing.T, key, value, records string) {
		var b bytes.Buffer
		w := NewLineWriter(&b)
		require.NoError(t, w.object(key, []byte(value), []byte(records)))
		_, from, err := framesIn(&b)
		if err != nil && !errors.As(err, new(*DamageError)) {
			t.Fatal(err)
		}
		require.LessOrEqual(t, from.Read(), w.Written())
	})
}
