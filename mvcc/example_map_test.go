package mvcc_test

import (
	"fmt"
	"maps"

	"github.com/mvccmap/mvccmap/mvcc"
)

// All reads the map as of one moment, even while others write, or the loop itself does.
func ExampleMap_All() {
	m := mvcc.New[string, string](nil)
	defer m.Close()
	m.Store("Oslo", "Norway")
	m.Store("Lima", "Peru")
	m.Store("Bergen", "Norway")

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
