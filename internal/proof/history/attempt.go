package history

import (
	"context"
	"errors"

	"github.com/mvccmap/mvccmap/mvcc"
)

// runBody has the operations of a transaction that may write.
func (w *worker[V]) runBody(t *txn, tx transaction, m writers[V]) {
	t.Epoch = tx.Epoch()
	if w.percent(w.cfg.Scan) {
		w.d.readAll(w, t, m.readers())
	}
	for _, slot := range w.pickSlots() {
		w.pause()
		if !w.percent(w.cfg.Write) {
			w.d.read(w, t, m.readers(), slot)
			continue
		}
		w.d.write(w, t, m, slot)
		if w.percent(5) {
			w.d.write(w, t, m, slot)
		}
	}
	w.pause()
	if w.cfg.Past > 0 {
		tx.OnCommit(func(epoch uint64) { t.state = epoch })
	}
}

// rollbacks is how many of a hundred transactions are rolled back on purpose.
const rollbacks = 5

var errRollback = errors.New("rolled back on purpose")

// update runs a transaction by Update. Each attempt is recorded as a transaction
// of its own: only the last one may have committed.
func (w *worker[V]) update(ctx context.Context, opts *mvcc.TxOptions, level Level) error {
	t := w.open(level)
	give := w.percent(rollbacks)
	runs := 0
	err := w.m.update(ctx, opts, func(tx transaction, m writers[V]) error {
		if runs++; runs > 1 {
			// The attempt before this one has ended. This one has begun
			// some time after it; when is not known.
			again := txn{Tx: Tx{Level: level, Begin: t.End}}
			w.finish(&t, StatusAborted)
			t = again
		}
		w.runBody(&t, tx, m)
		// Nothing can have begun again before this.
		t.End = w.begin()
		if give {
			return errRollback
		}
		return nil
	})
	switch {
	case err == nil:
		w.finish(&t, StatusCommitted)
	case errors.Is(err, errRollback), errors.Is(err, mvcc.ErrConflict), ctx.Err() != nil:
		w.finish(&t, StatusAborted)
	default:
		return err
	}
	return nil
}

// byHand runs a transaction by Begin and Commit, once, now and then to a rollback.
func (w *worker[V]) byHand(opts *mvcc.TxOptions, level Level) error {
	t := w.open(level)
	tx, m := w.m.begin(opts)
	defer tx.Rollback()
	w.runBody(&t, tx, m)
	if w.percent(rollbacks) {
		tx.Rollback()
		w.finish(&t, StatusAborted)
		return nil
	}
	switch err := tx.Commit(); {
	case err == nil:
		w.finish(&t, StatusCommitted)
	case errors.Is(err, mvcc.ErrConflict):
		w.finish(&t, StatusAborted)
	default:
		return err
	}
	return nil
}

// get reads a place of a slot, for a transaction or by a snapshot. Sometimes it calls Has first. If
// Has finds the key and Get does not, it notes a lie; if Has does not, it does not call Get.
func (w *worker[V]) get(
	t *txn, from readers[V], place, slot int, update bool,
) (v V, ok bool) {
	r := from[place%2]
	tx, isTx := r.(mvcc.Tx[int, V])
	switch {
	case update && isTx:
		return tx.GetForUpdate(place)
	case w.percent(90):
		return r.Get(place)
	case !r.Has(place):
		return v, false
	}
	if v, ok = r.Get(place); !ok {
		t.noteLie(slot)
	}
	return v, ok
}

// forUpdate reports whether a read shall be one for an update: in a transaction now and then.
func (w *worker[V]) forUpdate(from readers[V]) bool {
	_, isTx := from[0].(mvcc.Tx[int, V])
	return isTx && w.percent(25)
}

// set sets a place, now and then after a write that no transaction may see.
func (w *worker[V]) set(to writers[V], place int, value V) {
	if w.percent(10) {
		var never V
		to[place%2].Set(place, never)
	}
	to[place%2].Set(place, value)
}
