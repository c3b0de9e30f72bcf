package bench

import "fmt"

// A Shop is an engine for the workload orders: customers, items and orders in three tables,
// customers by name and orders by customer in two indexes.
type Shop = Transactional[ShopTx]

// A ShopSession is one goroutine's access to a [Shop].
type ShopSession = TxSession[ShopTx]

// A ShopTx is a transaction of a [Shop]. What it is asked for by ID is there, else it returns
// [ErrNoRecord]. It sees what it has written itself.
type ShopTx interface {
	Customer(id uint64) (Customer, error)
	Item(id uint64) (Item, error)
	// Named calls visit for all customers of that name, in any order.
	Named(name string, visit func(Customer)) error
	// OrdersOf calls visit for the orders of a customer in the order of their numbers, until
	// it returns false.
	OrdersOf(customer uint64, visit func(Order) bool) error
	// CountOrders counts the orders of all customers.
	CountOrders() (int, error)

	PutCustomer(c Customer) error
	PutItem(i Item) error
	PutOrder(o Order) error
	DeleteOrder(o Order) error
}

// A Customer has orders with consecutive numbers, from First up to but not including Next.
type Customer struct {
	ID          uint64
	Name        string // nameSize bytes; a few have the same
	First, Next uint64
	Open        uint64 // what those orders cost together
	Paid        uint64
}

// An Item is what can be ordered.
type Item struct{ ID, Stock, Sold, Restocked uint64 }

// An Order belongs to a customer. Its lines never change.
type Order struct {
	ID, Customer, Number, Total uint64
	Lines                       []Line
}

// A Line is what was ordered of one item.
type Line struct{ Item, Quantity uint32 }

// ErrNoRecord says that there is no record where there must be one.
func ErrNoRecord(table string, id uint64) error { return wrong("", "there is no %s %d", table, id) }

// OrderKey returns a number that has the order of orders by customer and number.
func OrderKey(customer, number uint64) uint64 { return customer<<32 | number }

// ShopSetup is what a [Shop] is made from.
type ShopSetup struct {
	Customers []Customer
	Items     []Item
	Orders    []Order

	// As in [Setup].
	Isolation Isolation
	Map       MapOptions
	Limits
}

// Fill puts what the shop has at first.
func (s ShopSetup) Fill(tx ShopTx) error {
	for _, c := range s.Customers {
		if err := tx.PutCustomer(c); err != nil {
			return err
		}
	}
	for _, i := range s.Items {
		if err := tx.PutItem(i); err != nil {
			return err
		}
	}
	for _, o := range s.Orders {
		if err := tx.PutOrder(o); err != nil {
			return err
		}
	}
	return nil
}

// shopRig is the [rig] of the workload orders.
type shopRig struct {
	txRig[ShopTx]
	tasks []*ordersTask
}

func (r *shopRig) fill() error {
	setup := firstOrders(r.config.Workload.Params.Keys)
	setup.Isolation, setup.Map = r.config.Isolation, r.config.Map
	setup.Limits = Limits{Attempts: r.config.Attempts, Stopped: r.stop.Load}
	if err := r.open(r.config.Engine.NewShop(setup)); err != nil {
		return err
	}
	return r.verify()
}

func (r *shopRig) start() error {
	for i := range r.config.Threads {
		s := r.engine.Session(i)
		t := newOrdersTask(r.Trial, i, s)
		r.tasks = append(r.tasks, t)
		r.workers = append(r.workers, newWorker(r.Trial, i, s, t))
	}
	return nil
}

// verify looks at every customer, item and order.
func (r *shopRig) verify() error {
	n := r.config.Workload.Params.Keys
	placed, paid, sold := numbers(n), numbers(n), soldAtFirst(n)
	for _, t := range r.tasks {
		for k := range n {
			placed[k] += t.placed[k]
			paid[k] += t.paid[k]
			sold[k] += t.sold[k]
		}
	}
	check := newOrdersTask(r.Trial, -1, r.runner)
	orders := 0
	for k := range uint64(n) {
		check.customer = k
		err := r.runner.Do(true, func(tx ShopTx) error {
			if err := check.statusIn(tx); err != nil {
				return err
			}
			c := check.seen
			if c.Next != firstPerCustomer+placed[k] || c.Paid != paid[k] {
				return wrong("", "customer %d has ordered %d times and paid %d at the end; the committed "+
					"operations make it %d and %d",
					k, c.Next, c.Paid, firstPerCustomer+placed[k], paid[k])
			}
			orders += int(c.Next - c.First)
			item, err := tx.Item(k)
			if err == nil {
				err = checkItem(item, k)
			}
			if err == nil && item.Sold != sold[k] {
				err = wrong("", "of item %d, %d are sold at the end; the committed operations make it %d", k,
					item.Sold, sold[k])
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return r.runner.Do(true, func(tx ShopTx) error {
		n, err := tx.CountOrders()
		if err == nil && n != orders {
			err = wrong("", "there are %d orders at the end; the customers have %d", n, orders)
		}
		return err
	})
}

// nameSize is the size of every name.
const nameSize = 16

// nameOf returns the name of a customer.
func nameOf(customer uint64) string {
	return fmt.Sprintf("name-%0*d", nameSize-5, customer/namesakes)
}
