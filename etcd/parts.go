package etcd

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/mvccmap/mvccmap/mvcc"
)

// InParts calls fn for each of some items, in order, in transactions of as many as a request takes,
// each by a [DB.Update]: to import, or to delete, more records than one transaction can. It is not
// done as a whole: others see, and change, the states in between. It ends at the first error, of fn
// or of Update, and returns how many items were committed, which are the first ones. fn may be
// called several times for an item, as the function of Update may.
func InParts[T any](
	ctx context.Context, db *DB, items iter.Seq[T], fn func(tx mvcc.DBTx, item T) error,
) (done int, err error) {
	most := db.cfg.MaxTxnOps * 3 / 4
	var some []T
	commit := func() {
		for err == nil && len(some) > 0 {
			n := min(most, len(some))
			err = db.Update(ctx, nil, func(tx mvcc.DBTx) error {
				for _, item := range some[:n] {
					if err := fn(tx, item); err != nil {
						return err
					}
				}
				return nil
			})
			var large *TooLargeError
			switch {
			case err == nil:
				done, some = done+n, some[n:]
			case n > 1 && errors.As(err, &large): // several records each, or long ones
				most, err = n/2, nil
			}
		}
	}
	for item := range items {
		if some = append(some, item); len(some) >= most {
			commit()
		}
		if err != nil {
			return done, err
		}
	}
	commit()
	return done, err
}

// Import sets the records of a sequence in parts, see [InParts], and returns how many it committed.
func (t *Table[K, V]) Import(
	ctx context.Context, db *DB, records iter.Seq2[K, V],
) (done int, err error) {
	type record struct {
		key   K
		value V
	}
	return InParts(ctx, db, func(yield func(record) bool) {
		records(func(k K, v V) bool { return yield(record{k, v}) })
	}, func(tx mvcc.DBTx, r record) error {
		t.In(tx).Set(r.key, r.value)
		return nil
	})
}

// Clear deletes all records that this process knows when it is called, in parts, as [InParts] does.
// It waits for etcd as [DB.Update] does, keeps a list of the keys until it returns, and returns the
// number of keys for which the deletion was committed. New records of others stay.
func (t *Table[K, V]) Clear(ctx context.Context, db *DB) (deleted int, err error) {
	return t.deleteAll(ctx, db, t.m.Keys())
}

// DeleteRange is [Table.Clear] for the keys of a range of a table with an order: else it panics.
func (t *Table[K, V]) DeleteRange(
	ctx context.Context, db *DB, r mvcc.Range[K],
) (deleted int, err error) {
	return t.deleteAll(ctx, db, func(yield func(K) bool) {
		t.m.Ascend(r)(func(k K, _ V) bool { return yield(k) })
	})
}

func (t *Table[K, V]) deleteAll(ctx context.Context, db *DB, keys iter.Seq[K]) (int, error) {
	return InParts(ctx, db, slices.Values(slices.Collect(keys)), func(tx mvcc.DBTx, key K) error {
		t.In(tx).Delete(key)
		return nil
	})
}
