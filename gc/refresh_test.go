package gc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
)

// A committer's request makes a view only if the present one is old enough.
func TestRefreshPastRate(t *testing.T) {
	f := start(t, config{Interval: time.Hour})
	request := func(stride uint64, want epoch.Epoch) {
		t.Helper()
		v := f.RefreshPast(f.slots.Now(), stride)
		require.Same(t, f.View(), v)
		require.Equal(t, want, v.Bound)
	}
	refreshed := func() uint64 { return f.Stats().CommitRefreshes.N }
	advance := func(n, stride uint64) {
		t.Helper()
		made, bound := refreshed(), f.View().Bound
		for range n - 1 {
			f.slots.Next()
			request(stride, bound)
			require.Equal(t, made, refreshed())
			require.False(t, f.Due(f.slots.Now()))
		}
		f.slots.Next()
		require.Equal(t, n >= gc.AgeLimit, f.Due(f.slots.Now()))
		request(stride, bound+epoch.Epoch(n))
		require.Equal(t, made+1, refreshed())
	}
	for range 5 {
		advance(16, 16)
	}
	advance(gc.AgeLimit, 0)
	advance(gc.AgeLimit, 5000)

	// With many slots to look at a view costs more, and so it is made less often.
	var readers []reader
	for range 200 {
		readers = append(readers, f.begin())
	}
	f.Refresh()
	const looked = 200 + 4 // four groups
	advance(looked/4, 16)
	advance(looked*gc.AgeFactor, 0)

	// Those that have been live for long cost nothing.
	for i := range 3 {
		f.slots.Round(time.Duration(i), epoch.Limits{})
	}
	f.Refresh()
	advance(16, 16)
	advance(gc.AgeLimit, 0)
	for _, r := range readers {
		r.end()
	}
}
