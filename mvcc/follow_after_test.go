package mvcc

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A later call goes on after the epoch that the follower has kept, with a summary: the commit that
// fails in the midst is given again, and nothing else.
func TestFollowAfter(t *testing.T) {
	for _, retain := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			d := newDerived(t, &Options{Retain: retain})
			for range 10 {
				d.began = func(DBSnapshot) error {
					d.both(t, 7, 7)
					d.both(t, 8, 8)
					d.until(d.db.Epoch())
					return nil
				}
				if d.begins > 0 && retain > 0 {
					d.both(t, 7, 70)
					d.both(t, 9, 9)
					d.until(d.db.Epoch())
				}
				require.ErrorIs(t, d.follow(t.Context(), FollowOptions{}), errEnough)
				d.nothingLeft(t)
				was := d.at
				d.both(t, 1, rand.Int())
				d.b.Delete(-7)
				time.Sleep(time.Minute)
				if retain == 0 {
					require.NoError(t, d.db.Reclaim(bg))
					_, err := d.db.SnapshotAt(was.Epoch)
					require.ErrorIs(t, err, ErrEpochGone)
					d.at = was
				}
			}
			if retain > 0 {
				require.Equal(t, 1, d.begins)
			} else {
				require.Equal(t, 10, d.begins)
			}
			d.until(0)
			d.both(t, 5, 5)
			last := d.db.Epoch()
			d.began = func(DBSnapshot) error { return errEnough }
			d.applied = func(c DBCommit) error {
				require.True(t, c.Summary)
				require.GreaterOrEqual(t, c.Epoch, last)
				return nil
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := d.follow(ctx, FollowOptions{}); retain > 0 {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				d.requireInStep(t)
			} else {
				require.ErrorIs(t, err, errEnough)
			}
			// An epoch to come, or one that means nothing, is no state that there was.
			for _, at := range []uint64{d.db.Epoch() + 1000, d.db.Epoch() + 500, d.db.Epoch() + 999} {
				d.at = d.db.Position(at)
				if at < d.db.Epoch()+1000 {
					door{d.db}.SkipTo(d.db.Epoch()+1000, false)
				}
				require.ErrorIs(t, d.follow(t.Context(), FollowOptions{}), errEnough)
			}
		})
	}
}

// Each state that is kept is for one call, and holds its versions until then.
func TestKeepState(t *testing.T) {
	d := newDerived(t, nil)
	d.both(t, 1, 1)
	before := Position{"another", 1 << 20}
	door{d.db}.KeepState(before)
	door{d.db}.KeepState(before)
	s := d.db.Snapshot()
	copies := [2]*replica[int]{newReplica(d.a.At(s)), newReplica(d.b.At(s))}
	s.Close()
	d.both(t, 1, 2)
	d.both(t, 2, 2)
	require.NoError(t, d.db.Reclaim(bg))
	d.began = func(DBSnapshot) error { return errEnough }
	for range 2 {
		d.at, d.copies = before, [2]*replica[int]{copies[0], copies[1]}
		ctx, cancel := context.WithCancel(bg)
		d.applied = func(c DBCommit) error {
			require.True(t, c.Summary)
			cancel()
			return nil
		}
		require.ErrorIs(t, d.follow(ctx, FollowOptions{}), context.Canceled)
		d.requireInStep(t)
	}
	d.nothingLeft(t)
	d.at = before
	require.ErrorIs(t, d.follow(bg, FollowOptions{}), errEnough)
}

// An epoch that was passed over is no state, whatever is retained; the others are.
func TestSkippedEpochs(t *testing.T) {
	d := newDerived(t, &Options{Retain: time.Hour})
	at := map[uint64]int{}
	for i := range 5 {
		d.both(t, 1, i)
		at[d.db.Epoch()] = i
		door{d.db}.SkipTo(d.db.Epoch()+100, false)
		at[d.db.Epoch()] = i
	}
	for e := range d.db.Epoch() {
		s, err := d.db.SnapshotAt(e)
		if want, ok := at[e]; !ok && e > 1 {
			require.ErrorIs(t, err, ErrEpochGone, e)
		} else if ok {
			require.NoError(t, err)
			got, _ := d.a.At(s).Get(1)
			require.Equal(t, want, got)
		}
		s.Close()
	}
	of, err := d.a.SnapshotAt(50)
	require.ErrorIs(t, err, ErrEpochGone)
	of.Close()
}
