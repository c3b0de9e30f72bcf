package durable

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A lease that was given back before the process ended, and whose time has come since, does not
// expire while the journal is read up to where it was given back.
func TestOpenHoldsExpiry(t *testing.T) {
	dir := t.TempDir()
	open := func(until time.Time) (leases, queue *mvcc.Map[int, bool], j *Journal) {
		db := mvcc.NewDB(&mvcc.Options{ReclaimInterval: 100 * time.Microsecond})
		t.Cleanup(db.Close)
		leases = mvcc.NewTable[int, bool](db, "leases", nil)
		queue = mvcc.NewTable[int, bool](db, "queue", nil)
		leases.OnExpire(func(tx mvcc.DBTx, job int, _ bool) error {
			queue.In(tx).Set(job, true)
			return nil
		})
		leases.Expire(func(int, bool) time.Time { return until })
		j, err := Open(t.Context(), db, dir, nil)
		require.NoError(t, err)
		return leases, queue, j
	}
	leases, _, j := open(time.Unix(1<<40, 0))
	const jobs = 600
	for job := range jobs {
		leases.Store(job, true)
	}
	for job := range jobs - 1 {
		leases.Delete(job)
		require.NoError(t, j.Sync(t.Context())) // a group of its own
	}
	require.NoError(t, j.Close())

	leases, queue, j := open(time.Unix(1, 0))
	require.Eventually(t, func() bool { return leases.Len() == 0 }, time.Minute, time.Millisecond)
	require.Equal(t, 1, queue.Len())
	require.True(t, queue.Has(jobs-1))
	require.NoError(t, j.Close())

	leases, queue, j = open(time.Unix(1, 0))
	require.Zero(t, leases.Len())
	require.Equal(t, 1, queue.Len(), "what has expired is kept")
	require.NoError(t, j.Close())
}

// MaxTxAge is not for the reads and writes of a journal in one go, however long they take.
func TestOpenTooOld(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		slow := Gob
		slow.NewEncoder = func(w io.Writer) interface{ Encode(v any) error } {
			return brokenEncoder{Gob.NewEncoder(w), func() error { time.Sleep(time.Minute); return nil }}
		}
		for life := range 3 {
			takesLong := life > 0
			db := mvcc.NewDB(&mvcc.Options{MaxTxAge: time.Second})
			m := mvcc.NewOrderedTableFunc[int, int](db, "m", func(a, b int) int {
				if takesLong {
					time.Sleep(time.Minute)
				}
				return a - b
			}, nil)
			var ended atomic.Bool
			var ticks sync.WaitGroup
			ticks.Go(func() { // so that time goes on
				for !ended.Load() {
					s := db.Snapshot()
					time.Sleep(100 * time.Millisecond)
					s.Close()
				}
			})
			j, err := Open(t.Context(), db, dir, &Options{Codec: slow})
			require.NoError(t, err)
			takesLong = false
			require.Equal(t, 5*life, m.Len())
			for i := range 5 {
				m.Store(5*life+i, i)
			}
			require.NoError(t, j.Close())
			require.Zero(t, db.Stats().Evicted)
			ended.Store(true)
			ticks.Wait()
			db.Close()
		}
	})
}

// A backup that comes slowly does not keep the records from expiring that are there meanwhile.
func TestLoadReadsBesideExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := mvcc.NewDB(nil)
		defer db.Close()
		leases := mvcc.NewTable[int, time.Time](db, "leases", nil)
		leases.Expire(func(_ int, until time.Time) time.Time { return until })
		leases.Store(1, time.Now().Add(time.Second))
		r, w := io.Pipe()
		done := make(chan error)
		go func() {
			_, err := Load(context.Background(), db, r, Gob, nil)
			done <- err
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Zero(t, leases.Len())
		require.NoError(t, w.CloseWithError(io.ErrUnexpectedEOF))
		require.Error(t, <-done)
	})
}
