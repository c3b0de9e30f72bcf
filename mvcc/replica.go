package mvcc

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
	"github.com/mvccmap/mvccmap/internal/seam/replicate"
)

// A database may be a replica of a store elsewhere, see package internal/seam/replicate and module
// etcd: then that store draws the epochs, validates the reads of transactions, and commits. Other
// databases pay nothing for this: a transaction of a replica is rolled back once its reads and
// writes are reported.

func init() {
	replicate.Of = func(db any) replicate.DB { return replicated{db.(*DB), dbAt(db.(*DB)).root} }
}

// A replicated is a database that is a replica, and its root.
type replicated struct {
	db   *DB
	root *core
}

// Attempt calls fn with a transaction, and returns the transaction's reads and writes.
func (r replicated) Attempt(fn any) (w *replicate.Work, err error) {
	st, gen := r.root.begin(LevelSerializable, forProgram)
	st.trace(gen)
	tx := DBTx{&st.own.txn, gen}
	defer tx.Rollback()
	if r.root.guarded {
		defer st.tooOld(gen, &err)
	}
	tx.extras().add(notByHand, nil)
	if err := fn.(func(DBTx) error)(tx); err != nil {
		return nil, err
	}
	if st.gen() != gen {
		return nil, st.over(gen)
	}
	st.extra.remove(notByHand, nil)
	if err := st.extra.notUnique(tx); err != nil {
		return nil, err
	}
	return st.work(tx), nil
}

// notByHand is an extra that keeps a transaction from being committed by hand: no commit succeeds
// while the transaction has extras.
var notByHand = extraKey{ix: mustNot{}}

type mustNot struct{}

func (mustNot) named() string         { return "" } // comes first
func (mustNot) dropped() *atomic.Bool { return new(atomic.Bool) }

func (mustNot) notUnique(DBTx, any, any) error { return errByHand }

// work returns the reads and writes of the transaction.
func (st *txState) work(tx DBTx) *replicate.Work {
	w := &replicate.Work{Epoch: uint64(st.epoch()), Blind: !st.hasRead, OnCommit: st.after}
	kept := make([]write, len(st.writes))
	cores := make([]*core, len(st.writes))
	for i := range st.writes {
		kept[i], cores[i] = st.writes[i], st.parts[st.writes[i].of].m
	}
	w.Kept = keptWrites{kept, cores}
	b := newWorkBuilder(w)
	for _, p := range st.parts {
		b.read(p)
	}
	for i := range st.writes {
		b.write(tx, &st.writes[i], st.parts[st.writes[i].of])
	}
	b.done()
	return w
}

// keptWrites are the writes of a transaction, and their maps.
type keptWrites struct {
	list []write
	of   []*core
}

// A workBuilder puts together the reads and writes of each table.
type workBuilder struct {
	w       *replicate.Work
	at      map[*core]int // of the tables
	cores   []*core
	reads   [][]dated[succession]
	writes  [][]dated[succession]
	indexes map[*core]builtIndex // by their own tables
}

// A builtIndex is the place of an index in the work: the number of its table, and its own there.
type builtIndex struct{ table, number int }

func newWorkBuilder(w *replicate.Work) workBuilder {
	return workBuilder{w: w, at: map[*core]int{}, indexes: map[*core]builtIndex{}}
}

// table returns the number of m, which must have types, and adds m to the tables if it is new.
func (b *workBuilder) table(m *core) int {
	i, there := b.at[m]
	if !there {
		i = len(b.cores)
		b.at[m] = i
		b.cores = append(b.cores, m)
		b.w.Tables = append(b.w.Tables, replicate.Table{Name: m.counters.name})
		b.reads, b.writes = append(b.reads, nil), append(b.writes, nil)
	}
	return i
}

// read adds the reads of a part.
func (b *workBuilder) read(p *part) {
	if p.m.types == nil {
		return // the root has no keys
	}
	st := p.st
	if p.m.inner {
		b.readIndex(p)
		return
	}
	if p.scanned || p.counted || len(p.ranges) > 0 && !p.m.order.natural {
		b.w.Tables[b.table(p.m)].All = true
	} else if len(p.ranges) > 0 {
		b.ranges(p)
	}
	for i := range st.reads {
		if r := &st.reads[i]; r.of == p.number {
			b.saw(p.m, r.seen)
		}
	}
	for i := range p.absences() {
		key, _ := p.absent.at(i)
		b.saw(p.m, p.m.types.tombstone(key))
	}
}

// ranges adds the ranges that were read in a part.
func (b *workBuilder) ranges(p *part) {
	boxed := func(key unsafe.Pointer) any {
		if key == nil {
			return nil
		}
		return p.index.Hash.Boxed(key)
	}
	t := &b.w.Tables[b.table(p.m)]
	for i := range p.ranges {
		s := &p.ranges[i]
		r := replicate.Range{Low: boxed(s.Low), High: boxed(s.High), LowExclusive: s.LowExclusive,
			HighExclusive: s.HighExclusive}
		var there []*chain.Node
		p.index.Span(s, false, func(_ index.Place, head *chain.Node) bool {
			if v := p.m.Visible(head, p.st.epoch()); v != nil && v.There() {
				there = append(there, v)
			}
			r.Keys++
			return r.Keys <= replicate.MostKeys
		})
		t.Ranges = append(t.Ranges, r)
		for i := 0; r.Keys <= replicate.MostNamed && i < len(there); i++ {
			b.saw(p.m, there[i])
		}
	}
}

