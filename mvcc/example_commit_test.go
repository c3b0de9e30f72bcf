package mvcc_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

func ExampleTx_Commit() {
	m := mvcc.New[string, int](nil)
	defer m.Close()
	m.Store("n", 1)

	add := func() error {
		tx := m.Begin(nil)
		defer tx.Rollback()
		n, _ := tx.Get("n")
		if n == 1 {
			m.Store("n", 10) // somebody else is faster, once
		}
		tx.Set("n", n+1)
		return tx.Commit()
	}
	err := add()
	for errors.Is(err, mvcc.ErrConflict) { // Update does this, and better
		fmt.Println("again")
		err = add()
	}
	fmt.Println(err)
	fmt.Println(m.Load("n"))
	// Output:
	// again
	// <nil>
	// 11 true
}

func ExampleTx_Rollback() {
	m := mvcc.New[string, int](nil)
	defer m.Close()

	tx := m.Begin(nil)
	tx.Set("n", 1)
	tx.Rollback()
	tx.Rollback() // does nothing: so it may always be deferred
	fmt.Println(m.Has("n"), errors.Is(tx.Commit(), mvcc.ErrTxDone))
	// Output: false true
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

// The read epoch is of one moment: what a transaction of the same epoch reads is the same.
func ExampleTx_Epoch() {
	m := mvcc.New[string, int](nil)
	defer m.Close()

	tx := m.Begin(nil)
	defer tx.Rollback()
	m.Store("n", 1)
	fmt.Println(tx.Epoch() < m.Epoch())
	// Output: true
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

func ExampleConflictError_Error() {
	err := &mvcc.ConflictError{
		Key: "12A", Kind: mvcc.ConflictRead, ReadEpoch: 4, CommitEpoch: 5, Attempts: 100,
	}
	fmt.Println(err)
	// Output:
	// mvcc: transaction conflict: key 12A (read conflict, read epoch 4, commit epoch 5, 100 attempts)
}

// What was in the way: a key that was read, any key after a scan of the map or, at level
// snapshot, a key that was to be written.
func ExampleConflictKind() {
	m := mvcc.New[string, int](nil)
	defer m.Close()
	m.Store("a", 1)

	conflict := func(level mvcc.Level, read func(tx mvcc.Tx[string, int])) {
		tx := m.Begin(&mvcc.TxOptions{Isolation: level})
		defer tx.Rollback()
		read(tx)
		tx.Set("b", 1)
		m.Store("a", 2)
		m.Store("b", 2)
		if err, ok := errors.AsType[*mvcc.ConflictError](tx.Commit()); ok {
			fmt.Println(err.Kind)
		}
	}
	get := func(tx mvcc.Tx[string, int]) { tx.Get("a") }
	conflict(mvcc.LevelSerializable, get)
	conflict(mvcc.LevelSerializable, func(tx mvcc.Tx[string, int]) {
		for range tx.All() {
			break
		}
	})
	conflict(mvcc.LevelSnapshot, get)
	// Output:
	// read
	// scan
	// write
}

func ExampleConflictKind_String() {
	fmt.Println(mvcc.ConflictRead, mvcc.ConflictScan, mvcc.ConflictWrite)
	// Output: read scan write
}

// A transaction begun by hand that may be evicted meanwhile.
func ExampleTx_Try() {
	m := mvcc.New[string, int](&mvcc.Options{MaxTxAge: time.Nanosecond, ManualReclaim: true})
	tx := m.Begin(nil)
	defer tx.Rollback()
	for m.Stats().Evicted == 0 {
		if err := m.Reclaim(context.Background()); err != nil {
			panic(err)
		}
	}
	err := tx.Try(func() error {
		tx.Set("n", 1)
		return tx.Commit()
	})
	fmt.Println(errors.Is(err, mvcc.ErrTxTooOld))
	// Output: true
}
