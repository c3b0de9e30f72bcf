package mvcc

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/seam/replicate"
)

// newReplicated returns a database with two tables, of which the second has an index of remainders
// and a unique one.
func newReplicated(t testing.TB, opts *Options) (
	db *DB, r replicate.DB, a, b *Map[string, int], byTen *Index[int, string, int],
) {
	db = NewDB(opts)
	t.Cleanup(db.Close)
	a, b = NewTable[string, int](db, "a", nil), NewOrderedTable[string, int](db, "b", nil)
	byTen, err := NewIndex(b, "by ten", func(_ string, v int) []int { return []int{v % 10} }, nil)
	require.NoError(t, err)
	_, err = NewIndex(b, "unique", func(_ string, v int) []int { return []int{v} },
		&IndexOptions{Unique: true})
	require.NoError(t, err)
	return db, replicate.Of(db), a, b, byTen
}

// apply commits the writes of fn at an epoch.
func apply(t testing.TB, r replicate.DB, at uint64, fn func(tx DBTx)) {
	t.Helper()
	require.NoError(t, r.Apply(at, func(tx DBTx) error {
		fn(tx)
		return nil
	}))
}

// An attempt reports its reads, with the epochs of the versions, and its writes, which nobody sees.
func TestReplicaAttempt(t *testing.T) {
	t.Parallel()
	db, r, a, b, byTen := newReplicated(t, nil)
	apply(t, r, 100, func(tx DBTx) { a.In(tx).Set("x", 1); b.In(tx).Set("y", 12) })
	apply(t, r, 200, func(tx DBTx) { a.In(tx).Set("z", 3); a.In(tx).Delete("x"); a.In(tx).Delete("x") })
	apply(t, r, 300, func(tx DBTx) { a.In(tx).Set("x", 4) })
	y := []Change[string, int]{{Key: "y", New: 12, Has: true}}
	for name, run := range map[string]struct {
		do   func(tx DBTx) error
		want []replicate.Table
		// blind says that it has read nothing.
		blind bool
	}{
		"nothing": {func(DBTx) error { return nil }, nil, true},
		"keys": {func(tx DBTx) error {
			in := a.In(tx)
			in.Get("x")
			in.Has("absent")
			in.Set("z", 9)
			in.Get("z")
			return nil
		}, []replicate.Table{{Name: "a", Reads: []Change[string, int]{{Key: "x", New: 4, Has: true}, {Key: "absent"}},
			Epochs: []uint64{300, 0}, Writes: []Change[string, int]{{Key: "z", New: 9, Has: true}}, Written: 1}}, false},
		"blind": {func(tx DBTx) error {
			a.In(tx).Delete("x")
			a.In(tx).Set("new", 1)
			return nil
		}, []replicate.Table{{Name: "a", Writes: []Change[string, int]{{Key: "x"}, {Key: "new", New: 1, Has: true}},
			Written: 2}}, true},
		"merges": {func(tx DBTx) error {
			for range 2 {
				a.In(tx).Merge("z", func(old int, _ bool) int { return old + 1 })
			}
			a.In(tx).Merge("new", func(old int, ok bool) int {
				require.False(t, ok)
				return 7
			})
			return nil
		}, []replicate.Table{{Name: "a", Written: 2, Merged: []int{0, 1},
			Writes: []Change[string, int]{{Key: "z", New: 5, Has: true}, {Key: "new", New: 7, Has: true}}}}, true},
		"all": {func(tx DBTx) error { return all(a.In(tx).All()) }, []replicate.Table{{Name: "a", All: true}}, false},
		"range": {func(tx DBTx) error { return all(b.In(tx).Ascend(After("q").UpTo("z"))) },
			[]replicate.Table{{Name: "b", Ranges: []replicate.Range{{Low: "q", High: "z", LowExclusive: true, Keys: 1}},
				Reads: y, Epochs: []uint64{100}}}, false},
		"the first": {func(tx DBTx) error {
			b.In(tx).Min()
			return nil
		}, []replicate.Table{{Name: "b", Ranges: []replicate.Range{{High: "y", Keys: 1}}, Reads: y, Epochs: []uint64{100}}}, false},
		"index key": {func(tx DBTx) error { return all(byTen.Get(b.In(tx), 7)) },
			[]replicate.Table{{Name: "b", Indexes: []replicate.Index{{Name: "by ten", Reads: []any{7}}}}}, false},
		"first of an index key": {func(tx DBTx) error {
			byTen.First(b.In(tx), 7)
			return nil
		}, []replicate.Table{{Name: "b", Indexes: []replicate.Index{{Name: "by ten", Reads: []any{7}}}}}, false},
		"all of an index": {func(tx DBTx) error {
			for range byTen.Keys(b.In(tx), Range[int]{}) {
			}
			return nil
		}, []replicate.Table{{Name: "b", All: true}}, false},
		"enters and leaves": {func(tx DBTx) error {
			b.In(tx).Set("y", 31)
			return nil
		}, []replicate.Table{{Name: "b", Reads: []Change[string, int]{{Key: "y", New: 12, Has: true}}, Epochs: []uint64{100},
			Writes: []Change[string, int]{{Key: "y", New: 31, Has: true}}, Written: 1, Indexes: []replicate.Index{
				{Name: "unique", Reads: []any{12, 31}, Writes: []any{12, 31}}, {Name: "by ten", Writes: []any{2, 1}}}}}, false},
		"indexed": {func(tx DBTx) error {
			b.In(tx).Set("y", 12) // its index keys stay
			return nil
		}, []replicate.Table{{Name: "b", Reads: []Change[string, int]{{Key: "y", New: 12, Has: true}}, Epochs: []uint64{100},
			Writes: []Change[string, int]{{Key: "y", New: 12, Has: true}}, Written: 1}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := r.Attempt(run.do)
			require.NoError(t, err)
			require.Equal(t, run.want, w.Tables)
			require.Equal(t, run.blind, w.Blind)
			require.EqualValues(t, 300, w.Epoch)
		})
	}
	require.EqualValues(t, 300, db.Epoch())
	requireValue(t, 3)(a.Load("z"))
}

