// Command database uses a database of four tables, of which one has an order and one an index.
package main

import (
	"context"

	"github.com/mvccmap/mvccmap/mvcc"
)

type (
	user  struct{ Name, Town string }
	order struct{ User, Sum int }
	place struct{ X, Y float64 }
	note  struct{ Text string }
)

func main() {
	db := mvcc.NewDB(nil)
	users := mvcc.NewTable[int, user](db, "users", nil)
	orders := mvcc.NewOrderedTable[int, order](db, "orders", nil)
	places := mvcc.NewTable[string, place](db, "places", nil)
	notes := mvcc.NewTable[[2]int, note](db, "notes", nil)
	towns, err := mvcc.NewIndex(users, "town",
		func(_ int, u user) []string { return []string{u.Town} }, nil)
	if err != nil {
		panic(err)
	}
	err = db.Update(context.Background(), nil, func(tx mvcc.DBTx) error {
		users.In(tx).Set(1, user{"a", "b"})
		orders.In(tx).Set(1, order{1, 2})
		places.In(tx).Set("b", place{1, 2})
		notes.In(tx).Set([2]int{1, 1}, note{"c"})
		return nil
	})
	for id := range towns.Get(users, "b") {
		println(id)
	}
	for id := range orders.Ascend(mvcc.From(1)) {
		println(id, err == nil)
	}
}