// saw adds that v, which may be a tombstone, was read for its key.
func (b *workBuilder) saw(m *core, v *chain.Node) {
	i, e := b.table(m), uint64(0)
	if v.There() {
		e = uint64(m.CommitEpoch(v))
	}
	b.reads[i] = append(b.reads[i], dated[succession]{change: succession{v: v}})
	b.w.Tables[i].Epochs = append(b.w.Tables[i].Epochs, e)
}

// write adds a write. A merge is no read of the key: Renew finds the value to merge with.
func (b *workBuilder) write(tx DBTx, w *write, p *part) {
	if p.m.inner {
		ix := b.index(p.m)
		ix.Writes = append(ix.Writes, indexKeyOf(p.m, w.v.Key()))
		return // the rest follows from the writes of the table
	}
	v := w.v
	if w.merge != nil {
		base := p.m.seenAs(v.Key(), p.st.epoch())
		tx.check()
		v = p.m.mergedOn(w, base)
		t := b.table(p.m)
		b.w.Tables[t].Merged = append(b.w.Tables[t].Merged, len(b.writes[t]))
	}
	b.wrote(p.m, v)
}

// merged returns a version with the result of merging w into base, and adds the read of base.
func (b *workBuilder) merged(m *core, w *write, base *chain.Node) *chain.Node {
	if base == nil {
		b.saw(m, m.types.tombstone(w.v.Key()))
	} else {
		b.saw(m, base)
	}
	return m.mergedOn(w, base)
}

func (b *workBuilder) wrote(m *core, v *chain.Node) {
	i := b.table(m)
	b.writes[i] = append(b.writes[i], dated[succession]{change: succession{v: v}})
}

// done fills in the changes.
func (b *workBuilder) done() {
	for i, m := range b.cores {
		t := &b.w.Tables[i]
		if n := len(b.reads[i]); n > 0 {
			t.Reads = m.types.changes(b.reads[i])(0, n)
		}
		if t.Written = len(b.writes[i]); t.Written > 0 {
			t.Writes = m.types.changes(b.writes[i])(0, t.Written)
		}
	}
}

// seenAs returns the version of the key at key as of an epoch, or nil. The caller has a transaction
// that reads at this epoch.
func (m *core) seenAs(key unsafe.Pointer, at epoch.Epoch) *chain.Node {
	_, _, head := m.index.Seek(key)
	return m.Visible(head, at)
}

// mergedOn returns a version with the result of merging w into base, which may be nil.
func (m *core) mergedOn(w *write, base *chain.Node) *chain.Node {
	v := m.types.clone(w.v)
	w.merge.mergeInto(v, base)
	return v
}

// Renew returns the writes of works as if they were done now, one after the other.
func (r replicated) Renew(works []*replicate.Work) (w *replicate.Work, err error) {
	st, gen := r.root.begin(LevelSerializable, forCall)
	tx := DBTx{&st.own.txn, gen}
	defer tx.Rollback()
	if r.root.guarded {
		defer st.tooOld(gen, &err)
	}
	w = &replicate.Work{Epoch: uint64(st.epoch()), Blind: true}
	b := newWorkBuilder(w)
	type place struct {
		m   *core
		key any
	}
	newest := map[place]*chain.Node{}
	var order []place
	var all keptWrites
	for _, one := range works {
		kept := one.Kept.(keptWrites)
		all.list, all.of = append(all.list, kept.list...), append(all.of, kept.of...)
		w.OnCommit = append(w.OnCommit, one.OnCommit...)
		for i := range kept.list {
			wr, m := &kept.list[i], kept.of[i]
			if m.inner {
				continue // it follows from the writes of the table
			}
			at := place{m, m.index.Hash.Boxed(wr.v.Key())}
			v, there := newest[at]
			switch {
			case wr.merge == nil:
				v = wr.v
			case there:
				v = m.mergedOn(wr, v)
			default:
				base := m.seenAs(wr.v.Key(), st.epoch())
				tx.check()
				v = b.merged(m, wr, base)
			}
			if !there {
				order = append(order, at)
			}
			newest[at] = v
		}
	}
	for _, at := range order {
		b.wrote(at.m, newest[at])
	}
	b.done()
	w.Kept = all
	return w, nil
}

// errByHand is the error of a Commit in the function of an Update of a replica.
var errByHand = fmt.Errorf("mvcc: a transaction of a replica cannot be committed by hand: " +
	"return nil from the function of Update")

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
		all = all || s.Low == nil || s.High == nil ||
			indexKeyOf(p.m, s.Low) != indexKeyOf(p.m, s.High)
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

// indexKeyOf returns the index key of the entry, or the end of a range of entries, at key in m, the
// table of an index. In a unique index the two are the same.
func indexKeyOf(m *core, key unsafe.Pointer) any {
	boxed := m.index.Hash.Boxed(key)
	if e, ok := boxed.(interface{ indexKey() any }); ok {
		return e.indexKey()
	}
	return boxed
}

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
