package history

import (
	"errors"
	"fmt"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A heldSnapshot stays open while its worker does other things.
type heldSnapshot[V any] struct {
	s    snapshot[V]
	t    txn
	left int
}

// A recollection is a transaction that has ended. Its state will be read again.
type recollection struct {
	t    txn
	left int // steps until then
}

// readOnly runs a view, or opens a snapshot that stays for a while.
func (w *worker[V]) readOnly() {
	t := w.open(LevelSerializable)
	if w.held == nil && w.cfg.Kind != KindOneKey && w.percent(10) {
		s := w.m.snapshot()
		t.Epoch = s.Epoch()
		t.state = t.Epoch
		w.held = &heldSnapshot[V]{s: s, t: t, left: 1 + w.rng.IntN(50)}
		return
	}
	w.m.view(func(s snapshot[V]) {
		t.Epoch = s.Epoch()
		t.state = t.Epoch
		if w.percent(w.cfg.Scan) {
			w.d.readAll(w, &t, s.readers)
			return
		}
		for _, slot := range w.pickSlots() {
			w.pause()
			w.d.read(w, &t, s.readers, slot)
		}
	})
	w.finish(&t, StatusCommitted)
}

// release ends the snapshot that is held, if there is one, with a last scan.
func (w *worker[V]) release() {
	if h := w.held; h != nil {
		w.d.readAll(w, &h.t, h.s.readers)
		h.s.Close()
		w.finish(&h.t, StatusCommitted)
		w.held = nil
	}
}

// final reads everything in the end.
func (w *worker[V]) final() {
	t := w.open(LevelSerializable)
	s := w.m.snapshot()
	defer s.Close()
	t.Epoch = s.Epoch()
	w.d.readAll(w, &t, s.readers)
	w.finish(&t, StatusCommitted)
}

// recall reads the state of the remembered transaction, if there is one, as of its epoch. The reads
// are noted as its own if it was a view, which reads the same again, or serializable, as they find
// its writes. One at level snapshot has read before its epoch, so they are noted as another
// transaction's.
func (w *worker[V]) recall() error {
	if w.past == nil {
		return nil
	}
	t := w.past.t
	w.past = nil
	s, err := w.m.snapshotAt(t.state)
	if err == nil {
		defer s.Close()
		if t.Level == LevelSnapshot {
			w.txs = append(w.txs, t)
			t = txn{Tx: Tx{Level: LevelSerializable, Status: t.Status, Begin: t.Begin, End: t.End}}
			t.Epoch = s.Epoch()
		}
		w.d.readAll(w, &t, s.readers)
	} else if age := time.Duration(w.elapsed() - t.Begin); !errors.Is(err, mvcc.ErrEpochGone) ||
		age < w.cfg.Options.Retain {
		return fmt.Errorf("epoch %d after %v, with Options.Retain %v: %w",
			t.state, age, w.cfg.Options.Retain, err)
	}
	w.txs = append(w.txs, t)
	return nil
}
