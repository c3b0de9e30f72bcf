package record

import (
	"github.com/mvccmap/mvccmap/internal/history"
	"github.com/mvccmap/mvccmap/mvcc"
)

// registers keeps a register under each key.
type registers struct{ cfg *Config }

func newRegisters(cfg *Config) dialect[int] { return &registers{cfg} }

func readOf(key, value int, ok bool) op {
	return op{kind: history.OpRead, key: key, value: value, present: ok}
}

func writeOf(key, value int) op { return op{kind: history.OpWrite, key: key, value: value} }

func deleteOf(key int) op { return op{kind: history.OpDelete, key: key} }

func (d *registers) read(_ *worker[int], t *tx, from mvcc.Reader[int, int], key int) {
	value, ok := from.Get(key)
	t.ops = append(t.ops, readOf(key, value, ok))
}

func (d *registers) readAll(_ *worker[int], t *tx, from mvcc.Reader[int, int]) {
	t.scan = true
	before := t.ops
	found := map[int]bool{}
	for key, value := range from.All() {
		t.ops = append(t.ops, readOf(key, value, true))
		found[key] = true
	}
	// The scan says by itself what it has not found, but not of a key that was
	// read before.
	for _, o := range before {
		if !found[o.key] {
			t.ops = append(t.ops, readOf(o.key, 0, false))
		}
	}
}

// write mostly reads what it overwrites: what does not is hard to put in order.
func (d *registers) write(w *worker[int], t *tx, to mvcc.Tx[int, int], key int) {
	if w.percent(80) {
		d.read(w, t, to, key)
	}
	if w.percent(d.cfg.Delete) {
		to.Delete(key)
		t.ops = append(t.ops, deleteOf(key))
		return
	}
	value := w.value()
	to.Set(key, value)
	t.ops = append(t.ops, writeOf(key, value))
	if w.percent(10) {
		d.read(w, t, to, key) // its own write
	}
}

func (d *registers) oneKey(w *worker[int], key int) {
	if !w.percent(d.cfg.Write) {
		begin := w.begin()
		value, ok := w.m.Load(key)
		w.single(begin, readOf(key, value, ok))
		return
	}
	if w.percent(d.cfg.Delete) {
		d.remove(w, key)
		return
	}
	value := w.value()
	switch w.rng.IntN(4) {
	case 0:
		begin := w.begin()
		w.m.Store(key, value)
		w.single(begin, writeOf(key, value))
	case 1:
		begin := w.begin()
		old, ok := w.m.Swap(key, value)
		w.single(begin, readOf(key, old, ok), writeOf(key, value))
	case 2:
		begin := w.begin()
		if actual, loaded := w.m.LoadOrStore(key, value); loaded {
			w.single(begin, readOf(key, actual, true))
		} else {
			w.single(begin, readOf(key, 0, false), writeOf(key, value))
		}
	case 3:
		begin := w.begin()
		old, ok := w.m.Load(key)
		w.single(begin, readOf(key, old, ok))
		w.pause()
		begin = w.begin()
		if mvcc.CompareAndSwap(w.m, key, old, value) {
			w.single(begin, readOf(key, old, true), writeOf(key, value))
		}
	}
}

// remove deletes a key. Delete does not say whether there was something to delete:
// it may have had an effect or not.
func (d *registers) remove(w *worker[int], key int) {
	begin := w.begin()
	if w.percent(10) {
		w.m.Delete(key)
		t := tx{level: history.LevelOneKey, begin: begin, ops: []op{deleteOf(key)}}
		w.done(&t, history.StatusUnknown)
		return
	}
	old, ok := w.m.LoadAndDelete(key)
	if ok {
		w.single(begin, readOf(key, old, true), deleteOf(key))
	} else {
		w.single(begin, readOf(key, 0, false))
	}
}
