package peers

import (
	"errors"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"github.com/mvccmap/mvccmap/bench"
)

func badgerPeer() bench.EngineSpec {
	return bench.EngineSpec{
		Name: "badger",
		Doc: "An LSM tree with optimistic transactions, kept in memory, without a log, " +
			"compression or cache; conflicts are retried at once, as its users do. " +
			"Isolation: serializable but for phantoms. " +
			"Two transactions that scan the same keys, and each insert one, both commit",
		New: newBadger,
	}
}

// openBadger opens a database in memory. Compression and the block cache are left out:
// neither is of use there, and the cache's documentation advises against it without
// compression.
func openBadger() (*badger.DB, error) {
	return badger.Open(badger.DefaultOptions("").
		WithInMemory(true).
		WithLogger(nil).
		WithMetricsEnabled(false).
		WithCompression(options.None).
		WithBlockCacheSize(0))
}

type badgerStore struct {
	db *badger.DB
	bench.Limits
}

func newBadger(setup bench.Setup) (bench.Engine, error) {
	db, err := openBadger()
	if err != nil {
		return nil, err
	}
	batch := db.NewWriteBatch()
	defer batch.Cancel()
	e, err := newStoreEngine(&badgerStore{db, setup.Limits}, setup, badgerFill{WriteBatch: batch})
	if err == nil {
		err = batch.Flush()
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return e, nil
}

// badgerFill is a batch of writes, which keeps its arguments.
type badgerFill struct {
	storeTx
	*badger.WriteBatch
}

func (f badgerFill) set(key, value []byte) error { return f.Set(key, value) }

// close implements [store]. There is nothing that a database in memory could fail to save.
func (s *badgerStore) close() { _ = s.db.Close() }

func (s *badgerStore) run(readOnly bool, count *bench.Attempts, do func(tx storeTx) error) error {
	in := func(tx *badger.Txn) error { return do((*badgerTx)(tx)) }
	if readOnly {
		return s.db.View(in)
	}
	for attempts := 1; ; attempts++ {
		count.Tries++
		err := s.db.Update(in)
		if err == nil || errors.Is(err, bench.ErrRollBack) {
			count.Commits++
			return err
		}
		if !errors.Is(err, badger.ErrConflict) {
			return err
		}
		if err := s.Over(attempts); err != nil {
			return err
		}
	}
}

func (s *badgerStore) pin() (storeTx, func(), error) {
	tx := s.db.NewTransaction(false)
	return (*badgerTx)(tx), tx.Discard, nil
}

type badgerTx badger.Txn

func (t *badgerTx) get(key []byte, found func(value []byte) error) error {
	item, err := (*badger.Txn)(t).Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return item.Value(found)
}

// set implements [storeTx]. The database keeps the arguments until the transaction has ended.
func (t *badgerTx) set(key, value []byte) error { return (*badger.Txn)(t).Set(key, value) }
func (t *badgerTx) remove(key []byte) error     { return (*badger.Txn)(t).Delete(key) }

// scan implements [storeTx]. The values lie beside the keys.
func (t *badgerTx) scan(
	prefix, low []byte, found func(key, value []byte) (bool, error),
) error {
	options := badger.DefaultIteratorOptions
	options.Prefix, options.PrefetchValues = prefix, false
	it := (*badger.Txn)(t).NewIterator(options)
	defer it.Close()
	more := true
	for it.Seek(low); it.Valid() && more; it.Next() {
		item := it.Item()
		if err := item.Value(func(value []byte) (err error) {
			more, err = found(item.Key(), value)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
