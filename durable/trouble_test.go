package durable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/seam/door"
	"github.com/mvccmap/mvccmap/mvcc"
)

// The records of a closed table do not come back, whichever table has its name now.
func TestClosedTables(t *testing.T) {
	const others = 15 // tables of a group
	for _, reopened := range []bool{false, true} {
		dir := t.TempDir()
		open := func(stop func() bool) (*mvcc.DB, *Journal, []*mvcc.Map[int, int]) {
			db := mvcc.NewDB(nil)
			t.Cleanup(db.Close)
			var tables []*mvcc.Map[int, int]
			for i := range others {
				tables = append(tables, mvcc.NewTable[int, int](db, fmt.Sprint("t", i), nil))
			}
			create := func(path string) (file, error) {
				f, err := createFile(path)
				return &faulty{f, func(int) error {
					for stop() {
						time.Sleep(time.Millisecond)
					}
					return nil
				}}, err
			}
			j, err := open(t.Context(), db, dir, nil, create, time.Millisecond)
			require.NoError(t, err)
			t.Cleanup(func() { _ = j.Close() })
			return db, j, tables
		}
		var stopped atomic.Bool
		db, j, tables := open(stopped.Load)
		for _, m := range tables {
			m.Store(1, 1)
		}
		require.NoError(t, j.Sync(t.Context()))
		want := map[int]int{}
		stopped.Store(true)
		for i, m := range tables {
			if m.Store(2, 2); i == 10 {
				m.Close()
				if m = mvcc.NewTable[int, int](db, "t10", nil); reopened {
					m.Store(3, 3)
					want[3] = 3
				}
			}
		}
		stopped.Store(false)
		require.NoError(t, j.Sync(t.Context()))
		crashed := copied(t, dir)
		require.NoError(t, j.Close())
		for _, dir = range []string{crashed, dir} {
			_, j, tables := open(func() bool { return false })
			for i, m := range tables {
				if i != 10 {
					require.Equal(t, map[int]int{1: 1, 2: 2}, maps.Collect(m.All()))
				}
			}
			require.Equal(t, want, maps.Collect(tables[10].All()))
			require.NoError(t, j.Close())
		}
	}
}

// A likeness of a mark in a value is none.
func TestForeignMarks(t *testing.T) {
	dir, l := t.TempDir(), newLedger(t)
	j := opened(t, dir, l, &Options{Every: -1}, nil)
	var b bytes.Buffer
	require.NoError(t, writeMark(&b, 1<<40, "another"))
	l.log.Store(1, 1)
	require.NoError(t, j.Sync(t.Context()))
	groups := j.Stats().Groups
	l.things.Store("mark", b.Bytes())
	door.Of(l.DB).RequestProgress()
	require.Eventually(t, func() bool {
		return j.Stats().Groups > groups
	}, time.Minute, time.Millisecond)
	crashed := copied(t, dir)
	files, err := list(crashed)
	require.NoError(t, err)
	path := filepath.Join(crashed, journalName(files.journals[0]))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, info.Size()-5))
	again := newLedger(t)
	j = opened(t, crashed, again, nil, nil)
	require.Equal(t, 1, again.log.Len())
	require.Positive(t, j.Stats().Dropped)
}

// An Open that is given up leaves nothing that is in the way, whenever that is.
func TestOpenIsGivenUp(t *testing.T) {
	dir, l, last := filepath.Join(t.TempDir(), "a", "b"), newLedger(t), 0
	for i := range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		switch i % 3 {
		case 0:
			cancel()
		case 1:
			go cancel()
		default:
			time.AfterFunc(time.Duration(rand.IntN(3000))*time.Microsecond, cancel)
		}
		if j, err := Open(ctx, l.DB, dir, nil); err == nil {
			last = l.commit(1)
			require.NoError(t, j.Close())
		} else {
			require.ErrorIs(t, err, context.Canceled)
		}
		cancel()
	}
	l.commit(1)
	j := opened(t, dir, l, nil, nil) // commits without a journal are gone
	l.must(t, last, false)
	require.NoError(t, j.Close())
}

// brokenCodec is gob, but encoding fails while broken says so.
func brokenCodec(broken func() error) Codec {
	c := Gob
	c.NewEncoder = func(w io.Writer) interface{ Encode(v any) error } {
		return brokenEncoder{Gob.NewEncoder(w), broken}
	}
	return c
}

type brokenEncoder struct {
	inner  interface{ Encode(v any) error }
	broken func() error
}

func (e brokenEncoder) Encode(v any) error {
	return errors.Join(e.broken(), e.inner.Encode(v))
}

// A failure is told also if there are gaps all the time. A waiter that does not want to wait any
// more leaves nothing behind.
func TestFailureBesideGaps(t *testing.T) {
	l, fails := newLedger(t), atomic.Bool{}
	broken := errors.New("broken")
	told := make(chan error, 1000)
	create := func(path string) (file, error) {
		f, err := createFile(path)
		if err != nil {
			return nil, err
		}
		return &faulty{f, func(n int) error {
			if n < 0 && fails.Load() { // before anything is acknowledged
				return broken
			}
			return nil
		}}, nil
	}
	j, err := open(t.Context(), l.DB, t.TempDir(), &Options{Buffer: 4, OnError: func(err error) { told <- err }}, create, time.Second)
	require.NoError(t, err)
	fails.Store(true)
	var stop atomic.Bool
	var writer sync.WaitGroup
	writer.Go(func() {
		for !stop.Load() {
			l.commit(1)
		}
	})
	require.ErrorIs(t, <-told, broken)
	require.Positive(t, l.Stats().JournalFailures)
	require.Positive(t, l.Stats().JournalBehind)
	require.Positive(t, l.Stats().JournalLag)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		require.Error(t, j.Sync(ended))
	}
	stop.Store(true)
	writer.Wait()
	fails.Store(false)
	require.Eventually(t, func() bool {
		return j.Sync(t.Context()) == nil
	}, time.Minute, 10*time.Millisecond)
	j.mu.Lock()
	require.Empty(t, j.waiting)
	j.mu.Unlock()
	require.NoError(t, j.Close())
}
