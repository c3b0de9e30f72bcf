package mvcc_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/mvccmap/mvccmap/mvcc"
)

func ExampleDBTx() {
	db, stock, orders := openShop()
	defer db.Close()
	var tx mvcc.DBTx = db.Begin(nil)
	defer tx.Rollback()
	_ = stock.In(tx).Has("apple")
	orders.In(tx).Set(1, "apple")
	stock.Delete("apple") // by somebody else
	var conflict *mvcc.ConflictError
	if errors.As(tx.Commit(), &conflict) {
		fmt.Println(conflict.Table, conflict.Key, conflict.Kind)
	}
	// Output: stock apple read
}

func ExampleDBTx_Commit() {
	db, stock, _ := openShop()
	defer db.Close()
	tx := db.Begin(nil)
	stock.In(tx).Set("pear", 1)
	fmt.Println(tx.Commit(), errors.Is(tx.Commit(), mvcc.ErrTxDone))
	// Output: <nil> true
}

func ExampleDBTx_Rollback() {
	db, stock, _ := openShop()
	defer db.Close()
	tx := db.Begin(nil)
	stock.In(tx).Set("pear", 1)
	tx.Rollback()
	fmt.Println(stock.Has("pear"))
	// Output: false
}

func ExampleDBTx_Epoch() {
	db, stock, _ := openShop()
	defer db.Close()
	tx := db.Begin(nil)
	defer tx.Rollback()
	fmt.Println(tx.Epoch() == db.Epoch(), tx.Epoch() == stock.In(tx).Epoch())
	// Output: true true
}

func ExampleDBTx_Err() {
	db, stock, orders := openShop()
	defer db.Close()
	tx := db.Begin(nil)
	defer tx.Rollback()
	stock.In(tx).Get("apple")
	orders.In(tx).Set(1, "apple")
	stock.Store("apple", 0) // by somebody else
	fmt.Println(errors.Is(tx.Err(), mvcc.ErrConflict))
	// Output: true
}

func ExampleDBTx_OnCommit() {
	db, stock, _ := openShop()
	defer db.Close()
	_ = db.Update(context.Background(), nil, func(tx mvcc.DBTx) error {
		stock.In(tx).Set("pear", 1)
		tx.OnCommit(func(epoch uint64) { fmt.Println("committed:", epoch == db.Epoch()) })
		return nil
	})
	// Output: committed: true
}

func ExampleDBTx_Savepoint() {
	db, stock, orders := openShop()
	defer db.Close()
	_ = db.Update(context.Background(), nil, func(tx mvcc.DBTx) error {
		stock.In(tx).Set("pear", 1)
		err := tx.Savepoint(func() error {
			stock.In(tx).Set("pear", 0)
			orders.In(tx).Set(1, "pear")
			return errors.New("card refused")
		})
		fmt.Println(err)
		return nil
	})
	fmt.Println(stock.Load("pear"))
	fmt.Println(orders.Len())
	// Output:
	// card refused
	// 1 true
	// 0
}

func ExampleDBTx_Try() {
	db, stock, _ := openShop()
	defer db.Close()
	tx := db.Begin(nil)
	tx.Rollback()
	fmt.Println(tx.Try(func() error { stock.In(tx).Get("apple"); return nil }) == mvcc.ErrTxDone)
	// Output: true
}
