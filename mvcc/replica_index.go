package mvcc

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/seam/replicate"
)

// The reads and writes of a transaction of a replica in indexes. An entry says that a record has an
// index key. So a transaction that has looked for one index key depends only on the entries with
// this index key.

// Indexed returns the index keys that change.
func (r replicated) Indexed(of any) []replicate.Table {
	tx := of.(DBTx)
	tx.check()
	st := stateOf(tx.st)
	var b *workBuilder
	for i := range st.writes {
		if p := st.parts[st.writes[i].of]; p.m.inner {
			if b == nil {
				b = new(newWorkBuilder(&replicate.Work{}))
			}
			b.write(tx, &st.writes[i], p)
		}
	}
	if b == nil {
		return nil
	}
	return b.w.Tables
}

// readIndex adds the reads of the part of an index.
func (b *workBuilder) readIndex(p *part) {
	var keys []unsafe.Pointer
	all := p.scanned
	for i := range p.ranges {
		s := &p.ranges[i]
		if s.Low == nil || s.High == nil || !sameIndexKey(p.m, s.Low, s.High) {
			all = true
			break
		}
		keys = append(keys, s.Low)
	}
	if all {
		table, _ := b.indexOf(p.m)
		b.w.Tables[b.table(table)].All = true
		return
	}
	for i := range p.st.reads {
		if r := &p.st.reads[i]; r.of == p.number {
			keys = append(keys, r.seen.Key())
		}
	}
	for i := range p.absences() {
		key, _ := p.absent.at(i)
		keys = append(keys, key)
	}
	for _, key := range keys {
		ix := b.index(p.m)
		ix.Reads = append(ix.Reads, indexKeyOf(p.m, key))
	}
}

// indexKeyOf returns the index key of the entry at key in m, the table of an index. In a unique
// index the two are the same.
func indexKeyOf(m *core, key unsafe.Pointer) any {
	boxed := m.index.Hash.Boxed(key)
	if e, ok := boxed.(interface{ indexKey() any }); ok {
		return e.indexKey()
	}
	return boxed
}

// sameIndexKey reports whether two entries, or ends of ranges of entries, have the same index key.
func sameIndexKey(m *core, a, b unsafe.Pointer) bool { return indexKeyOf(m, a) == indexKeyOf(m, b) }

// index returns the work in the index whose table is m.
func (b *workBuilder) index(m *core) *replicate.Index {
	at, there := b.indexes[m]
	if !there {
		of, name := b.indexOf(m)
		at.table = b.table(of)
		t := &b.w.Tables[at.table]
		at.number = len(t.Indexes)
		t.Indexes = append(t.Indexes, replicate.Index{Name: name})
		b.indexes[m] = at
	}
	return &b.w.Tables[at.table].Indexes[at.number]
}

// indexOf returns the table and the name of the index whose inner table is m.
func (b *workBuilder) indexOf(m *core) (table *core, name string) {
	of := dbAt(m.db)
	of.mu.Lock()
	defer of.mu.Unlock()
	for _, t := range of.tables {
		if s := t.schema.Load(); s != nil {
			for _, ix := range s.indexes {
				if _, table, _, _ := ix.describe(); coreAt(table) == m {
					return t, ix.named()
				}
			}
		}
	}
	panic("mvcc: an index of a replica was dropped in the function of an Update")
}
