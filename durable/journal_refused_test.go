package durable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/seam/door"
	"github.com/mvccmap/mvccmap/mvcc"
)

// poison is a value that a codec of poisoned refuses, in one way or another.
const poison = "poison"

var errPoison = errors.New("poison")

// ways are how an encoder may refuse a record.
var ways = map[string]func(w io.Writer) error{
	"error": func(io.Writer) error { return errPoison },
	"half":  func(w io.Writer) error { _, _ = w.Write([]byte("half")); return errPoison },
	"panic": func(w io.Writer) error { _, _ = w.Write([]byte("half")); panic(errPoison) },
	"Goexit": func(w io.Writer) error {
		_, _ = w.Write([]byte("half"))
		runtime.Goexit()
		return nil
	},
}

// poisoned is the codec c, but that it refuses values with poison in them.
func poisoned(c Codec, way func(w io.Writer) error) Codec {
	inner := c.NewEncoder
	c.NewEncoder = func(w io.Writer) interface{ Encode(v any) error } {
		return &poisonedEncoder{w, inner(w), way}
	}
	return c
}

type poisonedEncoder struct {
	w     io.Writer
	inner interface{ Encode(v any) error }
	way   func(w io.Writer) error
}

func (e *poisonedEncoder) Encode(v any) error {
	if bytes.Contains(fmt.Append(nil, v), []byte(poison)) {
		return e.way(e.w)
	}
	return e.inner.Encode(v)
}

// A record that the codec refuses, in whatever way, in the first backup, in a group, in one that
// takes the place of a journal: it alone is not saved, it is named, counted and told, Sync and
// Close say so while it is there, and its key is absent afterwards, whatever it had before.
func TestJournalRefuses(t *testing.T) {
	for name, way := range ways {
		for _, c := range codecs {
			t.Run(name+"-"+c.Name, func(t *testing.T) {
				c, dir := poisoned(c, way), t.TempDir()
				made := func() (*mvcc.DB, *mvcc.Map[string, string], *mvcc.Map[int, int]) {
					db := mvcc.NewDB(nil)
					t.Cleanup(db.Close)
					return db, mvcc.NewTable[string, string](db, "texts", nil),
						mvcc.NewTable[int, int](db, "numbers", nil)
				}
				var told []error // by one goroutine
				opts := func() *Options {
					return &Options{Codec: c, Compact: 1, OnError: func(err error) { told = append(told, err) }}
				}
				db, texts, numbers := made()
				texts.Store("first", poison)
				texts.Store("good", "1")
				texts.Store("changed", "1")
				j, err := Open(t.Context(), db, dir, opts())
				require.NoError(t, err)
				refused := func(err error, key string) {
					var e *CodecError
					require.ErrorAs(t, err, &e)
					require.Equal(t, "texts", e.Table)
					require.Equal(t, c.Name, e.Codec)
					if key != "" {
						require.Equal(t, key, e.Key)
						require.ErrorContains(t, err, fmt.Sprintf(`table "texts", key %q`, key))
					}
					if name != "Goexit" {
						require.ErrorIs(t, err, errPoison)
					}
				}
				refused(j.Sync(t.Context()), "first")
				texts.Store("first", "mended")
				require.NoError(t, j.Sync(t.Context()))
				// In a commit beside others, over a value that is saved.
				require.NoError(t, db.Update(t.Context(), nil, func(tx mvcc.DBTx) error {
					numbers.In(tx).Set(1, 1)
					texts.In(tx).Set("changed", poison)
					texts.In(tx).Set("beside", "2")
					numbers.In(tx).Set(2, 2)
					return nil
				}))
				refused(j.Sync(t.Context()), "changed")
				crashed := copied(t, dir) // with it in a group, or in a backup
				// In one for sure.
				for backups := j.Stats().Backups; j.Stats().Backups < backups+2; {
					numbers.Store(3, 3)
					refused(j.Sync(t.Context()), "changed")
				}
				require.EqualValues(t, 2, j.Stats().Refused)
				require.EqualValues(t, 2, db.Stats().JournalRefused)
				require.Zero(t, j.Stats().Failures)
				refused(j.Close(), "changed")
				require.Len(t, told, 2)
				refused(told[0], "first")
				refused(told[1], "changed")
				for _, dir := range []string{crashed, dir} {
					again, texts, numbers := made()
					j, err := Open(t.Context(), again, dir, opts())
					require.NoError(t, err)
					require.Equal(t, map[string]string{"first": "mended", "good": "1", "beside": "2"},
						maps.Collect(texts.All()))
					_, has := numbers.Load(2)
					require.True(t, has)
					require.NoError(t, j.Close())
				}
			})
		}
	}
}

