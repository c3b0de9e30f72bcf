package mvcc

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A derived is the state of a follower: a copy of two tables, and the position that it has got to.
// It does not take a change whose old value is not that of the copy.
type derived struct {
	db   *DB
	a, b *Map[int, int]

	at      Position
	copies  [2]*replica[int]
	begins  int
	commits []DBCommit // since the last begin
	began   func(s DBSnapshot) error
	applied func(c DBCommit) error
}

func newDerived(t testing.TB, opts *Options) *derived {
	db := newDB(t, opts)
	return &derived{db: db, a: NewTable[int, int](db, "a", nil), b: NewTable[int, int](db, "b", nil),
		began: func(DBSnapshot) error { return nil }, applied: func(DBCommit) error { return nil }}
}

// follow follows until began or applied returns an error.
func (d *derived) follow(ctx context.Context, opts FollowOptions) error {
	opts.After = d.at
	return d.db.Follow(ctx, &opts, d.begin, d.apply)
}

func (d *derived) begin(s DBSnapshot) error {
	d.begins++
	d.commits = nil
	d.copies = [2]*replica[int]{newReplica(d.a.At(s)), newReplica(d.b.At(s))}
	if err := d.began(s); err != nil {
		return err
	}
	d.at = d.db.Position(s.Epoch())
	return nil
}

func (d *derived) apply(c DBCommit) error {
	d.commits = append(d.commits, c)
	next := [2]*replica[int]{}
	for i, table := range []*Map[int, int]{d.a, d.b} {
		next[i] = &replica[int]{d.copies[i].at, maps.Clone(d.copies[i].have)}
		if changes := table.Changes(c); len(changes) > 0 {
			if err := next[i].apply(c.Epoch, changes, c.Summary); err != nil {
				return err
			}
		}
	}
	if err := d.applied(c); err != nil {
		return err
	}
	d.copies, d.at = next, d.db.Position(c.Epoch)
	return nil
}

// requireInStep requires that the copies equal the tables.
func (d *derived) requireInStep(t *testing.T) {
	t.Helper()
	require.Equal(t, maps.Collect(d.a.All()), d.copies[0].have)
	require.Equal(t, maps.Collect(d.b.All()), d.copies[1].have)
}

// both writes to both tables in one commit.
func (d *derived) both(t testing.TB, key, value int) {
	require.NoError(t, d.db.Update(bg, nil, func(tx DBTx) error {
		d.a.In(tx).Set(key, value)
		d.b.In(tx).Set(-key, value)
		return nil
	}))
}

// nothingLeft requires that nobody watches, and no snapshot is open.
func (d *derived) nothingLeft(t *testing.T) {
	t.Helper()
	h := &dbAt(d.db).shared.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Empty(t, h.listeners)
	require.Zero(t, d.db.Stats().LiveTx)
}

var errEnough = errors.New("enough")

// until has the follower end when it has got to an epoch.
func (d *derived) until(last uint64) {
	d.applied = func(c DBCommit) error {
		if c.Epoch >= last {
			d.applied = func(DBCommit) error { return nil }
			return errEnough
		}
		return nil
	}
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDerived(t, nil)
		d.both(t, 1, 1)
		cause := errors.New("shutdown")
		ctx, cancel := context.WithCancelCause(t.Context())
		d.began = func(DBSnapshot) error { // commits made meanwhile are summed up
			d.both(t, 2, 2)
			d.both(t, 2, 3)
			d.a.Delete(1)
			return nil
		}
		ended := make(chan error, 1)
		go func() { ended <- d.follow(ctx, FollowOptions{}) }()
		var epochs []uint64
		for i := range 100 {
			synctest.Wait()
			d.both(t, 3+i%10, i)
			epochs = append(epochs, d.db.Epoch())
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		d.requireInStep(t)
		cancel(cause)
		err := <-ended
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, cause)
		require.Equal(t, 1, d.begins)
		require.True(t, d.commits[0].Summary)
		var got []uint64
		for _, c := range d.commits[1:] {
			require.False(t, c.Summary)
			got = append(got, c.Epoch)
		}
		require.Equal(t, epochs, got)
		d.nothingLeft(t)
		// With a context that has ended nothing is called.
		require.ErrorIs(t, d.follow(ctx, FollowOptions{}), cause)
		require.Equal(t, 1, d.begins)
	})
}

