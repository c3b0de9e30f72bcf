package mvcctest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// The function of OnExpire runs as often before it counts as an Update conflicts: its writes are
// there once, its functions for OnCommit are called once, and its error and panic count once.
func TestOnExpireTwice(t *testing.T) {
	for conflicts, runs := range map[int]int{0: 2, -1: 1, 3: 4} {
		r := New(t, &Config{Conflicts: conflicts})
		o := r.Options()
		o.ManualReclaim = true
		db := mvcc.NewDB(o)
		leases := mvcc.NewTable[int, lease](db, "leases", nil)
		queue := mvcc.NewTable[int, int](db, "queue", nil)
		called, committed := map[int]int{}, 0
		leases.OnExpire(func(tx mvcc.DBTx, job int, _ lease) error {
			called[job]++
			tx.OnCommit(func(uint64) { committed++ })
			n, _ := queue.In(tx).Get(job)
			queue.In(tx).Set(job, n+1)
			return nil
		})
		leases.Expire(until)
		for i := range 3 {
			leases.Store(i, lease{r.Now().Add(time.Hour)})
		}
		before := db.Stats()
		r.Advance(2 * time.Hour)
		require.Equal(t, map[int]int{0: runs, 1: runs, 2: runs}, called)
		require.Equal(t, 3, committed)
		require.Zero(t, leases.Len())
		for i := range 3 {
			n, _ := queue.Load(i)
			require.Equal(t, 1, n)
		}
		since := db.Stats()
		require.EqualValues(t, 3, since.Expired-before.Expired)
		require.Equal(t, before.Conflicts, since.Conflicts)
		require.Zero(t, since.ExpireFailures)
		db.Close()
	}
}