// A refusal does not matter any more when its key is written, deleted, or its table closed.
func TestRefusedNoMore(t *testing.T) {
	for name, mend := range map[string]func(m *mvcc.Map[int, float64]){
		"store":  func(m *mvcc.Map[int, float64]) { m.Store(1, 1) },
		"delete": func(m *mvcc.Map[int, float64]) { m.Delete(1) },
		"clear":  func(m *mvcc.Map[int, float64]) { m.Clear() },
		"close":  func(m *mvcc.Map[int, float64]) { m.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			db := mvcc.NewDB(nil)
			defer db.Close()
			m := mvcc.NewTable[int, float64](db, "m", nil)
			j, err := Open(t.Context(), db, t.TempDir(), &Options{Codec: JSON, OnError: func(error) {}})
			require.NoError(t, err)
			m.Store(1, math.NaN())
			m.Store(2, math.Inf(1))
			require.ErrorAs(t, j.Sync(t.Context()), new(*CodecError))
			m.Store(2, 2)
			require.ErrorContains(t, j.Sync(t.Context()), `table "m", key 1:`)
			mend(m)
			require.NoError(t, j.Sync(t.Context()))
			require.NoError(t, j.Close())
		})
	}
}

// While a codec blocks commits go on, and Sync waits no longer than its context says.
func TestCodecThatBlocks(t *testing.T) {
	dir, l := t.TempDir(), newLedger(t)
	var blocks atomic.Bool
	blocked, goOn := make(chan struct{}), make(chan struct{})
	slow := brokenCodec(func() error {
		if blocks.Swap(false) {
			close(blocked)
			<-goOn
		}
		return nil
	})
	j, err := Open(t.Context(), l.DB, dir, &Options{Codec: slow})
	require.NoError(t, err)
	blocks.Store(true)
	l.commit(1)
	<-blocked
	for range 100 {
		l.commit(1)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, j.Sync(ended), context.Canceled)
	require.Positive(t, l.Stats().JournalBehind)
	close(goOn)
	require.NoError(t, j.Sync(t.Context()))
	require.NoError(t, j.Close())
	requireKept(t, dir, 101)
}

// A refusal by only the last backup, which was complete when its journal could not be written, or
// was closed: it is told, counted, and returned.
func TestRefusedInTheLastBackup(t *testing.T) {
	dir, db := t.TempDir(), mvcc.NewDB(nil)
	defer db.Close()
	m := mvcc.NewTable[int, string](db, "m", nil)
	var refuses atomic.Bool
	c := Gob
	c.NewEncoder = func(w io.Writer) interface{ Encode(v any) error } {
		return brokenEncoder{Gob.NewEncoder(w), func() error {
			if refuses.Swap(false) {
				return errPoison
			}
			return nil
		}}
	}
	broken := errors.New("broken")
	blocked, goOn := make(chan struct{}), make(chan struct{})
	create := func(path string) (file, error) {
		f, err := createFile(path)
		calls := 0
		return &faulty{f, func(int) error {
			if calls++; !strings.HasSuffix(path, journalName(2)) {
				return nil
			}
			switch calls {
			case 1: // the next encoding is of the backup
				refuses.Store(true)
			case 4: // its first record is written
				close(blocked)
				<-goOn
				return broken
			}
			return nil
		}}, err
	}
	var told []error
	j, err := open(t.Context(), db, dir, &Options{Codec: c, Compact: 1, Every: -1,
		OnError: func(err error) { told = append(told, err) }}, create, time.Hour)
	require.NoError(t, err)
	m.Store(1, "1")
	require.NoError(t, j.Sync(t.Context()))
	door.Of(db).RequestProgress()
	<-blocked
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(dir, backupName(2)))
		return err == nil
	}, time.Minute, time.Millisecond)
	close(goOn)
	require.Error(t, j.Close())
	require.NotEmpty(t, told)
	var e *CodecError
	require.ErrorAs(t, told[0], &e)
	require.Equal(t, 1, e.Key)
	require.EqualValues(t, 1, j.Stats().Refused)
}
