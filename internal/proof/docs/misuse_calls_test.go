package docs

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"unsafe"

	"github.com/mvccmap/mvccmap/mvcc"
)

// misusedCalls are programs with forbidden calls, or calls with forbidden arguments.
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
	{"Functions that are no good, or fail", append(misusedFunctions, []misuse{
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
	}...)},
	{"Keys and values", []misuse{
		{"a write with a NaN as the key", panics(func() {
			mvcc.New[any, any](nil).Store(math.NaN(), 1)
		}), ""},
		{"a read or `Delete` with a NaN as the key", panics(func() {
			m := mvcc.New[any, any](nil)
			m.Load(math.NaN())
			m.Delete(math.NaN())
		}), "it is absent"},
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
		{"`m.Store` of a record whose unique index key another one has",
			onShop(func(_ *mvcc.DB, users, _ *table) error {
				_, err := mvcc.NewIndex(users, "by n", valueOf, &mvcc.IndexOptions{Unique: true})
				users.Store("other", 1)
				return err
			}), "`Store` has no error to return, `Put` has"},
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
		{"`mvcc.Table` with other types than the table has", onShop(func(db *mvcc.DB, _, _ *table) error {
			if _, ok := mvcc.Table[int, int](db, "users"); ok {
				return errors.New("it is there")
			}
			return nil
		}), "it returns false"},
		{"`Count` or `Keys` of a range of an index by `NewIndex`", onShop(func(
			_ *mvcc.DB, users, _ *table,
		) error {
			ix, err := mvcc.NewIndex(users, "by n", valueOf, nil)
			ix.Count(users, mvcc.From(1))
			return err
		}), "all index keys, or one, can be counted"},
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
	}},
}
