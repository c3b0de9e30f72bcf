package durable_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/internal/seam/door"
	"github.com/mvccmap/mvccmap/mvcc"
)

var errRefused = errors.New("no")

// refusals are how an encoder may refuse a record, before or after it has written it, or a part.
var refusals = map[string]func(w io.Writer, encode func() error) error{
	"error":  func(io.Writer, func() error) error { return errRefused },
	"panic":  func(io.Writer, func() error) error { panic(errRefused) },
	"Goexit": func(io.Writer, func() error) error { runtime.Goexit(); return nil },
	"half": func(w io.Writer, encode func() error) error {
		_, _ = w.Write([]byte("{half of a record"))
		return errRefused
	},
	"whole": func(_ io.Writer, encode func() error) error { return errors.Join(encode(), errRefused) },
	"then panic": func(_ io.Writer, encode func() error) error {
		_ = encode()
		panic(errRefused)
	},
	"nothing": func(io.Writer, func() error) error { return nil },
}

// fickle is the codec c, but that it refuses values that contain one of the words.
func fickle(c durable.Codec, refusal func(io.Writer, func() error) error, words ...string) durable.Codec {
	inner := c.NewEncoder
	c.NewEncoder = func(w io.Writer) interface{ Encode(v any) error } {
		enc := inner(w)
		return encodeFunc(func(v any) error {
			text := fmt.Sprint(v)
			for _, word := range words {
				if strings.Contains(text, word) {
					return refusal(w, func() error { return enc.Encode(v) })
				}
			}
			return enc.Encode(v)
		})
	}
	return c
}

// A fiction has an interface, for which gob sends types along: those of a record that was cut off
// have to be sent again.
type fiction struct {
	Name string
	Of   any
}

type novel struct{ Pages int }

// Whichever record is refused, in whatever way, it alone is missing afterwards: in a whole backup,
// in differences, and in commits. Over a value that was saved before it is absent.
func TestRefusedRecords(t *testing.T) {
	gob.Register(novel{})
	const n = 5
	key := func(i int) string { return fmt.Sprint("key", i) }
	for name, refusal := range refusals {
		for _, c := range codecs {
			var of any = novel{1}
			if c.Name == "json" {
				of = "a novel"
			}
			for mask := range 1 << n {
				var words []string
				for i := range n {
					if mask>>i&1 != 0 {
						words = append(words, "bad"+key(i))
					}
				}
				refusing := fickle(c, refusal, words...)
				made := func() (*mvcc.DB, *mvcc.Map[string, fiction], *mvcc.Map[int, int]) {
					db := mvcc.NewDB(&mvcc.Options{ManualReclaim: true})
					t.Cleanup(db.Close)
					return db, mvcc.NewOrderedTable[string, fiction](db, "a", nil),
						mvcc.NewTable[int, int](db, "b", nil)
				}
				db, m, beside := made()
				for i := range n {
					m.Store(key(i), fiction{"old", of})
				}
				beside.Store(1, 1)
				old := db.Snapshot()
				want, wantRefused := map[string]fiction{}, map[string]bool{}
				var full, diff, commits bytes.Buffer
				fullSaved, err := durable.Save(t.Context(), db, &full, c, &durable.SaveOptions{Of: old})
				require.NoError(t, err)
				watch := db.Watch(t.Context(), &mvcc.DBWatchOptions{Since: old, Progress: true})
				for i := range n {
					m.Store(key(i), fiction{"bad" + key(i), of})
					if mask>>i&1 == 0 {
						want[key(i)] = fiction{"bad" + key(i), of}
					} else {
						wantRefused[key(i)] = true
					}
				}
				beside.Store(2, 2)
				got := map[string]bool{}
				opts := func() *durable.SaveOptions {
					clear(got)
					return &durable.SaveOptions{Refused: func(e *durable.CodecError) {
						require.Equal(t, "a", e.Table)
						require.True(t, e.IsCurrent())
						require.False(t, got[e.Key.(string)], "told twice")
						got[e.Key.(string)] = true
						if name != "Goexit" && name != "nothing" {
							require.ErrorIs(t, e, errRefused)
						}
					}}
				}
				check := func(b durable.Backup, err error, streams ...*bytes.Buffer) {
					require.NoError(t, err)
					require.Equal(t, wantRefused, got)
					require.Equal(t, len(got), b.SavedTables()[0].Refused)
					to, a, beside := made()
					a.Store("key0", fiction{"of before", of})
					var then []io.Reader
					for _, s := range streams[1:] {
						then = append(then, bytes.NewReader(s.Bytes()))
					}
					loaded, err := durable.Load(t.Context(), to, bytes.NewReader(streams[0].Bytes()), c,
						&durable.LoadOptions{Then: then})
					require.NoError(t, err)
					require.Equal(t, len(got), loaded.SavedTables()[0].Refused)
					require.Equal(t, want, maps.Collect(a.All()), "%s, %s, %b", name, c.Name, mask)
					require.Equal(t, map[int]int{1: 1, 2: 2}, maps.Collect(beside.All()))
				}
				var whole bytes.Buffer
				b, err := durable.Save(t.Context(), db, &whole, refusing, opts())
				check(b, err, &whole)
				o := opts()
				o.Since = old
				b, err = durable.Save(t.Context(), db, &diff, refusing, o)
				check(b, err, &full, &diff)
				door.Of(db).RequestProgress()
				var list []mvcc.DBCommit
				for c, err := range watch {
					require.NoError(t, err)
					list = append(list, c)
					if c.Progress && c.Epoch == db.Epoch() {
						break
					}
				}
				b, err = durable.SaveCommits(t.Context(), db, &commits, refusing, fullSaved, list, opts())
				check(b, err, &full, &commits)
				old.Close()
				if mask != 0 && (name == "error" || name == "whole") {
					var e *durable.CodecError
					_, err = durable.Save(t.Context(), db, io.Discard, refusing, nil)
					require.ErrorAs(t, err, &e)
					require.ErrorIs(t, err, errRefused)
					require.Contains(t, wantRefused, e.Key)
					require.ErrorContains(t, err,
						fmt.Sprintf(`table "a", key %q: the codec %s`, e.Key, c.Name))
				}
			}
		}
	}
}

