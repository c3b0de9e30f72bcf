package etcd

import (
	"cmp"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/internal/replicate"
)

// A request is what a transaction compares and writes, but for its slot.
type request struct {
	cmps   []clientv3.Cmp
	writes []clientv3.Op
	guards []string // of these tables,
	// deletes are those of them of which records are deleted.
	deletes []string
	bytes   int
}

// perOp is about how many bytes an operation or comparison takes, beside its key and value.
const perOp = 32

// request makes a request of what a transaction has done. What it has read of a table is compared key
// by key: each record must have the revision that was seen, or be absent. A range must have no record
// that was put since, and nothing may have been deleted from its table. Where it has read an index or
// everything, or a range of many records or of keys whose bytes have another order, or where the
// comparisons would be too many, the guard of the table is compared instead: nobody may have written to
// it since. The error is a *CodecError or a *TooLargeError.
func (db *DB) request(w *replicate.Work) (*request, error) {
	r := &request{}
	perTable := make([][]clientv3.Cmp, len(w.Tables))
	total := 1 // the slot
	for i := range w.Tables {
		t := &w.Tables[i]
		of, at := db.schema.tables[t.Name], db.keys.table(t.Name)
		if t.All {
			perTable[i] = []clientv3.Cmp{db.unwritten(t.Name, w.Epoch)}
		} else if err := of.reads(t.Reads, func(n int, key []byte) {
			name, rev := at+string(key), t.Epochs[n]
			if rev != 0 {
				rev = db.exact.of(name, rev)
			}
			perTable[i] = append(perTable[i], clientv3.Compare(clientv3.ModRevision(name), "=", int64(rev)))
		}); err != nil {
			return nil, err
		} else if cmps, ok := db.ranges(t, w.Epoch); ok {
			perTable[i] = append(perTable[i], cmps...)
		} else {
			perTable[i] = []clientv3.Cmp{db.unwritten(t.Name, w.Epoch)}
		}
		total += len(perTable[i])
		deletes := false
		if err := of.writes(t.Writes, func(key, value []byte, deleted bool) {
			name := at + string(key)
			r.bytes += perOp + len(name) + len(value)
			if deletes = deletes || deleted; deleted {
				r.writes = append(r.writes, clientv3.OpDelete(name))
			} else {
				r.writes = append(r.writes, clientv3.OpPut(name, string(value)))
			}
		}); err != nil {
			return nil, err
		}
		if t.Written > 0 {
			r.guards = append(r.guards, t.Name)
		}
		if deletes {
			r.deletes = append(r.deletes, t.Name)
		}
	}
	for total > db.cfg.MaxTxnOps {
		most := slices.MaxFunc(perTable, func(a, b []clientv3.Cmp) int { return cmp.Compare(len(a), len(b)) })
		i := slices.IndexFunc(perTable, func(l []clientv3.Cmp) bool { return len(l) == len(most) })
		if len(most) <= 1 {
			break // as many tables as that
		}
		total -= len(most) - 1
		perTable[i] = []clientv3.Cmp{db.unwritten(w.Tables[i].Name, w.Epoch)}
	}
	r.cmps = slices.Concat(perTable...)
	for _, c := range r.cmps {
		r.bytes += perOp + len(c.KeyBytes())
	}
	for _, table := range slices.Concat(r.guards, r.deletes) {
		r.bytes += 2*perOp + len(db.keys.guard(table)) + 2*len(db.self)
	}
	r.bytes += 8 * perOp // the slot, twice, and the rest
	if r.count() > db.cfg.MaxTxnOps || total > db.cfg.MaxTxnOps || r.bytes > db.cfg.MaxRequestBytes {
		return nil, r.tooLarge(db)
	}
	return r, nil
}

// count returns how many operations the request has, or comparisons, if these are more.
func (r *request) count() int {
	return max(1+len(r.writes)+len(r.guards)+len(r.deletes), 1+len(r.cmps))
}

func (r *request) tooLarge(db *DB) error {
	return &TooLargeError{Ops: r.count(), Bytes: r.bytes, MaxOps: db.cfg.MaxTxnOps,
		MaxBytes: db.cfg.MaxRequestBytes}
}

// ranges compares the ranges of a table that were read, if that is not too much.
func (db *DB) ranges(t *replicate.Table, since uint64) (cmps []clientv3.Cmp, ok bool) {
	if len(t.Ranges) == 0 {
		return nil, true
	}
	at, keys := db.keys.table(t.Name), 0
	for _, r := range t.Ranges {
		low, high, ok := db.schema.tables[t.Name].span(r)
		if keys += r.Keys; !ok || keys > replicate.MostKeys { // each member looks at all of them
			return nil, false
		}
		from, to := at+string(low), at+string(high)
		if high == nil {
			to = clientv3.GetPrefixRangeEnd(at)
		}
		if from >= to {
			continue // it has no keys, and never will
		}
		cmps = append(cmps, clientv3.Compare(clientv3.ModRevision(from), "<", int64(since)+1).WithRange(to))
	}
	deletes := clientv3.ModRevision(db.keys.deletes(t.Name))
	return append(cmps, clientv3.Compare(deletes, "<", int64(since)+1)), true
}

// unwritten compares that nobody has written to a table since a revision.
func (db *DB) unwritten(table string, since uint64) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(db.keys.guard(table)), "<", int64(since)+1)
}

// ops returns the operations, of a commit with a name that no other one has.
func (r *request) ops(db *DB, name string) []clientv3.Op {
	ops := slices.Clone(r.writes)
	for _, table := range r.guards {
		ops = append(ops, clientv3.OpPut(db.keys.guard(table), name))
	}
	for _, table := range r.deletes {
		ops = append(ops, clientv3.OpPut(db.keys.deletes(table), name))
	}
	return ops
}
