package docs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// misusedStrictly are programs whose mistakes show with Options.Strict only.
var misusedStrictly = []misuses{
	{"With `Options.Strict`, for tests", []misuse{
		{"`users.Get` instead of `users.In(tx).Get`",
			onStrict(func(db *mvcc.DB, users *table) error {
				return db.Update(bg, nil, func(mvcc.DBTx) error { users.Get("k"); return nil })
			}), "without it the commit does not know of the read"},
		{"`users.Set` instead of `users.In(tx).Set`",
			onStrict(func(db *mvcc.DB, users *table) error {
				return db.Update(bg, nil, func(mvcc.DBTx) error { users.Set("k", 2); return nil })
			}), "without it what is written is not part of the transaction"},
		{"`users.Get` instead of `users.At(s).Get`",
			onStrict(func(db *mvcc.DB, users *table) error {
				return db.View(func(mvcc.DBSnapshot) error { users.Get("k"); return nil })
			}), "without it two moments are read"},
		{"a function of `Update` that appends to a result, and does not reset it",
			onStrict(func(_ *mvcc.DB, users *table) error {
				var found []int
				err := users.Update(bg, nil, func(tx txn) error {
					n, _ := tx.Get("k")
					found = append(found, n)
					return nil
				})
				if err == nil && len(found) != 1 {
					err = fmt.Errorf("%d results, want 1", len(found))
				}
				return err
			}), "the function runs twice: so the program's own test fails"},
		{"a function of `Merge` that returns something else each time",
			onStrict(func(_ *mvcc.DB, users *table) error {
				n := 0
				users.Merge("k", func(int, bool) int { n++; return n })
				return nil
			}), ""},
		{"`append(old, x)` in the function of `Merge`", changing(func(lists *mvcc.Map[string, []int]) {
			lists.Merge("k", func(old []int, _ bool) []int { return append(old, 1) })
		}), "without it an element is lost that another attempt appends: `append(slices.Clip(old), x)`"},
		{"a value is changed after it was stored", changing(func(lists *mvcc.Map[string, []int]) {
			list, _ := lists.Get("k")
			slices.Reverse(list)
		}), "when it is written over, or in `Close`"},
		{"a function of an index that uses the database",
			onStrict(func(_ *mvcc.DB, users *table) error {
				_, err := mvcc.NewIndex(users, "by n", func(string, int) []int {
					users.Get("k")
					return nil
				}, nil)
				return err
			}), ""},
		{"`Expire` with a function that returns `time.Unix(0, 0)`, for never", panics(func() {
			m := mvcc.New[string, int](&mvcc.Options{ManualReclaim: true, Strict: true})
			m.Store("k", 1)
			m.Expire(func(string, int) time.Time { return time.Unix(0, 0).UTC() })
			_ = m.Reclaim(bg)
		}), "in the background work, or in `Reclaim`; without `Strict` it deletes the record"},
		{"a loop over `Watch` that does not look at the error",
			onStrict(func(_ *mvcc.DB, users *table) error {
				ctx, cancel := context.WithCancel(bg)
				watch := users.Watch(ctx, nil)
				cancel()
				loop(watch)
				return nil
			}), "the end of a watch, or a gap, looks like a commit without changes"},
		{"`tx.Commit`, by hand, without a second attempt",
			onStrict(func(_ *mvcc.DB, users *table) (err error) {
				for range 8 {
					tx := users.Begin(nil)
					old, _ := tx.Get("k")
					tx.Set("k", old+1)
					if err = tx.Commit(); err != nil {
						return err
					}
				}
				return nil
			}), "every eighth that could conflict does"},
	}},
}

// misusedFunctions are functions that are no good, as far as that is known.
var misusedFunctions = []misuse{
	{"a `compare` that returns 0 for keys that are not equal", panics(func() {
		m := mvcc.NewOrderedFunc[string, int](func(a, b string) int {
			return cmp.Compare(strings.ToLower(a), strings.ToLower(b))
		}, nil)
		m.Store("a", 1)
		m.Store("A", 2)
	}), "when the second one is inserted"},
	{"`Prefix` in an order that is not that of Go's operators", panics(func() {
		m := mvcc.NewOrderedFunc[string, int](func(a, b string) int { return cmp.Compare(b, a) }, nil)
		loop(m.Ascend(mvcc.Prefix("a")))
	}), ""},
	{"`Expire` with a function that returns `time.Now().Add(d)`", panics(func() {
		m := mvcc.New[string, int](&mvcc.Options{ManualReclaim: true})
		m.Expire(func(string, int) time.Time { return time.Now().Add(time.Hour) })
		m.Store("k", 1)
		_ = m.Reclaim(bg)
	}), "in the background work, which ends the program, or in `Reclaim`"},
	{"`m.Reclaim` or `m.Close` in the function of `Expire`", panics(func() {
		m := mvcc.New[string, int](&mvcc.Options{ManualReclaim: true})
		m.Store("k", 1)
		m.Expire(func(string, int) time.Time {
			_ = m.Reclaim(bg)
			return time.Unix(1, 0)
		})
		_ = m.Reclaim(bg)
	}), "likewise; [this table](guarantees.md#functions-of-the-user) has more such calls"},
}

var strictly = &mvcc.Options{Strict: true}

// changing makes the program of a row that changes a value of a strict table. Its record k is a list
// with room behind it.
func changing(do func(lists *mvcc.Map[string, []int])) func(*testing.T) error {
	return func(*testing.T) error {
		db := mvcc.NewDB(strictly)
		lists := mvcc.NewTable[string, []int](db, "lists", nil)
		lists.Store("k", append(make([]int, 0, 8), 1, 2))
		do(lists)
		db.Close()
		return nil
	}
}

// onStrict makes the program of a row that uses a strict database. Its table users has a key k,
// whose value is 1.
func onStrict(do func(db *mvcc.DB, users *table) error) func(*testing.T) error {
	return func(t *testing.T) error {
		db := mvcc.NewDB(strictly)
		t.Cleanup(db.Close)
		users := mvcc.NewTable[string, int](db, "users", nil)
		users.Store("k", 1)
		return do(db, users)
	}
}
