// Inventory sells from a common stock in many goroutines: an order takes all of
// its items, or none, and what the transaction read decides. It prints what was
// sold, and checks that nothing was sold twice.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/mvcc"
)

var errSoldOut = errors.New("sold out")

// order takes n of each item from the stock.
func order(ctx context.Context, stock *mvcc.Map[string, int], n int, items ...string) error {
	return stock.Update(ctx, nil, func(tx mvcc.Tx[string, int]) error {
		for _, item := range items {
			left, ok := tx.Get(item)
			if !ok || left < n {
				return fmt.Errorf("%s: %w", item, errSoldOut)
			}
			tx.Set(item, left-n)
		}
		return nil
	})
}

func main() {
	stock := mvcc.New[string, int](nil)
	defer stock.Close()
	stock.Store("bolt", 1000)
	stock.Store("nut", 700)

	var sold, refused atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				switch err := order(context.Background(), stock, 1, "bolt", "nut"); {
				case err == nil:
					sold.Add(1)
				case errors.Is(err, errSoldOut):
					refused.Add(1)
				default:
					panic(err)
				}
			}
		})
	}
	wg.Wait()

	bolts, _ := stock.Load("bolt")
	nuts, _ := stock.Load("nut")
	fmt.Printf("sold %d, refused %d, left %d bolts and %d nuts\n", sold.Load(),
		refused.Load(), bolts, nuts)
}
