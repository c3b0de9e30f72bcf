// Shop has its customers, its stock and its orders in three tables. To order is one transaction
// over all of them; a report reads all of them as of one moment, while orders come in.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mvccmap/mvccmap/mvcc"
)

type order struct {
	customer, item string
	price          int
}

type shop struct {
	db        *mvcc.DB
	customers *mvcc.Map[string, int] // the money each has to spend
	stock     *mvcc.Map[string, int] // how many there are of each item
	orders    *mvcc.Map[int, order]  // by number, in order
}

func newShop() shop {
	db := mvcc.NewDB(nil)
	return shop{
		db:        db,
		customers: mvcc.NewTable[string, int](db, "customers", nil),
		stock:     mvcc.NewTable[string, int](db, "stock", nil),
		orders:    mvcc.NewOrderedTable[int, order](db, "orders", nil),
	}
}

var (
	errSoldOut = errors.New("sold out")
	errPoor    = errors.New("not enough money")
)

// buy takes an item out of the stock, the money from the customer, and notes the order under
// the next number: all of it, or nothing.
func (s shop) buy(ctx context.Context, o order) (number int, err error) {
	err = s.db.Update(ctx, nil, func(tx mvcc.DBTx) error {
		number = 0 // the function may run again
		customers, stock, orders := s.customers.In(tx), s.stock.In(tx), s.orders.In(tx)
		left, _ := stock.Get(o.item)
		if left == 0 {
			return errSoldOut
		}
		money, _ := customers.Get(o.customer)
		if money < o.price {
			return errPoor
		}
		last, _, _ := orders.Max() // so two orders at once conflict, and one tries again
		number = last + 1
		stock.Set(o.item, left-1)
		customers.Set(o.customer, money-o.price)
		orders.Set(number, o)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return number, nil
}

// audit returns the total of the shop: things, and money with that which was taken.
func (s shop) audit() (items, money int) {
	_ = s.db.View(func(v mvcc.DBSnapshot) error {
		items, money = 0, 0
		for _, n := range s.stock.At(v).All() {
			items += n
		}
		for _, n := range s.customers.At(v).All() {
			money += n
		}
		for _, o := range s.orders.At(v).All() {
			items++
			money += o.price
		}
		return nil
	})
	return items, money
}

func main() {
	ctx, s := context.Background(), newShop()
	defer s.db.Close()
	s.customers.Store("ada", 100)
	s.customers.Store("edsger", 40)
	s.stock.Store("pen", 30)

	var wg sync.WaitGroup
	for _, customer := range []string{"ada", "edsger", "ada"} {
		wg.Go(func() {
			for {
				if _, err := s.buy(ctx, order{customer, "pen", 5}); err != nil {
					return
				}
				if items, money := s.audit(); items != 30 || money != 140 {
					fmt.Println("wrong:", items, money)
				}
			}
		})
	}
	wg.Wait()
	last, _, _ := s.orders.Max()
	fmt.Println(last, "orders,", s.orders.Len(), "of them kept")
	fmt.Println(s.buy(ctx, order{"edsger", "pen", 5}))
	fmt.Println(s.audit())
	for number, o := range s.orders.Ascend(mvcc.From(last - 1)) { // the last two
		fmt.Println(number, o.item, o.price)
	}
}
