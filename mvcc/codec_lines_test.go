package mvcc_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/internal/seam/door"
	"github.com/mvccmap/mvccmap/mvcc"
)

// linesOf reads what other tools see of a backup in lines: the records of each table as text.
func linesOf(t testing.TB, data []byte) (records map[string][]string) {
	records = map[string][]string{}
	table := ""
	for line := range strings.Lines(string(data)) {
		var is struct {
			Table *string
			K     json.RawMessage
		}
		require.NoError(t, json.Unmarshal([]byte(line), &is), line)
		if is.Table != nil {
			table = *is.Table
		}
		if is.K != nil {
			records[table] = append(records[table], line)
		}
	}
	return records
}

// A backup by a codec of lines is lines of JSON, with the records as the codec writes them, below
// the line that names their table: whole backups, and differences of both kinds.
func TestBackupOfLines(t *testing.T) {
	s := newShop(t)
	s.fill(1000)
	data, info := save(t, s, codec.JSON, nil)
	require.Greater(t, len(data), 3<<16)
	unsummed := 0
	for line := range strings.Lines(string(data)) {
		if unsummed += len(line); !strings.HasPrefix(line, `{"k":`) {
			unsummed = 0
		}
		require.Less(t, unsummed, 1<<17, "there are checksums often enough")
	}
	got := linesOf(t, data)
	for _, table := range door.Of(s.DB).SavedTables(info) {
		require.Len(t, got[table.Name], table.Records, table.Name)
	}
	require.Equal(t, "{\"k\":7,\"v\":49}\n", got["counts"][7])
	require.Contains(t, got["set"], "{\"k\":[7,-7]}\n")
	require.Less(t, len(data), len(strings.Join(got["counts"], ""))+len(strings.Join(got["parts"], ""))+
		len(strings.Join(got["set"], ""))+len(strings.Join(got["ptrs"], ""))+5000)

	before := s.Snapshot()
	defer before.Close()
	s.counts.Delete(7)
	s.set.Store([2]int{5000}, struct{}{})
	data, _ = save(t, s, codec.JSON, &mvcc.SaveOptions{Since: before})
	require.Equal(t, map[string][]string{"counts": {"{\"k\":7,\"v\":0,\"d\":true}\n"},
		"set": {"{\"k\":[5000,0]}\n"}}, linesOf(t, data))
}

// What is not one line that looks like an object is refused, record by record, and nothing of it is
// in the backup.
func TestNoLines(t *testing.T) {
	for _, bad := range []string{"{}", "{\n}\n", "1\n", "\n", "{}\n{}\n", " {}\n"} {
		c := codec.JSON
		c.NewEncoder = func(w io.Writer) interface{ Encode(v any) error } {
			return encoderFunc(func(v any) error {
				text, err := json.Marshal(v)
				if bytes.Contains(text, []byte(`"bad"`)) {
					text = []byte(strings.TrimSuffix(bad, "\n"))
				}
				if err == nil && (!bytes.Equal(text, []byte("{}")) || bad != "{}") {
					text = append(text, '\n')
				}
				_, err = w.Write(text)
				return err
			})
		}
		db := mvcc.NewDB(nil)
		defer db.Close()
		table := mvcc.NewTable[int, string](db, "t", nil)
		table.Store(1, "good")
		table.Store(2, "bad")
		_, err := db.Save(t.Context(), io.Discard, c, nil)
		require.ErrorContains(t, err, fmt.Sprintf("table %q, key 2: the codec json cannot save the record: "+
			"it has not written a line with an object, as Codec.Lines says", "t"), "%q", bad)
		var file bytes.Buffer
		_, err = db.Save(t.Context(), &file, c,
			&mvcc.SaveOptions{Refused: func(*mvcc.CodecError) {}})
		require.NoError(t, err)
		require.Equal(t, map[string][]string{"t": {"{\"k\":1,\"v\":\"good\"}\n"}}, linesOf(t, file.Bytes()))
		_, err = db.Load(t.Context(), &file, codec.JSON, nil)
		require.NoError(t, err)
		require.Equal(t, 1, table.Len())
	}
}

type encoderFunc func(v any) error

func (f encoderFunc) Encode(v any) error { return f(v) }
