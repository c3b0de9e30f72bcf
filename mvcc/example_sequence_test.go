package mvcc_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A program that has numbers already begins above them.
func ExampleNewSequence() {
	m := mvcc.New[string, uint64](nil)
	defer m.Close()
	m.LoadOrStore("invoices", 20_000) // the first time
	invoices := mvcc.NewSequence(m, "invoices", 0)
	fmt.Println(invoices.Next())
	// Output: 20001 <nil>
}

// Numbers of several goroutines are different.
func ExampleSequence_Next() {
	m := mvcc.New[string, uint64](nil)
	defer m.Close()
	numbers := mvcc.NewSequence(m, "numbers", 10)
	var sum atomic.Uint64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			n, err := numbers.Next()
			if err != nil {
				fmt.Println(err)
			}
			sum.Add(n)
		})
	}
	wg.Wait()
	fmt.Println(sum.Load()) // 1 + 2 + 3 + 4
	// Output: 10
}

// A process that ends gives back what it has not used.
func ExampleSequence_Release() {
	m := mvcc.New[string, uint64](nil)
	defer m.Close()
	numbers := mvcc.NewSequence(m, "numbers", 10)
	fmt.Println(numbers.Next())
	fmt.Println(m.Load("numbers"))
	fmt.Println(numbers.Release())
	fmt.Println(m.Load("numbers"))
	// Output:
	// 1 <nil>
	// 10 true
	// <nil>
	// 1 true
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
