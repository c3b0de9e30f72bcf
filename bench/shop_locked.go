package bench

import (
	"cmp"
	"sync"

	"github.com/tidwall/btree"
)

// lockedShop is three Go maps and two B-trees under a sync.RWMutex. It is its own session and
// transaction.
type lockedShop struct {
	NoAborts
	mu        sync.RWMutex
	customers map[uint64]Customer
	items     map[uint64]Item
	orders    map[uint64]Order
	named     *btree.BTreeG[nameEntry]
	ordersOf  *btree.BTreeG[orderEntry]
}

type nameEntry struct {
	name string
	id   uint64
}

type orderEntry struct{ key, id uint64 }

func newLockedShop(setup ShopSetup) (Shop, error) {
	s := &lockedShop{
		customers: map[uint64]Customer{}, items: map[uint64]Item{}, orders: map[uint64]Order{},
		named: btree.NewBTreeGOptions(func(a, b nameEntry) bool {
			return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.id, b.id)) < 0
		}, btree.Options{NoLocks: true}),
		ordersOf: btree.NewBTreeGOptions(func(a, b orderEntry) bool {
			return a.key < b.key
		}, btree.Options{NoLocks: true}),
	}
	return s, setup.Fill(s)
}

func (s *lockedShop) Session(int) ShopSession { return s }
func (s *lockedShop) Close()                  {}

// Do implements [ShopSession]. Nothing is undone if fn fails: the run ends then.
func (s *lockedShop) Do(readOnly bool, fn func(tx ShopTx) error) error {
	if readOnly {
		s.mu.RLock()
		defer s.mu.RUnlock()
	} else {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	return fn(s)
}

func (s *lockedShop) Customer(id uint64) (Customer, error) {
	c, ok := s.customers[id]
	if !ok {
		return c, ErrNoRecord("customer", id)
	}
	return c, nil
}

func (s *lockedShop) Item(id uint64) (Item, error) {
	i, ok := s.items[id]
	if !ok {
		return i, ErrNoRecord("item", id)
	}
	return i, nil
}

func (s *lockedShop) Named(name string, visit func(Customer)) error {
	s.named.Ascend(nameEntry{name, 0}, func(e nameEntry) bool {
		if e.name != name {
			return false
		}
		visit(s.customers[e.id])
		return true
	})
	return nil
}

func (s *lockedShop) OrdersOf(customer uint64, visit func(Order) bool) error {
	s.ordersOf.Ascend(orderEntry{key: OrderKey(customer, 0)}, func(e orderEntry) bool {
		return e.key < OrderKey(customer+1, 0) && visit(s.orders[e.id])
	})
	return nil
}

func (s *lockedShop) CountOrders() (int, error) { return len(s.orders), nil }

func (s *lockedShop) PutCustomer(c Customer) error {
	if _, has := s.customers[c.ID]; !has { // names never change
		s.named.Set(nameEntry{c.Name, c.ID})
	}
	s.customers[c.ID] = c
	return nil
}

func (s *lockedShop) PutItem(i Item) error {
	s.items[i.ID] = i
	return nil
}

func (s *lockedShop) PutOrder(o Order) error {
	s.orders[o.ID] = o
	s.ordersOf.Set(orderEntry{OrderKey(o.Customer, o.Number), o.ID})
	return nil
}

func (s *lockedShop) DeleteOrder(o Order) error {
	delete(s.orders, o.ID)
	s.ordersOf.Delete(orderEntry{key: OrderKey(o.Customer, o.Number)})
	return nil
}
