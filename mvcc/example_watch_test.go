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

// A commit over several tables comes as one.
func ExampleDB_Watch() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	stock := mvcc.NewTable[string, int](db, "stock", nil)
	orders := mvcc.NewTable[int, string](db, "orders", nil)
	commits := db.Watch(context.Background(), &mvcc.DBWatchOptions{Buffer: 1000})
	_ = db.Update(context.Background(), nil, func(tx mvcc.DBTx) error {
		stock.In(tx).Set("tea", 9)
		orders.In(tx).Set(1, "tea")
		return nil
	})
	for c, err := range commits {
		if err != nil {
			break
		}
		fmt.Println(stock.Changes(c), orders.Changes(c))
		break
	}
	// Output: [{tea 0 9 false true}] [{1  tea false true}]
}

// A view that is kept by a watch says up to where it is complete: a caller that has just committed
// something waits for that.
func ExampleDB_RequestProgress() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	stock := mvcc.NewTable[string, int](db, "stock", nil)
	commits := db.Watch(context.Background(), &mvcc.DBWatchOptions{Progress: true})
	stock.Store("tea", 9)
	stock.Store("milk", 3)
	wanted := db.Epoch()
	db.RequestProgress()

	sum := 0
	for c, err := range commits {
		if err != nil || c.Progress && c.Epoch >= wanted {
			break
		}
		for _, change := range stock.Changes(c) {
			sum += change.New - change.Old
		}
	}
	fmt.Println(sum)
	// Output: 12
}

// A commit has an epoch: a snapshot with that epoch or a higher one sees it.
func ExampleCommit() {
	m := mvcc.New[string, int](nil)
	defer m.Close()
	commits := m.Watch(context.Background(), nil)
	m.Store("a", 1)
	m.Delete("a")
	n := 0
	for c, err := range commits {
		if err != nil {
			log.Fatal(err)
		}
		s := m.Snapshot()
		fmt.Println(len(c.Changes), c.Epoch <= s.Epoch(), c.Summary)
		s.Close()
		if n++; n == 2 {
			break
		}
	}
	// Output:
	// 1 true false
	// 1 true false
}

// The changes of a table in a commit of the database.
func ExampleMap_Changes() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	users := mvcc.NewTable[int, string](db, "users", nil)
	older := db.Snapshot()
	defer older.Close()
	users.Store(7, "ada")
	newer := db.Snapshot()
	defer newer.Close()
	c := db.Diff(newer, older)
	fmt.Println(users.Changes(c), c.Summary)
	// Output: [{7  ada false true}] true
}

// What changed between two moments.
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

// What changed in all tables between two moments.
func ExampleDB_Diff() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	users := mvcc.NewTable[int, string](db, "users", nil)
	users.Store(7, "ada")
	older := db.Snapshot()
	defer older.Close()
	users.Delete(7)
	newer := db.Snapshot()
	defer newer.Close()
	for _, change := range users.Changes(db.Diff(newer, older)) {
		fmt.Println(change.Key, change.Old, change.Has)
	}
	// Output: 7 ada false
}

// A change says what was there before, and what is there now.
func ExampleChange() {
	for _, c := range []mvcc.Change[string, int]{
		{Key: "a", New: 1, Has: true},
		{Key: "a", Old: 1, New: 2, Had: true, Has: true},
		{Key: "a", Old: 2, Had: true},
	} {
		switch {
		case !c.Had:
			fmt.Println("inserted", c.Key, c.New)
		case !c.Has:
			fmt.Println("deleted", c.Key, c.Old)
		default:
			fmt.Println("changed", c.Key, c.Old, c.New)
		}
	}
	// Output:
	// inserted a 1
	// changed a 1 2
	// deleted a 2
}

// A loop that is too slow is told, and begins anew with a snapshot.
func ExampleGapError() {
	m := mvcc.New[int, int](nil)
	defer m.Close()
	commits := m.Watch(context.Background(), &mvcc.WatchOptions[int, int]{Buffer: 1})
	for i := range 1000 {
		m.Store(i, i)
	}
	for _, err := range commits {
		var gap *mvcc.GapError
		if errors.As(err, &gap) {
			fmt.Println(errors.Is(err, mvcc.ErrGap), gap.Epoch < m.Epoch())
			// s := m.Snapshot(); read it, and Watch since s.
		}
	}
	// Output: true true
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

// The answer of an index has changed: somebody has moved to the town.
func ExampleIndex_Changed() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	towns := mvcc.NewTable[int, string](db, "towns", nil) // of users, by number
	byTown, err := mvcc.NewIndex(towns, "by town", func(_ int, town string) []string {
		return []string{town}
	}, nil)
	if err != nil {
		panic(err)
	}
	s := towns.Snapshot()
	changed := byTown.Changed(context.Background(), s, "Paris")
	s.Close()
	towns.Store(7, "Paris")
	<-changed
	for user := range byTown.Get(towns, "Paris") {
		fmt.Println(user)
	}
	// Output: 7
}

// A DBCommit has the changes of all tables.
func ExampleDBCommit() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	users := mvcc.NewTable[int, string](db, "users", nil)
	mails := mvcc.NewTable[string, int](db, "mails", nil)
	older := db.Snapshot()
	defer older.Close()
	users.Store(7, "ada")
	newer := db.Snapshot()
	defer newer.Close()
	both := func(c mvcc.DBCommit) (int, int) { return len(users.Changes(c)), len(mails.Changes(c)) }
	fmt.Println(both(db.Diff(newer, older)))
	// Output: 1 0
}

// From a snapshot on, with room for so many changes.
func ExampleDBWatchOptions() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	users := mvcc.NewTable[int, string](db, "users", nil)
	s := db.Snapshot()
	users.Store(7, "ada")
	opts := &mvcc.DBWatchOptions{Since: s, Buffer: 1 << 20}
	commits := db.Watch(context.Background(), opts)
	s.Close()
	for c, err := range commits {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Summary, users.Changes(c))
		break
	}
	// Output: true [{7  ada false true}]
}

func ExampleGapError_Error() {
	err := &mvcc.GapError{Epoch: 42}
	fmt.Println(err)
	// Output: mvcc: Watch: too slow: commits after epoch 42 were missed; take a snapshot, and watch anew since that
}

func ExampleGapError_Unwrap() {
	fmt.Println((&mvcc.GapError{}).Unwrap())
	// Output: mvcc: commits were missed
}
