package history

import (
	"iter"

	"github.com/mvccmap/mvccmap/mvcc"
)

// overTables is what [Config.Tables] records: a database of two ordered tables, of which
// the second one has an index of the values. Key k is key k/2 of table k%2. A read of a range is
// a read of each key in it, there or not: so a phantom is a read that does not fit.
type overTables struct {
	db     *mvcc.DB
	of     [2]*mvcc.Map[int, int]
	values *mvcc.Index[int, int, int]
}

func newOverTables(opts *mvcc.Options) (*overTables, error) {
	db := mvcc.NewDB(opts)
	d := &overTables{db: db}
	d.of[0] = mvcc.NewOrderedTable[int, int](db, "even", nil)
	d.of[1] = mvcc.NewOrderedTable[int, int](db, "odd", nil)
	var err error
	d.values, err = mvcc.NewOrderedIndex(d.of[1], "values", func(_, value int) []int {
		return []int{value}
	}, nil)
	return d, err
}

// A rangeReader is a Tx or Snapshot of a table.
type rangeReader interface {
	mvcc.Reader[int, int]
	Ascend(r mvcc.Range[int]) iter.Seq2[int, int]
	Descend(r mvcc.Range[int]) iter.Seq2[int, int]
}

// stepTables is step over tables.
func (d *overTables) step(w *worker[int]) error {
	switch n := w.rng.IntN(100); {
	case n < w.cfg.OneKey:
		d.oneKey(w)
		w.pause()
		return nil
	case n < w.cfg.OneKey+w.cfg.ReadOnly:
		d.view(w, func(t *txn, in func(table int) rangeReader) {
			for range 1 + w.rng.IntN(w.cfg.MaxOps) {
				w.pause()
				d.read(w, t, in)
			}
		})
		return nil
	}
	opts, level := &mvcc.TxOptions{Isolation: mvcc.LevelSerializable}, LevelSerializable
	if w.percent(w.cfg.Snapshot) {
		opts.Isolation, level = mvcc.LevelSnapshot, LevelSnapshot
	}
	t := w.open(level)
	tx := d.db.Begin(opts)
	defer tx.Rollback()
	t.Epoch = tx.Epoch()
	for range 1 + w.rng.IntN(w.cfg.MaxOps) {
		w.pause()
		if w.percent(w.cfg.Write) {
			d.write(w, &t, tx)
		} else {
			d.read(w, &t, func(table int) rangeReader { return d.of[table].In(tx) })
		}
	}
	return w.end(&t, tx)
}

// view runs reads in a snapshot.
func (d *overTables) view(w *worker[int], reads func(t *txn, in func(table int) rangeReader)) {
	t := w.open(LevelSerializable)
	s := d.db.Snapshot()
	defer s.Close()
	t.Epoch = s.Epoch()
	reads(&t, func(table int) rangeReader { return d.of[table].At(s) })
	w.done(&t, StatusCommitted)
}

// final reads everything in the end.
func (d *overTables) final(w *worker[int]) {
	d.view(w, func(t *txn, in func(table int) rangeReader) {
		for table := range d.of {
			d.noteAll(t, table, 0, w.cfg.Keys, in(table).All())
		}
	})
}

// read reads a key, a range of keys, or a whole table by its index.
func (d *overTables) read(w *worker[int], t *txn, in func(table int) rangeReader) {
	k := w.rng.IntN(w.cfg.Keys)
	table, key := k%2, k/2
	r := in(table)
	switch {
	case !w.percent(w.cfg.Scan):
		value, ok := r.Get(key)
		t.note(OpRead, k, Version{value, ok})
	case table == 1 && w.percent(30):
		d.noteAll(t, table, 0, w.cfg.Keys, d.values.Ascend(r, mvcc.Range[int]{}))
	default:
		to := key + w.rng.IntN(w.cfg.Keys)
		part := mvcc.From(key).UpTo(to)
		seq := r.Ascend(part)
		if w.percent(50) {
			seq = r.Descend(part)
		}
		d.noteAll(t, table, key, to+1, seq)
	}
}

// noteAll notes what was read of a table's keys from one up to another.
func (d *overTables) noteAll(t *txn, table, from, to int, seq iter.Seq2[int, int]) {
	found := map[int]int{}
	for key, value := range seq {
		if _, twice := found[key]; twice || key < from || key >= to {
			t.lie(2*key + table)
		}
		found[key] = value
	}
	for key := from; key < to; key++ {
		value, ok := found[key]
		t.note(OpRead, 2*key+table, Version{value, ok})
	}
}

// write mostly reads what it overwrites, as that of registers does.
func (d *overTables) write(w *worker[int], t *txn, tx mvcc.DBTx) {
	k := w.rng.IntN(w.cfg.Keys)
	to, key := d.of[k%2].In(tx), k/2
	if w.percent(80) {
		value, ok := to.Get(key)
		t.note(OpRead, k, Version{value, ok})
	}
	if w.percent(w.cfg.Delete) {
		to.Delete(key)
		t.note(OpDelete, k, Version{})
		return
	}
	value := w.value()
	to.Set(key, value)
	t.note(OpWrite, k, Version{Value: value})
}

// oneKey makes a one-key operation on a table.
func (d *overTables) oneKey(w *worker[int]) {
	k := w.rng.IntN(w.cfg.Keys)
	m, key, value := d.of[k%2], k/2, w.value()
	t := w.open(LevelOneKey)
	switch {
	case !w.percent(w.cfg.Write):
		value, ok := m.Load(key)
		t.note(OpRead, k, Version{value, ok})
	case w.percent(w.cfg.Delete):
		old, ok := m.LoadAndDelete(key)
		t.note(OpRead, k, Version{old, ok})
		if ok {
			t.note(OpDelete, k, Version{})
		}
	default:
		old, ok := m.Swap(key, value)
		t.note(OpRead, k, Version{old, ok})
		t.note(OpWrite, k, Version{Value: value})
	}
	w.single(&t)
}
