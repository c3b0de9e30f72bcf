package history

import "github.com/mvccmap/mvccmap/mvcc"

// registers keeps a register under each key.
type registers struct{ cfg *Config }

func newRegisters(cfg *Config) dialect[int] { return &registers{cfg} }

func (d *registers) read(w *worker[int], t *txn, from mvcc.Reader[int, int], key int) {
	update := w.forUpdate(from)
	value, ok := w.get(t, from, key, key, update)
	t.note(OpRead, key, Version{value, ok})
	t.ops[len(t.ops)-1].Update = update
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

// write mostly reads what it overwrites: a blind write is hard to put in order.
func (d *registers) write(w *worker[int], t *txn, to mvcc.Tx[int, int], key int) {
	if t.Level == LevelSerializable && w.percent(15) {
		d.merge(w, t, to, key)
		return
	}
	if w.percent(80) {
		d.read(w, t, to, key)
	}
	if w.percent(d.cfg.Delete) {
		to.Delete(key)
		t.note(OpDelete, key, Version{})
		return
	}
	value := w.value()
	w.set(to, key, value)
	t.note(OpWrite, key, Version{Value: value})
	if w.percent(10) {
		d.read(w, t, to, key) // its own write
	}
}

// merge writes by a merge. A serializable transaction that has committed replaced what the merge
// was given, as if it had read it.
func (d *registers) merge(w *worker[int], t *txn, to mvcc.Tx[int, int], key int) {
	value, m := w.value(), &merged{key: key}
	t.note(OpWrite, key, Version{Value: value})
	t.ops[len(t.ops)-1].merge = m
	to.Merge(key, func(old int, ok bool) int {
		m.old = &Version{old, ok}
		return value
	})
	if w.percent(20) {
		d.read(w, t, to, key) // its own write
	}
}
