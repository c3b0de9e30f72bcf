package durable

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/seam/door"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A copyOf is a follower's copy of two tables of a ledger.
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

// apply returns c with a commit applied. The old values must be those of c.
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

// A followed is a life of a ledger, with the copies of followers at each position.
type followed struct {
	*ledger
	at map[mvcc.Position]copyOf
}

// note notes the copy of a follower now, and returns its position.
func (f *followed) note() mvcc.Position {
	s := f.Snapshot()
	defer s.Close()
	at := f.Position(s.Epoch())
	f.at[at] = copyOfSnapshot(f.ledger, s)
	return at
}

var errAnew = errors.New("it begins anew")

// resumes reports whether a follower that has c as of an epoch goes on from there; then its copy in
// the end is right. The next commit is made by commit.
func (l *ledger) resumes(t *testing.T, c copyOf, after mvcc.Position, commit func()) bool {
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
// exactly the commits after it: from between any two commits, and whether the process failed or
// not. If its commits may be lost, or be of another state, it begins anew.
func TestResume(t *testing.T) {
	for round := range 8 {
		dir, random := t.TempDir(), rand.New(rand.NewPCG(uint64(round), 1))
		f := followed{newLedger(t), map[mvcc.Position]copyOf{}}
		opts := &Options{}
		if round%4 == 3 {
			opts.Compact = 2000
		}
		for range 10 {
			f.commit(1)
		}
		f.note()
		early := f.Position(f.Epoch() - 1)
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
				door.Of(f.DB).SkipTo(f.Epoch()+3, false) // epochs without a commit
				f.note()
			}
		}
		closes := round%2 == 0
		require.NoError(t, j.Sync(t.Context()))
		saved := f.Epoch()
		if closes {
			door.Of(f.DB).SkipTo(f.Epoch()+3, false)
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
		resume := []mvcc.Position{early, f.Position(1 << 40), {Epoch: saved}}
		for e := range f.at {
			resume = append(resume, e)
		}
		opened(t, dir, again, &Options{Resume: resume}, nil)
		resumed, first, missed := 0, saved, uint64(0) // first epoch met, last one missed
		for e, c := range f.at {
			if again.resumes(t, c, e, func() { again.commit(5) }) {
				require.LessOrEqual(t, e.Epoch, saved)
				resumed, first = resumed+1, min(first, e.Epoch)
			} else if e.Epoch <= saved {
				missed = max(missed, e.Epoch)
			}
			require.False(t, again.resumes(t, c, e, func() {}), "it is kept once")
		}
		require.Less(t, missed, first, "all since the last backup are met")
		require.True(t, opts.Compact > 0 || missed == 0 && resumed > 3, "all are met: %d, %d", missed, resumed)
		require.False(t, again.resumes(t, copyOf{}, early, func() {}))
		require.False(t, again.resumes(t, copyOf{}, f.Position(1<<40), func() {}))
		require.False(t, again.resumes(t, copyOf{}, mvcc.Position{Epoch: saved}, func() {}))
		require.LessOrEqual(t, again.Stats().LiveTx, 1, "but for the journal's nothing is kept")
	}
}

// Where the history is another one than that of the follower it begins anew, however far the epochs
// have got: after a crash, with older copies of the folder or of the file "acknowledged", and with
// commits lost by the Close.
func TestOtherHistory(t *testing.T) {
	type lives struct {
		f    followed
		at   mvcc.Position // of the follower
		dir  string        // with the other history
		kept mvcc.Position // of a state that is in both
	}
	closing := func(l *ledger) func(path string) (file, error) {
		return func(path string) (file, error) {
			f, err := createFile(path)
			return &committing{f, l}, err
		}
	}
	for what, begin := range map[string]func(dir string) lives{
		"commits were lost": func(dir string) lives {
			f := followed{newLedger(t), map[mvcc.Position]copyOf{}}
			j := opened(t, dir, f.ledger, nil, nil)
			f.commit(1)
			kept := f.note()
			require.NoError(t, j.Sync(t.Context()))
			crashed := copied(t, dir)
			for range 20 {
				f.commit(2)
			}
			return lives{f, f.note(), crashed, kept}
		},
		"a copy was put back": func(dir string) lives {
			f := followed{newLedger(t), map[mvcc.Position]copyOf{}}
			j := opened(t, dir, f.ledger, nil, nil)
			f.commit(1)
			kept := f.note()
			require.NoError(t, j.Close())
			back, at := copied(t, dir), f.at
			f = followed{newLedger(t), at}
			opened(t, dir, f.ledger, nil, nil)
			f.commit(2)
			return lives{f, f.note(), back, kept}
		},
		"the last commit came in Close": func(dir string) lives {
			f := followed{newLedger(t), map[mvcc.Position]copyOf{}}
			j := opened(t, dir, f.ledger, nil, closing(f.ledger))
			f.commit(1)
			kept := f.note()
			require.NoError(t, j.Close())
			require.Greater(t, f.Epoch(), kept.Epoch)
			return lives{f, f.note(), dir, kept}
		},
		"what was acknowledged is older": func(dir string) lives {
			f := followed{newLedger(t), map[mvcc.Position]copyOf{}}
			j := opened(t, dir, f.ledger, nil, nil)
			f.commit(1)
			kept := f.note()
			require.NoError(t, j.Sync(t.Context()))
			door.Of(f.DB).SkipTo(f.Epoch()+3, false) // without a commit
			at := f.note()
			require.NoError(t, j.Close())
			older := imageOf(t, dir, 0).files[boundName]
			next := newLedger(t)
			j = opened(t, dir, next, nil, nil)
			next.commit(2)
			require.NoError(t, j.Close())
			require.NoError(t, os.WriteFile(filepath.Join(dir, boundName), older, 0o600))
			return lives{f, at, dir, kept}
		},
	} {
		was := begin(t.TempDir())
		dir := copied(t, was.dir)
		for range 2 { // the first one goes further than the follower, and the second one finds that
			now := newLedger(t)
			j := opened(t, dir, now, &Options{Resume: []mvcc.Position{was.at}}, nil)
			for now.Epoch() <= was.at.Epoch {
				now.commit(3)
			}
			require.False(t, now.resumes(t, was.f.at[was.at], was.at, func() { now.commit(3) }), what)
			require.NoError(t, j.Close())
		}
		if what == "what was acknowledged is older" {
			continue // the backup is later
		}
		now := newLedger(t)
		opened(t, was.dir, now, &Options{Resume: []mvcc.Position{was.kept}}, nil)
		require.True(t, now.resumes(t, was.f.at[was.kept], was.kept, func() { now.commit(3) }), what)
	}
}

// A committing file commits when it is closed.
type committing struct {
	file
	l *ledger
}

func (f *committing) Close() error {
	f.l.commit(1)
	return f.file.Close()
}