// A proper value has no zero: it cannot be encoded.
type proper struct{ n int }

func (p proper) MarshalText() ([]byte, error) {
	if p.n == 0 {
		return nil, errRefused
	}
	return []byte(strings.Repeat("x", p.n)), nil
}

func (p *proper) UnmarshalText(text []byte) error { p.n = len(text); return nil }

func (p proper) MarshalBinary() ([]byte, error)       { return p.MarshalText() }
func (p *proper) UnmarshalBinary(binary []byte) error { return p.UnmarshalText(binary) }

// A deletion does not need a zero value that the codec can encode.
func TestDeletionWithoutZeroValue(t *testing.T) {
	for _, c := range codecs {
		db, to := mvcc.NewDB(nil), mvcc.NewDB(nil)
		m, copied := mvcc.NewTable[int, proper](db, "m", nil), mvcc.NewTable[int, proper](to, "m", nil)
		m.Store(1, proper{1})
		m.Store(2, proper{2})
		s := db.Snapshot()
		var full, diff bytes.Buffer
		_, err := durable.Save(t.Context(), db, &full, c, &durable.SaveOptions{Of: s})
		require.NoError(t, err)
		m.Delete(1)
		m.Store(3, proper{3})
		_, err = durable.Save(t.Context(), db, &diff, c, &durable.SaveOptions{Since: s})
		require.NoError(t, err)
		s.Close()
		_, err = durable.Load(t.Context(), to, &full, c, &durable.LoadOptions{Then: []io.Reader{&diff}})
		require.NoError(t, err)
		require.Equal(t, maps.Collect(m.All()), maps.Collect(copied.All()))
		db.Close()
		to.Close()
	}
}

// Two tables do not become one by their names.
func TestRenameToOne(t *testing.T) {
	s := newShop(t).fill(3)
	data, _ := save(t, s, codecs[0], nil)
	before := s.content()
	_, err := durable.Load(t.Context(), s.DB, bytes.NewReader(data), codecs[0],
		&durable.LoadOptions{Rename: map[string]string{"parts": "ptrs"}})
	require.ErrorContains(t, err,
		`LoadOptions.Rename: tables "parts" and "ptrs" were saved, and both would be "ptrs"`)
	require.Equal(t, before, s.content())
}

// A record is refused unless its text is one line that looks like an object, and nothing of it is
// in the backup.
func TestNoLines(t *testing.T) {
	for _, bad := range []string{"{}", "{\n}\n", "1\n", "\n", "{}\n{}\n", " {}\n"} {
		c := durable.JSON
		c.NewEncoder = func(w io.Writer) interface{ Encode(v any) error } {
			return encodeFunc(func(v any) error {
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
		db := newDB(t)
		table := mvcc.NewTable[int, string](db, "t", nil)
		table.Store(1, "good")
		table.Store(2, "bad")
		_, err := durable.Save(t.Context(), db, io.Discard, c, nil)
		require.ErrorContains(t, err, fmt.Sprintf("table %q, key 2: the codec json cannot save the record: "+
			"it has not written a line with an object, as Codec.Lines says", "t"), "%q", bad)
		var file bytes.Buffer
		_, err = durable.Save(t.Context(), db, &file, c,
			&durable.SaveOptions{Refused: func(*durable.CodecError) {}})
		require.NoError(t, err)
		require.Contains(t, file.String(), "{\"k\":1,\"v\":\"good\"}\n")
		_, err = durable.Load(t.Context(), db, &file, durable.JSON, nil)
		require.NoError(t, err)
		require.Equal(t, 1, table.Len())
	}
}
