// Command one uses one map.
package main

import "github.com/mvccmap/mvccmap/mvcc"

type user struct{ Name string }

func main() {
	users := mvcc.New[int, user](nil)
	users.Store(1, user{"a"})
	_, ok := users.Load(1)
	println(ok)
}
