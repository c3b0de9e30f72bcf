package mvcc_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A view that is made from a map follows it, from a snapshot on: here the number of
// people in each town.
func ExampleMap_Watch() {
	towns := mvcc.New[string, string](nil)
	defer towns.Close()
	towns.Store("ada", "London")

	s := towns.Snapshot()
	people := map[string]int{}
	for _, town := range s.All() {
		people[town]++
	}
	commits := towns.Watch(context.Background(), &mvcc.WatchOptions[string, string]{Since: s})
	s.Close()

	_ = towns.Update(context.Background(), nil, func(tx mvcc.Tx[string, string]) error {
		tx.Set("bob", "Paris")
		tx.Set("ada", "Paris")
		return nil
	})
	for c, err := range commits {
		if err != nil {
			break // too slow: begin anew with a snapshot
		}
		for _, change := range c.Changes {
			if change.Had {
				people[change.Old]--
			}
			if change.Has {
				people[change.New]++
			}
		}
		fmt.Println(people)
		break
	}
	// Output: map[London:0 Paris:2]
}

// Of an ordered map a range can be watched; any map can be asked for the keys that match.
func ExampleWatchOptions() {
	m := mvcc.NewOrdered[string, int](nil)
	defer m.Close()
	commits := m.Watch(context.Background(), &mvcc.WatchOptions[string, int]{
		Keys:  mvcc.Prefix("user/"),
		Match: func(key string) bool { return len(key) < 10 },
	})
	m.Store("shop/1", 1)
	m.Store("user/12345678", 2)
	m.Store("user/7", 3)
	for c, err := range commits {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Changes)
		break
	}
	// Output: [{user/7 0 3 false true}]
}

// The changes between two moments.
func ExampleSnapshot_Diff() {
	m := mvcc.New[string, int](nil)
	defer m.Close()
	m.Store("a", 1)
	older := m.Snapshot()
	defer older.Close()
	m.Store("a", 2)
	newer := m.Snapshot()
	defer newer.Close()
	for change := range newer.Diff(older) {
		fmt.Println(change.Key, change.Old, change.New)
	}
	// Output: a 1 2
}

// A value that was made from others is made again when one of them has changed.
func ExampleSnapshot_Changed() {
	m := mvcc.New[string, int](nil)
	defer m.Close()
	s := m.Snapshot()
	changed := s.Changed(context.Background(), "a")
	s.Close()
	m.Store("b", 1) // not that
	m.Store("a", 1)
	<-changed
	fmt.Println("a has changed")
	// Output: a has changed
}

// A copy of a table, say in a cache, is kept in step: begin makes it anew, and apply changes it.
func ExampleDB_Follow() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	users := mvcc.NewTable[int, string](db, "users", nil)
	users.Store(1, "ada")
	ctx, cancel := context.WithCancel(context.Background())

	cache := map[int]string{}
	err := db.Follow(ctx, nil, func(s mvcc.DBSnapshot) error {
		clear(cache)
		for id, name := range users.At(s).All() {
			cache[id] = name
		}
		users.Store(2, "bob") // somebody writes meanwhile
		return nil
	}, func(c mvcc.DBCommit) error {
		for _, change := range users.Changes(c) {
			if delete(cache, change.Key); change.Has {
				cache[change.Key] = change.New
			}
		}
		fmt.Println(cache)
		cancel() // else it goes on
		return nil
	})
	fmt.Println(err)
	// Output:
	// map[1:ada 2:bob]
	// context canceled
}

// A follower that keeps the position of its state goes on from there. In the same process Retain
// keeps that state; after a restart Options.Resume of package durable does.
func ExampleFollowOptions() {
	db := mvcc.NewDB(&mvcc.Options{Retain: 1 << 40})
	defer db.Close()
	users := mvcc.NewTable[int, string](db, "users", nil)
	down := errors.New("the search index is down")
	fails, at := true, mvcc.Position{}
	follow := func(ctx context.Context, cancel func()) error {
		return db.Follow(ctx, &mvcc.FollowOptions{After: at}, func(s mvcc.DBSnapshot) error {
			fmt.Println("begins with", users.At(s).Len())
			at = db.Position(s.Epoch())
			users.Store(1, "ada")
			return nil
		}, func(c mvcc.DBCommit) error {
			if fails {
				return down
			}
			fmt.Println(users.Changes(c))
			at = db.Position(c.Epoch)
			cancel()
			return nil
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	fmt.Println(follow(ctx, cancel))
	users.Store(2, "bob")
	users.Delete(1)
	fails = false
	fmt.Println(follow(ctx, cancel))
	// Output:
	// begins with 0
	// the search index is down
	// [{2  bob false true}]
	// context canceled
}
