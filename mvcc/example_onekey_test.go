package mvcc_test

import (
	"fmt"
	"math"
	"strings"

	"github.com/mvccmap/mvccmap/mvcc"
)

func ExampleMap_Load() {
	ages := mvcc.New[string, int](nil)
	defer ages.Close()
	ages.Store("newborn", 0)

	age, ok := ages.Load("newborn")
	fmt.Println(age, ok)
	age, ok = ages.Load("nobody") // absent: ok tells it from a zero
	fmt.Println(age, ok)
	// Output:
	// 0 true
	// 0 false
}

func ExampleMap_Store() {
	colours := mvcc.New[string, string](nil)
	defer colours.Close()

	colours.Store("sky", "grey")
	colours.Store("sky", "blue")
	sky, _ := colours.Load("sky")
	fmt.Println(sky)
	// Output: blue
}

// A NaN is not equal to itself: no read would find it again, so no write takes it.
func ExampleMap_Store_badKey() {
	m := mvcc.New[float64, string](nil)
	defer m.Close()
	defer func() { fmt.Println(recover() == mvcc.ErrBadKey) }()

	m.Store(math.NaN(), "lost")
	// Output: true
}

// Get and Set are Load and Store, under the names that a Tx has for them.
func ExampleMap_Get() {
	colours := mvcc.New[string, string](nil)
	defer colours.Close()

	colours.Set("sky", "blue")
	sky, ok := colours.Get("sky")
	fmt.Println(sky, ok)
	// Output: blue true
}

func ExampleMap_Set() {
	var config mvcc.ReadWriter[string, string] // a Map, or one transaction on it
	m := mvcc.New[string, string](nil)
	defer m.Close()

	config = m
	config.Set("colour", "blue")
	fmt.Println(config.Get("colour"))
	// Output: blue true
}

func ExampleMap_Has() {
	banned := mvcc.New[string, struct{}](nil) // a set
	defer banned.Close()

	banned.Store("mallory", struct{}{})
	fmt.Println(banned.Has("mallory"), banned.Has("alice"))
	// Output: true false
}

func ExampleMap_LoadOrStore() {
	owners := mvcc.New[string, string](nil)
	defer owners.Close()

	owner, taken := owners.LoadOrStore("seat 12A", "alice")
	fmt.Println(owner, taken)
	owner, taken = owners.LoadOrStore("seat 12A", "bob") // of many callers one wins
	fmt.Println(owner, taken)
	// Output:
	// alice false
	// alice true
}

// LoadOrCompute makes the value only if there is none. Of several goroutines that make one
// at once all get the same: that which was stored first.
func ExampleMap_LoadOrCompute() {
	pages := mvcc.New[string, string](nil)
	defer pages.Close()
	render := func(name string) (page string, cancel bool) {
		fmt.Printf("rendering %q\n", name)
		return strings.ToUpper(name), name == "" // cancel: what is no page is not kept
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

// Swap tells what was replaced, so that nobody else releases it.
func ExampleMap_Swap() {
	leader := mvcc.New[string, string](nil)
	defer leader.Close()

	before, loaded := leader.Swap("shard 1", "node a")
	fmt.Printf("%q %v\n", before, loaded)
	before, loaded = leader.Swap("shard 1", "node b")
	fmt.Printf("%q %v\n", before, loaded)
	// Output:
	// "" false
	// "node a" true
}

func ExampleMap_Delete() {
	colours := mvcc.New[string, string](nil)
	defer colours.Close()
	colours.Store("sky", "blue")

	colours.Delete("sky")
	colours.Delete("sky") // nothing happens
	fmt.Println(colours.Has("sky"))
	// Output: false
}

// LoadAndDelete takes a value out: of several goroutines only one has it.
func ExampleMap_LoadAndDelete() {
	jobs := mvcc.New[int, string](nil)
	defer jobs.Close()
	jobs.Store(1, "send mail")

	for range 2 {
		job, mine := jobs.LoadAndDelete(1)
		fmt.Printf("%q %v\n", job, mine)
	}
	// Output:
	// "send mail" true
	// "" false
}

// The functions for comparable values are not methods: a method could not ask for them.
func ExampleCompareAndSwap() {
	state := mvcc.New[string, string](nil)
	defer state.Close()
	state.Store("job 1", "waiting")

	fmt.Println(mvcc.CompareAndSwap(state, "job 1", "waiting", "running"))
	fmt.Println(mvcc.CompareAndSwap(state, "job 1", "waiting", "running")) // too late
	// Output:
	// true
	// false
}

func ExampleCompareAndDelete() {
	locks := mvcc.New[string, string](nil)
	defer locks.Close()
	locks.Store("printer", "alice")

	fmt.Println(mvcc.CompareAndDelete(locks, "printer", "bob")) // not his
	fmt.Println(mvcc.CompareAndDelete(locks, "printer", "alice"))
	// Output:
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

// A ComputeOp says what is to become of a key. For one that is always written Map.Merge is
// shorter.
func ExampleComputeOp() {
	hits := mvcc.New[string, int](nil)
	defer hits.Close()

	for _, op := range []mvcc.ComputeOp{mvcc.UpdateOp, mvcc.CancelOp, mvcc.DeleteOp} {
		_, ok := hits.Compute("/", func(n int, _ bool) (int, mvcc.ComputeOp) { return n + 1, op })
		fmt.Println(op, ok)
	}
	// Output:
	// update true
	// cancel true
	// delete false
}

func ExampleComputeOp_String() {
	fmt.Println(mvcc.CancelOp, mvcc.UpdateOp, mvcc.DeleteOp)
	// Output: cancel update delete
}

// Merge counts without a read before: no hit is lost, whoever counts at the same time.
func ExampleMap_Merge() {
	hits := mvcc.New[string, int](nil)
	defer hits.Close()
	plusOne := func(n int, _ bool) int { return n + 1 }

	for _, page := range []string{"/", "/about", "/"} {
		hits.Merge(page, plusOne)
	}
	n, _ := hits.Load("/")
	fmt.Println(n)
	// Output: 2
}
