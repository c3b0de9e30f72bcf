package bench

import (
	"cmp"
	"slices"
)

// orderWorkloads are over tables with indexes, see [Shop].
func orderWorkloads() []Workload {
	return []Workload{{
		Name: "orders",
		Doc: "A small shop, after TPC-C, with as many customers and items as --keys says. As " +
			"--read-pct " +
			"says, add up the open orders of a customer, by an index. Else, one as often as the other: " +
			"order up to --txn-size items, which takes them from the stock, and if the customer has 10 " +
			"open orders ends " +
			"the oldest; or let a customer pay, found by a name that 3 customers have, by an index. Each " +
			"in one transaction over " +
			"the tables. Index and records must agree in each, and in the end every order and payment " +
			"must be there.",
		Params: Params{Keys: 10_000, ReadPct: 20, Theta: Unset, TxnSize: 10},
		kind:   orders, minKeys: namesakes, maxKeys: manyKeys,
		multiKey: true,
	}}
}

const (
	namesakes        = 3  // customers of one name
	firstPerCustomer = 3  // orders that each has at first
	maxOpen          = 10 // orders that one may have
	firstStock       = 100
	lowStock         = 10 // from here on down, restock are added
	restock          = 91
	maxQuantity      = 10 // of an item in an order; at most lowStock
)

// price returns what an item costs.
func price(item uint32) uint64 { return 1 + uint64(item)%100 }

// firstLine returns the only line of the orders that a customer has at first.
func firstLine(customer int) Line { return Line{uint32(customer), 1} }

// soldAtFirst returns, by item, how many of the orders that are there at first are for it.
func soldAtFirst(n int) []uint64 {
	sold := numbers(n)
	for k := range sold {
		sold[k] = firstPerCustomer
	}
	return sold
}

// firstOrders returns what a shop of n customers and n items has at first.
func firstOrders(n int) ShopSetup {
	var s ShopSetup
	for k := range uint64(n) {
		line := firstLine(int(k))
		cost := price(line.Item)
		s.Customers = append(s.Customers, Customer{
			ID: k, Name: nameOf(k), Next: firstPerCustomer, Open: firstPerCustomer * cost,
		})
		s.Items = append(s.Items, Item{ID: k, Stock: firstStock - firstPerCustomer,
			Sold: firstPerCustomer})
		for number := range uint64(firstPerCustomer) {
			s.Orders = append(s.Orders, Order{
				ID: k*firstPerCustomer + number, Customer: k, Number: number, Total: cost, Lines: []Line{line},
			})
		}
	}
	return s
}

// ordersTask orders, pays and adds up.
type ordersTask struct {
	session ShopSession
	keys    int
	longest int    // how many lines an order has at most
	reads   uint64 // an operation reads if its random 32 bits are below
	coin    stream
	pick    stream
	amounts stream
	label   labeller

	placed []uint64 // by customer: the orders that have committed
	paid   []uint64
	sold   []uint64 // by item

	// The operation that is under way, and what it finds.
	customer uint64
	order    Order
	name     string
	payer    int // which of those of the name
	amount   uint64
	seen     Customer
	found    []Customer
	open     uint64
	next     uint64
	oldest   Order
	wrong    error // the first thing that is

	// The methods, as functions.
	status, place, pay func(ShopTx) error
	addUp, takeOldest  func(Order) bool
	find               func(Customer)
}

func newOrdersTask(t *Trial, i int, s ShopSession) *ordersTask {
	p := t.config.Workload.Params
	o := &ordersTask{
		session: s, keys: p.Keys, longest: min(p.TxnSize, p.Keys),
		reads: uint64(p.ReadPct) * (1 << 32) / 100,
		coin:  t.streamFor(i, forCoin), pick: t.streamFor(i, forPick), amounts: t.streamFor(i, forAmount),
		label: labeller{on: &t.labelling},
	}
	if i >= 0 {
		o.placed, o.paid, o.sold = numbers(p.Keys), numbers(p.Keys), numbers(p.Keys)
		o.order.ID = uint64(i+1) << 40
	}
	o.status, o.place, o.pay = o.statusIn, o.placeIn, o.payIn
	o.addUp, o.takeOldest, o.find = o.add, o.take, func(c Customer) { o.found = append(o.found, c) }
	return o
}

func (t *ordersTask) labels() *labeller { return &t.label }

func (t *ordersTask) do() error {
	coin := t.coin.next()
	t.customer = uint64(t.pick.below(t.keys))
	if coin>>32 < t.reads {
		t.label.gets()
		return t.session.Do(true, t.status)
	}
	t.label.puts()
	if coin&1 == 0 {
		return t.doPay()
	}
	t.draw()
	if err := t.session.Do(false, t.place); err != nil {
		return err
	}
	t.placed[t.customer]++
	for _, l := range t.order.Lines {
		t.sold[l.Item] += uint64(l.Quantity)
	}
	return nil
}

func (t *ordersTask) doPay() error {
	group := t.customer / namesakes * namesakes
	t.payer = int(t.customer - group)
	t.name = nameOf(t.customer)
	t.amount = uint64(1 + t.amounts.below(100))
	err := t.session.Do(false, t.pay)
	if err == nil {
		t.paid[t.customer] += t.amount
	}
	return err
}

