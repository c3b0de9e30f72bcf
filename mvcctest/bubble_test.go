package mvcctest

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// In a bubble records expire, and transactions are evicted, by its time, and goroutines that
// Close has ended let the bubble end.
func TestBubble(t *testing.T) {
	for _, manual := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := New(t, nil)
			o := r.Options()
			o.MaxTxAge, o.ManualReclaim = time.Minute, manual
			db := mvcc.NewDB(o)
			defer db.Close()
			leases := mvcc.NewTable[int, lease](db, "leases", nil)
			leases.Expire(until)
			pass := func(d time.Duration) {
				time.Sleep(d)
				if manual {
					r.Step()
				}
				synctest.Wait()
			}
			require.WithinDuration(t, time.Now(), r.Now(), 0)
			leases.Store(1, lease{time.Now().Add(24 * time.Hour)})
			leases.Store(2, lease{time.Now().Add(48 * time.Hour)})
			pass(24*time.Hour - time.Second)
			require.True(t, leases.Has(1))
			pass(2 * time.Second)
			require.False(t, leases.Has(1))
			r.Advance(24 * time.Hour)
			require.False(t, leases.Has(2))

			s := leases.Snapshot()
			leases.Store(3, lease{})
			pass(time.Second)
			require.NotPanics(t, func() { s.Get(1) })
			pass(2 * time.Minute)
			require.ErrorIs(t, s.Try(func() error { s.Get(1); return nil }), mvcc.ErrTxTooOld)
			s.Close()

			watch := leases.Watch(t.Context(), nil) // which ends before the trial does
			leases.Store(4, lease{})
			synctest.Wait()
			for c, err := range watch {
				require.NoError(t, err)
				require.Len(t, c.Changes, 1)
				break
			}
			leases.Watch(t.Context(), nil)
			runs := 0
			require.NoError(t, leases.Update(t.Context(), nil, func(tx mvcc.Tx[int, lease]) error {
				runs++
				l, _ := tx.Get(4)
				tx.Set(5, l)
				return nil
			}))
			require.Equal(t, 2, runs)
		})
	}
}

// A bubble in which all was left open ends, and the test says why it fails.
func TestLeftInBubble(t *testing.T) {
	f := &fake{}
	synctest.Test(t, func(t *testing.T) {
		db, users, _ := shop(Options(f, nil))
		s := users.Snapshot()
		watch := users.Watch(bg, nil)
		t.Cleanup(func() {
			f.end()
			runtime.KeepAlive(watch) // the dropped map has ended
		})
		go func() {
			for _, err := range users.Watch(bg, nil) {
				if err != nil {
					break
				}
			}
		}()
		go func() { <-s.Changed(bg, 1) }()
		users.Expire(func(int, int) time.Time { return time.Now().Add(1 << 60) })
		time.Sleep(time.Minute)
		_, _ = s.Get(1)
		runtime.KeepAlive(db)
	})
	require.Len(t, f.failures, 4)
}

// A map dropped in a bubble is not ended from outside of it, which would end the program.
func TestDroppedInBubble(t *testing.T) {
	f := &fake{}
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { f.end() })
		func() {
			db, users, _ := shop(Options(f, nil))
			users.Store(1, 1)
			runtime.KeepAlive(db)
		}()
		for range 10 {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
	})
	requireFailure(t, f.failures, "a database was not closed")
}

// A journal and a backup work in a bubble.
func TestJournalInBubble(t *testing.T) {
	dir := t.TempDir()
	for life := range 2 {
		synctest.Test(t, func(t *testing.T) {
			db, users, _ := shop(Options(t, nil))
			t.Cleanup(db.Close)
			j, err := durable.Open(bg, db, dir, nil)
			require.NoError(t, err)
			require.Equal(t, life > 0, users.Has(2))
			users.Store(2, 2)
			require.NoError(t, j.Sync(bg))
			time.Sleep(time.Hour)
			require.NoError(t, j.Close())
			_, err = durable.SaveFile(bg, db, filepath.Join(t.TempDir(), "backup"), durable.Gob, nil)
			require.NoError(t, err)
		})
	}
}

// In a bubble a watch has been told of a commit, whatever has made it, when all goroutines rest:
// time need not go on. A context that is the bubble's is enough for a loop.
func TestLoopInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, users, orders := shop(Options(t, nil))
		t.Cleanup(db.Close)
		ctx, cancel := context.WithCancel(t.Context())
		seen := make(chan uint64, 8)
		go func() {
			for c, err := range db.Watch(ctx, nil) {
				if err != nil {
					break
				}
				seen <- c.Epoch
			}
			close(seen)
		}()
		synctest.Wait()
		start := time.Now()
		both := func(tx mvcc.DBTx) error {
			n, _ := users.In(tx).Get(1)
			users.In(tx).Set(2, n)
			orders.In(tx).Set(n+1, n)
			return nil
		}
		for i := range 100 {
			for name, commit := range map[string]func(){
				"Store": func() { users.Store(1, i) },
				"Update, several": func() {
					require.NoError(t, users.Update(bg, nil, func(tx txn) error {
						tx.Set(1, i)
						tx.Set(3, i)
						return nil
					}))
				},
				"DB.Update": func() { require.NoError(t, db.Update(bg, nil, both)) },
			} {
				before := db.Epoch()
				commit()
				synctest.Wait()
				require.NotEmpty(t, seen, name)
				for len(seen) > 0 {
					require.Greater(t, <-seen, before, name)
				}
			}
		}
		require.Equal(t, start, time.Now())
		cancel()
		_, more := <-seen
		require.False(t, more)
	})
}
