package bench

import (
	"iter"

	"github.com/mvccmap/mvccmap/mvcc"
)

// mvccTables is a database of tables.
type mvccTables struct {
	mvccDB
	tables []mvccTable
}

// mvccTable has one of its maps.
type mvccTable struct {
	ints  *mvcc.Map[int64, Record]
	texts *mvcc.Map[string, Record]
}

func newMVCCTables(setup TablesSetup) (Tables, error) {
	n := 0
	for _, s := range setup.Tables {
		n = max(n, len(s.Keys))
	}
	e := &mvccTables{mvccDB: openMVCCDB(setup.Map.options(n, setup.Isolation), setup.Limits)}
	for _, s := range setup.Tables {
		var t mvccTable
		options := &mvcc.TableOptions{Capacity: len(s.Keys)}
		switch {
		case s.Strings && s.Ordered:
			t.texts = mvcc.NewOrderedTable[string, Record](e.db, s.Name, options)
		case s.Strings:
			t.texts = mvcc.NewTable[string, Record](e.db, s.Name, options)
		case s.Ordered:
			t.ints = mvcc.NewOrderedTable[int64, Record](e.db, s.Name, options)
		default:
			t.ints = mvcc.NewTable[int64, Record](e.db, s.Name, options)
		}
		for i, key := range s.Keys {
			if s.Strings {
				t.texts.Store(key.Text, s.Records[i])
			} else {
				t.ints.Store(key.Number, s.Records[i])
			}
		}
		e.tables = append(e.tables, t)
	}
	return e, nil
}

func (e *mvccTables) Session(int) TablesSession {
	n := len(e.tables)
	t := &mvccTablesTx{of: e, ints: make([]mvcc.Tx[int64, Record], n),
		texts: make([]mvcc.Tx[string, Record], n), joined: make([]bool, n)}
	v := &mvccTablesView{of: e}
	return newMVCCTxSession(&e.mvccDB, func(tx mvcc.DBTx) TablesTx {
		t.tx = tx
		clear(t.joined)
		return t
	}, func(sn mvcc.DBSnapshot) TablesTx {
		v.sn = sn
		return v
	})
}

// mvccTablesTx is a transaction. A table is in it from its first use on.
type mvccTablesTx struct {
	of     *mvccTables
	tx     mvcc.DBTx
	ints   []mvcc.Tx[int64, Record]
	texts  []mvcc.Tx[string, Record]
	joined []bool
}

// join returns the table, which is in the transaction then.
func (t *mvccTablesTx) join(table int) *mvccTable {
	of := &t.of.tables[table]
	if !t.joined[table] {
		t.joined[table] = true
		if of.texts != nil {
			t.texts[table] = of.texts.In(t.tx)
		} else {
			t.ints[table] = of.ints.In(t.tx)
		}
	}
	return of
}

func (t *mvccTablesTx) Get(table int, key RecordKey) (Record, bool) {
	if t.join(table).texts != nil {
		return t.texts[table].Get(key.Text)
	}
	return t.ints[table].Get(key.Number)
}

func (t *mvccTablesTx) Put(table int, key RecordKey, r Record) {
	if t.join(table).texts != nil {
		t.texts[table].Set(key.Text, r)
		return
	}
	t.ints[table].Set(key.Number, r)
}

func (t *mvccTablesTx) Add(table int, key RecordKey, delta int64) {
	merge := func(r Record, _ bool) Record {
		r.Number += delta
		return r
	}
	if t.join(table).texts != nil {
		t.texts[table].Merge(key.Text, merge)
		return
	}
	t.ints[table].Merge(key.Number, merge)
}

func (t *mvccTablesTx) Delete(table int, key RecordKey) {
	if t.join(table).texts != nil {
		t.texts[table].Delete(key.Text)
		return
	}
	t.ints[table].Delete(key.Number)
}

func (t *mvccTablesTx) Range(
	table int, low RecordKey, visit func(key RecordKey, r Record) bool,
) {
	if t.join(table).texts != nil {
		ofTexts(t.texts[table].Ascend(mvcc.From(low.Text)), visit)
		return
	}
	ofInts(t.ints[table].Ascend(mvcc.From(low.Number)), visit)
}

func (t *mvccTablesTx) All(table int, visit func(key RecordKey, r Record)) {
	if t.join(table).texts != nil {
		ofTexts(t.texts[table].All(), whole(visit))
		return
	}
	ofInts(t.ints[table].All(), whole(visit))
}

// mvccTablesView is a snapshot.
type mvccTablesView struct {
	of *mvccTables
	sn mvcc.DBSnapshot
}

func (v *mvccTablesView) Get(table int, key RecordKey) (Record, bool) {
	of := &v.of.tables[table]
	if of.texts != nil {
		return of.texts.At(v.sn).Get(key.Text)
	}
	return of.ints.At(v.sn).Get(key.Number)
}

func (v *mvccTablesView) Range(
	table int, low RecordKey, visit func(key RecordKey, r Record) bool,
) {
	of := &v.of.tables[table]
	if of.texts != nil {
		ofTexts(of.texts.At(v.sn).Ascend(mvcc.From(low.Text)), visit)
		return
	}
	ofInts(of.ints.At(v.sn).Ascend(mvcc.From(low.Number)), visit)
}

func (v *mvccTablesView) All(table int, visit func(key RecordKey, r Record)) {
	of := &v.of.tables[table]
	if of.texts != nil {
		ofTexts(of.texts.At(v.sn).All(), whole(visit))
		return
	}
	ofInts(of.ints.At(v.sn).All(), whole(visit))
}

// The writes of a transaction that only reads: the file's operation says that it has none.

func (v *mvccTablesView) Put(int, RecordKey, Record) { panic(errReadOnly) }
func (v *mvccTablesView) Add(int, RecordKey, int64)  { panic(errReadOnly) }
func (v *mvccTablesView) Delete(int, RecordKey)      { panic(errReadOnly) }

func ofTexts(all iter.Seq2[string, Record], visit func(RecordKey, Record) bool) {
	for k, r := range all {
		if !visit(RecordKey{Text: k}, r) {
			return
		}
	}
}

func ofInts(all iter.Seq2[int64, Record], visit func(RecordKey, Record) bool) {
	for k, r := range all {
		if !visit(RecordKey{Number: k}, r) {
			return
		}
	}
}

func whole(visit func(RecordKey, Record)) func(RecordKey, Record) bool {
	return func(k RecordKey, r Record) bool {
		visit(k, r)
		return true
	}
}
