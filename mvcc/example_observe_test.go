package mvcc_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Which transactions conflict, and over what? Other sinks are a log, a histogram, or a trace.
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

// The function of Around is where a lock, a span of a trace or the labels of a profile go round
// each Update: package profiling has LabelUpdate for these.
func ExampleOptions_around() {
	around := func(ctx context.Context, tx, table string) (context.Context, func()) {
		fmt.Println("begin", tx)
		inside := pprof.WithLabels(ctx, pprof.Labels("mvcc_tx", tx))
		pprof.SetGoroutineLabels(inside)
		return inside, func() {
			pprof.SetGoroutineLabels(ctx)
			fmt.Println("end", tx)
		}
	}
	stock := mvcc.New[string, int](&mvcc.Options{Around: around})
	defer stock.Close()

	opts := &mvcc.TxOptions{Name: "fill up"}
	err := stock.Update(context.Background(), opts, func(tx mvcc.Tx[string, int]) error {
		fmt.Println("set")
		tx.Set("apples", 10)
		return nil
	})
	fmt.Println(err)
	// Output:
	// begin fill up
	// set
	// end fill up
	// <nil>
}

// Stats tells, for one thing, whether somebody has forgotten to close a snapshot.
func ExampleMap_Stats() {
	m := cities()
	defer m.Close()
	s := m.Snapshot()

	fmt.Println(m.Stats().LiveTx)
	s.Close()
	fmt.Println(m.Stats().LiveTx)
	// Output:
	// 1
	// 0
}
