// Command four uses maps of four types.
package main

import "github.com/mvccmap/mvccmap/mvcc"

type (
	user  struct{ Name string }
	order struct{ Of, Sum int }
	place struct{ X, Y float64 }
)

func main() {
	users := mvcc.New[int, user](nil)
	users.Store(1, user{"a"})
	orders := mvcc.New[string, order](nil)
	orders.Store("o", order{1, 2})
	places := mvcc.New[[2]int, place](nil)
	places.Store([2]int{1, 2}, place{1, 2})
	names := mvcc.New[uint64, *user](nil)
	names.Store(1, &user{"a"})
	println(users.Len() + orders.Len() + places.Len() + names.Len())
}
