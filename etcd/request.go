package etcd

import (
	"cmp"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/internal/seam/replicate"
)

// A request has the comparisons and writes of a transaction, but for its slot.
type request struct {
	cmps   []clientv3.Cmp
	writes []clientv3.Op
	guards []string // that it puts
	bytes  int
	// absent says that it compares that a record is absent, see O6.
	absent bool
	// agreed is the revision of the meta that the program had accepted before, and narrow are
	// records that it puts, and of whose tables it has less.
	agreed int64
	narrow []narrowPut

	guard string // that of a table, one of guards
}

// A tableRequest is the part of a request that one table has.
type tableRequest struct {
	name    string
	since   uint64 // as of which it was read; the oldest, of several transactions
	cmps    []clientv3.Cmp
	absent  int      // 1 if it compares that a record is absent, else 0
	indexes []string // guards of index keys
	class   string   // "" if nothing is written
}

// perOp is about how many bytes an operation or comparison takes, beside its key and value.
const perOp = 32

// request makes the request of a transaction. Its reads of a table are compared key by key: each
// record must have the revision that was seen, or be absent. A range must have no record that was
// put since, and nothing may have been deleted from its table. An index key must have no record
// that has entered or left it since, see index. Where it has read a range of an index or
// everything, or a range of many records or of keys whose bytes have another order, or where the
// comparisons would be too many, the guards of the table are compared instead: nobody may have
// written to it since. Where several transactions go together w is the renewed work of all, and
// readers are those of them that have read. The error is a *CodecError or a *TooLargeError.
func (db *DB) request(w *replicate.Work, readers ...*replicate.Work) (*request, error) {
	r := &request{agreed: db.agreed.Load()} // must precede, see fields.go
	var tables []tableRequest
	for i, one := range append([]*replicate.Work{w}, readers...) {
		for j := range one.Tables {
			t := &one.Tables[j]
			n := slices.IndexFunc(tables, func(of tableRequest) bool { return of.name == t.Name })
			if n < 0 {
				n = len(tables)
				tables = append(tables, tableRequest{name: t.Name, since: one.Epoch})
			}
			of := &tables[n]
			of.since = min(of.since, one.Epoch)
			changed, _ := db.indexGuards(t, true)
			of.indexes = append(of.indexes, changed...)
			if i == 0 {
				if err := db.written(t, r, of); err != nil {
					return nil, err
				}
			}
			if err := db.compared(t, one, of); err != nil {
				return nil, err
			}
		}
	}
	for i := range tables { // of several transactions
		slices.Sort(tables[i].indexes)
		tables[i].indexes = slices.Compact(tables[i].indexes)
	}
	// Where it is too much: all of a table is compared, or all readers of indexes of it conflict.
	compares := func(t *tableRequest) int { return len(t.cmps) }
	absent := func(t *tableRequest) int { return t.absent }
	most := func() int { return db.cfg.MaxTxnOps - min(sum(tables, absent), 1) }
	for ownCompares+sum(tables, compares) > most() {
		i := largest(tables, compares)
		if compares(&tables[i]) <= 1 {
			break // as many tables as that
		}
		tables[i].cmps, tables[i].absent = []clientv3.Cmp{db.unwritten(tables[i].name, tables[i].since)}, 0
	}
	puts := func(t *tableRequest) int { return len(t.indexes) }
	classes := sum(tables, func(t *tableRequest) int { return min(len(t.class), 1) })
	for 1+len(r.writes)+len(r.guards)+classes+sum(tables, puts) > most() {
		i := largest(tables, puts)
		if puts(&tables[i]) == 0 {
			break
		}
		tables[i].indexes, tables[i].class = nil, classNone // I2
	}
	r.absent = sum(tables, absent) > 0
	for i := range tables {
		t := &tables[i]
		r.cmps = append(r.cmps, t.cmps...)
		r.guards = append(r.guards, t.indexes...)
		if t.class != "" {
			r.guard = db.keys.guard(t.name, t.class)
			r.guards = append(r.guards, r.guard)
		}
	}
	for _, c := range r.cmps {
		r.bytes += perOp + len(c.KeyBytes()) + len(c.GetCompare().RangeEnd)
	}
	for _, guard := range r.guards {
		r.bytes += 2*perOp + len(guard) + 2*len(db.self)
	}
	r.bytes += 12 * perOp // the slot, the comparisons of each request, and the rest
	if r.count() > db.cfg.MaxTxnOps || r.bytes > db.cfg.MaxRequestBytes {
		return nil, r.tooLarge(db)
	}
	return r, nil
}

// sum returns the sum of a number of each table.
func sum(tables []tableRequest, of func(t *tableRequest) int) (n int) {
	for i := range tables {
		n += of(&tables[i])
	}
	return n
}

// largest returns the table with the largest number.
func largest(tables []tableRequest, of func(t *tableRequest) int) (at int) {
	for i := range tables {
		if of(&tables[i]) > of(&tables[at]) {
			at = i
		}
	}
	return at
}

