package peers

import (
	"github.com/hashicorp/go-memdb"

	"github.com/mvccmap/mvccmap/bench"
)

// memdbBy indexes rows of type R by bytes that are made of them, without reflection.
type memdbBy[R any] func(row R) []byte

// FromObject implements [memdb.SingleIndexer].
func (by memdbBy[R]) FromObject(row any) (bool, []byte, error) { return true, by(row.(R)), nil }

// FromArgs implements [memdb.Indexer]: the argument is the bytes.
func (memdbBy[R]) FromArgs(args ...any) ([]byte, error) {
	return args[0].([]byte), nil
}

// memdbShop is a [bench.Shop], whose rows are pointers to records that never change.
type memdbShop struct{ db *memdb.MemDB }

func memdbByID[R any](by memdbBy[R]) map[string]*memdb.IndexSchema {
	return map[string]*memdb.IndexSchema{memdbIndex: {Name: memdbIndex, Unique: true, Indexer: by}}
}

func newMemDBShop(setup bench.ShopSetup) (bench.Shop, error) {
	customers := memdbByID(func(c *bench.Customer) []byte { return appendWords(nil, c.ID) })
	customers["name"] = &memdb.IndexSchema{
		Name: "name", Indexer: memdbBy[*bench.Customer](func(c *bench.Customer) []byte {
			return []byte(c.Name)
		}),
	}
	orders := memdbByID(func(o *bench.Order) []byte { return appendWords(nil, o.ID) })
	orders["customer"] = &memdb.IndexSchema{
		Name: "customer", Unique: true,
		Indexer: memdbBy[*bench.Order](func(o *bench.Order) []byte {
			return appendWords(nil, o.Customer, o.Number)
		}),
	}
	db, err := memdb.NewMemDB(&memdb.DBSchema{Tables: map[string]*memdb.TableSchema{
		"customers": {Name: "customers", Indexes: customers},
		"items": {Name: "items", Indexes: memdbByID(func(i *bench.Item) []byte {
			return appendWords(nil, i.ID)
		})},
		"orders": {Name: "orders", Indexes: orders},
	}})
	if err != nil {
		return nil, err
	}
	shop := &memdbShop{db}
	return shop, shop.Session(-1).Do(false, setup.Fill)
}

func (s *memdbShop) Close() {}

func (s *memdbShop) Session(int) bench.ShopSession { return &memdbShopSession{memdbShop: s} }

// memdbShopSession is its own transaction.
type memdbShopSession struct {
	bench.NoAborts
	*memdbShop
	tx *memdb.Txn
}

func (s *memdbShopSession) Do(readOnly bool, fn func(tx bench.ShopTx) error) error {
	return memdbRun(s.db, readOnly, func(tx *memdb.Txn) error {
		s.tx = tx
		return fn(s)
	})
}

// memdbFirst returns the row of a table with that ID.
func memdbFirst[R any](tx *memdb.Txn, table string, id uint64) (row R, err error) {
	found, err := tx.First(table, memdbIndex, appendWords(nil, id))
	if err == nil && found == nil {
		err = bench.ErrNoRecord(table, id)
	}
	if err != nil {
		return row, err
	}
	return *found.(*R), nil
}

func (s *memdbShopSession) Customer(id uint64) (bench.Customer, error) {
	return memdbFirst[bench.Customer](s.tx, "customers", id)
}

func (s *memdbShopSession) Item(id uint64) (bench.Item, error) {
	return memdbFirst[bench.Item](s.tx, "items", id)
}

func (s *memdbShopSession) Named(name string, visit func(bench.Customer)) error {
	rows, err := s.tx.Get("customers", "name", []byte(name))
	if err != nil {
		return err
	}
	for row := rows.Next(); row != nil; row = rows.Next() {
		visit(*row.(*bench.Customer))
	}
	return nil
}

func (s *memdbShopSession) OrdersOf(customer uint64, visit func(bench.Order) bool) error {
	low := appendWords(nil, customer, 0)
	rows, err := s.tx.LowerBound("orders", "customer", low)
	if err != nil {
		return err
	}
	for row := rows.Next(); row != nil; row = rows.Next() {
		if o := row.(*bench.Order); o.Customer != customer || !visit(*o) {
			break
		}
	}
	return nil
}

func (s *memdbShopSession) CountOrders() (n int, err error) {
	rows, err := s.tx.Get("orders", memdbIndex)
	if err != nil {
		return 0, err
	}
	for rows.Next() != nil {
		n++
	}
	return n, nil
}

func (s *memdbShopSession) PutCustomer(c bench.Customer) error {
	return s.tx.Insert("customers", &c)
}
func (s *memdbShopSession) PutItem(i bench.Item) error      { return s.tx.Insert("items", &i) }
func (s *memdbShopSession) PutOrder(o bench.Order) error    { return s.tx.Insert("orders", &o) }
func (s *memdbShopSession) DeleteOrder(o bench.Order) error { return s.tx.Delete("orders", &o) }
