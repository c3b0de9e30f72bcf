// Counters counts, in the transactions that do something, what they have done. A counter that
// is read and set makes all transactions conflict with each other. Merge says only what is to
// become of the value: the transactions commit in any order, and no count is lost.
package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/mvccmap/mvccmap/mvcc"
)

type Tx = mvcc.Tx[string, int]

// add returns a function for Merge. It depends on nothing but the old value, as it may be
// called several times, and is quick, as others wait for it.
func add(n int) func(old int, ok bool) int {
	return func(old int, _ bool) int { return old + n }
}

// sell notes an order of n items.
func sell(ctx context.Context, m *mvcc.Map[string, int], order string, n int) error {
	return m.Update(ctx, nil, func(tx Tx) error {
		tx.Set(order, n)
		tx.Merge("orders", add(1))
		tx.Merge("items", add(n))
		tx.Merge("largest", func(old int, _ bool) int { return max(old, n) })
		return nil
	})
}

func main() {
	ctx := context.Background()
	m := mvcc.New[string, int](nil)
	defer m.Close()

	var wg sync.WaitGroup
	for clerk := range 8 {
		wg.Go(func() {
			for i := range 1000 {
				if err := sell(ctx, m, fmt.Sprint("order ", clerk, " ", i), 1+i%5); err != nil {
					panic(err)
				}
			}
		})
	}
	wg.Wait()

	_ = m.View(func(s mvcc.Snapshot[string, int]) error { // counters that belong together
		for _, name := range []string{"orders", "items", "largest"} {
			n, _ := s.Get(name)
			fmt.Println(name, n)
		}
		return nil
	})
	fmt.Println("conflicts:", m.Stats().Conflicts)

	m.Merge("visits", add(1)) // outside of a transaction the same
	fmt.Println(m.Load("visits"))
}
