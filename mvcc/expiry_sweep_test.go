package mvcc

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A Goexit of until, in any of its calls for notes, loses none of these: records that are due go.
func TestUntilGoexitKeepsNotes(t *testing.T) {
	past := time.Unix(0, 0)
	calls, sprung := 0, false
	until := func(int, int) time.Time {
		if calls--; calls == 0 {
			sprung = true
			runtime.Goexit()
		}
		return past
	}
	expiring := func(t *testing.T, n int) *Map[int, int] {
		calls, sprung = 0, false
		m := newMap[int, int](t, &Options{ManualReclaim: true})
		m.Expire(until)
		for i := range n {
			m.Store(i, i)
		}
		return m
	}
	gone := func(t *testing.T, m *Map[int, int]) {
		calls = 0
		time.Sleep(time.Second) // not before the next tick
		require.NoError(t, m.Reclaim(bg))
		require.Zero(t, m.Len(), "records that do not expire")
	}
	check := func(name string, f func(t *testing.T)) { // in a bubble: sleeps take no time
		t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
	}
	check("Reclaim", func(t *testing.T) {
		for n := 1; n == 1 || sprung; n++ {
			m := expiring(t, 5)
			calls = n
			returned, _ := run(func() { _ = m.Reclaim(bg) })
			require.Equal(t, sprung, !returned)
			gone(t, m)
		}
	})
	check("Store", func(t *testing.T) { // a list is too long
		m := expiring(t, 0)
		for i := 0; !sprung; i++ {
			calls = 5 // one that looks at no other record makes fewer
			run(func() { m.Store(i, i) })
		}
		require.Greater(t, m.Len(), longDue)
		gone(t, m)
	})
	check("Expire", func(t *testing.T) { // nothing has happened
		m := newMap[int, int](t, &Options{ManualReclaim: true})
		for i := range 5 {
			m.Store(i, i)
		}
		calls, sprung = 3, false
		run(func() { m.Expire(until) })
		require.True(t, sprung)
		require.NoError(t, m.Reclaim(bg))
		require.Equal(t, 5, m.Len())
		m.Expire(until)
		gone(t, m)
	})
}

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
