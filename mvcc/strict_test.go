package mvcc

import (
	"errors"
	"maps"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/seam"
)

var strictly = &Options{Strict: true}

// strictShop returns a strict database with an ordered table, and another one.
func strictShop(t *testing.T) (db *DB, users, orders *Map[int, int]) {
	db = NewDB(strictly)
	t.Cleanup(db.Close)
	users = NewOrderedTable[int, int](db, "users", nil)
	users.Store(1, 10)
	return db, users, NewTable[int, int](db, "orders", nil)
}

// The function of Update runs twice, and counts once: so results that it does not reset show.
func TestStrictRunsTwice(t *testing.T) {
	db, users, orders := strictShop(t)
	index, err := NewIndex(orders, "tags", tagsOf, nil)
	require.NoError(t, err)
	var seen []int
	committed := 0
	add := func(tx Tx[int, int]) error {
		tx.OnCommit(func(uint64) { committed++ })
		old, _ := tx.Get(1)
		tx.Set(1, old+1)
		seen = append(seen, old)
		return nil
	}
	for name, update := range map[string]func(opts *TxOptions) error{
		"table":   func(o *TxOptions) error { return users.Update(bg, o, add) },
		"indexed": func(o *TxOptions) error { return orders.Update(bg, o, add) },
		"DB": func(o *TxOptions) error {
			return db.Update(bg, o, func(tx DBTx) error { return add(users.In(tx)) })
		},
		"UpdateValue": func(o *TxOptions) error {
			_, err := UpdateValue(bg, users, o, func(tx Tx[int, int]) (int, error) { return 1, add(tx) })
			return err
		},
	} {
		seen, committed = nil, 0
		require.NoError(t, update(nil), name)
		require.Len(t, seen, 2, name)
		require.Equal(t, seen[0], seen[1], name)
		require.Equal(t, 1, committed, name)
		seen = nil
		require.NoError(t, update(&TxOptions{MaxAttempts: 1}), name)
		require.Len(t, seen, 1, name)
	}
	requireValue(t, 16)(users.Get(1))
	_, _, ok := index.First(orders, tagsOf(1, 2)[0])
	require.True(t, ok)

	calls, failed := 0, errors.New("failed")
	require.Equal(t, failed, users.Update(bg, nil, func(Tx[int, int]) error { calls++; return failed }))
	require.Equal(t, 1, calls)
	require.ErrorIs(t, users.Update(bg, nil, func(tx Tx[int, int]) error {
		tx.Set(1, 0)
		return tx.Commit()
	}), ErrTxDone)

	for name, run := range map[string]func(){
		"Compute": func() {
			users.Compute(1, func(int, bool) (int, ComputeOp) { calls++; return 3, UpdateOp })
		},
		"DeleteFunc": func() { users.DeleteFunc(func(int, int) bool { calls++; return false }) },
		"Merge":      func() { users.Merge(1, func(int, bool) int { calls++; return 4 }) },
		"Tx.Merge": func() {
			tx := users.Begin(nil)
			tx.Merge(1, func(int, bool) int { calls++; return 5 })
			require.NoError(t, tx.Commit())
		},
	} {
		calls = 0
		run()
		require.Equal(t, 2, calls, name)
	}
}

