package history

import "github.com/mvccmap/mvccmap/mvcc"

// registers keeps an int under each key.
type registers struct{ cfg *Config }

func newRegisters(cfg *Config) dialect[int] { return &registers{cfg} }

func (d *registers) read(w *worker[int], t *txn, from readers[int], key int) {
	value, ok := w.get(t, from, key, key, w.forUpdate(from))
	t.noteOp(OpRead, key, Version{value, ok})
}

func (d *registers) readAll(_ *worker[int], t *txn, from readers[int]) {
	found := make([]bool, d.cfg.Keys)
	for key, value := range from[0].All() {
		t.noteOp(OpRead, key, Version{value, true})
		found[key] = true
	}
	for key, ok := range found {
		if !ok {
			t.noteOp(OpRead, key, Version{})
		}
	}
}

func (d *registers) write(w *worker[int], t *txn, to writers[int], key int) {
	if w.percent(80) {
		d.read(w, t, to.readers(), key)
	}
	if w.percent(d.cfg.Delete) {
		to[0].Delete(key)
		t.noteOp(OpDelete, key, Version{})
		return
	}
	value := w.value()
	w.set(to, key, value)
	t.noteOp(OpWrite, key, Version{Value: value})
	if w.percent(10) {
		d.read(w, t, to.readers(), key) // its own write
	}
}

// oneKey makes a one-key operation.
func (d *registers) oneKey(w *worker[int], key int) {
	t := w.open(LevelOneKey)
	switch {
	case !w.percent(d.cfg.Write):
		d.load(w, &t, key)
	case w.percent(d.cfg.Delete):
		d.remove(w, &t, key)
	default:
		d.change(w, &t, key)
	}
	w.single(&t)
}

// load reads a key. Now and then Has alone says that it is absent.
func (d *registers) load(w *worker[int], t *txn, key int) {
	var old Version
	if w.percent(90) || w.m.maps[0].Has(key) {
		old.Value, old.Present = w.m.maps[0].Load(key)
	}
	t.noteOp(OpRead, key, old)
}

// change writes a key.
func (d *registers) change(w *worker[int], t *txn, key int) {
	value := w.value()
	switch w.rng.IntN(8) {
	case 0:
		w.m.maps[0].Store(key, value)
		t.noteOp(OpWrite, key, Version{Value: value})
	case 1:
		old, ok := w.m.maps[0].Swap(key, value)
		t.noteOp(OpRead, key, Version{old, ok})
		t.noteOp(OpWrite, key, Version{Value: value})
	case 2:
		actual, loaded := w.m.maps[0].LoadOrStore(key, value)
		d.stored(t, key, value, loaded, Version{actual, true})
	case 3:
		give := w.percent(20) // up
		actual, loaded := w.m.maps[0].LoadOrCompute(key, func() (int, bool) {
			w.pause()
			return value, give
		})
		if give && !loaded {
			t.noteOp(OpRead, key, Version{actual, actual != 0})
			break
		}
		d.stored(t, key, value, loaded, Version{actual, true})
	case 4:
		op := mvcc.UpdateOp
		if w.percent(20) {
			op = mvcc.CancelOp
		}
		d.compute(w, t, key, value, op)
	case 5:
		w.m.maps[0].Merge(key, func(old int, ok bool) int {
			t.ops = nil
			t.noteOp(OpRead, key, Version{old, ok})
			w.pause()
			return value
		})
		t.noteOp(OpWrite, key, Version{Value: value})
	default:
		old := d.before(w, t, key)
		if mvcc.CompareAndSwap(w.m.maps[0], key, old, value) {
			t.noteOp(OpRead, key, Version{old, true})
			t.noteOp(OpWrite, key, Version{Value: value})
			return
		}
		t.noteOp(OpOther, key, Version{Value: old})
	}
}

