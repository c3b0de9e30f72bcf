package etcd

import (
	"context"
	"errors"
	"iter"

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
