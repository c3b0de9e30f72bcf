package mvcc_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A shop with two tables, as the examples below use it.
func openShop() (db *mvcc.DB, stock *mvcc.Map[string, int], orders *mvcc.Map[int, string]) {
	db = mvcc.NewDB(nil)
	stock = mvcc.NewTable[string, int](db, "stock", nil)
	orders = mvcc.NewTable[int, string](db, "orders", nil)
	stock.Store("apple", 3)
	return db, stock, orders
}

func ExampleDB() {
	db, stock, orders := openShop()
	defer db.Close()

	buy := func(id int, what string) error {
		return db.Update(context.Background(), nil, func(tx mvcc.DBTx) error {
			stock, orders := stock.In(tx), orders.In(tx)
			left, _ := stock.Get(what)
			if left == 0 {
				return errors.New("sold out")
			}
			stock.Set(what, left-1)
			orders.Set(id, what)
			return nil // both, or neither
		})
	}
	fmt.Println(buy(1, "apple"), buy(2, "pear"))
	_ = db.View(func(s mvcc.DBSnapshot) error { // one moment of both
		left, _ := stock.At(s).Get("apple")
		fmt.Println(left, "left,", orders.At(s).Len(), "sold")
		return nil
	})
	// Output:
	// <nil> sold out
	// 2 left, 1 sold
}

func ExampleNewDB() {
	db := mvcc.NewDB(&mvcc.Options{Isolation: mvcc.LevelSnapshot})
	defer db.Close()
	fmt.Println(db)
	// Output: mvcc.DB: epoch 1, tables: []
}

func ExampleNewTable() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	users := mvcc.NewTable[int, string](db, "users", nil)
	users.Store(1, "Ada") // a table does all that a map does
	fmt.Println(users.Load(1))
	// Output: Ada true
}

func ExampleTableOptions() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	users := mvcc.NewTable[int, string](db, "users", &mvcc.TableOptions{Capacity: 1000})
	fmt.Println(users.Len())
	// Output: 0
}

func ExampleTable() {
	db, stock, _ := openShop()
	defer db.Close()
	m, ok := mvcc.Table[string, int](db, "stock")
	fmt.Println(m == stock, ok)
	_, ok = mvcc.Table[string, string](db, "stock") // of other types
	fmt.Println(ok)
	// Output:
	// true true
	// false
}

func ExampleMap_Name() {
	db, stock, _ := openShop()
	defer db.Close()
	fmt.Println(stock.Name())
	stock.Close() // the name is free, and stock is no table any more
	fmt.Println(db.Tables())
	// Output:
	// stock
	// [orders]
}

func ExampleMap_In() {
	db, stock, orders := openShop()
	defer db.Close()
	tx := db.Begin(nil)
	defer tx.Rollback()
	stock.In(tx).Set("pear", 7)
	orders.In(tx).Set(1, "pear")
	fmt.Println(stock.In(tx).Get("pear")) // its own write
	fmt.Println(stock.Has("pear"))        // which nobody else sees
	// Output:
	// 7 true
	// false
}

func ExampleMap_At() {
	db, stock, orders := openShop()
	defer db.Close()
	s := db.Snapshot()
	defer s.Close()
	stock.Store("pear", 7)
	orders.Store(1, "pear")
	fmt.Println(stock.At(s).Len(), orders.At(s).Len())
	// Output: 1 0
}

func ExampleDB_Update() {
	db, stock, orders := openShop()
	defer db.Close()
	err := db.Update(context.Background(), nil, func(tx mvcc.DBTx) error {
		stock.In(tx).Merge("apple", func(old int, ok bool) int { return old - 1 })
		orders.In(tx).Set(1, "apple")
		return nil
	})
	fmt.Println(err, stock, orders)
	// Output: <nil> *mvcc.Map[string,int]: epoch 3, keys: 1 *mvcc.Map[int,string]: epoch 3, keys: 1
}

func ExampleDB_View() {
	db, stock, orders := openShop()
	defer db.Close()
	err := db.View(func(s mvcc.DBSnapshot) error {
		fmt.Println(stock.At(s).Len(), orders.At(s).Len())
		return nil
	})
	fmt.Println(err)
	// Output:
	// 1 0
	// <nil>
}

func ExampleDB_Begin() {
	db, stock, orders := openShop()
	defer db.Close()
	tx := db.Begin(nil)
	defer tx.Rollback() // nothing, after Commit
	stock.In(tx).Delete("apple")
	orders.In(tx).Set(1, "all the apples")
	fmt.Println(tx.Commit())
	// Output: <nil>
}

