package bench

// Sizes of TPC-C.
const (
	districts     = 10      // of a warehouse
	customers     = 3_000   // of a district, and its orders at first
	delivered     = 2_100   // of these orders
	stockItems    = 100_000 // of a warehouse
	customerNames = 1_000   // of a district
	orderLines    = 15      // of an order, at most
)

// tpccTables are the tables: an order has customer*16 + lines, and a line item*16 + quantity.
type tpccTables struct {
	keys                           int64 // warehouses
	warehouse, ytd, next, oldest   *Table
	customer, byName, last         *Table
	history, item, stock           *Table
	orders, newOrder, orderLine    *Table
	customerDraw, nameDraw, itemOf Draw
}

func tpcc() Workload {
	return Workload{
		Name: "tpcc",
		Doc: "TPC-C: its five transactions at the standard's minimum mix, on --keys warehouses, without " +
			"terminals and think times. A record is one or two numbers and bytes of the standard's row length, " +
			"so a district's next order and its year to date are two tables. Of each district three customers " +
			"share a last name; the one in the middle is found by an index of names, and the last order of a " +
			"customer by another. An item costs 1 to 100. A delivery is one transaction over ten districts. " +
			"stock_level counts an item once for each line. One new order in a hundred is rolled back after it " +
			"has written. Source: TPC Benchmark C, Standard Specification, Revision 5.11, Transaction Processing " +
			"Performance Council, 2010. Verified: numbers, values, which records are there, and the consistency " +
			"conditions of payments and orders.",
		Params: Params{Keys: 1, ReadPct: Unset, Theta: Unset},
		Build: func(m *Model) {
			t := newTPCC(m)
			m.RollsBack()
			m.Update("new_order", 45, t.placeOrder)
			m.Update("payment", 43, t.pay)
			m.View("order_status", 4, t.orderStatus)
			m.Update("delivery", 4, t.deliver)
			m.View("stock_level", 4, t.stockLevel)
			m.AtEnd(t.consistent)
		},
	}
}

func newTPCC(m *Model) *tpccTables {
	t := &tpccTables{keys: int64(m.Keys)}
	table := func(name string, each, size int, number func(k int64) int64) *Table {
		return m.Table(Table{Name: name, Records: m.Keys * each, Number: number, Size: ValueSize{size, size}})
	}
	always := func(n int64) func(int64) int64 { return func(int64) int64 { return n } }
	t.warehouse = table("warehouse", 1, 89, always(300_000))
	t.ytd = table("district_ytd", districts, 95, always(30_000))
	t.next = table("district_next", districts, 0, always(customers))
	t.oldest = table("district_oldest", districts, 0, always(delivered))
	t.customer = table("customer", districts*customers, 655, always(-10))
	t.byName = table("customer_by_name", districts*customerNames, 0, func(k int64) int64 {
		return k%customerNames + customerNames*hashPart(k, 3)
	})
	t.last = table("customer_last", districts*customers, 0, func(k int64) int64 { return k })
	t.history = table("history", districts*customers, 46, always(10))
	t.item = m.Table(Table{Name: "item", Records: stockItems, Number: price, Size: ValueSize{82, 82}})
	t.stock = table("stock", stockItems, 306, func(k int64) int64 { return 10 + hashPart(k, 91) })
	t.orders = table("orders", districts*customers, 24, func(k int64) int64 {
		return k%customers*16 + firstLines(k)
	})
	t.newOrder = m.Table(Table{Name: "new_order", Records: m.Keys * districts * customers,
		Size: ValueSize{8, 8}, Number: always(0), Deletes: true,
		Present: func(k int64) bool { return k%customers >= delivered }})
	t.orderLine = m.Table(Table{Name: "order_line", Records: m.Keys * districts * customers * orderLines,
		Size:    ValueSize{54, 54},
		Present: func(k int64) bool { return k%orderLines < firstLines(k/orderLines) },
		Number:  func(k int64) int64 { return hashPart(k, stockItems)*16 + 5 }})
	t.customerDraw, t.nameDraw = m.NURand(1023, customers), m.NURand(255, customerNames)
	t.itemOf = m.NURand(8191, stockItems)
	return t
}

// price returns the price of an item, and firstLines the number of lines of an order of the first
// load.
func price(item int64) int64       { return 1 + hashPart(item, 100) }
func firstLines(order int64) int64 { return 5 + hashPart(order, 11) }

// order returns the number of an order in the tables, by its number in a district.
func (t *tpccTables) order(district, n int64) int64 {
	if n < customers {
		return district*customers + n
	}
	return n*t.keys*districts + district
}

func (t *tpccTables) someWarehouse(tx *Tx) int64 { return int64(tx.Below(int(t.keys))) }

func someDistrict(tx *Tx, warehouse int64) int64 {
	return warehouse*districts + int64(tx.Below(districts))
}

