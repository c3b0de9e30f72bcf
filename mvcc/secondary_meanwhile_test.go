package mvcc

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A transaction conflicts with a commit that changes the answer that it got from an index, and with
// no other.
func TestIndexConflicts(t *testing.T) {
	for _, c := range []struct {
		name           string
		read           func(x *indexing, tx Tx[int, int])
		conflict, fine func(x *indexing)
	}{
		{"absent", func(x *indexing, tx Tx[int, int]) { collected(x.tags.Get(tx, 2)) },
			func(x *indexing) { x.m.Store(9, 4) }, func(x *indexing) { x.m.Store(9, 2) }},
		{"unique absent", func(x *indexing, tx Tx[int, int]) { collected(x.single.Get(tx, 9)) },
			func(x *indexing) { x.m.Store(8, 9<<3) }, func(x *indexing) { x.m.Store(8, 8<<3) }},
		{"record", func(x *indexing, tx Tx[int, int]) { x.single.First(tx, 1) },
			func(x *indexing) { x.m.Store(1, 1<<3|7) }, func(x *indexing) { x.m.Store(2, 2<<3|7) }},
		{"range", func(x *indexing, tx Tx[int, int]) { collected(x.sizes.Ascend(tx, From(2).UpTo(4))) },
			func(x *indexing) { x.m.Store(9, 4<<3) }, func(x *indexing) { x.m.Store(9, 5<<3) }},
		{"first of a range", func(x *indexing, tx Tx[int, int]) {
			for range x.ranks.Ascend(tx, Range[int]{}) {
				break
			}
		},
			func(x *indexing) { x.m.Store(9, 9<<3) }, func(x *indexing) { x.m.Delete(1) }},
		{"has", func(x *indexing, tx Tx[int, int]) { x.sizes.Has(tx, 2) },
			func(x *indexing) { x.m.Delete(2) }, func(x *indexing) { x.m.Store(2, 2<<3|7) }},
		{"has not", func(x *indexing, tx Tx[int, int]) { x.tags.Has(tx, 2) },
			func(x *indexing) { x.m.Store(3, 3<<3|4) }, func(x *indexing) { x.m.Store(1, 1<<3|3) }},
		{"has, unique", func(x *indexing, tx Tx[int, int]) { x.single.Has(tx, 7) },
			func(x *indexing) { x.m.Store(9, 7<<3) }, func(x *indexing) { x.m.Store(9, 6<<3) }},
		{"count", func(x *indexing, tx Tx[int, int]) { x.sizes.Count(tx, From(2)) },
			func(x *indexing) { x.m.Store(9, 9<<3) }, func(x *indexing) { x.m.Store(3, 3<<3|7) }},
		{"count of one", func(x *indexing, tx Tx[int, int]) { x.tags.Count(tx, From(0).UpTo(0)) },
			func(x *indexing) { x.m.Delete(1) }, func(x *indexing) { x.m.Delete(2) }},
		{"len, unique", func(x *indexing, tx Tx[int, int]) { x.single.Len(tx) },
			func(x *indexing) { x.m.Delete(3) }, func(x *indexing) { x.m.Store(3, 3<<3|1) }},
		{"highest", func(x *indexing, tx Tx[int, int]) { x.sizes.Max(tx) },
			func(x *indexing) { x.m.Store(9, 9<<3) }, func(x *indexing) { x.m.Store(9, 0) }},
		{"keys", func(x *indexing, tx Tx[int, int]) { _ = slices.Collect(x.sizes.Keys(tx, UpTo(3))) },
			func(x *indexing) { x.m.Store(9, 0) }, func(x *indexing) { x.m.Store(9, 4<<3) }},
		{"page", func(x *indexing, tx Tx[int, int]) {
			for range x.sizes.AscendEntries(tx, Range[int]{}, &Entry[int, int]{0, 5}) {
				break
			}
		},
			func(x *indexing) { x.m.Store(9, 0) }, func(x *indexing) { x.m.Store(4, 0) }},
		{"page of a unique index", func(x *indexing, tx Tx[int, int]) {
			for range x.ranks.AscendEntries(tx, Range[int]{}, &Entry[int, int]{2, 5}) {
				break
			}
		},
			func(x *indexing) { x.m.Delete(1) }, func(x *indexing) { x.m.Delete(3) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, conflict := range []bool{true, false} {
				x := newIndexing(t, false)
				x.build(t)
				x.m.Store(1, 1<<3|1)
				x.m.Store(2, 2<<3|2)
				x.m.Store(3, 3<<3)
				tx := x.m.Begin(nil)
				c.read(x, tx)
				tx.Set(100, 0)
				if conflict {
					c.conflict(x)
				} else {
					c.fine(x)
				}
				if err := tx.Commit(); conflict {
					var e *ConflictError
					require.ErrorAs(t, err, &e)
					require.IsType(t, 0, e.Key)
				} else {
					require.NoError(t, err)
				}
				x.check(t, x.m)
			}
		})
	}
}

// A transaction under way when an index was made, or dropped, conflicts once if it has written.
func TestIndexMadeMeanwhile(t *testing.T) {
	x := newIndexing(t, false)
	x.m.Store(1, 1<<3)
	for _, over := range []bool{false, true} {
		begin := func() (Tx[int, int], func() error) {
			if over {
				tx := x.db.Begin(nil)
				return x.m.In(tx), tx.Commit
			}
			tx := x.m.Begin(nil)
			return tx, tx.Commit
		}
		tx, commit := begin()
		tx.Merge(2, func(int, bool) int { return 2 << 3 })
		tx.Get(1)
		blind, commitBlind := begin()
		blind.Set(3, 3<<3)
		blind.Set(4, 4<<3)
		x.build(t)
		require.PanicsWithValue(t, `mvcc: index "tags" was not complete when the snapshot or transaction began`,
			func() { x.tags.First(tx, 1) })
		require.ErrorIs(t, commit(), ErrConflict)
		require.ErrorIs(t, commitBlind(), ErrConflict)
		x.check(t, x.m)

		tx, commit = begin()
		tx.Set(2, 2<<3)
		x.drop()
		require.ErrorIs(t, commit(), ErrConflict)
	}
	// A transaction that writes one key without a read is refused as well, not more.
	for _, merge := range []bool{false, true} {
		tx := x.m.Begin(nil)
		if merge {
			tx.Merge(5, func(int, bool) int { return 1 << 3 })
		} else {
			tx.Set(5, 1<<3) // as record 1 has it
		}
		x.build(t)
		require.ErrorIs(t, tx.Commit(), ErrConflict)
		x.check(t, x.m)
		x.drop()
	}
	runs := 0
	require.NoError(t, x.m.Update(bg, nil, func(tx Tx[int, int]) error {
		runs++
		tx.Get(1)
		if runs < 3 {
			elsewhere(func() { x.m.Store(1, 1<<3|runs) })
		}
		if runs == 2 {
			elsewhere(func() { x.build(t) })
		}
		tx.Set(5, 5<<3)
		x.m.Has(1)
		return nil
	}))
	require.LessOrEqual(t, runs, 4)
	require.False(t, coreOf(x.m).favour.Any())
	x.check(t, x.m)

	x.drop()
	x.build(t)
	x.m.Close()
	require.Empty(t, dbAt(x.db).tables)
	x.m.Store(6, 6<<3)
	x.check(t, x.m)
}
