package durable_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/internal/seam/backupfile"
	"github.com/mvccmap/mvccmap/internal/seam/disk"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A header says the same as Save, needs neither the types nor the codec, and is read alone.
func TestReadHeader(t *testing.T) {
	for _, c := range codecs {
		for _, tables := range []int{1, 3000} { // the header of many takes several frames
			db := mvcc.NewDB(nil)
			mvcc.NewTable[string, part](db, "odd \xff", nil).Store("k", part{Name: "ada"})
			for i := range tables {
				mvcc.NewTable[int, time.Time](db, fmt.Sprint("table ", i), nil)
			}
			var file bytes.Buffer
			want, err := durable.Save(t.Context(), db, &file, c, &durable.SaveOptions{Version: 7})
			db.Close()
			require.NoError(t, err)
			require.Equal(t, tables > 1, want.Bytes > 1<<17)

			r := bytes.NewReader(file.Bytes())
			got, err := backupfile.ReadHeader(disk.NewBackupReader(iotest.OneByteReader(r)))
			require.NoError(t, err)
			require.Equal(t, []any{want.DB, want.Epoch, 7, c.Name},
				[]any{got.DB, got.Epoch, got.Version, got.Codec})
			saved := want.SavedTables()
			require.Len(t, got.Tables, tables+1)
			for i, table := range got.Tables {
				saved[i].Records = 0
				require.Equal(t, saved[i], table)
			}
			if tables == 1 {
				kind, err := r.ReadByte()
				require.NoError(t, err)
				require.Equal(t, map[bool]byte{false: 'd', true: '{'}[c.Lines], kind, "the records come next")
			}
		}
	}
}

// A text that is no header, or a damaged one, is a DamageError; an error of the reader is wrapped.
func TestReadHeaderDamage(t *testing.T) {
	for _, c := range codecs {
		db := newDB(t)
		mvcc.NewTable[int, int](db, "t", nil)
		var file bytes.Buffer
		_, err := durable.Save(t.Context(), db, &file, c, nil)
		require.NoError(t, err)
		after := map[bool]int{false: 4, true: 2}[c.Lines] // the checksum, or the end of the line
		header := file.Bytes()[:bytes.Index(file.Bytes(), []byte("}]}"))+3+after]
		_, err = backupfile.ReadHeader(disk.NewBackupReader(bytes.NewReader(header)))
		require.NoError(t, err)
		for at := range header {
			flipped := bytes.Clone(header)
			flipped[at] ^= 1 << (at % 8)
			for _, data := range [][]byte{header[:at], flipped} {
				b, err := backupfile.ReadHeader(disk.NewBackupReader(bytes.NewReader(data)))
				var damage *disk.DamageError
				require.ErrorAs(t, err, &damage)
				require.Zero(t, b)
			}
		}
		_, err = backupfile.ReadHeader(disk.NewBackupReader(io.MultiReader(bytes.NewReader(header[:20]),
			iotest.ErrReader(io.ErrClosedPipe))))
		require.ErrorIs(t, err, io.ErrClosedPipe)
	}
}

// A shape that no type has is refused: else String would print it for a very long time.
func TestForgedShapes(t *testing.T) {
	var long strings.Builder
	for i := range 60 {
		fmt.Fprintf(&long, `{"k":"","f":["",""],"t":[%d,%d]},`, i+1, i+1)
	}
	for _, text := range []string{"[" + long.String() + `{"k":"int"}]`, `[{"k":"int","t":[0]}]`,
		`[{"k":"*"}]`, `[{"k":"*","t":[1]}]`, `[{"k":"struct","f":["A"]}]`, `[{"k":"map","t":[0]}]`} {
		var s backupfile.Shape
		require.Error(t, json.Unmarshal([]byte(text), &s), text)
	}
	var s backupfile.Shape
	require.NoError(t, json.Unmarshal([]byte(`[{"k":"*","t":[0]}]`), &s))
	require.Equal(t, "*...", s.String())
}
