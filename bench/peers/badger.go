package peers

import (
	"errors"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"github.com/mvccmap/mvccmap/bench"
)

func badgerPeer() Peer {
	return Peer{
		Module:    "github.com/dgraph-io/badger/v4",
		Isolation: "serializable but for phantoms",
		Caveat:    "Two transactions that scan the same keys, and each insert one, both commit",
		EngineSpec: bench.EngineSpec{
			Name: "badger",
			Doc: "An LSM tree with optimistic transactions, kept in memory, without a log, " +
				"compression or cache; conflicts are retried at once, as its users do",
			New:      newBadger[uint64],
			NewBytes: newBadger[[]byte],
			NewShop:  newBadgerShop,
		},
	}
}

// openBadger opens a database in memory. What compression and the block cache
// would cost is left out: neither is of use there, and the cache's
// documentation advises against it without compression.
func openBadger() (*badger.DB, error) {
	return badger.Open(badger.DefaultOptions("").
		WithInMemory(true).
		WithLogger(nil).
		WithMetricsEnabled(false).
		WithCompression(options.None).
		WithBlockCacheSize(0))
}

// badgerDB is a database, and how its transactions are run.
type badgerDB struct {
	db *badger.DB
	bench.Limits
}

// Close implements [bench.Engine] and [bench.Shop]. There is nothing that a database in memory
// could fail to save.
func (d *badgerDB) Close() { _ = d.db.Close() }

// run runs do in a transaction, until one has committed. It counts how often it wrote.
func (d *badgerDB) run(
	readOnly bool, count *bench.Attempts, do func(tx *badger.Txn) error,
) error {
	if readOnly {
		return d.db.View(do)
	}
	for attempts := 1; ; attempts++ {
		count.Tries++
		err := d.db.Update(do)
		if err == nil {
			count.Commits++
			return nil
		}
		if !errors.Is(err, badger.ErrConflict) {
			return err
		}
		if err := d.Over(attempts); err != nil {
			return err
		}
	}
}

type badgerEngine[V any] struct{ badgerDB }

func newBadger[V any](setup bench.Setup[V]) (bench.Engine[V], error) {
	db, err := openBadger()
	if err != nil {
		return nil, err
	}
	batch := db.NewWriteBatch()
	defer batch.Cancel()
	var a arena // not reset: the batch keeps what it is given
	for i, k := range setup.Keys {
		if err := batch.Set(a.key(k), encode(&a, setup.Values[i])); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	if err := batch.Flush(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &badgerEngine[V]{badgerDB{db, setup.Limits}}, nil
}

func (e *badgerEngine[V]) Session(int) bench.Session[V] {
	s := &badgerSession[V]{badgerEngine: e}
	s.self = s
	return s
}

type badgerSession[V any] struct {
	bench.Attempts
	badgerTx[V]
	singles[V]
	*badgerEngine[V]
}

// badgerTx is a transaction that is open. The database has copied keys and values when it ends.
type badgerTx[V any] struct {
	arena
	tx *badger.Txn
}

// badgerFind returns what decode makes of the value of key in tx.
func badgerFind[R any](
	tx *badger.Txn, key []byte, decode func([]byte) (R, error),
) (r R, ok bool, err error) {
	item, err := tx.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	r, err = badgerValue(item, decode)
	return r, err == nil, err
}

// badgerValue returns what decode makes of the value of item.
func badgerValue[R any](item *badger.Item, decode func([]byte) (R, error)) (r R, err error) {
	err = item.Value(func(b []byte) (err error) {
		r, err = decode(b)
		return err
	})
	return r, err
}

// badgerEach calls visit for the keys in tx that begin with prefix, in their order from low on,
// until it returns false. values says that the values are fetched ahead, which takes goroutines.
func badgerEach(
	tx *badger.Txn, prefix, low []byte, values bool, visit func(item *badger.Item) (bool, error),
) error {
	options := badger.DefaultIteratorOptions
	options.Prefix, options.PrefetchValues, options.PrefetchSize = prefix, values, 16
	it := tx.NewIterator(options)
	defer it.Close()
	for it.Seek(low); it.Valid(); it.Next() {
		if more, err := visit(it.Item()); !more || err != nil {
			return err
		}
	}
	return nil
}

func (t *badgerTx[V]) get(key string) (V, bool, error) {
	return badgerFind(t.tx, t.key(key), decode[V])
}

func (t *badgerTx[V]) has(key string) (bool, error) {
	_, err := t.tx.Get(t.key(key))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (t *badgerTx[V]) put(key string, value V, _ bool) error {
	return t.tx.Set(t.key(key), encode(&t.arena, value))
}

func (t *badgerTx[V]) remove(key string) error { return t.tx.Delete(t.key(key)) }

func (s *badgerSession[V]) Begin() error {
	return s.db.View(func(*badger.Txn) error { return nil })
}

func (s *badgerSession[V]) Batch(ops []bench.Op[V], readOnly bool) error {
	return s.run(readOnly, &s.Attempts, func(tx *badger.Txn) error {
		s.reset()
		s.tx = tx
		return apply(s, ops)
	})
}

// Range implements [bench.Ranger]. The values lie beside the keys.
func (s *badgerSession[V]) Range(low string, n int, visit func(key string, value V)) error {
	s.reset()
	return s.db.View(func(tx *badger.Txn) error {
		return badgerEach(tx, nil, s.key(low), false, func(item *badger.Item) (bool, error) {
			if n--; n < 0 {
				return false, nil
			}
			value, err := badgerValue(item, decode[V])
			if err == nil {
				visit(string(item.Key()), value)
			}
			return true, err
		})
	})
}

// Pin implements [bench.Pinner]: a read-only transaction that stays open.
func (s *badgerSession[V]) Pin() (bench.Pin[V], error) {
	return &badgerPin[V]{badgerTx[V]{tx: s.db.NewTransaction(false)}}, nil
}

type badgerPin[V any] struct{ badgerTx[V] }

func (p *badgerPin[V]) Get(key string) (V, bool, error) {
	p.reset()
	return p.get(key)
}

func (p *badgerPin[V]) Close() { p.tx.Discard() }

func (s *badgerSession[V]) Sum() (total uint64, keys int, err error) {
	err = s.db.View(func(tx *badger.Txn) error {
		return badgerEach(tx, nil, nil, false, func(item *badger.Item) (bool, error) {
			v, err := badgerValue(item, decode[uint64])
			total += v
			keys++
			return true, err
		})
	})
	return total, keys, err
}
