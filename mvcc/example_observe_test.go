package mvcc_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/pprof"
	"slices"
	"strings"

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

// A tool shows what there is in a database of which it knows nothing.
func ExampleDB_Describe() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	books := mvcc.NewOrderedTable[string, string](db, "books", nil)
	mvcc.NewTable[int, []string](db, "loans", nil)
	author := func(_, author string) []string { return []string{author} }
	_, _ = mvcc.NewIndex(books, "author", author, nil)
	books.Store("Emma", "Austen")
	s := books.Snapshot() // keeps old versions
	defer s.Close()

	d := db.Describe()
	for _, t := range d.Tables {
		fmt.Println(t.Name, t.Key, t.Value, t.Ordered, t.Stats.Keys)
		for _, ix := range t.Indexes {
			fmt.Println("index", ix.Name, ix.Key, ix.Unique, ix.Entries)
		}
	}
	for _, r := range d.Readers {
		fmt.Println("a reader", r.Epoch == s.Epoch())
	}
	// Output:
	// books string string true 1
	// index author string false 1
	// loans int []string false 0
	// a reader true
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

// Sub tells what has happened in a while.
func ExampleStats_Sub() {
	m := cities()
	defer m.Close()

	before := m.Stats()
	err := m.Update(context.Background(), nil, func(tx mvcc.Tx[string, string]) error {
		tx.Set("Quito", "Ecuador")
		tx.Set("Cusco", "Peru")
		return nil
	})
	fmt.Println(err, m.Stats().Sub(before).Commits)
	// Output: <nil> 1
}

// In a log there is what is not zero.
func ExampleStats_LogValue() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	stats := mvcc.Stats{Keys: 3, Commits: 5, Conflicts: 1} // or those of a map
	log.Info("cities", "map", stats)
	// Output: level=INFO msg=cities map.keys=3 map.commits=5 map.conflicts=1
}

// In a test a strict map shows that the function of Update may run again, and that others read the
// old value which that of Merge is given.
func ExampleOptions_strict() {
	m := mvcc.New[string, int](&mvcc.Options{Strict: true})
	defer m.Close()
	m.Store("a", 1)

	var found []int // should be set anew in the function
	_ = m.Update(context.Background(), nil, func(tx mvcc.Tx[string, int]) error {
		a, _ := tx.Get("a")
		found = append(found, a)
		return nil
	})
	fmt.Println(found)

	_ = m.Update(context.Background(), nil, func(tx mvcc.Tx[string, int]) error {
		defer func() { fmt.Println(recover()) }()
		m.Get("a") // should be tx.Get
		return nil
	})

	lists := mvcc.New[string, []int](&mvcc.Options{Strict: true})
	defer lists.Close()
	lists.Store("a", []int{3, 1, 2})
	defer func() {
		mistake, _, _ := strings.Cut(fmt.Sprint(recover()), "; it was stored by ")
		fmt.Println(mistake)
	}()
	lists.Merge("a", func(old []int, _ bool) []int {
		slices.Sort(old) // should be that of a copy
		return []int{old[0]}
	})
	// Output:
	// [1 1]
	// mvcc: Strict: the function of an Update reads the map beside its transaction
	// mvcc: Strict: the function of an Update reads the map beside its transaction
	// mvcc: Strict: key a was changed after it was stored: value[0]
}
