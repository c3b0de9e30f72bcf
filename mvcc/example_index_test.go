package mvcc_test

import (
	"errors"
	"fmt"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A user of a site, as the examples below use it.
type user struct {
	name, mail string
	tags       []string
	born       int
}

func byMail(_ int, u user) []string { return []string{u.mail} }
func byTag(_ int, u user) []string  { return u.tags }
func openSite() (db *mvcc.DB, users *mvcc.Map[int, user]) {
	db = mvcc.NewDB(nil)
	users = mvcc.NewOrderedTable[int, user](db, "users", nil)
	users.Store(1, user{"Ada", "ada@example.com", []string{"admin", "poet"}, 1815})
	users.Store(2, user{"Alan", "alan@example.com", []string{"admin"}, 1912})
	users.Store(3, user{"Grace", "grace@example.com", nil, 1906})
	return db, users
}

func ExampleIndex() {
	db, users := openSite()
	defer db.Close()
	mails, err := mvcc.NewIndex(users, "by mail", byMail, &mvcc.IndexOptions{Unique: true})
	if err != nil {
		panic(err)
	}
	// The index follows whatever is written, in the same moment.
	users.Store(1, user{name: "Ada", mail: "countess@example.com"})
	_ = users.View(func(s mvcc.Snapshot[int, user]) error {
		id, u, ok := mails.First(s, "countess@example.com")
		fmt.Println(id, u.name, ok)
		_, _, ok = mails.First(s, "ada@example.com")
		fmt.Println(ok)
		return nil
	})
	// Output:
	// 1 Ada true
	// false
}

func ExampleNewIndex() {
	db, users := openSite()
	defer db.Close()
	tags, _ := mvcc.NewIndex(users, "by tag", byTag, nil) // none, one or several for each
	for id, u := range tags.Get(users, "admin") {
		fmt.Println(id, u.name)
	}
	// Output:
	// 1 Ada
	// 2 Alan
}

// Input of users may break a unique index: Put says so.
func ExampleMap_Put() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	mails := mvcc.NewTable[int, string](db, "mails", nil)
	_, _ = mvcc.NewIndex(mails, "by mail", func(_ int, mail string) []string {
		return []string{mail}
	}, &mvcc.IndexOptions{Unique: true})

	fmt.Println(mails.Put(1, "ada@example.com"))
	var taken *mvcc.UniqueError
	if err := mails.Put(2, "ada@example.com"); errors.As(err, &taken) {
		fmt.Println(taken.Key, "is that of", taken.Records[0])
	}
	// Output:
	// <nil>
	// ada@example.com is that of 1
}