// compared adds the comparisons of a table.
func (db *DB) compared(t *replicate.Table, w *replicate.Work, into *tableRequest) error {
	since := w.Epoch
	if err := db.readsBroken(t); err != nil {
		return err
	}
	if t.All {
		into.cmps = append(into.cmps, db.unwritten(t.Name, since))
		return nil
	}
	cmps, absent := make([]clientv3.Cmp, 0, len(t.Epochs)), 0
	at := db.keys.table(t.Name)
	if err := db.schema.tables[t.Name].reads(t.Reads, func(n int, key []byte) {
		name, rev := at+string(key), t.Epochs[n]
		if rev == 0 {
			absent = 1
		} else {
			rev = db.exact.of(name, rev)
		}
		cmps = append(cmps, clientv3.Compare(clientv3.ModRevision(name), "=", int64(rev)))
	}); err != nil {
		return err
	}
	ranges, ok := db.ranges(t, since)
	indexes, known := db.unchanged(t, since)
	if !ok || !known {
		into.cmps = append(into.cmps, db.unwritten(t.Name, since))
		return nil
	}
	into.absent = max(into.absent, absent)
	into.cmps = slices.Concat(into.cmps, cmps, ranges, indexes)
	return nil
}

// readsBroken returns the error of a broken record that is among the records that were read: of a
// table with indexes also by a write.
func (db *DB) readsBroken(t *replicate.Table) error {
	b := &db.schema.broken
	if b.count() == 0 {
		return nil
	}
	if t.All {
		return b.within(t.Name, nil, nil)
	}
	for _, r := range t.Ranges {
		low, high, ok := db.schema.tables[t.Name].span(r)
		if !ok {
			low, high = nil, nil
		}
		if err := b.within(t.Name, low, high); err != nil {
			return err
		}
	}
	var broken error
	err := db.schema.tables[t.Name].reads(t.Reads, func(_ int, key []byte) {
		if one := b.of(t.Name + "/" + string(key)); one.err != nil {
			broken = one.err
		}
	})
	return cmp.Or(broken, err)
}

// written fills in the writes to a table.
func (db *DB) written(t *replicate.Table, r *request, into *tableRequest) error {
	at, deletes := db.keys.table(t.Name), false
	less, narrow := db.less.Load(t.Name)
	if err := db.schema.tables[t.Name].writes(t.Writes, func(key, value []byte, deleted bool) {
		name := at + string(key)
		r.bytes += perOp + len(name) + len(value)
		if narrow && !deleted {
			r.narrow = append(r.narrow, narrowPut{t.Name, name, less.(error)})
		}
		if deletes = deletes || deleted; deleted {
			r.writes = append(r.writes, clientv3.OpDelete(name))
		} else {
			r.writes = append(r.writes, clientv3.OpPut(name, string(value)))
		}
	}); err != nil {
		return err
	}
	if t.Written > 0 {
		into.class = db.schema.tables[t.Name].class()
	}
	if deletes {
		r.guards = append(r.guards, db.keys.deletes(t.Name))
	}
	return nil
}

// ownCompares are those of each request: of its slot, of a guard, and whether it may write.
const ownCompares = 3

// count returns how many operations the request has, or comparisons, if these are more.
func (r *request) count() int {
	n := max(1+len(r.writes)+len(r.guards), ownCompares+len(r.cmps))
	if r.absent {
		n++ // in the transaction within: servers count these as well
	}
	return n
}

func (r *request) tooLarge(db *DB) error {
	return &TooLargeError{Ops: r.count(), Bytes: r.bytes, Records: len(r.writes), MaxOps: db.cfg.MaxTxnOps,
		MaxBytes: db.cfg.MaxRequestBytes}
}

// ranges compares the ranges of a table that were read, if that is not too much. The range says
// that no record in it was put since. That none is gone say the records of a range of few keys,
// which are compared one by one, see [replicate.Range]; of one with more it is the guard of
// deletions.
func (db *DB) ranges(t *replicate.Table, since uint64) (cmps []clientv3.Cmp, ok bool) {
	if len(t.Ranges) == 0 {
		return nil, true
	}
	at, keys, gone := db.keys.table(t.Name), 0, false
	for _, r := range t.Ranges {
		low, high, ok := db.schema.tables[t.Name].span(r)
		if keys += r.Keys; !ok || keys > replicate.MostKeys { // each member looks at all of them
			return nil, false
		}
		gone = gone || r.Keys > replicate.MostNamed
		from, to := at+string(low), at+string(high)
		if high == nil {
			to = clientv3.GetPrefixRangeEnd(at)
		}
		if from >= to {
			continue // it has no keys, and never will
		}
		cmps = append(cmps, clientv3.Compare(clientv3.ModRevision(from), "<", int64(since)+1).WithRange(to))
	}
	if gone {
		deletes := clientv3.ModRevision(db.keys.deletes(t.Name))
		cmps = append(cmps, clientv3.Compare(deletes, "<", int64(since)+1))
	}
	return cmps, true
}

// unwritten compares that nobody has written to a table since a revision, of whatever class.
func (db *DB) unwritten(table string, since uint64) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(db.keys.guards(table)), "<", int64(since)+1).WithPrefix()
}

// ops returns the operations, of a commit with a name that no other one has.
func (r *request) ops(name string) []clientv3.Op {
	ops := slices.Clone(r.writes)
	for _, guard := range r.guards {
		ops = append(ops, clientv3.OpPut(guard, name))
	}
	return ops
}
