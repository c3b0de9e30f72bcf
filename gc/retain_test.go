package gc_test

import (
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
)

// A key with retained versions is visited some times until their time has come, not at each tick;
// whoever visits. A Reclaim visits it.
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
			most := commits / (gc.AgeLimit * gc.RetainedAge)
			if retain == 0 {
				most = commits / 4
			}
			require.LessOrEqual(t, int(f.Stats().CommitRefreshes.N), most+1)
		})
	}
}

// The bound follows the clock, the time that is kept behind it, and never goes back; a key that
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
		require.LessOrEqual(t, len(k.chain()), 721) // 64 s, and an eighth
	})
}

// The clock at a time that is retained is known to within an interval, or a part of the time, also
// if nobody hands anything over and the clock jumps; and the notes do not grow.
func TestTimesOf(t *testing.T) {
	for _, retain := range []time.Duration{time.Minute, time.Hour} {
		bubble(t, config{Workers: 1, Retain: retain}, func(t *testing.T, f *fixture) {
			most := max(gc.DefaultInterval, retain/gc.NoteParts)
			type past struct {
				at    time.Time
				clock epoch.Epoch
			}
			clocks := []past{{time.Now(), f.slots.Now()}}
			random := rand.New(rand.NewPCG(1, 2))
			for range 1500 {
				time.Sleep(time.Duration(random.Int64N(int64(retain / 500))))
				if random.IntN(10) == 0 {
					time.Sleep(retain / 50)
				}
				for range random.IntN(3) {
					f.slots.Next()
				}
				clocks = append(clocks, past{time.Now(), f.slots.Now()})
			}
			newest := func(at time.Time) epoch.Epoch {
				i := sort.Search(len(clocks), func(i int) bool { return clocks[i].at.After(at) })
				return clocks[max(i-1, 0)].clock
			}
			last := clocks[len(clocks)-1].clock
			for e := last; ; e-- {
				over := f.TimesOf([]epoch.Epoch{e})[0]
				if over.IsZero() {
					require.Less(t, newest(time.Now().Add(-retain)), e+2)
					break
				}
				require.GreaterOrEqual(t, newest(over), e)
				require.Less(t, newest(over.Add(-2*most)), e)
			}
			require.LessOrEqual(t, f.Notes(), 2*gc.NoteParts+2)
		})
	}
	bubble(t, config{Workers: 1}, func(t *testing.T, f *fixture) {
		require.Zero(t, f.TimesOf([]epoch.Epoch{f.slots.Now()})[0])
	})
}

// The notes of clocks that never stand still stay bounded.
func TestNotesAreBounded(t *testing.T) {
	bubble(t, config{Interval: time.Millisecond, Workers: 1, Retain: 20 * time.Second},
		func(t *testing.T, f *fixture) {
			for range 50_000 {
				f.slots.Next()
				time.Sleep(time.Millisecond)
			}
			require.InDelta(t, 1.5*gc.NoteParts, f.Notes(), 0.6*gc.NoteParts)
		})
}
