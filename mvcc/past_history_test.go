package mvcc

import (
	"math/rand/v2"
	"sort"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// With Retain a key's history has all that the key was in that time, and when, wherever the
// background work is.
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
	}
	check := func() {
		began := time.Now().Add(-opts.Retain)
		for key := range 11 {
			got, want := History(m, key), all[key]
			need := len(want) - sort.Search(len(want), func(i int) bool { return want[i].Time.After(began) })
			if last := len(want) - need - 1; last >= 0 && !want[last].Deleted {
				need++ // the revision when that time began
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
