package mvcc_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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

// A visit is a record of the examples of pages and facets.
type visit struct {
	Town string
	Year int
}

func openVisits() (db *mvcc.DB, visits *mvcc.Map[int, visit], towns *mvcc.Index[string, int, visit]) {
	db = mvcc.NewDB(nil)
	visits = mvcc.NewTable[int, visit](db, "visits", nil)
	for id, v := range []visit{{"Rome", 2021}, {"Oslo", 2020}, {"Rome", 2022}, {"Bonn", 2022}, {"Rome", 2020}} {
		visits.Store(id, v)
	}
	towns, err := mvcc.NewOrderedIndex(visits, "by town",
		func(_ int, v visit) []string { return []string{v.Town} }, nil)
	if err != nil {
		panic(err)
	}
	return db, visits, towns
}

// Pages of a web service: the cursor that the client comes back with is the last entry of the page.
func ExampleEntry() {
	db, visits, towns := openVisits()
	defer db.Close()
	page := func(cursor string) (lines []string, next string) {
		var after *mvcc.Entry[string, int]
		if cursor != "" {
			if err := json.Unmarshal([]byte(cursor), &after); err != nil {
				return nil, ""
			}
		}
		for e, v := range towns.AscendEntries(visits, mvcc.Range[string]{}, after) {
			if lines = append(lines, fmt.Sprint(e.IndexKey, " ", v.Year)); len(lines) == 3 {
				last, _ := json.Marshal(e)
				return lines, string(last)
			}
		}
		return lines, ""
	}
	first, next := page("")
	fmt.Println(first, next)
	visits.Delete(0) // the last one of the first page: that does not matter
	second, _ := page(next)
	fmt.Println(second)
	// Output:
	// [Bonn 2022 Oslo 2020 Rome 2021] {"IndexKey":"Rome","Key":0}
	// [Rome 2022 Rome 2020]
}

// Facets: the towns to choose from, and the number of visits to each.
func ExampleIndex_Keys() {
	db, visits, towns := openVisits()
	defer db.Close()
	_ = visits.View(func(s mvcc.Snapshot[int, visit]) error { // of one moment
		for town := range towns.Keys(s, mvcc.Range[string]{}) {
			fmt.Println(town, towns.Count(s, mvcc.From(town).UpTo(town)))
		}
		return nil
	})
	// Output:
	// Bonn 1
	// Oslo 1
	// Rome 3
}

// An index of several columns: its key is a struct, compared column by column. A range of the first
// columns leaves the others open from their least value to their greatest.
func ExampleNewOrderedIndexFunc_columns() {
	db, visits, _ := openVisits()
	defer db.Close()
	type column struct {
		town string
		year int
	}
	columns, _ := mvcc.NewOrderedIndexFunc(visits, "by town and year", func(a, b column) int {
		return cmp.Or(strings.Compare(a.town, b.town), cmp.Compare(a.year, b.year))
	}, func(_ int, v visit) []column {
		return []column{{v.Town, v.Year}}
	}, nil)
	inRome := mvcc.From(column{"Rome", math.MinInt}).UpTo(column{"Rome", math.MaxInt})
	for id, v := range columns.Descend(visits, inRome) { // the latest first
		fmt.Println(v.Year, id)
	}
	fmt.Println(columns.Count(visits, mvcc.From(column{"Rome", 2021}).Before(column{"Rome", 2022})))
	// Output:
	// 2022 2
	// 2021 0
	// 2020 4
	// 1
}