func ExampleDB_Snapshot() {
	db, stock, _ := openShop()
	defer db.Close()
	s := db.Snapshot()
	defer s.Close()
	stock.Delete("apple")
	fmt.Println(stock.At(s).Get("apple"))
	// Output: 3 true
}

func ExampleDB_SnapshotAt() {
	db, stock, _ := openShop()
	defer db.Close()
	at := db.Epoch()
	_, err := db.SnapshotAt(at + 1)
	fmt.Println(errors.Is(err, mvcc.ErrEpochGone)) // it has not come yet
	if s, err := db.SnapshotAt(at); err == nil {
		defer s.Close()
		fmt.Println(stock.At(s).Get("apple"))
	}
	// Output:
	// true
	// 3 true
}

func ExampleDB_Tables() {
	db, _, _ := openShop()
	defer db.Close()
	fmt.Println(db.Tables())
	// Output: [orders stock]
}

func ExampleDB_Stats() {
	db, stock, _ := openShop()
	defer db.Close()
	stock.Store("pear", 1)
	fmt.Println(db.Stats().Commits, db.Stats().Keys, stock.Stats().Keys)
	// Output: 2 2 2
}

func ExampleDB_Sources() {
	db, _, _ := openShop()
	defer db.Close()
	sources := db.Sources("shop") // for profiling.Config.Maps, and prom.Handler
	fmt.Println(slices.Sorted(maps.Keys(sources)))
	fmt.Println(sources["shop/stock"]().Keys)
	// Output:
	// [shop shop/orders shop/stock]
	// 1
}

// A table has few figures of its own; the database has all.
func ExampleStats_OfTable() {
	db, stock, _ := openShop()
	defer db.Close()
	fmt.Println(stock.Stats().OfTable(), db.Stats().OfTable())
	for _, f := range mvcc.Figures() {
		if f.Table && f.Unit == "" && !f.Counter {
			fmt.Println(f.Name)
		}
	}
	// Output:
	// true false
	// epoch
	// keys
	// entries
}

func ExampleDB_SetJournal() {
	db, stock, _ := openShop()
	defer db.Close()
	stock.Store("pear", 1)
	kept := db.Epoch() // by whoever follows DB.Watch
	db.SetJournal(func() mvcc.JournalState { return mvcc.JournalState{Epoch: kept} })
	stock.Store("plum", 2)
	fmt.Println(db.Stats().JournalLag)
	// Output: 1
}

func ExampleDB_Reclaim() {
	db := mvcc.NewDB(&mvcc.Options{ManualReclaim: true})
	stock := mvcc.NewTable[string, int](db, "stock", nil)
	for n := range 5 {
		stock.Store("apple", n)
	}
	fmt.Println(db.Reclaim(context.Background()), db.Stats().Versions)
	// Output: <nil> 1
}

func ExampleDB_Close() {
	db, stock, _ := openShop()
	db.Close() // ends the background work
	fmt.Println(stock.Load("apple"))
	// Output: 3 true
}

func ExampleDB_Epoch() {
	db, stock, _ := openShop()
	defer db.Close()
	before := db.Epoch()
	stock.Store("pear", 1)
	fmt.Println(db.Epoch() - before)
	// Output: 1
}

func ExampleDB_String() {
	db, _, _ := openShop()
	defer db.Close()
	fmt.Printf("%v\n", db)
	// Output: mvcc.DB: epoch 2, tables: ["orders" "stock"]
}

func ExampleDBSnapshot() {
	db, stock, orders := openShop()
	defer db.Close()
	var s mvcc.DBSnapshot = db.Snapshot()
	defer s.Close()
	orders.Store(1, "apple")
	fmt.Println(stock.At(s).Len(), orders.At(s).Len())
	// Output: 1 0
}

func ExampleDBSnapshot_Close() {
	db, _, _ := openShop()
	defer db.Close()
	s := db.Snapshot()
	s.Close()
	s.Close()
	fmt.Println(db.Stats().LiveTx)
	// Output: 0
}

func ExampleDBSnapshot_Epoch() {
	db, stock, _ := openShop()
	defer db.Close()
	s := db.Snapshot()
	defer s.Close()
	stock.Store("pear", 1)
	fmt.Println(db.Epoch() - s.Epoch())
	// Output: 1
}

func ExampleDBSnapshot_Try() {
	db, stock, _ := openShop()
	defer db.Close()
	s := db.Snapshot()
	defer s.Close()
	err := s.Try(func() error { // ErrTxTooOld if it is evicted meanwhile
		fmt.Println(stock.At(s).Len())
		return nil
	})
	fmt.Println(err)
	// Output:
	// 1
	// <nil>
}
