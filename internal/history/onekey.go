package history

import "github.com/mvccmap/mvccmap/mvcc"

// This file has the operations on one register.

func (d *registers) oneKey(w *worker[int], key int) {
	t := w.open(LevelOneKey)
	happened := true
	switch {
	case !w.percent(d.cfg.Write):
		d.load(w, &t, key)
	case w.percent(d.cfg.Delete):
		happened = d.remove(w, &t, key)
	default:
		happened = d.change(w, &t, key)
	}
	if happened {
		w.single(&t)
	}
}

// load reads a key. Now and then Has alone says that it is absent.
func (d *registers) load(w *worker[int], t *txn, key int) {
	var old Version
	if w.percent(90) || w.m.Has(key) {
		old.Value, old.Present = w.m.Load(key)
	}
	t.note(OpRead, key, old)
}

// change writes a key, and reports whether there is something to note.
func (d *registers) change(w *worker[int], t *txn, key int) bool {
	value := w.value()
	switch w.rng.IntN(8) {
	case 0:
		w.m.Store(key, value)
		t.note(OpWrite, key, Version{Value: value})
	case 1:
		old, ok := w.m.Swap(key, value)
		t.note(OpRead, key, Version{old, ok})
		t.note(OpWrite, key, Version{Value: value})
	case 2:
		actual, loaded := w.m.LoadOrStore(key, value)
		d.stored(t, key, value, loaded, Version{actual, true})
	case 3:
		give := w.percent(20) // up
		actual, loaded := w.m.LoadOrCompute(key, func() (int, bool) {
			w.pause()
			return value, give
		})
		if give && !loaded {
			t.note(OpRead, key, Version{actual, actual != 0})
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
		w.m.Merge(key, func(old int, ok bool) int {
			t.ops = nil
			t.note(OpRead, key, Version{old, ok})
			w.pause()
			return value
		})
		t.note(OpWrite, key, Version{Value: value})
	default:
		old := d.before(w, t, key)
		if mvcc.CompareAndSwap(w.m, key, old, value) {
			t.note(OpRead, key, Version{old, true})
			t.note(OpWrite, key, Version{Value: value})
			return true
		}
		return d.other(t, key, old)
	}
	return true
}

// stored notes an operation that stores a value if the key is absent.
func (d *registers) stored(t *txn, key, value int, loaded bool, actual Version) {
	if !loaded {
		t.note(OpRead, key, Version{})
		t.note(OpWrite, key, Version{Value: value})
	}
	t.note(OpRead, key, actual)
}

// compute notes what Compute was given, what it did and, as a read of its own write, what
// it said.
func (d *registers) compute(w *worker[int], t *txn, key, value int, op mvcc.ComputeOp) {
	had := false
	actual, ok := w.m.Compute(key, func(old int, loaded bool) (int, mvcc.ComputeOp) {
		t.ops, had = nil, loaded
		t.note(OpRead, key, Version{old, loaded})
		w.pause()
		return value, op
	})
	switch {
	case op == mvcc.UpdateOp:
		t.note(OpWrite, key, Version{Value: value})
	case op == mvcc.DeleteOp && had:
		t.note(OpRead, key, Version{actual, true})
		t.note(OpDelete, key, Version{})
		actual = 0
	}
	t.note(OpRead, key, Version{actual, ok})
}

// before reads what is to be compared, and gives others time to change it.
func (d *registers) before(w *worker[int], t *txn, key int) (old int) {
	old, ok := w.m.Load(key)
	t.note(OpRead, key, Version{old, ok})
	w.single(t)
	w.pause()
	*t = w.open(LevelOneKey)
	return old
}

// other notes that a key did not have the value old. That is checked only if each key is looked at
// alone.
func (d *registers) other(t *txn, key, old int) bool {
	t.note(OpOther, key, Version{Value: old})
	return d.cfg.Kind == KindOneKey
}

// remove deletes a key, or all, and reports whether there is something to note.
func (d *registers) remove(w *worker[int], t *txn, key int) bool {
	switch n := w.rng.IntN(100); {
	case n < 20 && d.cfg.Kind == KindOneKey:
		// It does not say whether there was something to delete. That makes no
		// difference if the key is looked at alone.
		w.m.Delete(key)
	case n < 35 && d.cfg.Snapshot == 0:
		// Neither does this. That makes no difference if every transaction has one moment.
		d.clear(w, t)
		return false
	case n < 40:
		d.deleteFunc(w, key)
		return false
	case n < 55:
		d.compute(w, t, key, 0, mvcc.DeleteOp)
		return true
	case n < 70:
		old := d.before(w, t, key)
		if !mvcc.CompareAndDelete(w.m, key, old) {
			return d.other(t, key, old)
		}
		t.note(OpRead, key, Version{old, true})
	default:
		old, ok := w.m.LoadAndDelete(key)
		t.note(OpRead, key, Version{old, ok})
		if !ok {
			return true
		}
	}
	t.note(OpDelete, key, Version{})
	return true
}

// clear deletes all keys. There must be an epoch at which there were none, unless that epoch is
// not known any more.
func (d *registers) clear(w *worker[int], t *txn) {
	from := w.m.Epoch()
	w.m.Clear()
	to := w.m.Epoch()
	t.Level = LevelSerializable
	for key := range d.cfg.Keys {
		t.note(OpDelete, key, Version{})
	}
	w.done(t, StatusCommitted)
	for ; from <= to; from++ {
		s, err := w.m.SnapshotAt(from)
		if err != nil {
			return
		}
		n := s.Len()
		s.Close()
		if n == 0 {
			return
		}
	}
	again := w.open(LevelSerializable)
	again.lie(0)
	w.done(&again, StatusCommitted)
}

// deleteFunc deletes one key by DeleteFunc, so that it is known whether it was deleted. It notes
// an operation for each key that DeleteFunc has found.
func (d *registers) deleteFunc(w *worker[int], target int) {
	start := w.open(LevelOneKey)
	last := start // what was found under target
	found := make([]bool, d.cfg.Keys)
	deleted := w.m.DeleteFunc(func(key, value int) bool {
		t := start
		t.note(OpRead, key, Version{value, true})
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
		last.note(OpDelete, target, Version{})
		w.single(&last)
	}
	// All keys that were there throughout were found.
	for key, ok := range found {
		if t := start; !ok {
			t.note(OpRead, key, Version{})
			w.single(&t)
		}
	}
}
