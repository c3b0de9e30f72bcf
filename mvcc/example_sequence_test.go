package mvcc_test

import (
	"context"
	"fmt"

	"github.com/mvccmap/mvccmap/mvcc"
)

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
