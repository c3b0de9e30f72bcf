// Command tables uses a database of two tables.
package main

import (
	"context"

	"github.com/mvccmap/mvccmap/mvcc"
)

type (
	user  struct{ Name string }
	order struct{ User, Sum int }
)

func main() {
	db := mvcc.NewDB(nil)
	users, orders := mvcc.NewTable[int, user](db, "users", nil), mvcc.NewTable[int, order](db, "orders", nil)
	err := db.Update(context.Background(), nil, func(tx mvcc.DBTx) error {
		users.In(tx).Set(1, user{"a"})
		orders.In(tx).Set(1, order{1, 2})
		return nil
	})
	println(err == nil)
}
