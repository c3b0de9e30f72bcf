package mvcc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mvccmap/mvccmap/mvcc"
)

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

// A follower that keeps the position of what it has goes on from there. In the same process Retain
// keeps that state; after a restart Options.Resume of package journal does.
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

// A program that loads what an earlier life has left says which position that was.
func ExampleDB_KeepState() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	users := mvcc.NewTable[int, string](db, "users", nil)
	users.Store(1, "ada")
	before := mvcc.Position{Life: "of the backup", Epoch: 1000} // at which they were the same
	db.KeepState(before)
	users.Store(2, "bob")

	ctx, cancel := context.WithCancel(context.Background())
	_ = db.Follow(ctx, &mvcc.FollowOptions{After: before}, func(s mvcc.DBSnapshot) error {
		return errors.New("begins anew")
	}, func(c mvcc.DBCommit) error {
		fmt.Println(users.Changes(c), c.Summary)
		cancel()
		return nil
	})
	// Output: [{2  bob false true}] true
}

// Epochs of two lives may be equal. Positions differ.
func ExamplePosition() {
	one, other := mvcc.NewDB(nil), mvcc.NewDB(nil)
	defer one.Close()
	defer other.Close()
	fmt.Println(one.Epoch() == other.Epoch())
	fmt.Println(one.Position(one.Epoch()) == other.Position(other.Epoch()))
	// Output:
	// true
	// false
}

// A position is kept in any form, here as JSON.
func ExampleDB_Position() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	at := db.Position(db.Epoch())
	text, _ := json.Marshal(at)
	var kept mvcc.Position
	_ = json.Unmarshal(text, &kept)
	fmt.Println(kept == at, len(kept.Life))
	// Output: true 32
}
