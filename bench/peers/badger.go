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

type badgerEngine[V any] struct {
	db *badger.DB
	bench.Limits
}

func newBadger[V any](setup bench.Setup[string, V]) (bench.Engine[string, V], error) {
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
	return &badgerEngine[V]{db: db, Limits: setup.Limits}, nil
}

func (e *badgerEngine[V]) Session(int) bench.Session[string, V] {
	return &badgerSession[V]{badgerEngine: e}
}

// Close implements [bench.Engine]. There is nothing that a database in memory
// could fail to save.
func (e *badgerEngine[V]) Close() { _ = e.db.Close() }

type badgerSession[V any] struct {
	bench.Attempts
	arena
	*badgerEngine[V]
}

// view runs fn in a read-only transaction.
func (s *badgerSession[V]) view(fn func(tx *badger.Txn) error) error {
	s.reset()
	return s.db.View(fn)
}

// update runs fn until it has committed. By then the database has copied keys
// and values.
func (s *badgerSession[V]) update(fn func(tx *badger.Txn) error) error {
	return retryBadger(s.db, func(tx *badger.Txn) error {
		s.reset()
		return fn(tx)
	}, &s.Attempts, &s.Limits)
}

// retryBadger runs fn until it has committed, and counts how often it was run.
func retryBadger(
	db *badger.DB, fn func(tx *badger.Txn) error, count *bench.Attempts, limits *bench.Limits,
) error {
	for attempts := 1; ; attempts++ {
		count.Tries++
		err := db.Update(fn)
		if err == nil {
			count.Commits++
			return nil
		}
		if !errors.Is(err, badger.ErrConflict) {
			return err
		}
		if err := limits.Over(attempts); err != nil {
			return err
		}
	}
}

// badgerGet returns the value of key in tx.
func badgerGet[V any](tx *badger.Txn, key []byte) (value V, ok bool, err error) {
	item, err := tx.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return value, false, nil
	}
	if err != nil {
		return value, false, err
	}
	err = item.Value(func(b []byte) (err error) {
		value, err = decode[V](b)
		return err
	})
	return value, err == nil, err
}

func (s *badgerSession[V]) Get(key string) (value V, ok bool, err error) {
	err = s.view(func(tx *badger.Txn) error {
		value, ok, err = badgerGet[V](tx, s.key(key))
		return err
	})
	return value, ok, err
}

func (s *badgerSession[V]) Put(key string, value V) error {
	return s.update(func(tx *badger.Txn) error {
		return tx.Set(s.key(key), encode(&s.arena, value))
	})
}

func (s *badgerSession[V]) Begin() error {
	return s.db.View(func(*badger.Txn) error { return nil })
}

func (s *badgerSession[V]) Batch(ops []bench.Op[string, V], readOnly bool) error {
	do := func(tx *badger.Txn) error {
		for i := range ops {
			if err := s.do(tx, &ops[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if readOnly {
		return s.view(do)
	}
	return s.update(do)
}

func (s *badgerSession[V]) do(tx *badger.Txn, op *bench.Op[string, V]) (err error) {
	key := s.key(op.Key)
	switch op.Kind {
	case bench.OpGet, bench.OpModify:
		op.Old, op.OK, err = badgerGet[V](tx, key)
	case bench.OpHas:
		_, err = tx.Get(key)
		op.OK = err == nil
		if errors.Is(err, badger.ErrKeyNotFound) {
			err = nil
		}
	case bench.OpDelete:
		return tx.Delete(key)
	}
	if err == nil && (op.Kind == bench.OpPut || op.Kind == bench.OpModify) {
		err = tx.Set(key, encode(&s.arena, op.Value))
	}
	return err
}

// Range implements [bench.Ranger].
func (s *badgerSession[V]) Range(low string, n int, visit func(key string, value V)) error {
	return s.view(func(tx *badger.Txn) error {
		o := badger.DefaultIteratorOptions
		o.PrefetchValues = false // they lie beside the keys, and fetching takes goroutines
		it := tx.NewIterator(o)
		defer it.Close()
		for it.Seek(s.key(low)); it.Valid() && n > 0; it.Next() {
			item := it.Item()
			err := item.Value(func(b []byte) error {
				value, err := decode[V](b)
				if err == nil {
					visit(string(item.Key()), value)
				}
				return err
			})
			if err != nil {
				return err
			}
			n--
		}
		return nil
	})
}

// Pin implements [bench.Pinner]: a read-only transaction that stays open.
func (s *badgerSession[V]) Pin() (bench.Pin[string, V], error) {
	return &badgerPin[V]{tx: s.db.NewTransaction(false)}, nil
}

type badgerPin[V any] struct {
	arena
	tx *badger.Txn
}

func (p *badgerPin[V]) Get(key string) (V, bool, error) {
	p.reset()
	return badgerGet[V](p.tx, p.key(key))
}

func (p *badgerPin[V]) Close() { p.tx.Discard() }

// add adds delta to the value of key in tx, and returns the sum.
func (s *badgerSession[V]) add(tx *badger.Txn, key string, delta uint64) (uint64, error) {
	k := s.key(key)
	v, ok, err := badgerGet[uint64](tx, k)
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, errNoSuchKey(key)
	}
	return v + delta, tx.Set(k, encode(&s.arena, v+delta))
}

func (s *badgerSession[V]) Add(key string, delta uint64) (sum uint64, err error) {
	err = s.update(func(tx *badger.Txn) error {
		sum, err = s.add(tx, key, delta)
		return err
	})
	return sum, err
}

func (s *badgerSession[V]) Transfer(from, to string, amount uint64) error {
	return s.update(func(tx *badger.Txn) error {
		if _, err := s.add(tx, from, -amount); err != nil {
			return err
		}
		_, err := s.add(tx, to, amount)
		return err
	})
}

func (s *badgerSession[V]) Sum() (total uint64, keys int, err error) {
	err = s.view(func(tx *badger.Txn) error {
		o := badger.DefaultIteratorOptions
		o.PrefetchValues = false // they lie beside the keys, and fetching takes goroutines
		it := tx.NewIterator(o)
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			if err := it.Item().Value(func(b []byte) error {
				v, err := decode[uint64](b)
				total += v
				keys++
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return total, keys, err
}
