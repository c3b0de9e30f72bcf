package mvcc_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/mvcc"
)

// cities returns a map of cities and their countries.
func cities() *mvcc.Map[string, string] {
	m := mvcc.New[string, string](nil)
	m.Store("Oslo", "Norway")
	m.Store("Lima", "Peru")
	m.Store("Bergen", "Norway")
	return m
}

// All reads the map as of one moment, even while others write, or the loop itself does.
func ExampleMap_All() {
	m := cities()
	defer m.Close()

	for city, country := range m.All() {
		m.Store(city+" (old)", country) // the loop does not meet it
	}
	fmt.Println(m.Len())

	list := maps.Collect(m.All()) // a plain map, to be kept or changed
	fmt.Println(len(list), list["Lima (old)"])
	// Output:
	// 6
	// 6 Peru
}

// DeleteFunc deletes without a transaction over the whole map: nobody is held up, and others
// may see some of the keys deleted and others not yet.
func ExampleMap_DeleteFunc() {
	m := cities()
	defer m.Close()

	deleted := m.DeleteFunc(func(city, _ string) bool { return strings.HasPrefix(city, "B") })
	fmt.Println(deleted, m.Len())
	// Output: 1 2
}

func ExampleMap_Keys() {
	m := cities()
	defer m.Close()

	fmt.Println(slices.Sorted(m.Keys())) // the map itself has no order
	// Output: [Bergen Lima Oslo]
}
