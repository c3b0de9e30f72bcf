package mvcctest

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A function that returns something else each time fails the test, which goes on, once.
func TestImpure(t *testing.T) {
	n := 0
	next := func() int { n++; return n }
	for _, c := range []struct {
		text string
		do   func(db *mvcc.DB, users *table)
	}{
		{"the function of a Merge returns ", func(_ *mvcc.DB, users *table) {
			for range 3 {
				users.Merge(1, func(int, bool) int { return next() })
			}
		}},
		{"the function of a Merge returns ", func(_ *mvcc.DB, users *table) {
			require.NoError(t, users.Update(bg, nil, func(tx txn) error {
				tx.Merge(1, func(int, bool) int { return next() })
				return nil
			}))
		}},
		{`the function of index "by n" returns `, func(_ *mvcc.DB, users *table) {
			_, err := mvcc.NewIndex(users, "by n", func(int, int) []int { return []int{next()} }, nil)
			require.NoError(t, err)
		}},
		{"compare returns ", func(db *mvcc.DB, _ *table) {
			m := mvcc.NewOrderedTableFunc[int, int](db, "by compare", func(a, b int) int {
				return a - b + next()%2
			}, nil)
			m.Store(1, 1)
		}},
		{"compare is no order: it returns -1 for ",
			func(db *mvcc.DB, _ *table) {
				m := mvcc.NewOrderedTableFunc[int, int](db, "by compare", func(a, b int) int {
					return min(a-b, -(a - b)) // below 0 unless they are equal
				}, nil)
				for k := range 3 {
					m.Store(k, 1)
				}
			}},
		{"until returned two times for one record", func(_ *mvcc.DB, users *table) {
			users.Expire(func(int, int) time.Time { return time.Unix(int64(next()), 0) })
		}},
		{"the function of Expire returns 1970-01-01 ", func(_ *mvcc.DB, users *table) {
			users.Expire(func(int, int) time.Time { return time.Unix(0, 0).UTC() })
		}},
		{"the function of Expire returns 0001-01-01 01:", func(_ *mvcc.DB, users *table) {
			users.Expire(func(int, int) time.Time { return time.Time{}.Add(time.Hour) })
		}},
		{"WatchOptions.Match returns ", func(_ *mvcc.DB, users *table) {
			watch := users.Watch(bg, &mvcc.WatchOptions[int, int]{Match: func(int) bool {
				return next()%2 == 0
			}})
			for k := range 3 {
				users.Store(k, 1)
			}
			for c, err := range watch {
				require.NoError(t, err)
				if c.Changes[0].Key == 2 {
					break
				}
			}
		}},
		{"a loop over a Watch goes on after the error", func(_ *mvcc.DB, users *table) {
			ctx, cancel := context.WithCancel(bg)
			watch := users.Watch(ctx, nil)
			cancel()
			for _, err := range watch {
				require.ErrorIs(t, err, context.Canceled)
			}
		}},
		{"the function of a Merge uses the database", func(_ *mvcc.DB, users *table) {
			users.Merge(1, func(int, bool) int { n, _ := users.Get(2); return n })
		}},
		{`the function of an Update reads table "users" beside its transaction`,
			func(_ *mvcc.DB, users *table) {
				require.NoError(t, users.Update(bg, nil, func(txn) error { users.Get(1); return nil }))
			}},
		{`the function of a View reads table "users" beside its snapshot`,
			func(db *mvcc.DB, users *table) {
				require.NoError(t, db.View(func(mvcc.DBSnapshot) error { users.Get(1); return nil }))
			}},
	} {
		f := &fake{}
		o := Options(f, nil)
		o.ManualReclaim = true
		db, users, _ := shop(o)
		c.do(db, users)
		db.Close()
		requireFailure(t, f.end(), c.text)
	}
}

// A value that was changed after it was stored fails the test: once for each place, and for
// those that the end of the test finds.
func TestChangedValue(t *testing.T) {
	f := &fake{}
	r := New(f, nil)
	lists, files := mvcc.New[int, []int](r.Options()), mvcc.New[int, []int](r.Options())
	for range 10 {
		lists.Merge(1, func(old []int, _ bool) []int { return append(old, 1) })
	}
	requireFailure(t, f.failures, "key 1 was changed after it was stored: value[3] beyond len, where append "+
		"writes (append to slices.Clip of it); it was stored by "+
		"github.com/mvccmap/mvccmap/mvcctest.TestChangedValue ")
	lists.Close()
	f.failures = nil

	for k := range 3 {
		list := []int{k}
		files.Store(k, list)
		list[0]++
	}
	f.Cleanup(files.Close)
	requireFailure(t, f.end(), " was changed after it was stored: value[0]; it was stored by ")
	require.Contains(t, f.failures[0], " (and so were 2 more)")
}

// A pure function, and one that uses the database where it may, is no failure.
func TestPure(t *testing.T) {
	f := &fake{}
	r := New(f, nil)
	db, users, orders := shop(r.Options())
	m := mvcc.New[int, int](r.Options())
	ix, err := mvcc.NewOrderedIndexFunc(users, "by n", func(a, b int) int { return b - a },
		func(_, n int) []int { return []int{n} }, nil)
	require.NoError(t, err)
	sets := map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true}
	_, err = mvcc.NewIndex(users, "from a map", func(int, int) []int {
		return slices.Collect(maps.Keys(sets)) // in another order each time
	}, nil)
	require.NoError(t, err)
	users.Expire(func(_, n int) time.Time {
		if n == 2 {
			return time.Time{} // never
		}
		return time.Unix(1<<40+int64(n), 0)
	})
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	watch := users.Watch(ctx, &mvcc.WatchOptions[int, int]{Match: func(k int) bool { return k > 0 }})
	require.NoError(t, db.Update(bg, nil, func(tx mvcc.DBTx) error {
		users.In(tx).Merge(1, func(n int, _ bool) int { return n + 1 })
		orders.In(tx).Set(1, 1)
		m.Store(1, 1)
		tx.OnCommit(func(uint64) { users.Store(2, 2) })
		return nil
	}))
	seen := 0
	for c, err := range watch {
		if err != nil {
			break
		}
		if seen += len(c.Changes); seen == 2 {
			cancel()
		}
	}
	require.NoError(t, users.View(func(s mvcc.Snapshot[int, int]) error {
		k, n, ok := ix.First(s, 11)
		require.True(t, ok)
		require.Equal(t, [2]int{1, 11}, [2]int{k, n})
		_ = s.Changed(bg, 1) // may be dropped
		return nil
	}))
	m.Close()
	db.Close()
	require.Empty(t, f.end())
}
