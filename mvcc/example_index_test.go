package mvcc_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

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
func byName(_ int, u user) []string { return []string{u.name} }

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

func ExampleUniqueError() {
	db, users := openSite()
	defer db.Close()
	_, _ = mvcc.NewIndex(users, "by mail", byMail, &mvcc.IndexOptions{Unique: true})
	err := users.Update(context.Background(), nil, func(tx mvcc.Tx[int, user]) error {
		tx.Set(5, user{name: "Al", mail: "alan@example.com"})
		tx.Set(6, user{name: "Edsger", mail: "ed@example.com"})
		return nil
	})
	var taken *mvcc.UniqueError
	if errors.As(err, &taken) {
		fmt.Println(taken.Index, "says that", taken.Records[0], "has", taken.Key)
	}
	fmt.Println(users.Has(6)) // nothing of it
	// Output:
	// by mail says that 2 has alan@example.com
	// false
}

func ExampleNewOrderedIndex() {
	db, users := openSite()
	defer db.Close()
	names, _ := mvcc.NewOrderedIndex(users, "by name", byName, nil)
	for _, u := range names.Ascend(users, mvcc.From("Al")) {
		fmt.Println(u.name)
	}
	// Output:
	// Alan
	// Grace
}

func ExampleNewOrderedIndexFunc() {
	db, users := openSite()
	defer db.Close()
	users.Store(4, user{name: "Konrad", born: 1912})
	// Two orders in one: the youngest first, and by name within a year.
	type birth struct {
		year int
		name string
	}
	births, _ := mvcc.NewOrderedIndexFunc(users, "by birth", func(a, b birth) int {
		return cmp.Or(cmp.Compare(b.year, a.year), strings.Compare(a.name, b.name))
	}, func(_ int, u user) []birth {
		return []birth{{u.born, u.name}}
	}, nil)
	for _, u := range births.Ascend(users, mvcc.Range[birth]{}) {
		fmt.Println(u.born, u.name)
	}
	// Output:
	// 1912 Alan
	// 1912 Konrad
	// 1906 Grace
	// 1815 Ada
}

func ExampleIndex_Get() {
	db, users := openSite()
	defer db.Close()
	tags, _ := mvcc.NewIndex(users, "by tag", byTag, nil)
	_ = users.Update(context.Background(), nil, func(tx mvcc.Tx[int, user]) error {
		tx.Set(3, user{name: "Grace", tags: []string{"admin"}})
		for id := range tags.Get(tx, "admin") { // what the transaction has written included
			tx.Delete(id)
		}
		return nil
	})
	fmt.Println(users.Len())
	// Output: 0
}

// What users type in may break a unique index: Put says so.
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
