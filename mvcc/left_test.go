package mvcc

import (
	"runtime"
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
