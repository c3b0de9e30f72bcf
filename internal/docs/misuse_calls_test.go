package docs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/mvccmap/mvccmap/mvcc"
)

// misusedCalls are programs that call what they must not, or with what they must not.
var misusedCalls = []misuses{
	{"The map itself in a transaction", []misuse{
		{"`m.Store`, in `Update`, of a key that the transaction has read",
			onMap(func(m *table) error {
				return m.Update(bg, fewAttempts, func(tx txn) error {
					old, _ := tx.Get("k")
					tx.Set("other", old)
					m.Store("k", old+1)
					return nil
				})
			}), "after all attempts: by default 100, which take some ten seconds; `Options.Strict` says so at once"},
		{"`m.Update` in `m.Update`, of the same key", onMap(func(m *table) error {
			return m.Update(bg, fewAttempts, func(tx txn) error {
				_ = increment(tx)
				return m.Update(bg, nil, increment)
			})
		}), "likewise"},
		{"`users.Set` instead of `users.In(tx).Set`",
			onShop(func(db *mvcc.DB, users, orders *table) error {
				return db.Update(bg, fewAttempts, func(tx mvcc.DBTx) error {
					old, _ := users.In(tx).Get("k")
					users.Set("k", old+1)
					orders.In(tx).Set("order", old)
					return nil
				})
			}), "likewise"},
		{"`m.Store` in the function of `Compute`, of its key", onMap(func(m *table) error {
			m.Compute("k", func(old int, _ bool) (int, mvcc.ComputeOp) {
				m.Store("k", old)
				return old, mvcc.UpdateOp
			})
			return nil
		}), "after some seconds"},
		{"`m.Store` in the function of `tx.Merge`, of its key", onTx(func(m *table, tx txn) error {
			tx.Merge("k", func(old int, _ bool) int { m.Store("k", old); return old })
			return nil
		}), "after some seconds; `Options.Strict` says so at once"},
		{"`tx.Get` in the function of `tx.Merge`", onTx(func(_ *table, tx txn) error {
			tx.Merge("k", func(old int, _ bool) int { tx.Get("other"); return old })
			return nil
		}), ""},
		{"`tx.Get` in the function of `tx.OnCommit`", onTx(func(_ *table, tx txn) error {
			tx.OnCommit(func(uint64) { tx.Get("k") })
			return nil
		}), "the commit stands; the function may use the map"},
		{"`NewIndex` in the function of `Update`", onShop(func(db *mvcc.DB, users, _ *table) error {
			return db.Update(bg, nil, func(mvcc.DBTx) error {
				_, err := mvcc.NewIndex(users, "by n", valueOf, nil)
				return err
			})
		}), ""},
		{"`NewTable` there, of a name that the attempt before has used",
			onShop(func(db *mvcc.DB, users, _ *table) error {
				return db.Update(bg, nil, func(tx mvcc.DBTx) error {
					mvcc.NewTable[int, int](db, "late", nil)
					old, _ := users.In(tx).Get("k")
					users.Set("k", old+1)
					users.In(tx).Set("other", old)
					return nil
				})
			}), ""},
		{"a transaction in two goroutines at once", onMap(func(m *table) error {
			tx := m.Begin(nil)
			within, go_, done := make(chan bool), make(chan bool), make(chan bool)
			tx.Merge("k", func(old int, _ bool) int {
				select {
				case within <- true:
					<-go_
				default:
				}
				return old
			})
			go func() { defer close(done); _ = tx.Commit() }()
			<-within
			defer func() { close(go_); <-done }()
			tx.Set("other", 1)
			return nil
		}), "if they meet within a method"},
	}},
	{"Functions that are no good", misusedFunctions},
	{"Functions that fail", []misuse{
		{"a panic in the function of `Update` or `View`", onTx(func(*table, txn) error {
			panic("oh")
		}), "nothing is written, the snapshot is closed"},
		{"`runtime.Goexit` there, as `t.FailNow` calls it", onTx(func(*table, txn) error {
			runtime.Goexit()
			return nil
		}), "with the same cleanup"},
		{"a panic in the function of `Compute`", onMap(func(m *table) error {
			m.Compute("k", func(int, bool) (int, mvcc.ComputeOp) { panic("oh") })
			return nil
		}), "nothing is written, and no lock is held"},
		{"a panic in the function of `tx.Merge`", onTx(func(_ *table, tx txn) error {
			tx.Merge("k", func(int, bool) int { panic("oh") })
			return nil
		}), "when the transaction commits; nothing of it is left"},
		{"a panic in the function of `tx.OnCommit`", onTx(func(_ *table, tx txn) error {
			tx.OnCommit(func(uint64) { panic("oh") })
			return nil
		}), "the commit stands"},
		{"a panic in the function of an index", onShop(func(_ *mvcc.DB, users, _ *table) error {
			_, err := mvcc.NewIndex(users, "by n", func(string, int) []int { panic("oh") }, nil)
			return err
		}), "there is no index, and the table is as before"},
		{"a panic in `WatchOptions.Match`", onMap(func(m *table) error {
			watch := m.Watch(bg, &mvcc.WatchOptions[string, int]{Match: func(string) bool { panic("oh") }})
			m.Store("k", 2)
			loop(watch)
			return nil
		}), "in the loop"},
		{"`Compute` returns an operation that is none", onMap(func(m *table) error {
			m.Compute("k", func(int, bool) (int, mvcc.ComputeOp) { return 1, 7 })
			return nil
		}), ""},
		{"a context that has ended", onMap(func(m *table) error {
			ctx, cancel := context.WithCancelCause(bg)
			cancel(errors.New("shutdown"))
			return m.Update(ctx, nil, increment)
		}), "with its cause; the function is not called"},
	}},
	{"Keys and values", []misuse{
		{"a write with a NaN as the key", panics(func() {
			mvcc.New[any, any](nil).Store(math.NaN(), 1)
		}), ""},
		{"a read or `Delete` with a NaN as the key", panics(func() {
			m := mvcc.New[any, any](nil)
			m.Load(math.NaN())
			m.Delete(math.NaN())
		}), "it is absent"},
		{"a key of type `any` that holds a slice", panics(func() {
			mvcc.New[any, any](nil).Load([]int{})
		}), ""},
		{"`CompareAndSwap` of values of type `any` that hold slices", panics(func() {
			m := mvcc.New[any, any](nil)
			m.Store(1, []int{})
			mvcc.CompareAndSwap[any, any](m, 1, []int{}, nil)
		}), ""},
		{"a key whose bytes change after the store, as those of a buffer that is used again",
			func(*testing.T) error {
				m := mvcc.New[string, int](&mvcc.Options{ManualReclaim: true})
				buffer := make([]byte, 8)
				for i := range 1000 {
					copy(buffer, fmt.Sprintf("%08d", i))
					m.Store(unsafe.String(&buffer[0], len(buffer)), i)
					m.Store(fmt.Sprint("good", i), i)
				}
				for i := range 1000 {
					if n, ok := m.Load(fmt.Sprint("good", i)); !ok || n != i {
						return fmt.Errorf("good key %d is gone", i)
					}
				}
				return nil
			}, "it is found no more; other keys stay, but those beside it if the order is a function; store " +
				"`strings.Clone` of it"},
		{"two such keys in a transaction, which become one before the commit", func(*testing.T) error {
			m := mvcc.NewOrdered[string, int](&mvcc.Options{ManualReclaim: true})
			buffer := []byte("ab")
			return m.Update(bg, nil, func(tx txn) error {
				tx.Set(unsafe.String(&buffer[0], 1), 1)
				tx.Set(unsafe.String(&buffer[1], 1), 2)
				buffer[0] = 'b'
				return nil
			})
		}, "if they meet in the order, or by their hashes"},
		{"a NaN as an index key", onShop(func(_ *mvcc.DB, users, _ *table) error {
			_, err := mvcc.NewIndex(users, "by n", func(string, int) []float64 {
				return []float64{math.NaN()}
			}, nil)
			return err
		}), ""},
		{"`m.Store` of a record whose unique index key another one has",
			onShop(func(_ *mvcc.DB, users, _ *table) error {
				_, err := mvcc.NewIndex(users, "by n", valueOf, &mvcc.IndexOptions{Unique: true})
				users.Store("other", 1)
				return err
			}), "`Store` has no error to return, `Put` has"},
		{"`m.Put` of such a record", onShop(func(_ *mvcc.DB, users, _ *table) error {
			if _, err := mvcc.NewIndex(users, "by n", valueOf,
				&mvcc.IndexOptions{Unique: true}); err != nil {
				return err
			}
			return users.Put("other", 1)
		}), ""},
		{"the same in `Update`", onShop(func(_ *mvcc.DB, users, _ *table) error {
			if _, err := mvcc.NewIndex(users, "by n", valueOf,
				&mvcc.IndexOptions{Unique: true}); err != nil {
				return err
			}
			return users.Update(bg, nil, func(tx txn) error { tx.Set("other", 1); return nil })
		}), ""},
		{"a unique index of records that are not", onShop(func(_ *mvcc.DB, users, _ *table) error {
			users.Store("other", 1)
			_, err := mvcc.NewIndex(users, "by n", valueOf, &mvcc.IndexOptions{Unique: true})
			return err
		}), ""},
	}},
	{"Of another map, or of another kind", []misuse{
		{"`users.In(tx)`, where `tx` is of another database", func(t *testing.T) error {
			db, _, _ := newShop(t)
			_, users, _ := newShop(t)
			tx := db.Begin(nil)
			defer tx.Rollback()
			users.In(tx)
			return nil
		}, ""},
		{"`m.In(tx)`, where `m` is no table", func(t *testing.T) error {
			db, _, _ := newShop(t)
			tx := db.Begin(nil)
			defer tx.Rollback()
			newMap(t).In(tx)
			return nil
		}, ""},
		{"`NewTable` with a name that a table has", onShop(func(db *mvcc.DB, _, _ *table) error {
			mvcc.NewTable[int, int](db, "users", nil)
			return nil
		}), ""},
		{"`mvcc.Table` with other types than the table has", onShop(func(db *mvcc.DB, _, _ *table) error {
			if _, ok := mvcc.Table[int, int](db, "users"); ok {
				return errors.New("it is there")
			}
			return nil
		}), "it returns false"},
		{"`Ascend`, `Min` and others of a map by `New`", onMap(func(m *table) error {
			loop(m.Ascend(mvcc.From("a")))
			return nil
		}), ""},
		{"a range whose end is below its start", panics(func() {
			m := mvcc.NewOrdered[int, int](nil)
			m.Store(4, 4)
			for key := range m.Ascend(mvcc.From(5).Before(3)) {
				panic(key)
			}
		}), "it is empty"},
		{"`CountRange` of another `Reader`", onMap(func(m *table) error {
			mvcc.CountRange(struct{ *table }{m}, mvcc.From("a"))
			return nil
		}), ""},
		{"`Count` or `Keys` of a range of an index by `NewIndex`", onShop(func(
			_ *mvcc.DB, users, _ *table,
		) error {
			ix, err := mvcc.NewIndex(users, "by n", valueOf, nil)
			ix.Count(users, mvcc.From(1))
			return err
		}), "all index keys, or one, can be counted"},
		{"a page behind an `Entry` that never was", onShop(func(_ *mvcc.DB, users, _ *table) error {
			ix, err := mvcc.NewOrderedIndex(users, "by n", valueOf, nil)
			for e := range ix.AscendEntries(users, mvcc.Range[int]{}, &mvcc.Entry[int, string]{Key: "x"}) {
				if e.Key != "k" {
					panic(e)
				}
			}
			return err
		}), "it has what comes after that"},
		{"reading an index through another table", onShop(func(_ *mvcc.DB, users, orders *table) error {
			ix, err := mvcc.NewIndex(users, "by n", valueOf, nil)
			loop(ix.Get(orders, 1))
			return err
		}), ""},
		{"`NewIndex` of a map that is no table", onMap(func(m *table) error {
			_, err := mvcc.NewIndex(m, "by n", valueOf, nil)
			return err
		}), ""},
		{"`NewIndex` with a name that an index has", onShop(func(_ *mvcc.DB, users, _ *table) error {
			_, _ = mvcc.NewIndex(users, "by n", valueOf, nil)
			_, err := mvcc.NewIndex(users, "by n", valueOf, nil)
			return err
		}), ""},
		{"`s.Diff` of snapshots of two maps", func(t *testing.T) error {
			a, b := newMap(t).Snapshot(), newMap(t).Snapshot()
			defer a.Close()
			defer b.Close()
			a.Diff(b)
			return nil
		}, ""},
		{"`WatchOptions.Since` of another map", func(t *testing.T) error {
			s := newMap(t).Snapshot()
			defer s.Close()
			newMap(t).Watch(bg, &mvcc.WatchOptions[string, int]{Since: s})
			return nil
		}, ""},
		{"`m.OnExpire` a second time", onMap(func(m *table) error {
			m.OnExpire(func(mvcc.DBTx, string, int) error { return nil })
			m.OnExpire(func(mvcc.DBTx, string, int) error { return nil })
			return nil
		}), ""},
		{"`m.Expire` a second time", onMap(func(m *table) error {
			m.Expire(func(string, int) time.Time { return time.Time{} })
			m.Expire(func(string, int) time.Time { return time.Time{} })
			return nil
		}), ""},
	}},
}
