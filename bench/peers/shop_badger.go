package peers

import (
	"encoding/binary"
	"errors"

	"github.com/dgraph-io/badger/v4"

	"github.com/mvccmap/mvccmap/bench"
)

// badgerShop is a [bench.Shop]. The key of a record is the letter of its table and the ID. The
// indexes are kept by hand: a customer has a key of its name and ID, with nothing in it, and an
// order one of its customer and number, with its ID.
type badgerShop struct{ badgerDB }

func newBadgerShop(setup bench.ShopSetup) (bench.Shop, error) {
	db, err := openBadger()
	if err != nil {
		return nil, err
	}
	batch := db.NewWriteBatch()
	defer batch.Cancel()
	if err = setup.Fill(&badgerShopTx{write: batch}); err == nil {
		err = batch.Flush()
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &badgerShop{badgerDB{db, setup.Limits}}, nil
}

func (s *badgerShop) Session(int) bench.ShopSession { return &badgerShopSession{badgerShop: s} }

type badgerShopSession struct {
	bench.Attempts
	*badgerShop
	tx badgerShopTx
}

func (s *badgerShopSession) Do(readOnly bool, fn func(tx bench.ShopTx) error) error {
	return s.run(readOnly, &s.Attempts, func(tx *badger.Txn) error {
		s.tx.tx, s.tx.write = tx, tx
		return fn(&s.tx)
	})
}

// badgerShopTx is a transaction, or a batch of writes.
type badgerShopTx struct {
	tx    *badger.Txn
	write interface {
		Set(key, value []byte) error
		Delete(key []byte) error
	}
}

// badgerRecord reads a record, by its table and ID.
func badgerRecord[R any](
	t *badgerShopTx, table byte, name string, id uint64, decode func([]byte) (R, error),
) (R, error) {
	r, ok, err := badgerFind(t.tx, appendWords([]byte{table}, id), decode)
	if err == nil && !ok {
		err = bench.ErrNoRecord(name, id)
	}
	return r, err
}

func (t *badgerShopTx) Customer(id uint64) (bench.Customer, error) {
	return badgerRecord(t, 'c', "customer", id, customerOf)
}

func (t *badgerShopTx) Item(id uint64) (bench.Item, error) {
	return badgerRecord(t, 'i', "item", id, itemOf)
}

func (t *badgerShopTx) Named(name string, visit func(bench.Customer)) error {
	prefix := append([]byte{'n'}, name...)
	return badgerEach(t.tx, prefix, nil, false, func(item *badger.Item) (bool, error) {
		key := item.Key()
		c, err := t.Customer(binary.BigEndian.Uint64(key[len(key)-wordSize:]))
		if err == nil {
			visit(c)
		}
		return true, err
	})
}

func (t *badgerShopTx) OrdersOf(customer uint64, visit func(bench.Order) bool) error {
	prefix := appendWords([]byte{'k'}, customer)
	return badgerEach(t.tx, prefix, nil, true, func(item *badger.Item) (bool, error) {
		id, err := badgerValue(item, func(b []byte) (id uint64, err error) {
			_, err = words(b, &id)
			return id, err
		})
		if err != nil {
			return false, err
		}
		o, err := badgerRecord(t, 'o', "order", id, orderOf)
		return err == nil && visit(o), err
	})
}

func (t *badgerShopTx) CountOrders() (n int, err error) {
	err = badgerEach(t.tx, []byte{'o'}, nil, false, func(*badger.Item) (bool, error) {
		n++
		return true, nil
	})
	return n, err
}

func (t *badgerShopTx) PutCustomer(c bench.Customer) error {
	if t.tx == nil { // it is new; names never change
		if err := t.write.Set(appendWords(append([]byte{'n'}, c.Name...), c.ID), nil); err != nil {
			return err
		}
	}
	return t.write.Set(appendWords([]byte{'c'}, c.ID), appendCustomer(nil, c))
}

func (t *badgerShopTx) PutItem(i bench.Item) error {
	return t.write.Set(appendWords([]byte{'i'}, i.ID), appendItem(nil, i))
}

func (t *badgerShopTx) PutOrder(o bench.Order) error {
	if err := t.write.Set(appendWords([]byte{'k'}, o.Customer, o.Number),
		appendWords(nil, o.ID)); err != nil {
		return err
	}
	return t.write.Set(appendWords([]byte{'o'}, o.ID), appendOrder(nil, o))
}

func (t *badgerShopTx) DeleteOrder(o bench.Order) error {
	if err := t.write.Delete(appendWords([]byte{'k'}, o.Customer, o.Number)); err != nil {
		return err
	}
	return t.write.Delete(appendWords([]byte{'o'}, o.ID))
}
