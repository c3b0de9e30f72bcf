package mvcc_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Update commits what its function has written when that returns nil, and tries again after
// a conflict: so the function has no effect but through its transaction.
func ExampleMap_Update() {
	accounts := mvcc.New[string, int](nil)
	defer accounts.Close()
	accounts.Store("alice", 100)
	withdraw := func(n int) error {
		return accounts.Update(context.Background(), nil, func(tx mvcc.Tx[string, int]) error {
			balance, _ := tx.Get("alice")
			if balance < n {
				return fmt.Errorf("%d are not enough for %d", balance, n)
			}
			tx.Set("alice", balance-n)
			return nil
		})
	}

	fmt.Println(withdraw(70))
	fmt.Println(withdraw(70)) // the error comes back unchanged, and nothing is written
	// Output:
	// <nil>
	// 30 are not enough for 70
}

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

// UpdateValue returns what the attempt that was committed has found out. A variable outside
// of the function might have the value of an attempt that was not.
func ExampleUpdateValue() {
	queue := mvcc.New[int, string](nil)
	defer queue.Close()
	queue.Store(1, "write")
	queue.Store(2, "read")

	job, err := mvcc.UpdateValue(context.Background(), queue, nil,
		func(tx mvcc.Tx[int, string]) (string, error) {
			if first := slices.Sorted(tx.Keys()); len(first) > 0 {
				job, _ := tx.Get(first[0])
				tx.Delete(first[0])
				return job, nil
			}
			return "", errors.New("nothing to do")
		})
	fmt.Println(job, err)
	// Output: write <nil>
}

// Begin and Commit are for a transaction that does not fit into one function. Their
// caller handles conflicts. The deferred Rollback does nothing after a Commit.
func ExampleMap_Begin() {
	accounts := mvcc.New[string, int](nil)
	defer accounts.Close()
	accounts.Store("alice", 100)

	tx := accounts.Begin(nil)
	defer tx.Rollback()
	balance, _ := tx.Get("alice")
	tx.Set("alice", balance-30)
	fmt.Println(accounts.Load("alice")) // nothing is to be seen before the commit
	fmt.Println(tx.Commit())
	fmt.Println(tx.Commit() == mvcc.ErrTxDone)
	// Output:
	// 100 true
	// <nil>
	// true
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

// At level snapshot only what a transaction writes is looked at when it commits, and what it
// has got for update.
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

// OnCommit is for what must happen once, and only if the transaction commits: mails,
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

// A long transaction asks now and then whether it has lost already.
func ExampleTx_Err() {
	m := mvcc.New[string, int](nil)
	defer m.Close()
	m.Store("input", 1)

	tx := m.Begin(nil)
	defer tx.Rollback()
	input, _ := tx.Get("input")
	tx.Set("result", input*input)
	fmt.Println(tx.Err())

	m.Store("input", 2)
	if errors.Is(tx.Err(), mvcc.ErrConflict) {
		fmt.Println("the rest can be saved")
	}
	// Output:
	// <nil>
	// the rest can be saved
}

// A ConflictError says which key was in the way, for logs: the key that appears again and
// again is one to be split, or merged.
func ExampleConflictError() {
	seats := mvcc.New[string, string](nil)
	defer seats.Close()

	tx := seats.Begin(nil)
	defer tx.Rollback()
	if !tx.Has("12A") {
		tx.Set("12A", "alice")
	}
	seats.Store("12A", "bob") // somebody else is faster
	err := tx.Commit()
	if conflict, ok := errors.AsType[*mvcc.ConflictError](err); ok {
		fmt.Println(conflict.Key, conflict.Kind, conflict.Attempts)
	}
	// Output: 12A read 1
}