// stored notes an operation that stores a value if the key is absent.
func (d *registers) stored(t *txn, key, value int, loaded bool, actual Version) {
	if !loaded {
		t.noteOp(OpRead, key, Version{})
		t.noteOp(OpWrite, key, Version{Value: value})
	}
	t.noteOp(OpRead, key, actual)
}

// compute notes the argument of Compute, its action and, as a read of its own write, its
// result.
func (d *registers) compute(w *worker[int], t *txn, key, value int, op mvcc.ComputeOp) {
	had := false
	actual, ok := w.m.maps[0].Compute(key, func(old int, loaded bool) (int, mvcc.ComputeOp) {
		t.ops, had = nil, loaded
		t.noteOp(OpRead, key, Version{old, loaded})
		w.pause()
		return value, op
	})
	switch {
	case op == mvcc.UpdateOp:
		t.noteOp(OpWrite, key, Version{Value: value})
	case op == mvcc.DeleteOp && had:
		t.noteOp(OpRead, key, Version{actual, true})
		t.noteOp(OpDelete, key, Version{})
		actual = 0
	}
	t.noteOp(OpRead, key, Version{actual, ok})
}

// before reads the value that is to be compared, and gives others time to change it.
func (d *registers) before(w *worker[int], t *txn, key int) (old int) {
	old, ok := w.m.maps[0].Load(key)
	t.noteOp(OpRead, key, Version{old, ok})
	w.single(t)
	w.pause()
	*t = w.open(LevelOneKey)
	return old
}

// remove deletes a key, or all.
func (d *registers) remove(w *worker[int], t *txn, key int) {
	switch n := w.rng.IntN(100); {
	case n < 20:
		// It does not say whether there was something to delete. That makes no difference.
		w.m.maps[0].Delete(key)
	case n < 35:
		d.clear(w, t) // nor does this
		return
	case n < 40:
		d.deleteFunc(w, key)
		return
	case n < 55:
		d.compute(w, t, key, 0, mvcc.DeleteOp)
		return
	case n < 70:
		old := d.before(w, t, key)
		if !mvcc.CompareAndDelete(w.m.maps[0], key, old) {
			t.noteOp(OpOther, key, Version{Value: old})
			return
		}
		t.noteOp(OpRead, key, Version{old, true})
	default:
		old, ok := w.m.maps[0].LoadAndDelete(key)
		t.noteOp(OpRead, key, Version{old, ok})
		if !ok {
			return
		}
	}
	t.noteOp(OpDelete, key, Version{})
}

// clear deletes all keys. There must be an epoch at which there were none, unless that epoch is
// not known any more.
func (d *registers) clear(w *worker[int], t *txn) {
	from := w.m.maps[0].Epoch()
	w.m.maps[0].Clear()
	to := w.m.maps[0].Epoch()
	t.Level = LevelSerializable
	for key := range d.cfg.Keys {
		t.noteOp(OpDelete, key, Version{})
	}
	for ; from <= to; from++ {
		s, err := w.m.maps[0].SnapshotAt(from)
		if err != nil {
			return
		}
		n := s.Len()
		s.Close()
		if n == 0 {
			return
		}
	}
	t.noteLie(0)
}

// deleteFunc deletes one key by DeleteFunc, so that it is known whether it was deleted. It notes
// an operation for each key that DeleteFunc has found.
func (d *registers) deleteFunc(w *worker[int], target int) {
	start := w.open(LevelOneKey)
	last := start // the value found under target
	found := make([]bool, d.cfg.Keys)
	deleted := w.m.maps[0].DeleteFunc(func(key, value int) bool {
		t := start
		t.noteOp(OpRead, key, Version{value, true})
		w.single(&t)
		found[key] = true
		if key != target {
			return false
		}
		last = t
		w.pause()
		return true
	})
	if deleted != 0 {
		last.noteOp(OpDelete, target, Version{})
		w.single(&last)
	}
	// All keys that were there throughout were found.
	for key, ok := range found {
		if t := start; !ok {
			t.noteOp(OpRead, key, Version{})
			w.single(&t)
		}
	}
}
