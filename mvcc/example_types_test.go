package mvcc_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

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

// A value is stored, not copied: everybody shares the slices and maps in it, snapshots of the past
// too. So they are copied before they are changed. An append is a change as well, if there is room
// behind the slice: two that append to one slice write the same place, so they append to
// slices.Clip of it.
func ExampleMap() {
	type doc struct {
		title string // every reader has a copy of the fields that a value holds directly
		tags  []string
		attrs map[string]string
	}
	docs := mvcc.New[int, doc](nil)
	defer docs.Close()
	docs.Store(1, doc{"Notes", []string{"draft"}, map[string]string{"by": "alice"}})

	before, _ := docs.Load(1)
	docs.Merge(1, func(d doc, _ bool) doc {
		d.title = "Plans"
		d.tags = append(slices.Clip(d.tags), "final")
		d.attrs = maps.Clone(d.attrs)
		d.attrs["by"] = "bob"
		return d
	})
	fmt.Println(before)
	fmt.Println(docs.Load(1))
	// Output:
	// {Notes [draft] map[by:alice]}
	// {Plans [draft final] map[by:bob]} true
}

// At level snapshot two transactions may each read the key that the other one writes, and both
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

// total adds up some balances. It takes a Map, a Tx or a Snapshot: whether the balances are of one
// moment is the business of whoever calls it.
func total[R mvcc.Reader[string, int]](r R, names ...string) (sum int) {
	for _, name := range names {
		balance, _ := r.Get(name)
		sum += balance
	}
	return sum
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

// All reads the map as of one moment, even while others write, or the loop itself does.
func ExampleMap_All() {
	m := mvcc.New[string, string](nil)
	defer m.Close()
	m.Store("Oslo", "Norway")
	m.Store("Lima", "Peru")
	m.Store("Bergen", "Norway")

	for city, country := range m.All() {
		m.Store(city+" (old)", country) // the loop does not meet it
	}
	fmt.Println(m.Len())

	list := maps.Collect(m.All()) // a plain map, to be kept or changed
	fmt.Println(len(list), list["Lima (old)"])
	// Output:
	// 6
	// 6 Peru
}