// someCustomer returns a customer of a district, by name if need be.
func (t *tpccTables) someCustomer(tx *Tx, district int64) int64 {
	if tx.Chance(60) {
		return district*customers + tx.Get(t.byName, district*customerNames+tx.Draw(t.nameDraw)).Number
	}
	return district*customers + tx.Draw(t.customerDraw)
}

func (t *tpccTables) placeOrder(tx *Tx) error {
	w := t.someWarehouse(tx)
	d := someDistrict(tx, w)
	c, lines, wrong := tx.Draw(t.customerDraw), int64(5+tx.Below(11)), tx.Chance(1)
	tx.Get(t.warehouse, w)
	tx.Get(t.customer, d*customers+c)
	n := tx.Get(t.next, d)
	tx.Set(n, n.Number+1)
	o := t.order(d, n.Number)
	tx.Insert(t.orders, o, c*16+lines)
	tx.Insert(t.newOrder, o, 0)
	tx.Set(tx.Get(t.last, d*customers+c), o)
	for i := range lines {
		item, from, quantity := tx.Draw(t.itemOf), w, int64(1+tx.Below(10))
		if tx.Chance(1) {
			from = t.someWarehouse(tx)
		}
		tx.Get(t.item, item)
		s := tx.Get(t.stock, from*stockItems+item)
		left := s.Number - quantity
		if s.Number < quantity+10 {
			left += 91
		}
		tx.Set(s, left)
		tx.Insert(t.orderLine, o*orderLines+i, item*16+quantity)
	}
	if wrong {
		return ErrRollBack
	}
	return nil
}

func (t *tpccTables) pay(tx *Tx) error {
	w := t.someWarehouse(tx)
	d, amount := someDistrict(tx, w), int64(1+tx.Below(5000))
	of := d
	if tx.Chance(15) {
		of = someDistrict(tx, t.someWarehouse(tx))
	}
	for _, total := range []Item{tx.Get(t.warehouse, w), tx.Get(t.ytd, d)} {
		tx.Set(total, total.Number+amount)
	}
	c := tx.Get(t.customer, t.someCustomer(tx, of))
	tx.Set(c, c.Number-amount)
	tx.Insert(t.history, tx.New(t.history), amount)
	return nil
}

func (t *tpccTables) orderStatus(tx *Tx) error {
	c := t.someCustomer(tx, someDistrict(tx, t.someWarehouse(tx)))
	tx.Get(t.customer, c)
	o := tx.Get(t.orders, tx.Get(t.last, c).Number)
	for i := range o.Number % 16 {
		tx.Get(t.orderLine, o.Key*orderLines+i)
	}
	return nil
}

func (t *tpccTables) deliver(tx *Tx) error {
	w := t.someWarehouse(tx)
	for i := range int64(districts) {
		d := w*districts + i
		oldest := tx.Get(t.oldest, d)
		waiting := tx.Get(t.newOrder, t.order(d, oldest.Number))
		if !waiting.OK {
			continue
		}
		tx.Delete(waiting)
		tx.Set(oldest, oldest.Number+1)
		o := tx.Get(t.orders, waiting.Key)
		tx.Set(o, o.Number)
		total := int64(0)
		for k := range o.Number % 16 {
			line := tx.Get(t.orderLine, o.Key*orderLines+k)
			tx.Set(line, line.Number)
			total += line.Number % 16 * price(line.Number/16)
		}
		c := tx.Get(t.customer, d*customers+o.Number/16)
		tx.Set(c, c.Number+total)
	}
	return nil
}

func (t *tpccTables) stockLevel(tx *Tx) error {
	w := t.someWarehouse(tx)
	d := someDistrict(tx, w)
	next := tx.Get(t.next, d).Number
	for n := next - 20; n < next; n++ {
		o := tx.Get(t.orders, t.order(d, n))
		for i := range o.Number % 16 {
			line := tx.Get(t.orderLine, o.Key*orderLines+i)
			tx.Get(t.stock, w*stockItems+line.Number/16)
		}
	}
	return nil
}

// consistent checks the standard's conditions on payments and orders.
func (t *tpccTables) consistent(tx *Tx) error {
	sum := func(table *Table) int64 {
		n, _ := tx.Sum(table)
		return n
	}
	_, orders := tx.Sum(t.orders)
	for _, c := range []struct {
		what     string
		is, want int64
	}{
		{"the years to date of the districts and the warehouses", sum(t.ytd), sum(t.warehouse)},
		{"the history and the years to date of the warehouses", sum(t.history), sum(t.warehouse)},
		{"the orders and the next numbers of the districts", int64(orders), sum(t.next)},
	} {
		if c.is != c.want {
			return Violated("%s: %d is not %d", c.what, c.is, c.want)
		}
	}
	return nil
}
