package mvcc

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// While somebody holds it nothing expires, and records that are renewed or deleted meanwhile never
// do; those that are due go after the last release, by themselves or by Reclaim.
func TestHoldExpiry(t *testing.T) {
	t.Parallel()
	for _, manual := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			y := newYard(t, &Options{ManualReclaim: manual})
			y.leases.OnExpire(y.back)
			y.leases.Expire(untilOf)
			first, second := door{y.db}.HoldExpiry(), door{y.db}.HoldExpiry()
			for i := range 1000 {
				y.leases.Store(i, session{time.Now().Add(time.Second), i})
			}
			wait := func() {
				time.Sleep(time.Minute)
				synctest.Wait()
				if manual {
					require.NoError(t, y.db.Reclaim(bg))
				}
			}
			wait()
			first()
			first() // it is once
			wait()
			require.Equal(t, 1000, y.leases.Len())
			y.leases.Delete(0)
			y.leases.Store(1, session{time.Now().Add(time.Hour), 1})
			second()
			wait()
			require.Equal(t, 1, y.leases.Len())
			require.Equal(t, 998, y.queue.Len())
			require.False(t, y.queue.Has(0))
			require.False(t, y.queue.Has(1))
			require.EqualValues(t, 998, y.db.Stats().Expired)
		})
	}
}

// A deletion under way has ended when HoldExpiry returns; one whose function panics as well.
func TestHoldExpiryWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t, nil)
		var calls atomic.Int32
		y.leases.OnExpire(func(tx DBTx, job int, s session) error {
			n := calls.Add(1)
			time.Sleep(time.Minute)
			if n == 2 {
				panic("oh")
			}
			return y.back(tx, job, s)
		})
		y.leases.Expire(untilOf)
		for n := range 2 {
			y.leases.Store(n, session{time.Now().Add(time.Second), n})
		}
		time.Sleep(2 * time.Second) // amid the first call
		require.EqualValues(t, 1, calls.Load())
		release := door{y.db}.HoldExpiry()
		require.Equal(t, 1, y.leases.Len())
		time.Sleep(time.Hour)
		synctest.Wait()
		require.EqualValues(t, 1, calls.Load())
		release()
		time.Sleep(30 * time.Second) // amid the second
		door{y.db}.HoldExpiry()()
		require.Equal(t, 1, y.leases.Len())
		time.Sleep(30 * time.Second) // amid the third
		require.EqualValues(t, 3, calls.Load(), "it is tried again")
		door{y.db}.HoldExpiry()()
		require.Zero(t, y.leases.Len())
	})
}
