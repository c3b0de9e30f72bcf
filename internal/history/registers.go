package history

import "github.com/mvccmap/mvccmap/mvcc"

// registers keeps a register under each key.
type registers struct{ cfg *Config }

func newRegisters(cfg *Config) dialect[int] { return &registers{cfg} }

func (d *registers) read(_ *worker[int], t *txn, from mvcc.Reader[int, int], key int) {
	value, ok := from.Get(key)
	t.note(OpRead, key, Version{value, ok})
}

func (d *registers) readAll(_ *worker[int], t *txn, from mvcc.Reader[int, int]) {
	found := make([]bool, d.cfg.Keys)
	for key, value := range from.All() {
		t.note(OpRead, key, Version{value, true})
		found[key] = true
	}
	for key, ok := range found {
		if !ok {
			t.note(OpRead, key, Version{})
		}
	}
}

// write mostly reads what it overwrites: what does not is hard to put in order.
func (d *registers) write(w *worker[int], t *txn, to mvcc.Tx[int, int], key int) {
	if w.percent(80) {
		d.read(w, t, to, key)
	}
	if w.percent(d.cfg.Delete) {
		to.Delete(key)
		t.note(OpDelete, key, Version{})
		return
	}
	value := w.value()
	to.Set(key, value)
	t.note(OpWrite, key, Version{Value: value})
	if w.percent(10) {
		d.read(w, t, to, key) // its own write
	}
}

func (d *registers) oneKey(w *worker[int], key int) {
	t := w.open(LevelOneKey)
	value, happened := w.value(), true
	n := w.rng.IntN(4)
	switch {
	case !w.percent(d.cfg.Write):
		old, ok := w.m.Load(key)
		t.note(OpRead, key, Version{old, ok})
	case w.percent(d.cfg.Delete):
		d.remove(w, &t, key)
	case n == 0:
		w.m.Store(key, value)
		t.note(OpWrite, key, Version{Value: value})
	case n == 1:
		old, ok := w.m.Swap(key, value)
		t.note(OpRead, key, Version{old, ok})
		t.note(OpWrite, key, Version{Value: value})
	case n == 2:
		actual, loaded := w.m.LoadOrStore(key, value)
		if !loaded {
			t.note(OpRead, key, Version{})
			t.note(OpWrite, key, Version{Value: value})
		}
		t.note(OpRead, key, Version{actual, true})
	default:
		old, ok := w.m.Load(key)
		t.note(OpRead, key, Version{old, ok})
		w.single(&t)
		w.pause()
		t = w.open(LevelOneKey)
		happened = d.compareAndSwap(w, &t, key, old, value)
	}
	if happened {
		w.single(&t)
	}
}

// remove deletes a key. Delete does not say whether there was something to delete,
// which makes no difference only if the key is looked at alone.
func (d *registers) remove(w *worker[int], t *txn, key int) {
	if d.cfg.Kind == KindOneKey && w.percent(30) {
		w.m.Delete(key)
	} else {
		old, ok := w.m.LoadAndDelete(key)
		t.note(OpRead, key, Version{old, ok})
		if !ok {
			return
		}
	}
	t.note(OpDelete, key, Version{})
}

// compareAndSwap reports whether there is something to note.
func (d *registers) compareAndSwap(w *worker[int], t *txn, key, old, value int) bool {
	if mvcc.CompareAndSwap(w.m, key, old, value) {
		t.note(OpRead, key, Version{old, true})
		t.note(OpWrite, key, Version{Value: value})
		return true
	}
	t.note(OpOther, key, Version{Value: old})
	return d.cfg.Kind == KindOneKey
}
