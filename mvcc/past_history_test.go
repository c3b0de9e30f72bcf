package mvcc

import (
	"math/rand/v2"
	"sort"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// With Retain a key's history has all that the key was in that time, and when; and the map can be
// read as of a time, wherever the background work is.
func TestHistoryOfKeys(t *testing.T) {
	for name, opts := range map[string]*Options{
		"ticker": {}, "by hand": {ManualReclaim: true}, "committers": {ReclaimWorkers: -1,
			ReclaimQueue: 1, PruneThreshold: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testHistory(t, opts) })
		})
	}
}

func testHistory(t *testing.T, opts *Options) {
	late := 100 * time.Millisecond
	if opts.ManualReclaim {
		late += time.Second
	}
	opts.Retain = time.Minute
	db := NewDB(opts)
	defer db.Close()
	m := NewTable[int, int](db, "m", nil)
	all := map[int][]Revision[int]{} // the oldest first
	type state struct {
		at   time.Time
		is   map[int]int
		then uint64
	}
	var states []state
	note := func() { states = append(states, state{time.Now(), contents(t, m), m.Epoch()}) }
	note()
	random := rand.New(rand.NewPCG(1, 1))
	write := func() {
		key, value := random.IntN(10), random.Int()
		r := Revision[int]{Value: value, Time: time.Now()}
		if random.IntN(4) == 0 {
			if !m.Has(key) {
				return
			}
			r.Deleted, r.Value = true, 0
			m.Delete(key)
		} else {
			m.Store(key, value)
		}
		r.Epoch = m.Epoch()
		all[key] = append(all[key], r)
		note()
	}
	check := func() {
		began := time.Now().Add(-opts.Retain)
		for key := range 11 {
			got, want := History(m, key), all[key]
			need := len(want) - sort.Search(len(want), func(i int) bool { return want[i].Time.After(began) })
			if last := len(want) - need - 1; last >= 0 && !want[last].Deleted {
				need++ // what it was when that time began
			}
			require.GreaterOrEqual(t, len(got), need)
			for i, r := range got {
				want := want[len(want)-1-i]
				if known := want.Time; known.After(began) || !r.Time.IsZero() {
					require.False(t, r.Time.Before(known))
					require.LessOrEqual(t, r.Time.Sub(known), late)
				}
				r.Time = want.Time
				require.Equal(t, want, r)
			}
		}
		for range 20 {
			at := time.Now().Add(-time.Duration(random.Int64N(int64(opts.Retain - late))))
			s, err := db.SnapshotAtTime(at)
			if at.Before(states[0].at) {
				require.ErrorIs(t, err, ErrEpochGone)
				continue
			}
			require.NoError(t, err)
			newest := func(at time.Time) state {
				i := sort.Search(len(states), func(i int) bool { return states[i].at.After(at) })
				return states[max(i-1, 0)]
			}
			require.LessOrEqual(t, s.Epoch(), newest(at).then)
			require.GreaterOrEqual(t, s.Epoch(), newest(at.Add(-late)).then)
			got := map[int]int{}
			for key, value := range m.At(s).All() {
				got[key] = value
			}
			i := sort.Search(len(states), func(i int) bool { return states[i].then > s.Epoch() })
			require.Equal(t, states[i-1].is, got)
			s.Close()
		}
	}
	for range 300 {
		write()
		time.Sleep(time.Duration(random.Int64N(int64(time.Second))))
		if opts.ManualReclaim {
			require.NoError(t, db.Reclaim(bg))
		}
		synctest.Wait()
		if random.IntN(10) == 0 {
			time.Sleep(late)
			check()
		}
	}
	open := db.Snapshot()
	time.Sleep(2 * opts.Retain)
	require.NoError(t, db.Reclaim(bg))
	check()
	for key := range 10 {
		if got := History(m, key); m.Has(key) {
			require.Len(t, got, 1)
			require.Zero(t, got[0].Time)
		} else {
			require.Empty(t, got)
		}
	}
	open.Close()
	checkQuiet(t, m)
}

// A time that is not to be had is refused, and why.
func TestSnapshotAtTimeRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[string, int](nil)
		defer m.Close()
		_, err := m.SnapshotAtTime(time.Now())
		require.ErrorIs(t, err, ErrEpochGone)
		require.ErrorContains(t, err, "Options.Retain is not set")

		m = New[string, int](&Options{Retain: time.Minute})
		defer m.Close()
		born := time.Now()
		time.Sleep(time.Second)
		m.Store("k", 1)
		for at, why := range map[time.Time]string{
			time.Now().Add(time.Second): "has not come yet",
			born.Add(-time.Second):      "longer ago than what is retained (Options.Retain is 1m0s), or after",
		} {
			_, err = m.SnapshotAtTime(at)
			require.ErrorIs(t, err, ErrEpochGone)
			require.ErrorContains(t, err, why)
			require.ErrorContains(t, err, at.Format(time.RFC3339Nano))
		}
		time.Sleep(time.Second)
		then := time.Now().Round(0) // as it was parsed
		time.Sleep(time.Second)
		m.Store("k", 2)
		s, err := m.SnapshotAtTime(then)
		require.NoError(t, err)
		requireValue(t, 1)(s.Get("k"))
		s.Close()
		time.Sleep(2 * time.Minute)
		_, err = m.SnapshotAtTime(then)
		require.ErrorIs(t, err, ErrEpochGone)
	})
}

// An epoch that a load or SkipTo has passed over is not the state of any time.
func TestSnapshotAtTimeBesideSkipTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := NewDB(&Options{Retain: time.Minute})
		defer db.Close()
		m := NewTable[string, int](db, "m", nil)
		m.Store("k", 1)
		before := m.Epoch()
		time.Sleep(time.Second)
		db.SkipTo(1000)
		for range 10 {
			time.Sleep(time.Second)
		}
		m.Store("k", 2)
		time.Sleep(time.Second)
		for age := range 12 {
			s, err := db.SnapshotAtTime(time.Now().Add(-time.Duration(age) * time.Second))
			require.NoError(t, err, "%d s ago", age)
			switch {
			case s.Epoch() > 1000:
				requireValue(t, 2)(m.At(s).Get("k"))
				require.LessOrEqual(t, age, 1)
			case s.Epoch() <= before:
				require.GreaterOrEqual(t, age, 11)
				requireValue(t, 1)(m.At(s).Get("k"))
			default:
				requireValue(t, 1)(m.At(s).Get("k"))
			}
			s.Close()
		}
	})
}

// After Close nobody looks at the time: what was before is to be had, and no time is made up.
func TestSnapshotAtTimeAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[string, int](&Options{Retain: time.Hour})
		m.Store("k", 1)
		time.Sleep(time.Second)
		before := time.Now()
		m.Close()
		time.Sleep(time.Second)
		for i := range 5000 {
			m.Store("k", 2+i)
		}
		time.Sleep(time.Second)
		s, err := m.SnapshotAtTime(before)
		require.NoError(t, err)
		requireValue(t, 1)(s.Get("k"))
		s.Close()
		_, err = m.SnapshotAtTime(time.Now())
		require.ErrorIs(t, err, ErrEpochGone)
		require.ErrorContains(t, err, "after Close")
		list := History(m, "k")
		require.Len(t, list, 5001)
		for _, r := range list[:5000] {
			require.Zero(t, r.Time)
		}
		require.WithinDuration(t, before, list[5000].Time, 2*time.Second)
		require.NotZero(t, list[5000].Time)
	})
}