// A follower that is too slow is made anew, or goes on with a summary where the past is retained.
// Afterwards it is right.
func TestFollowGap(t *testing.T) {
	for _, retain := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			d := newDerived(t, &Options{Retain: retain})
			ctx, cancel := context.WithCancel(t.Context())
			d.applied = func(DBCommit) error {
				time.Sleep(time.Second)
				return nil
			}
			ended := make(chan error, 1)
			go func() { ended <- d.follow(ctx, FollowOptions{Buffer: 10}) }()
			for i := range 300 {
				d.both(t, i%20, i)
				time.Sleep(10 * time.Millisecond)
			}
			time.Sleep(time.Hour / 2)
			synctest.Wait()
			d.requireInStep(t)
			require.Positive(t, d.db.Stats().Gaps)
			if retain > 0 {
				require.Equal(t, 1, d.begins)
				require.True(t, slices.ContainsFunc(d.commits, func(c DBCommit) bool { return c.Summary }))
			} else {
				require.Greater(t, d.begins, 1)
			}
			cancel()
			require.ErrorIs(t, <-ended, context.Canceled)
			d.nothingLeft(t)
		})
	}
}

// The errors of begin and apply are returned as they are; if they do not return the watch and the
// snapshot end all the same.
func TestFollowFails(t *testing.T) {
	d := newDerived(t, nil)
	fail := map[string]func() error{
		"an error": func() error { return errEnough },
		"a panic":  func() error { panic(errEnough) },
		"Goexit":   func() error { runtime.Goexit(); return nil },
	}
	for name, f := range fail {
		for _, inBegin := range []bool{true, false} {
			d.at = Position{}
			d.began = func(DBSnapshot) error {
				d.a.Store(1, 1)
				return nil
			}
			d.applied = func(DBCommit) error { return f() }
			if inBegin {
				d.began = func(DBSnapshot) error { return f() }
			}
			var err error
			returned, panicked := run(func() { err = d.follow(bg, FollowOptions{}) })
			require.Equal(t, name == "an error", returned)
			require.Equal(t, name == "an error", err == errEnough)
			require.Equal(t, name == "a panic", panicked == errEnough)
			d.nothingLeft(t)
		}
	}
}

// A table that is made is followed, and one that is closed is told of; who has got to the closing
// alone, before a summary, has not got further.
func TestFollowTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDerived(t, &Options{Retain: time.Hour})
		c := NewTable[int, int](d.db, "c", nil)
		c.Store(0, 0)
		d.began = func(DBSnapshot) error {
			c.Store(1, 1)
			return nil
		}
		d.applied = func(DBCommit) error { return errEnough }
		require.ErrorIs(t, d.follow(t.Context(), FollowOptions{}), errEnough)
		got := d.at
		d.both(t, 1, 1)
		c.Close()
		d.both(t, 2, 2)
		d.applied = func(c DBCommit) error {
			if c.Closed == "" {
				return errEnough
			}
			require.Equal(t, "c", c.Closed)
			require.Equal(t, got.Epoch, c.Epoch)
			return nil
		}
		require.ErrorIs(t, d.follow(t.Context(), FollowOptions{}), errEnough)
		require.Equal(t, got, d.at)
		require.True(t, d.commits[len(d.commits)-1].Summary)
		require.Equal(t, "c", d.commits[len(d.commits)-2].Closed)
		ctx, cancel := context.WithCancel(t.Context())
		var told []string
		d.applied = func(c DBCommit) error {
			if c.Closed != "" {
				told = append(told, c.Closed)
			}
			if again, ok := Table[string, int](d.db, "c"); ok {
				for _, change := range again.Changes(c) {
					told = append(told, change.Key)
				}
			}
			return nil
		}
		ended := make(chan error, 1)
		go func() { ended <- d.follow(ctx, FollowOptions{}) }()
		time.Sleep(time.Second)
		again := NewTable[string, int](d.db, "c", nil)
		again.Store("x", 1)
		time.Sleep(time.Second)
		synctest.Wait()
		again.Close()
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, []string{"c", "x", "c"}, told)
		require.Equal(t, 1, d.begins)
		d.requireInStep(t)
		d.db.Close() // does not end it
		d.both(t, 3, 3)
		time.Sleep(time.Second)
		synctest.Wait()
		d.requireInStep(t)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}
