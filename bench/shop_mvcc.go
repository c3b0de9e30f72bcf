package bench

import (
	"errors"

	"github.com/mvccmap/mvccmap/mvcc"
)

// mvccShop is a database of three tables with two indexes.
type mvccShop struct {
	mvccDB
	customers  *mvcc.Map[uint64, Customer]
	items      *mvcc.Map[uint64, Item]
	orders     *mvcc.Map[uint64, Order]
	byName     *mvcc.Index[string, uint64, Customer]
	byCustomer *mvcc.Index[uint64, uint64, Order]
}

func newMVCCShop(setup ShopSetup) (Shop, error) {
	n := len(setup.Customers)
	s := &mvccShop{mvccDB: openMVCCDB(setup.Map.options(n, setup.Isolation), setup.Limits)}
	s.customers = mvcc.NewTable[uint64, Customer](s.db, "customers", &mvcc.TableOptions{Capacity: n})
	s.items = mvcc.NewTable[uint64, Item](s.db, "items", &mvcc.TableOptions{Capacity: n})
	s.orders = mvcc.NewTable[uint64, Order](s.db, "orders",
		&mvcc.TableOptions{Capacity: firstPerCustomer * n})
	var err, err2 error
	s.byName, err = mvcc.NewIndex(s.customers, "name",
		func(_ uint64, c Customer) []string { return []string{c.Name} }, nil)
	s.byCustomer, err2 = mvcc.NewOrderedIndex(s.orders, "customer",
		func(_ uint64, o Order) []uint64 { return []uint64{OrderKey(o.Customer, o.Number)} },
		&mvcc.IndexOptions{Unique: true})
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	for _, c := range setup.Customers {
		s.customers.Store(c.ID, c)
	}
	for _, i := range setup.Items {
		s.items.Store(i.ID, i)
	}
	for _, o := range setup.Orders {
		s.orders.Store(o.ID, o)
	}
	return s, nil
}

func (s *mvccShop) Session(int) ShopSession {
	var t mvccShopTx
	var v mvccShopView
	t.shop, v.shop = s, s
	return newMVCCTxSession(&s.mvccDB, func(tx mvcc.DBTx) ShopTx {
		t.customers, t.items, t.orders = s.customers.In(tx), s.items.In(tx), s.orders.In(tx)
		return &t
	}, func(sn mvcc.DBSnapshot) ShopTx {
		v.customers, v.items, v.orders = s.customers.At(sn), s.items.At(sn), s.orders.At(sn)
		return &v
	})
}

// shopReads is how a shop is read, by a transaction or by a snapshot.
type shopReads[C mvcc.Reader[uint64, Customer], I mvcc.Reader[uint64, Item], O mvcc.Reader[uint64, Order]] struct {
	shop      *mvccShop
	customers C
	items     I
	orders    O
}

func (r *shopReads[C, I, O]) Customer(id uint64) (Customer, error) {
	c, ok := r.customers.Get(id)
	if !ok {
		return c, ErrNoRecord("customer", id)
	}
	return c, nil
}

func (r *shopReads[C, I, O]) Item(id uint64) (Item, error) {
	i, ok := r.items.Get(id)
	if !ok {
		return i, ErrNoRecord("item", id)
	}
	return i, nil
}

func (r *shopReads[C, I, O]) Named(name string, visit func(Customer)) error {
	for _, c := range r.shop.byName.Get(r.customers, name) {
		visit(c)
	}
	return nil
}

func (r *shopReads[C, I, O]) OrdersOf(customer uint64, visit func(Order) bool) error {
	its := mvcc.From(OrderKey(customer, 0)).Before(OrderKey(customer+1, 0))
	for _, o := range r.shop.byCustomer.Ascend(r.orders, its) {
		if !visit(o) {
			break
		}
	}
	return nil
}

func (r *shopReads[C, I, O]) CountOrders() (n int, err error) {
	for range r.orders.All() {
		n++
	}
	return n, nil
}

type mvccShopTx struct {
	shopReads[mvcc.Tx[uint64, Customer], mvcc.Tx[uint64, Item], mvcc.Tx[uint64, Order]]
}

func (t *mvccShopTx) PutCustomer(c Customer) error { t.customers.Set(c.ID, c); return nil }
func (t *mvccShopTx) PutItem(i Item) error         { t.items.Set(i.ID, i); return nil }
func (t *mvccShopTx) PutOrder(o Order) error       { t.orders.Set(o.ID, o); return nil }
func (t *mvccShopTx) DeleteOrder(o Order) error    { t.orders.Delete(o.ID); return nil }

type mvccShopView struct {
	shopReads[mvcc.Snapshot[uint64, Customer], mvcc.Snapshot[uint64, Item], mvcc.Snapshot[uint64, Order]]
}

var errReadOnly = errors.New("bench: a write in a transaction that only reads")

func (v *mvccShopView) PutCustomer(Customer) error { return errReadOnly }
func (v *mvccShopView) PutItem(Item) error         { return errReadOnly }
func (v *mvccShopView) PutOrder(Order) error       { return errReadOnly }
func (v *mvccShopView) DeleteOrder(Order) error    { return errReadOnly }
