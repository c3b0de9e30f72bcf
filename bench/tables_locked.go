package bench

import (
	"cmp"

	"github.com/tidwall/btree"
)

// lockedTables is Go maps, and B-trees where ranges are read, under one lock. It is its own session
// and transaction.
type lockedTables[L lock] struct {
	NoAborts
	latch[L]
	tables []lockedTable
	undo   *undoLog // of the transaction under way; nil if none is rolled back
}

// undoLog is what a transaction has written over, so that it can be rolled back.
type undoLog []undone

type undone struct {
	table int
	key   RecordKey
	was   Record
	there bool
}

// lockedTable has one of its maps, and keys besides if ranges are read.
type lockedTable struct {
	ints  map[int64]Record
	texts map[string]Record
	order *btree.BTreeG[RecordKey]
}

func newLockedTables[L lock](setup TablesSetup) (Tables, error) {
	e := &lockedTables[L]{tables: make([]lockedTable, len(setup.Tables))}
	for i, s := range setup.Tables {
		t := &e.tables[i]
		if s.Ordered {
			t.order = btree.NewBTreeGOptions(func(a, b RecordKey) bool {
				return cmp.Or(cmp.Compare(a.Text, b.Text), cmp.Compare(a.Number, b.Number)) < 0
			}, btree.Options{NoLocks: true})
		}
		if s.Strings {
			t.texts = make(map[string]Record, len(s.Keys))
		} else {
			t.ints = make(map[int64]Record, len(s.Keys))
		}
		for k, key := range s.Keys {
			e.Put(i, key, s.Records[k])
		}
	}
	if setup.RollsBack {
		e.undo = new(undoLog)
	}
	return e, nil
}

func (e *lockedTables[L]) Session(int) TablesSession { return e }
func (e *lockedTables[L]) Close()                    {}

// Do implements [TablesSession]. If fn fails, and [TablesSetup] does not say that it may, nothing is
// undone: the run ends then.
func (e *lockedTables[L]) Do(readOnly bool, fn func(tx TablesTx) error) error {
	if readOnly {
		e.rlock()
		defer e.runlock()
	} else {
		e.lock()
		defer e.unlock()
	}
	if readOnly || e.undo == nil {
		return fn(e)
	}
	*e.undo = (*e.undo)[:0]
	err := fn(e)
	if err != nil {
		e.rollBack()
	}
	return err
}

// rollBack undoes what the transaction has written, the last write first.
func (e *lockedTables[L]) rollBack() {
	log := *e.undo
	e.undo = nil // these writes are not to be undone
	for i := len(log) - 1; i >= 0; i-- {
		if u := &log[i]; u.there {
			e.Put(u.table, u.key, u.was)
		} else {
			e.Delete(u.table, u.key)
		}
	}
	e.undo = &log
}

// remember notes what a write is about to write over.
func (e *lockedTables[L]) remember(table int, key RecordKey) {
	if e.undo != nil {
		was, there := e.Get(table, key)
		*e.undo = append(*e.undo, undone{table, key, was, there})
	}
}

func (e *lockedTables[L]) Get(table int, key RecordKey) (r Record, ok bool) {
	if t := &e.tables[table]; t.texts != nil {
		r, ok = t.texts[key.Text]
	} else {
		r, ok = t.ints[key.Number]
	}
	return r, ok
}

func (e *lockedTables[L]) Put(table int, key RecordKey, r Record) {
	e.remember(table, key)
	t := &e.tables[table]
	if t.order != nil {
		t.order.Set(t.place(key))
	}
	if t.texts != nil {
		t.texts[key.Text] = r
	} else {
		t.ints[key.Number] = r
	}
}

// place returns what key is in the tree: text alone, or a number alone.
func (t *lockedTable) place(key RecordKey) RecordKey {
	if t.texts != nil {
		return RecordKey{Text: key.Text}
	}
	return RecordKey{Number: key.Number}
}

func (e *lockedTables[L]) Add(table int, key RecordKey, delta int64) {
	r, _ := e.Get(table, key)
	r.Number += delta
	e.Put(table, key, r)
}

func (e *lockedTables[L]) Delete(table int, key RecordKey) {
	e.remember(table, key)
	t := &e.tables[table]
	if t.order != nil {
		t.order.Delete(t.place(key))
	}
	if t.texts != nil {
		delete(t.texts, key.Text)
	} else {
		delete(t.ints, key.Number)
	}
}

func (e *lockedTables[L]) Range(
	table int, low RecordKey, visit func(key RecordKey, r Record) bool,
) {
	t := &e.tables[table]
	t.order.Ascend(t.place(low), func(key RecordKey) bool {
		r, _ := e.Get(table, key)
		return visit(key, r)
	})
}

func (e *lockedTables[L]) All(table int, visit func(key RecordKey, r Record)) {
	t := &e.tables[table]
	for k, r := range t.ints {
		visit(RecordKey{Number: k}, r)
	}
	for k, r := range t.texts {
		visit(RecordKey{Text: k}, r)
	}
}
