package mvcc_test

import (
	"fmt"
	"strings"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Load tells an absent key from a zero. Get and Set are Load and Store, under the names that a Tx
// has for them.
func ExampleMap_Store() {
	ages := mvcc.New[string, int](nil)
	defer ages.Close()

	ages.Store("newborn", 0)
	fmt.Println(ages.Load("newborn"))
	fmt.Println(ages.Load("nobody"))
	ages.Delete("newborn")
	fmt.Println(ages.Get("newborn"))
	// Output:
	// 0 true
	// 0 false
	// 0 false
}

func ExampleMap_LoadOrStore() {
	owners := mvcc.New[string, string](nil)
	defer owners.Close()

	owner, taken := owners.LoadOrStore("seat 12A", "alice")
	fmt.Println(owner, taken)
	owner, taken = owners.LoadOrStore("seat 12A", "bob") // of many callers one wins
	fmt.Println(owner, taken)
	fmt.Println(owners.Swap("seat 12A", "carol")) // the value that was replaced
	for range 2 {                                 // of many callers one takes it out
		fmt.Println(owners.LoadAndDelete("seat 12A"))
	}
	// Output:
	// alice false
	// alice true
	// alice true
	// carol true
	//  false
}

// LoadOrCompute makes the value only if there is none. Of several goroutines that make one
// at once all get the same: that which was stored first.
func ExampleMap_LoadOrCompute() {
	pages := mvcc.New[string, string](nil)
	defer pages.Close()
	render := func(name string) (page string, cancel bool) {
		fmt.Printf("rendering %q\n", name)
		return strings.ToUpper(name), name == "" // cancel: a page without a name is not kept
	}

	for _, name := range []string{"home", "home", ""} {
		page, found := pages.LoadOrCompute(name, func() (string, bool) { return render(name) })
		fmt.Printf("%q %v\n", page, found)
	}
	// Output:
	// rendering "home"
	// "HOME" false
	// "HOME" true
	// rendering ""
	// "" false
}

// The functions for comparable values are not methods: a method could not ask for them.
func ExampleCompareAndSwap() {
	state := mvcc.New[string, string](nil)
	defer state.Close()
	state.Store("job 1", "waiting")

	fmt.Println(mvcc.CompareAndSwap(state, "job 1", "waiting", "running"))
	fmt.Println(mvcc.CompareAndSwap(state, "job 1", "waiting", "running")) // too late
	fmt.Println(mvcc.CompareAndDelete(state, "job 1", "running"))
	// Output:
	// true
	// false
	// true
}

// Compute reads, decides and writes one key, in one step.
func ExampleMap_Compute() {
	stock := mvcc.New[string, int](nil)
	defer stock.Close()
	stock.Store("nut", 2)
	take := func(item string) {
		left, ok := stock.Compute(item, func(n int, loaded bool) (int, mvcc.ComputeOp) {
			switch {
			case !loaded:
				return 0, mvcc.CancelOp // sold out: leave it as it is
			case n == 1:
				return 0, mvcc.DeleteOp // the last one
			}
			return n - 1, mvcc.UpdateOp
		})
		fmt.Println(left, ok)
	}

	take("nut")
	take("nut")
	take("nut")
	// Output:
	// 1 true
	// 1 false
	// 0 false
}