// draw makes the next order.
func (t *ordersTask) draw() {
	lines := make([]Line, 0, t.longest)
	total := uint64(0)
	for range 1 + t.amounts.below(t.longest) {
		item := uint32(t.pick.below(t.keys))
		if slices.ContainsFunc(lines, func(l Line) bool { return l.Item == item }) {
			continue
		}
		l := Line{item, uint32(1 + t.amounts.below(maxQuantity))}
		lines = append(lines, l)
		total += uint64(l.Quantity) * price(item)
	}
	t.order = Order{ID: t.order.ID + 1, Customer: t.customer, Total: total, Lines: lines}
}

// statusIn adds up the orders of the customer.
func (t *ordersTask) statusIn(tx ShopTx) error {
	c, err := tx.Customer(t.customer)
	if err != nil {
		return err
	}
	t.seen, t.open, t.next, t.wrong = c, 0, c.First, nil
	if err := tx.OrdersOf(t.customer, t.addUp); err != nil {
		return err
	}
	switch {
	case t.wrong != nil:
		return t.wrong
	case c.ID != t.customer || c.Name != nameOf(t.customer):
		return wrong("", "customer %d is called %q and has ID %d", t.customer, c.Name, c.ID)
	case t.next != c.Next || t.open != c.Open || c.Next-c.First > maxOpen:
		return wrong("", "customer %d has orders %d to %d for %d, of which the index finds those to "+
			"%d, for %d",
			t.customer, c.First, c.Next, c.Open, t.next, t.open)
	}
	return nil
}

// add checks an order of the customer, and adds it.
func (t *ordersTask) add(o Order) bool {
	t.wrong = checkOrder(o, t.customer, t.next)
	t.next++
	t.open += o.Total
	return t.wrong == nil
}

// checkOrder checks an order that the index has for customer where number was to come.
func checkOrder(o Order, customer, number uint64) error {
	total := uint64(0)
	for _, l := range o.Lines {
		total += uint64(l.Quantity) * price(l.Item)
	}
	if o.Customer != customer || o.Number != number || o.Total != total {
		return wrong("", "the index has order %d of customer %d, with total %d, where order %d of "+
			"customer %d was to come, with total %d",
			o.Number, o.Customer, o.Total, number, customer, total)
	}
	return nil
}

// placeIn places the order.
func (t *ordersTask) placeIn(tx ShopTx) error {
	c, err := tx.Customer(t.customer)
	if err != nil {
		return err
	}
	if c.Next-c.First >= maxOpen {
		t.oldest = Order{}
		if err := tx.OrdersOf(t.customer, t.takeOldest); err != nil {
			return err
		}
		if err := checkOrder(t.oldest, t.customer, c.First); err != nil {
			return err
		}
		if err := tx.DeleteOrder(t.oldest); err != nil {
			return err
		}
		c.First++
		c.Open -= t.oldest.Total
	}
	for _, l := range t.order.Lines {
		item, err := tx.Item(uint64(l.Item))
		if err != nil {
			return err
		}
		if err := checkItem(item, uint64(l.Item)); err != nil {
			return err
		}
		item.Stock -= uint64(l.Quantity)
		item.Sold += uint64(l.Quantity)
		if item.Stock < lowStock {
			item.Stock += restock
			item.Restocked++
		}
		if err := tx.PutItem(item); err != nil {
			return err
		}
	}
	t.order.Number = c.Next
	if err := tx.PutOrder(t.order); err != nil {
		return err
	}
	c.Next++
	c.Open += t.order.Total
	return tx.PutCustomer(c)
}

// take keeps the first order that it is given, and ends the visit.
func (t *ordersTask) take(o Order) bool { t.oldest = o; return false }

func checkItem(i Item, id uint64) error {
	if i.ID != id || i.Stock+i.Sold != firstStock+restock*i.Restocked || i.Stock < lowStock {
		return wrong("", "item %d has ID %d, and %d in stock, %d sold and was restocked %d times", id,
			i.ID, i.Stock, i.Sold, i.Restocked)
	}
	return nil
}

// payIn finds the customer by name, and adds a payment.
func (t *ordersTask) payIn(tx ShopTx) error {
	t.found = t.found[:0]
	if err := tx.Named(t.name, t.find); err != nil {
		return err
	}
	slices.SortFunc(t.found, func(a, b Customer) int { return cmp.Compare(a.ID, b.ID) })
	group := t.customer - uint64(t.payer)
	if want := min(namesakes, t.keys-int(group)); len(t.found) != want {
		return wrong("", "the index has %d customers called %s, not %d", len(t.found), t.name, want)
	}
	for i, c := range t.found {
		if c.ID != group+uint64(i) || c.Name != t.name {
			return wrong("", "the index has customer %d, called %s, as %s", c.ID, c.Name, t.name)
		}
	}
	c := t.found[t.payer]
	c.Paid += t.amount
	return tx.PutCustomer(c)
}
