package mvcc_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A long import goes in batches, each all or nothing. How far it has come is written with them: so
// one that was interrupted goes on there. The rows are read before the transaction, which may run
// again; it only writes, so it never conflicts.
func ExampleMap_Update_batches() {
	m := mvcc.New[string, int](nil)
	defer m.Close()
	load := func(rows []string) error {
		done, _ := m.Load("rows loaded")
		for batch := range slices.Chunk(rows[done:], 2) {
			numbers := make(map[string]int)
			for _, row := range batch {
				var name string
				var n int
				if _, err := fmt.Sscan(row, &name, &n); err != nil {
					return fmt.Errorf("%q: %w", row, err) // the batches before stay
				}
				numbers[name] = n
			}
			done += len(batch)
			if err := m.Update(context.Background(), nil, func(tx mvcc.Tx[string, int]) error {
				for name, n := range numbers {
					tx.Set(name, n)
				}
				tx.Set("rows loaded", done)
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	}
	fmt.Println(load([]string{"a 1", "b 2", "c x", "d 4"}))
	fmt.Println(m.Load("rows loaded"))
	fmt.Println(load([]string{"a 1", "b 2", "c 3", "d 4"}), m.Len())
	// Output:
	// "c x": expected integer
	// 2 true
	// <nil> 5
}

// UpdateValue returns the result of the attempt that was committed. A variable outside of the
// function might have the value of an attempt that was not.
func ExampleUpdateValue() {
	queue := mvcc.NewOrdered[int, string](nil)
	defer queue.Close()
	queue.Store(2, "read")
	queue.Store(1, "write")

	job, err := mvcc.UpdateValue(context.Background(), queue, nil,
		func(tx mvcc.Tx[int, string]) (string, error) {
			first, job, ok := tx.Min() // whoever commits has taken it
			if !ok {
				return "", errors.New("nothing to do")
			}
			tx.Delete(first)
			return job, nil
		})
	fmt.Println(job, err)
	// Output: write <nil>
}

// Transactions that merge a key do not conflict over it: each adds to the value that is the
// newest when it commits.
func ExampleTx_Merge() {
	m := mvcc.New[string, int](nil)
	defer m.Close()

	tx := m.Begin(nil)
	defer tx.Rollback()
	tx.Set("order 7", 3)
	tx.Merge("orders", func(n int, _ bool) int { return n + 1 })

	m.Merge("orders", func(n int, _ bool) int { return n + 1 }) // somebody else, meanwhile
	err := tx.Commit()
	n, _ := m.Load("orders")
	fmt.Println(err, n)
	// Output: <nil> 2
}

// At level snapshot a commit looks only at the keys that the transaction writes, and at those that
// it has got for update.
func ExampleTx_GetForUpdate() {
	rota := mvcc.New[string, string](&mvcc.Options{Isolation: mvcc.LevelSnapshot})
	defer rota.Close()
	rota.Store("bob", "on call")

	tx := rota.Begin(nil)
	defer tx.Rollback()
	if bob, _ := tx.GetForUpdate("bob"); bob == "on call" { // with Get both would commit
		tx.Set("alice", "away")
	}
	rota.Store("bob", "away") // he goes as well
	err := tx.Commit()
	fmt.Println(errors.Is(err, mvcc.ErrConflict))
	// Output: true
}

// Savepoint undoes one step of a transaction that failed; the rest is committed.
func ExampleTx_Savepoint() {
	m := mvcc.New[string, int](nil)
	defer m.Close()
	rows := []string{"apples 3", "pears", "plums 5"}

	err := m.Update(context.Background(), nil, func(tx mvcc.Tx[string, int]) error {
		for _, row := range rows {
			_ = tx.Savepoint(func() error { // a bad row is left out
				var name string
				var n int
				tx.Set("last row", len(row))
				if _, err := fmt.Sscan(row, &name, &n); err != nil {
					return err
				}
				tx.Set(name, n)
				return nil
			})
		}
		return nil
	})
	fmt.Println(err, maps.Collect(m.All()))
	// Output: <nil> map[apples:3 last row:7 plums:5]
}

// OnCommit is for effects that must happen once, and only if the transaction commits: mails,
// metrics, waking others up.
func ExampleTx_OnCommit() {
	orders := mvcc.New[int, string](nil)
	defer orders.Close()
	place := func(id int, what string) error {
		return orders.Update(context.Background(), nil, func(tx mvcc.Tx[int, string]) error {
			tx.OnCommit(func(epoch uint64) { fmt.Println("mail: your order of", what) })
			if tx.Has(id) {
				return errors.New("placed already") // no mail
			}
			tx.Set(id, what)
			return nil
		})
	}

	fmt.Println(place(1, "tea"))
	fmt.Println(place(1, "coffee"))
	// Output:
	// mail: your order of tea
	// <nil>
	// placed already
}

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