// A read or write beside the transaction, or a read beside the snapshot, panics; one that is of it
// does not, nor does one of another goroutine.
func TestStrictBeside(t *testing.T) {
	db, users, orders := strictShop(t)
	other := New[int, int](strictly)
	defer other.Close()
	tags, err := NewIndex(users, "tags", tagsOf, nil)
	require.NoError(t, err)
	reads := map[string]func(){
		"Get":      func() { users.Get(1) },
		"Has":      func() { users.Has(1) },
		"All":      func() { _ = maps.Collect(users.All()) },
		"Ascend":   func() { _ = maps.Collect(users.Ascend(Range[int]{})) },
		"Len":      func() { users.Len() },
		"Snapshot": func() { users.Snapshot().Close() },
		"View":     func() { _ = db.View(func(DBSnapshot) error { return nil }) },
		"index":    func() { tags.First(users, 1) },
	}
	writes := map[string]func(){
		"Store":      func() { users.Store(2, 2) },
		"Delete":     func() { users.Delete(2) },
		"Compute":    func() { users.Compute(2, func(int, bool) (int, ComputeOp) { return 0, CancelOp }) },
		"Merge":      func() { users.Merge(2, func(int, bool) int { return 1 }) },
		"Put":        func() { _ = users.Put(2, 1) },
		"Clear":      func() { orders.Clear() },
		"DeleteFunc": func() { users.DeleteFunc(func(int, int) bool { return false }) },
		"Swap":       func() { CompareAndSwap(users, 2, 1, 2) },
		"Remove":     func() { CompareAndDelete(users, 2, 1) },
		"Update":     func() { _ = users.Update(bg, nil, func(Tx[int, int]) error { return nil }) },
		"Begin":      func() { db.Begin(nil).Rollback() },
	}
	inUpdate := func(f func()) {
		for _, opts := range []*TxOptions{nil, {MaxAttempts: 1}} {
			_ = db.Update(bg, opts, func(tx DBTx) error { f(); return nil })
			_ = users.Update(bg, opts, func(tx Tx[int, int]) error { f(); return nil })
		}
	}
	for name, read := range reads {
		inUpdate(func() {
			requirePanicText(t, "mvcc: Strict: the function of an Update reads ", read, name)
			requirePanicText(t, " beside its transaction", read, name)
		})
		require.NoError(t, users.View(func(Snapshot[int, int]) error {
			requirePanicText(t, "mvcc: Strict: the function of a View reads ", read, name)
			return nil
		}))
		require.NoError(t, db.View(func(DBSnapshot) error {
			requirePanicText(t, " beside its snapshot", read, name)
			return nil
		}))
		read()
	}
	for name, write := range writes {
		inUpdate(func() {
			requirePanicText(t, "mvcc: Strict: the function of an Update writes ", write, name)
		})
		require.NoError(t, users.View(func(Snapshot[int, int]) error { write(); return nil }), name)
		write()
	}
	requirePanicText(t, `reads table "users" beside`, func() { inUpdate(func() { users.Get(1) }) })
	requirePanicText(t, "reads the map beside", func() {
		_ = other.Update(bg, nil, func(Tx[int, int]) error { other.Get(1); return nil })
	})

	users.Store(1, 1<<3)
	require.NoError(t, db.Update(bg, nil, func(tx DBTx) error {
		own := users.In(tx)
		own.Get(1)
		own.Set(3, 3)
		own.Merge(4, func(int, bool) int { return 4 })
		_ = maps.Collect(own.Ascend(Range[int]{}))
		tags.First(own, 1)
		other.Store(1, 1)
		var wg sync.WaitGroup
		wg.Go(func() { users.Get(1) })
		wg.Wait()
		tx.OnCommit(func(uint64) { users.Get(1); users.Store(5, 5) })
		return nil
	}))
	require.Empty(t, dbAt(db).shared.strict.within)
	func() {
		defer func() { _ = recover() }()
		inUpdate(func() { panic("oh") })
	}()
	var wg sync.WaitGroup
	wg.Go(func() { inUpdate(runtime.Goexit) })
	wg.Wait()
	users.Get(1)
	require.Empty(t, dbAt(db).shared.strict.within)
}