func all[K, V any](seq func(func(K, V) bool)) error {
	seq(func(K, V) bool { return true })
	return nil
}

// The writes of works are renewed together, as if one came after the other; their reads are not.
func TestReplicaRenew(t *testing.T) {
	t.Parallel()
	_, r, a, b, _ := newReplicated(t, nil)
	add := func(n int) func(tx DBTx) error {
		return func(tx DBTx) error {
			a.In(tx).Merge("k", func(old int, _ bool) int { return old*2 + n })
			return nil
		}
	}
	set := func(tx DBTx) error {
		a.In(tx).Set("other", 5)
		a.In(tx).Delete("gone")
		return nil
	}
	var works []*replicate.Work
	for _, do := range []func(DBTx) error{add(1), set, add(2)} {
		w, err := r.Attempt(do)
		require.NoError(t, err)
		works = append(works, w)
	}
	apply(t, r, 100, func(tx DBTx) { a.In(tx).Set("k", 10) })
	w, err := r.Renew(works)
	require.NoError(t, err)
	require.EqualValues(t, 100, w.Epoch)
	require.Equal(t, []replicate.Table{{Name: "a", Reads: []Change[string, int]{{Key: "k", New: 10, Has: true}},
		Epochs: []uint64{100}, Written: 3, Writes: []Change[string, int]{{Key: "k", New: 44, Has: true},
			{Key: "other", New: 5, Has: true}, {Key: "gone"}}}}, w.Tables)
	again, err := r.Renew([]*replicate.Work{w})
	require.NoError(t, err)
	require.Equal(t, w.Tables, again.Tables)
	read, err := r.Attempt(func(tx DBTx) error {
		b.In(tx).Set("y", 7)
		return add(3)(tx)
	})
	require.NoError(t, err)
	require.True(t, read.Merges() && !read.Blind)
	w, err = r.Renew([]*replicate.Work{works[0], read})
	require.NoError(t, err)
	require.Equal(t, []replicate.Table{{Name: "a", Reads: []Change[string, int]{{Key: "k", New: 10, Has: true}},
		Epochs: []uint64{100}, Written: 1, Writes: []Change[string, int]{{Key: "k", New: 45, Has: true}}},
		{Name: "b", Written: 1, Writes: []Change[string, int]{{Key: "y", New: 7, Has: true}}}}, w.Tables)
}

// A replica commits at the epochs that it is given, for readers, versions, watches and the past;
// and at none that is not above the clock.
func TestReplicaApply(t *testing.T) {
	t.Parallel()
	db, r, a, b, byTen := newReplicated(t, &Options{Retain: 1 << 40})
	var told []uint64
	watch := db.Watch(t.Context(), nil)
	apply(t, r, 100, func(tx DBTx) { a.In(tx).Set("x", 1) })
	apply(t, r, 101, func(tx DBTx) { a.In(tx).Set("x", 2); b.In(tx).Set("y", 31) })
	apply(t, r, 500, func(tx DBTx) { a.In(tx).Delete("x") })
	require.EqualValues(t, 500, db.Epoch())
	require.NoError(t, r.Apply(600, func(DBTx) error { return nil }))
	require.EqualValues(t, 600, db.Epoch())
	require.EqualValues(t, 3, db.Stats().Commits)
	for at, want := range map[uint64]int{100: 1, 101: 2, 400: 2} {
		s, err := db.SnapshotAt(at)
		require.NoError(t, err)
		requireValue(t, want)(a.At(s).Get("x"))
		s.Close()
	}
	n := 0
	for range byTen.Get(b, 1) {
		n++
	}
	require.Equal(t, 1, n)
	for c, err := range watch {
		require.NoError(t, err)
		if told = append(told, c.Epoch); len(told) == 3 {
			break
		}
	}
	require.Equal(t, []uint64{100, 101, 500}, told)
	require.ErrorContains(t, r.Apply(600, func(DBTx) error { return nil }), "its clock stands at 600")
	mine := errors.New("mine")
	require.ErrorIs(t, r.Apply(601, func(tx DBTx) error {
		a.In(tx).Set("x", 3)
		return mine
	}), mine)
	requireAbsent[int](t)(a.Load("x"))
	require.EqualValues(t, 600, db.Epoch())
	a.Store("x", 1) // by somebody else: it is noticed
	require.ErrorContains(t, r.Apply(601, func(DBTx) error { return nil }), "somebody else has committed")
}
