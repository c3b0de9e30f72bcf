package mvcc_test

import (
	"context"
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

func ExampleMap_Keys() {
	m := cities()
	defer m.Close()

	fmt.Println(slices.Sorted(m.Keys())) // the map itself has no order
	// Output: [Bergen Lima Oslo]
}

func ExampleMap_Values() {
	m := cities()
	defer m.Close()

	fmt.Println(slices.Compact(slices.Sorted(m.Values())))
	// Output: [Norway Peru]
}

// Range is All for code that was written for sync.Map.
func ExampleMap_Range() {
	m := cities()
	defer m.Close()

	norwegian := 0
	m.Range(func(_, country string) bool {
		if country == "Norway" {
			norwegian++
		}
		return true // go on
	})
	fmt.Println(norwegian)
	// Output: 2
}

// Len is cheap, and for a gauge. Together with other reads Snapshot.Len agrees.
func ExampleMap_Len() {
	m := cities()
	defer m.Close()

	fmt.Println(m.Len())
	// Output: 3
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

// Clear is one transaction: nobody sees the map half empty.
func ExampleMap_Clear() {
	m := cities()
	defer m.Close()

	before := m.Snapshot()
	defer before.Close()
	m.Clear()
	fmt.Println(m.Len(), before.Len())
	// Output: 0 3
}

// Close ends the goroutines in the background. The map stays what it was, and in use.
func ExampleMap_Close() {
	m := cities()
	m.Close()

	m.Store("Quito", "Ecuador")
	fmt.Println(m.Len())
	// Output: 4
}

// String is for logs. It does not print what is in the map.
func ExampleMap_String() {
	m := cities()
	defer m.Close()

	fmt.Println(m)
	// Output: *mvcc.Map[string,string]: epoch 4, keys: 3
}

// An unchanged epoch says that nothing has been written: what was made of the map is up to
// date.
func ExampleMap_Epoch() {
	m := cities()
	defer m.Close()

	made := m.Epoch()
	fmt.Println(m.Epoch() == made)
	m.Store("Quito", "Ecuador")
	fmt.Println(m.Epoch() == made)
	// Output:
	// true
	// false
}

// After a large deletion Reclaim has the memory back at once. A map without goroutines of
// its own, see Options.ManualReclaim, needs it now and then.
func ExampleMap_Reclaim() {
	m := mvcc.New[int, string](&mvcc.Options{ManualReclaim: true})
	for i := range 1000 {
		m.Store(i, "x")
	}
	m.Clear()

	fmt.Println(m.Stats().Entries) // deleted, and not yet gone
	if err := m.Reclaim(context.Background()); err != nil {
		fmt.Println(err)
	}
	fmt.Println(m.Stats().Entries)
	// Output:
	// 1000
	// 0
}
