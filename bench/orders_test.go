package bench

import (
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A brokenShop is a shop of Go maps whose sessions, but for the runner's, do one thing wrong once
// in a while.
type brokenShop struct {
	*lockedShop
	fault string
	now   func() bool
}

func (s *brokenShop) Session(worker int) ShopSession {
	if worker < 0 {
		return s.lockedShop
	}
	return s
}

// shopFaults is what a shop may do wrong.
var shopFaults = []string{
	"does not find an order by its customer", "leaves an ended order in the index",
	"does not index an order",
	"loses orders", "loses payments", "does not find a customer by name",
	"finds a customer by another's name",
	"takes nothing from the stock", "shows an old customer", "tears orders",
}

func (s *brokenShop) does(fault string) bool { return s.fault == fault && s.now() }

func (s *brokenShop) Do(readOnly bool, fn func(tx ShopTx) error) error {
	if s.fault == "tears orders" {
		s.mu.Lock()
		defer s.mu.Unlock()
		return fn(s)
	}
	return s.lockedShop.Do(readOnly, func(ShopTx) error { return fn(s) })
}

func (s *brokenShop) Customer(id uint64) (Customer, error) {
	c, err := s.lockedShop.Customer(id)
	if s.does("shows an old customer") {
		c.Next--
	}
	if s.does("tears orders") {
		s.mu.Unlock()
		runtime.Gosched()
		s.mu.Lock()
	}
	return c, err
}

func (s *brokenShop) OrdersOf(customer uint64, visit func(Order) bool) error {
	first := true
	return s.lockedShop.OrdersOf(customer, func(o Order) bool {
		skip := first && s.does("does not find an order by its customer")
		first = false
		return skip || visit(o)
	})
}

func (s *brokenShop) Named(name string, visit func(Customer)) error {
	var found []Customer
	_ = s.lockedShop.Named(name, func(c Customer) { found = append(found, c) })
	switch {
	case s.does("does not find a customer by name"):
		found = found[1:]
	case s.does("finds a customer by another's name"):
		found = slices.Insert(found, 0, s.customers[0])
	}
	for _, c := range found {
		visit(c)
	}
	return nil
}

func (s *brokenShop) PutItem(i Item) error {
	if s.does("takes nothing from the stock") {
		return nil
	}
	return s.lockedShop.PutItem(i)
}

func (s *brokenShop) PutCustomer(c Customer) error {
	if s.does("loses payments") && s.customers[c.ID].Paid != c.Paid {
		return nil
	}
	return s.lockedShop.PutCustomer(c)
}

func (s *brokenShop) PutOrder(o Order) error {
	switch {
	case s.does("loses orders"):
		return nil
	case s.does("does not index an order"):
		s.orders[o.ID] = o
		return nil
	}
	return s.lockedShop.PutOrder(o)
}

func (s *brokenShop) DeleteOrder(o Order) error {
	if s.does("leaves an ended order in the index") {
		delete(s.orders, o.ID)
		return nil
	}
	return s.lockedShop.DeleteOrder(o)
}

func TestFaultyShopsAreCaught(t *testing.T) {
	for _, fault := range shopFaults {
		w, spec := named(t, "orders", "rwmutex")
		w.Params.Keys = 20
		spec.NewShop = func(setup ShopSetup) (Shop, error) {
			shop, err := newLockedShop(setup)
			return &brokenShop{shop.(*lockedShop), fault, every(50)}, err
		}
		requireCaught(t, fault, Config{Workload: w, Engine: spec, Threads: 2, Seed: 1})
	}
}

// Few customers, so that transactions conflict.
func TestOrders(t *testing.T) {
	w, _ := WorkloadByName("orders")
	for _, e := range Engines() {
		if _, ok := e.Runs(w); !ok {
			continue
		}
		for _, keys := range []int{namesakes, 8} { // the last customer of 8 has one namesake
			w.Params.Keys = keys
			tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 4, Seed: 1})
			runOps(t, tr, 5_000)
			require.NoError(t, tr.Verify(), "%s with %d keys", e.Name, keys)
		}
	}
}

// What the goroutines do not see, or is there before them, is found by the runner.
func TestBadShops(t *testing.T) {
	w, spec := named(t, "orders", "rwmutex")
	w.Params.Keys = 20
	var shop *lockedShop
	for name, spoil := range map[string]func(){
		"an order more":     func() { shop.orders[1<<50] = Order{} },
		"a customer less":   func() { delete(shop.customers, 3) },
		"a payment lost":    func() { c := shop.customers[3]; c.Paid++; shop.customers[3] = c },
		"an item sold less": func() { i := shop.items[3]; i.Sold--; i.Stock++; shop.items[3] = i },
	} {
		now := false
		spec.NewShop = func(setup ShopSetup) (Shop, error) {
			made, err := newLockedShop(setup)
			if shop = made.(*lockedShop); now {
				spoil()
			}
			return shop, err
		}
		config := Config{Workload: w, Engine: spec, Threads: 2}
		tr := newTrial(t, config)
		runOps(t, tr, 1_000)
		require.NoError(t, tr.Verify())
		spoil()
		var v *Violation
		require.ErrorAs(t, tr.Verify(), &v, name)
		now = true
		_, err := New(config)
		require.ErrorAs(t, err, &v, name)
	}
}