// Functions that must return the same, and must not use the database, are held to it.
func TestStrictFunctions(t *testing.T) {
	db, users, orders := strictShop(t)
	n := 0
	next := func() int { n++; return n }
	for name, call := range map[string]func(f func() int){
		"a Merge": func(f func() int) { users.Merge(1, func(int, bool) int { return f() }) },
		"a Merge of a transaction": func(f func() int) {
			tx := users.Begin(nil)
			defer tx.Rollback()
			tx.Merge(1, func(int, bool) int { return f() })
			tx.Get(1)
		},
		"index \"x\"": func(f func() int) {
			_, _ = NewIndex(users, "x", func(int, int) []int { return []int{f()} }, nil)
		},
		"compare": func(f func() int) {
			m := NewOrderedTableFunc[int, int](db, "by compare", func(a, b int) int { return f() }, nil)
			defer m.Close()
			m.Store(1, 1)
		},
		"compare of an index": func(f func() int) {
			ix, err := NewOrderedIndexFunc(users, "y", func(a, b int) int {
				return f()
			}, func(int, int) []int { return []int{1, 2} }, nil)
			if err == nil {
				ix.drop()
			}
		},
	} {
		requirePanicText(t, "mvcc: Strict: ", func() { call(next) }, name)
		requirePanicText(t, " uses the database", func() {
			call(func() int { orders.Get(1); return 0 })
		}, name)
		requirePanicText(t, " uses the database", func() {
			call(func() int { orders.Store(1, 1); return 0 })
		}, name)
		tx := db.Begin(nil)
		requirePanicText(t, " uses the database", func() {
			call(func() int { orders.In(tx).Get(1); return 0 })
		}, name)
		tx.Rollback()
	}

	manual := New[int, session](&Options{Strict: true, ManualReclaim: true})
	defer manual.Close()
	manual.Expire(func(int, session) time.Time {
		if manual.Has(7) {
			return time.Time{}
		}
		return time.Time{}
	})
	manual.Store(1, session{})
	requirePanicText(t, "the function of Expire uses the database", func() { _ = manual.Reclaim(bg) })

	watched := New[int, int](strictly)
	defer watched.Close()
	watch := watched.Watch(bg, &WatchOptions[int, int]{Match: func(int) bool { return next()%2 == 0 }})
	watched.Store(1, 1)
	requirePanicText(t, "mvcc: Strict: WatchOptions.Match returns", func() {
		for _, err := range watch {
			require.NoError(t, err)
		}
	})
}

func TestSame(t *testing.T) {
	type node struct {
		name string
		f    func()
		x    float64
		next *node
		all  map[string][]any
	}
	list := func(last float64) *node {
		return &node{"a", func() {}, math.NaN(), &node{name: "b", x: last},
			map[string][]any{"k": {1, "x", nil, [2]bool{true}}}}
	}
	require.True(t, same(list(1), list(1)))
	require.False(t, same(list(1), list(2)))
	loop := func() *node { n := &node{}; n.next = n; return n }
	require.True(t, same(loop(), loop()))
	type within []within // in two ways at each step
	two := func() within { w := make(within, 2); w[0], w[1] = w, w; return w }
	require.True(t, same(two(), two()))
	require.Equal(t, "a mvcc.within", seam.Printed(two()))
	require.Equal(t, "&{a map[b:[1]]}", seam.Printed(&struct {
		a string
		b map[string][]int
	}{"a", map[string][]int{"b": {1}}}))
	for _, other := range []any{nil, 1, int8(1), "a", 2.0, []int{1}, []int{1, 2}, []int{1, 3},
		map[int]int{1: 1}, map[int]int{2: 1}, map[int]int{}, uint(1), true, 1i, struct{ a int }{1},
		(*int)(nil), time.Unix(1, 0), func() {}, (func())(nil)} {
		require.True(t, same(other, other))
		require.False(t, same[any](other, 7), "%v", other)
		require.False(t, same[any](7, other), "%v", other)
	}
	require.False(t, same([]int{1, 2}, []int{1, 3}))
	require.False(t, same(map[int]int{1: 1}, map[int]int{2: 1}))
	require.False(t, same[func()](nil, func() {}))
	require.False(t, same(true, false))
	require.False(t, same(uint8(1), 2))
	require.False(t, same("a", "b"))
	require.False(t, same(new(int), nil))
}
