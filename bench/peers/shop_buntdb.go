package peers

import (
	"errors"
	"strings"

	"github.com/tidwall/buntdb"

	"github.com/mvccmap/mvccmap/bench"
)

// buntdbShop is a [bench.Shop]: the key of a record is the letter of its table and the ID, and
// the indexes are over values, which begin with what is looked for.
type buntdbShop struct{ buntdbDB }

func newBuntDBShop(setup bench.ShopSetup) (bench.Shop, error) {
	db, err := buntdb.Open(":memory:")
	if err != nil {
		return nil, err
	}
	shop := &buntdbShop{buntdbDB{db}}
	err = errors.Join(
		db.CreateIndex("name", "c*", buntdb.IndexBinary),
		db.CreateIndex("customer", "o*", buntdb.IndexBinary),
		shop.Session(-1).Do(false, setup.Fill))
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return shop, nil
}

func (s *buntdbShop) Session(int) bench.ShopSession { return &buntdbShopSession{buntdbShop: s} }

// buntdbShopSession is its own transaction.
type buntdbShopSession struct {
	bench.NoAborts
	*buntdbShop
	tx *buntdb.Tx
}

func (s *buntdbShopSession) Do(readOnly bool, fn func(tx bench.ShopTx) error) error {
	return s.run(readOnly, func(tx *buntdb.Tx) error {
		s.tx = tx
		return fn(s)
	})
}

func shopKey(table byte, id uint64) string { return string(appendWords([]byte{table}, id)) }

func (s *buntdbShopSession) get(table byte, name string, id uint64) ([]byte, error) {
	b, err := s.tx.Get(shopKey(table, id))
	if errors.Is(err, buntdb.ErrNotFound) {
		err = bench.ErrNoRecord(name, id)
	}
	return []byte(b), err
}

func (s *buntdbShopSession) put(table byte, id uint64, value []byte) error {
	_, _, err := s.tx.Set(shopKey(table, id), string(value), nil)
	return err
}

func (s *buntdbShopSession) Customer(id uint64) (c bench.Customer, err error) {
	b, err := s.get('c', "customer", id)
	if err != nil {
		return c, err
	}
	return customerOf(b)
}

func (s *buntdbShopSession) Item(id uint64) (i bench.Item, err error) {
	b, err := s.get('i', "item", id)
	if err != nil {
		return i, err
	}
	return itemOf(b)
}

func (s *buntdbShopSession) Named(name string, visit func(bench.Customer)) error {
	var bad error
	err := s.tx.AscendGreaterOrEqual("name", name, func(_, b string) bool {
		if !strings.HasPrefix(b, name) {
			return false
		}
		c, err := customerOf([]byte(b))
		if bad = err; bad == nil {
			visit(c)
		}
		return bad == nil
	})
	return errors.Join(err, bad)
}

func (s *buntdbShopSession) OrdersOf(customer uint64, visit func(bench.Order) bool) error {
	var bad error
	err := s.tx.AscendGreaterOrEqual("customer", string(appendWords(nil, customer)),
		func(_, b string) bool {
			o, err := orderOf([]byte(b))
			if bad = err; bad != nil || o.Customer != customer {
				return false
			}
			return visit(o)
		})
	return errors.Join(err, bad)
}

func (s *buntdbShopSession) CountOrders() (n int, err error) {
	err = s.tx.Ascend("customer", func(string, string) bool { n++; return true })
	return n, err
}

func (s *buntdbShopSession) PutCustomer(c bench.Customer) error {
	return s.put('c', c.ID, appendCustomer(nil, c))
}

func (s *buntdbShopSession) PutItem(i bench.Item) error {
	return s.put('i', i.ID, appendItem(nil, i))
}

func (s *buntdbShopSession) PutOrder(o bench.Order) error {
	return s.put('o', o.ID, appendOrder(nil, o))
}

func (s *buntdbShopSession) DeleteOrder(o bench.Order) error {
	_, err := s.tx.Delete(shopKey('o', o.ID))
	return err
}
