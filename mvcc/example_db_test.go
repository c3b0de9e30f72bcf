package mvcc_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/mvccmap/mvccmap/mvcc"
)

func ExampleDB() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	stock := mvcc.NewTable[string, int](db, "stock", nil)
	orders := mvcc.NewTable[int, string](db, "orders", nil)
	stock.Store("apple", 3)

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

// Orders are numbered. Transactions that make some do not conflict over the next number, which they
// would if each read and wrote it.
func ExampleSequence() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	sequences := mvcc.NewTable[string, uint64](db, "sequences", nil)
	orders := mvcc.NewOrderedTable[uint64, string](db, "orders", nil)
	numbers := mvcc.NewSequence(sequences, "orders", 100)

	for _, what := range []string{"apples", "pears"} {
		err := db.Update(context.Background(), nil, func(tx mvcc.DBTx) error {
			number, err := numbers.Next()
			orders.In(tx).Set(number, what)
			return err
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	for number, what := range orders.All() {
		fmt.Println(number, what)
	}
	fmt.Println(sequences.Load("orders"))
	fmt.Println(numbers.Release()) // before the end, so that the next process has no gap
	fmt.Println(sequences.Load("orders"))
	// Output:
	// 1 apples
	// 2 pears
	// 100 true
	// <nil>
	// 2 true
}
