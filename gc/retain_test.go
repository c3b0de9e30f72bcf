package gc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What is retained is visited some times until its time has come, not at each tick; whoever
// visits. A Reclaim visits it.
func TestRetainedIsParked(t *testing.T) {
	for _, workers := range []int{-1, 1, 3} {
		bubble(t, config{Workers: workers, Retain: time.Minute}, func(t *testing.T, f *fixture) {
			const n = 500
			keys := f.keys(n)
			for _, k := range keys {
				f.write(k)
			}
			for range 5 {
				f.ticks(100)
				for _, k := range keys {
					require.Len(t, k.chain(), 2)
				}
			}
			require.Equal(t, n, f.Stats().Pending)
			require.InDelta(t, n, f.Stats().Surplus, 0)
			f.ticks(200)
			for i, k := range keys {
				require.Len(t, k.chain(), 1)
				require.LessOrEqual(t, k.visited(), 16, "key %d", i)
			}
			require.Zero(t, f.Stats().Pending)
		})
	}
}

// A commit does not make views without end where none can be of use: the bound stands still.
func TestRetainRefreshesNoMore(t *testing.T) {
	for _, retain := range []time.Duration{0, time.Hour} {
		bubble(t, config{Workers: 1, Retain: retain}, func(t *testing.T, f *fixture) {
			const commits = 100_000
			for range commits {
				if e := f.slots.Next(); f.Due(e) {
					f.RefreshPast(e, 0)
				}
				f.RefreshPast(f.slots.Now(), 4)
			}
			most := commits / 1024
			if retain == 0 {
				most = commits / 4
			}
			require.LessOrEqual(t, int(f.Stats().CommitRefreshes.N), most+1)
		})
	}
}

// The bound follows the clock, the time that is kept behind it, and never goes back; what
// nobody has written in that time does not matter.
func TestBoundFollowsRetain(t *testing.T) {
	const retain = 64 * time.Second
	bubble(t, config{Workers: 1, Retain: retain}, func(t *testing.T, f *fixture) {
		k := f.keys(1)[0]
		born := time.Now()
		type past struct {
			at    time.Duration
			clock uint64
		}
		var clocks []past
		last := f.View().Bound
		for i := range 2000 {
			f.write(k)
			clocks = append(clocks, past{time.Since(born), uint64(f.slots.Now())})
			f.ticks(1)
			bound := f.View().Bound
			require.GreaterOrEqual(t, bound, last)
			last = bound
			// Nothing of the last minute is below the bound.
			for _, c := range clocks {
				if age := time.Since(born) - c.at; age < retain {
					require.GreaterOrEqual(t, c.clock, uint64(bound), "round %d, %v ago", i, age)
					break
				}
			}
		}
		require.GreaterOrEqual(t, uint64(last), uint64(f.slots.Now())-660-20, "it is kept much too long")
		require.Less(t, len(k.chain()), 720)
	})
}
