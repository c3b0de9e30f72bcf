package durable_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/internal/seam/door"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Differences by commits are loaded so that the state after each commit is met again, if that is
// asked for: unless a table was closed amid them, or there are too many to say.
func TestLoadResume(t *testing.T) {
	t.Parallel()
	anew := errors.New("anew")
	for name, run := range map[string]struct {
		commits int
		closes  bool
		met     bool // amid the differences
	}{
		"few":            {10, false, true},
		"a table closed": {10, true, false},
		"very many":      {40_000, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			db, to := mvcc.NewDB(nil), mvcc.NewDB(&mvcc.Options{ManualReclaim: true})
			defer db.Close()
			defer to.Close()
			tables := func(db *mvcc.DB) (a, b, other *mvcc.Map[int, int]) {
				return mvcc.NewTable[int, int](db, "a", nil), mvcc.NewTable[int, int](db, "b", nil),
					mvcc.NewTable[int, int](db, "other", nil)
			}
			a, b, other := tables(db)
			a.Store(1, 1)
			a.Store(2, 2)
			other.Store(1, 1)
			var first, second bytes.Buffer
			s := db.Snapshot()
			after, err := durable.Save(t.Context(), db, &first, durable.Gob, &durable.SaveOptions{Of: s})
			require.NoError(t, err)
			all := db.Watch(t.Context(), &mvcc.DBWatchOptions{Since: s, Buffer: 1 << 20, Progress: true})
			s.Close()
			states, epochs := map[uint64]map[int]int{}, []uint64{after.Epoch}
			note := func() {
				states[db.Epoch()] = maps.Collect(a.All())
				epochs = append(epochs, db.Epoch())
			}
			note()
			for i := range run.commits {
				if a.Store(i%7, i); i%3 == 0 {
					a.Delete(1)
				} else if i%3 == 1 {
					b.Store(i, i)
				}
				if i < 10 {
					note()
				}
				if i == 5 && run.closes {
					other.Close()
				}
			}
			door.Of(db).RequestProgress()
			var commits []mvcc.DBCommit
			for c, err := range all {
				require.NoError(t, err)
				if commits = append(commits, c); c.Progress && c.Epoch == db.Epoch() {
					break
				}
			}
			note()
			_, err = durable.SaveCommits(t.Context(), db, &second, durable.Gob, after, commits, nil)
			require.NoError(t, err)

			toA, _, _ := tables(to)
			var resume []mvcc.Position
			for _, e := range epochs {
				resume = append(resume, db.Position(e))
			}
			opts := durable.Followed(durable.LoadOptions{}, resume)
			after, err = durable.Load(t.Context(), to, &first, durable.Gob, opts)
			require.NoError(t, err)
			after, err = durable.LoadCommits(t.Context(), to, &second, durable.Gob, after, opts)
			require.NoError(t, err)
			require.NoError(t, after.Missing())
			require.Equal(t, maps.Collect(a.All()), maps.Collect(toA.All()))
			require.NoError(t, to.Reclaim(t.Context()))
			toA.Store(100, 1)
			for e, state := range states {
				amid := e > epochs[0] && e < epochs[len(epochs)-1]
				ctx, cancel := context.WithCancel(t.Context())
				err := to.Follow(ctx, &mvcc.FollowOptions{After: db.Position(e)}, func(mvcc.DBSnapshot) error {
					return anew
				}, func(c mvcc.DBCommit) error {
					for _, change := range toA.Changes(c) {
						old, had := state[change.Key]
						require.Equal(t, change.Had, had)
						require.Equal(t, change.Old, old)
						if delete(state, change.Key); change.Has {
							state[change.Key] = change.New
						}
					}
					require.Equal(t, maps.Collect(toA.All()), state)
					cancel()
					return nil
				})
				cancel()
				if amid && !run.met {
					require.ErrorIs(t, err, anew)
				} else {
					require.ErrorIs(t, err, context.Canceled)
				}
			}
		})
	}
}

// An epoch of another life is not taken for one of this life, wherever the clocks are: neither of a
// life that was loaded, but for the state that was met, nor the other way round.
func TestFollowOfAnotherLife(t *testing.T) {
	anew := errors.New("anew")
	old, db := mvcc.NewDB(nil), mvcc.NewDB(&mvcc.Options{Retain: time.Hour})
	defer old.Close()
	defer db.Close()
	table := mvcc.NewTable[int, int](old, "a", nil)
	for i := range 100 {
		table.Store(i, i)
	}
	var data bytes.Buffer
	b, err := durable.Save(t.Context(), old, &data, durable.Gob, nil)
	require.NoError(t, err)
	require.Equal(t, old.Position(b.Epoch), mvcc.Position{Life: b.DB, Epoch: b.Epoch})
	require.NotEqual(t, old.Position(b.Epoch), db.Position(b.Epoch))
	table = mvcc.NewTable[int, int](db, "a", nil)
	for range 200 {
		table.Store(7, -7)
	}
	_, err = durable.Load(t.Context(), db, &data, durable.Gob,
		durable.Followed(durable.LoadOptions{}, []mvcc.Position{old.Position(b.Epoch)}))
	require.NoError(t, err)
	for range 200 { // the clock of old is passed
		table.Store(7, 8)
	}
	for _, c := range []struct {
		at   mvcc.Position
		was  int // of key 7, if the state is to be had
		gone bool
	}{
		{at: old.Position(b.Epoch - 10), gone: true},
		{at: old.Position(b.Epoch), was: 7},
		{at: old.Position(b.Epoch), gone: true}, // it is kept for one
		{at: old.Position(b.Epoch + 10), gone: true},
		{at: old.Position(db.Epoch()), gone: true},
		{at: mvcc.Position{Epoch: db.Epoch()}, gone: true},
		{at: db.Position(b.Epoch), was: -7}, // before it was loaded
		{at: db.Position(db.Epoch() - 1), was: 8},
	} {
		table.Store(7, 8)
		ctx, cancel := context.WithCancel(t.Context())
		err := db.Follow(ctx, &mvcc.FollowOptions{After: c.at}, func(mvcc.DBSnapshot) error {
			return anew
		}, func(by mvcc.DBCommit) error {
			i := slices.IndexFunc(table.Changes(by), func(c mvcc.Change[int, int]) bool { return c.Key == 7 })
			require.Equal(t, mvcc.Change[int, int]{Key: 7, Old: c.was, New: 8, Had: true, Has: true}, table.Changes(by)[i])
			cancel()
			return nil
		})
		if cancel(); c.gone {
			require.ErrorIs(t, err, anew, c)
		} else {
			require.ErrorIs(t, err, context.Canceled, c)
		}
	}
}
