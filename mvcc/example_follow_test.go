package mvcc_test

import (
	"context"
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

// A follower that keeps the epoch of what it has goes on from there. In the same process Retain
// keeps the state of that epoch; after a restart Options.Resume of package journal does.
func ExampleFollowOptions() {
	db := mvcc.NewDB(&mvcc.Options{Retain: 1 << 40})
	defer db.Close()
	users := mvcc.NewTable[int, string](db, "users", nil)
	down := errors.New("the search index is down")
	fails, at := true, uint64(0)
	follow := func(ctx context.Context, cancel func()) error {
		return db.Follow(ctx, &mvcc.FollowOptions{After: at}, func(s mvcc.DBSnapshot) error {
			fmt.Println("begins with", users.At(s).Len())
			at = s.Epoch()
			users.Store(1, "ada")
			return nil
		}, func(c mvcc.DBCommit) error {
			if fails {
				return down
			}
			fmt.Println(users.Changes(c))
			at = c.Epoch
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

// A program that loads what an earlier life has left says which epoch that was.
func ExampleDB_KeepState() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	users := mvcc.NewTable[int, string](db, "users", nil)
	users.Store(1, "ada") // as they were at epoch 1000
	db.KeepState(1000)
	db.SkipTo(2000)
	users.Store(2, "bob")

	ctx, cancel := context.WithCancel(context.Background())
	_ = db.Follow(ctx, &mvcc.FollowOptions{After: 1000}, func(s mvcc.DBSnapshot) error {
		return errors.New("begins anew")
	}, func(c mvcc.DBCommit) error {
		fmt.Println(users.Changes(c), c.Summary)
		cancel()
		return nil
	})
	// Output: [{2  bob false true}] true
}
