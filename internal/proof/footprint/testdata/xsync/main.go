// Command xsync uses one map of xsync, for a comparison with command one.
package main

import "github.com/puzpuzpuz/xsync/v4"

type user struct{ Name string }

func main() {
	users := xsync.NewMap[int, user]()
	users.Store(1, user{"a"})
	_, ok := users.Load(1)
	println(ok)
}
