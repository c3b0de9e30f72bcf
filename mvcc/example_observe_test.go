package mvcc_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Which transactions conflict, and over which keys? Other sinks are a log, a histogram, or a trace.
func ExampleAttempt() {
	observe := func(a mvcc.Attempt) {
		var conflict *mvcc.ConflictError
		switch {
		case errors.As(a.Err, &conflict):
			fmt.Println(a.Name, a.Number, conflict.Kind, "conflict over", conflict.Key)
		case a.Err != nil || a.Panicked:
			fmt.Println(a.Name, a.Number, "failed:", a.Err)
		default:
			fmt.Println(a.Name, a.Number, "committed at", a.Epoch)
		}
	}
	stock := mvcc.New[string, int](&mvcc.Options{Observe: observe})
	defer stock.Close()

	sold := false
	opts := &mvcc.TxOptions{Name: "sell"}
	err := stock.Update(context.Background(), opts, func(tx mvcc.Tx[string, int]) error {
		n, _ := tx.Get("apples")
		if !sold { // somebody else is faster, once
			sold = true
			done := make(chan bool)
			go func() { stock.Store("apples", 9); close(done) }()
			<-done
		}
		tx.Set("apples", n-1)
		return nil
	})
	fmt.Println(err)
	// Output:
	// sell 1 read conflict over apples
	// sell 2 committed at 3
	// <nil>
}
