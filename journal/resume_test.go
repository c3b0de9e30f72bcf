package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A copyOf is what a follower has made of two tables of a ledger.
type copyOf struct {
	counts map[int]int
	things map[string]string
}

func copyOfSnapshot(l *ledger, s mvcc.DBSnapshot) copyOf {
	c := copyOf{maps.Collect(l.counts.At(s).All()), map[string]string{}}
	for key, value := range l.things.At(s).All() {
		c.things[key] = string(value)
	}
	return c
}

// apply returns what a commit makes of c. The old values must be those of c.
func (c copyOf) apply(l *ledger, by mvcc.DBCommit) (copyOf, error) {
	next := copyOf{maps.Clone(c.counts), maps.Clone(c.things)}
	for _, change := range l.counts.Changes(by) {
		if old, had := next.counts[change.Key]; had != change.Had || old != change.Old {
			return c, fmt.Errorf("%+v, and there was %d, %t", change, old, had)
		}
		if delete(next.counts, change.Key); change.Has {
			next.counts[change.Key] = change.New
		}
	}
	for _, change := range l.things.Changes(by) {
		if old, had := next.things[change.Key]; had != change.Had || old != string(change.Old) {
			return c, fmt.Errorf("%+v, and there was %s, %t", change, old, had)
		}
		if delete(next.things, change.Key); change.Has {
			next.things[change.Key] = string(change.New)
		}
	}
	return next, nil
}

// A followed is a life of a ledger, with what followers had at each epoch.
type followed struct {
	*ledger
	at map[uint64]copyOf
}

// note notes what a follower has now.
func (f *followed) note() {
	s := f.Snapshot()
	defer s.Close()
	f.at[s.Epoch()] = copyOfSnapshot(f.ledger, s)
}

var errAnew = errors.New("it begins anew")

// resumes reports whether a follower that has c as of an epoch goes on from there; then what it has
// in the end is what there is. The next commit is made by commit.
func (l *ledger) resumes(t *testing.T, c copyOf, after uint64, commit func()) bool {
	t.Helper()
	commit()
	last := l.Epoch()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := l.Follow(ctx, &mvcc.FollowOptions{After: after}, func(mvcc.DBSnapshot) error {
		return errAnew
	}, func(by mvcc.DBCommit) error {
		next, err := c.apply(l, by)
		if c = next; by.Epoch >= last {
			cancel()
		}
		return err
	})
	if errors.Is(err, errAnew) {
		return false
	}
	require.ErrorIs(t, err, context.Canceled)
	s := l.Snapshot()
	defer s.Close()
	require.Empty(t, cmp.Diff(copyOfSnapshot(l, s), c, cmp.AllowUnexported(copyOf{})))
	return true
}

// After a restart a follower goes on from each epoch since the last backup that was not lost, with
// exactly what came after it: from between any two commits, and whether the process failed or not.
// If what it has may be lost, or be of another state, it begins anew.
func TestResume(t *testing.T) {
	for round := range 8 {
		dir, random := t.TempDir(), rand.New(rand.NewPCG(uint64(round), 1))
		f := followed{newLedger(t), map[uint64]copyOf{}}
		opts := &Options{}
		if round%4 == 3 {
			opts.Compact = 2000
		}
		for range 10 {
			f.commit(1)
		}
		f.note()
		early := f.Epoch() - 1
		j := opened(t, dir, f.ledger, opts, nil)
		f.note()
		for i := range 200 {
			if f.commit(i % 3); random.IntN(10) > 0 {
				f.note()
			}
			switch random.IntN(20) {
			case 0:
				require.NoError(t, j.Sync(t.Context()))
			case 1:
				f.SkipTo(f.Epoch() + 3) // epochs without a commit
				f.note()
			}
		}
		closes := round%2 == 0
		require.NoError(t, j.Sync(t.Context()))
		saved := f.Epoch()
		if closes {
			f.SkipTo(f.Epoch() + 3)
			f.note()
			saved = f.Epoch()
			require.NoError(t, j.Close())
			dir = copied(t, dir)
		} else {
			dir = copied(t, dir)
			for range 10 { // are lost
				f.commit(1)
				f.note()
			}
			require.NoError(t, j.Close())
		}
		again := newLedger(t)
		resume := []uint64{early, 1 << 40}
		for e := range f.at {
			resume = append(resume, e)
		}
		opened(t, dir, again, &Options{Resume: resume}, nil)
		resumed := 0
		for e, c := range f.at {
			ok := again.resumes(t, c, e, func() { again.commit(5) })
			if ok {
				resumed++
				require.LessOrEqual(t, e, saved)
			} else if opts.Compact == 0 {
				require.Greater(t, e, saved)
			}
			again.resumes(t, c, e, func() {}) // if at all, from the right state
		}
		require.Greater(t, resumed, 3)
		require.False(t, again.resumes(t, copyOf{}, early, func() {}))
		require.False(t, again.resumes(t, copyOf{}, 1<<40, func() {}))
		require.LessOrEqual(t, again.Stats().LiveTx, 1, "but for the journal's nothing is kept")
	}
}
