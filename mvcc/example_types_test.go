package mvcc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A transfer writes two keys: everybody else sees both writes, or neither.
func Example() {
	accounts := mvcc.New[string, int](nil)
	defer accounts.Close()
	accounts.Store("alice", 100)
	accounts.Store("bob", 20)

	err := accounts.Update(context.Background(), nil, func(tx mvcc.Tx[string, int]) error {
		alice, _ := tx.Get("alice")
		bob, _ := tx.Get("bob")
		if alice < 30 {
			return errors.New("insufficient funds") // nothing is written
		}
		tx.Set("alice", alice-30)
		tx.Set("bob", bob+30)
		return nil
	})
	fmt.Println(err)

	_ = accounts.View(func(s mvcc.Snapshot[string, int]) error {
		alice, _ := s.Get("alice") // both are read as of one moment
		bob, _ := s.Get("bob")
		fmt.Println(alice, "+", bob, "=", alice+bob)
		return nil
	})
	// Output:
	// <nil>
	// 70 + 50 = 120
}

func ExampleNew() {
	stock := mvcc.New[string, int](nil) // the defaults are right for most
	defer stock.Close()

	stock.Store("bolt", 7)
	fmt.Println(stock.Load("bolt"))
	// Output: 7 true
}

// A Map keeps values of any type. A value is stored, not copied: one that holds a slice, a
// map or a pointer is copied before it is changed.
func ExampleMap() {
	basket := mvcc.New[string, []string](nil)
	defer basket.Close()
	basket.Store("alice", []string{"milk"})

	before, _ := basket.Load("alice")
	basket.Compute("alice", func(old []string, _ bool) ([]string, mvcc.ComputeOp) {
		return append(slices.Clip(old), "bread"), mvcc.UpdateOp // append has to copy
	})
	now, _ := basket.Load("alice")
	fmt.Println(before, now)
	// Output: [milk] [milk bread]
}

func ExampleOptions() {
	sessions := mvcc.New[string, string](&mvcc.Options{
		Capacity: 100_000,          // of so many keys the table need not grow
		MaxTxAge: 30 * time.Second, // a forgotten snapshot keeps nothing for longer
	})
	defer sessions.Close()

	fmt.Println(sessions.Len())
	// Output: 0
}

// A map of whose transactions many read much and write little may have another level by
// default. One transaction asks for the level that it needs.
func ExampleTxOptions() {
	rotas := mvcc.New[string, string](&mvcc.Options{Isolation: mvcc.LevelSnapshot})
	defer rotas.Close()
	rotas.Store("alice", "on call")
	rotas.Store("bob", "on call")

	opts := &mvcc.TxOptions{Isolation: mvcc.LevelSerializable, MaxAttempts: 3}
	err := rotas.Update(context.Background(), opts, func(tx mvcc.Tx[string, string]) error {
		if bob, _ := tx.Get("bob"); bob != "on call" {
			return errors.New("somebody has to stay")
		}
		tx.Set("alice", "away")
		return nil
	})
	fmt.Println(err)
	// Output: <nil>
}

// At level snapshot two transactions may each read what the other one writes, and both
// commit: that is write skew. At level serializable one of them fails.
func ExampleLevel() {
	for _, level := range []mvcc.Level{mvcc.LevelSnapshot, mvcc.LevelSerializable} {
		rota := mvcc.New[string, string](&mvcc.Options{Isolation: level})
		rota.Store("alice", "on call")
		rota.Store("bob", "on call")

		alice, bob := rota.Begin(nil), rota.Begin(nil)
		if other, _ := alice.Get("bob"); other == "on call" {
			alice.Set("alice", "away") // bob stays
		}
		if other, _ := bob.Get("alice"); other == "on call" {
			bob.Set("bob", "away") // alice stays
		}
		fmt.Println(level, alice.Commit() == nil, bob.Commit() == nil)
		rota.Close()
	}
	// Output:
	// snapshot true true
	// serializable true false
}

func ExampleLevel_String() {
	fmt.Println(mvcc.LevelDefault, mvcc.LevelSerializable, mvcc.LevelSnapshot)
	// Output: default serializable snapshot
}

// total adds up some balances. It takes a Map, a Tx or a Snapshot: what the balances have in
// common is the business of whoever calls it.
func total[R mvcc.Reader[string, int]](r R, names ...string) (sum int) {
	for _, name := range names {
		balance, _ := r.Get(name)
		sum += balance
	}
	return sum
}

func ExampleReader() {
	accounts := mvcc.New[string, int](nil)
	defer accounts.Close()
	accounts.Store("alice", 100)
	accounts.Store("bob", 20)

	fmt.Println(total(accounts, "alice")) // one key: the newest value
	_ = accounts.View(func(s mvcc.Snapshot[string, int]) error {
		fmt.Println(total(s, "alice", "bob")) // several: of one moment
		return nil
	})
	// Output:
	// 100
	// 120
}

// deposit is for a transaction that does more, and also for a Map, where it is a step of its
// own.
func deposit[W mvcc.ReadWriter[string, int]](w W, name string, n int) {
	w.Merge(name, func(balance int, _ bool) int { return balance + n })
}

func ExampleReadWriter() {
	accounts := mvcc.New[string, int](nil)
	defer accounts.Close()

	deposit(accounts, "alice", 10)
	err := accounts.Update(context.Background(), nil, func(tx mvcc.Tx[string, int]) error {
		deposit(tx, "alice", 5)
		deposit(tx, "bob", 5)
		return nil
	})
	fmt.Println(err, total(accounts, "alice", "bob"))
	// Output: <nil> 20
}
