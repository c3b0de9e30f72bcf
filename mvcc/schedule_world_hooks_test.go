//go:build mvcccheck

package mvcc

import (
	"cmp"
	"fmt"
)

// A world is what the programs of a scenario run on: a map, or the tables of a database.
// Either has a map for each key.
type world struct {
	db   *DB
	maps []*Map[string, int]
	of   [len(programKeys)]*Map[string, int]
}

func newWorld(opts *Options, tables, ordered bool) *world {
	w := &world{}
	if tables {
		w.db = NewDB(opts)
	}
	by := func() *order[string] {
		if !ordered {
			return nil
		}
		return newOrder(cmp.Compare[string])
	}
	for i := range w.of {
		switch {
		case !tables && i > 0 || tables && i == len(w.of)-1:
			w.of[i] = w.of[i-1]
			continue
		case tables:
			w.of[i] = addTable[string, int](w.db, fmt.Sprint(i), nil, by(), false)
		default:
			w.of[i] = newAlone[string, int](opts, by())
		}
		m := w.of[i]
		m.index.hash = orderlyHash()
		m.index.table.Store(newTable[string, int](2)) // a scan has fewer steps
		w.maps = append(w.maps, m)
	}
	return w
}

func (w *world) close() {
	if w.db != nil {
		w.db.Close()
		return
	}
	w.of[0].Close()
}

// newStates returns idle states for one actor.
func (w *world) newStates() (states []any) {
	if w.db == nil {
		return []any{w.of[0].newState()}
	}
	up := w.db.root.newState()
	for _, m := range w.maps {
		states = append(states, m.newState())
	}
	return append(states, up)
}

func (w *world) snapshot() (in func(key int) Reader[string, int], end func()) {
	if w.db == nil {
		s := w.of[0].Snapshot()
		return func(int) Reader[string, int] { return s }, s.Close
	}
	s := w.db.Snapshot()
	return func(key int) Reader[string, int] { return w.of[key].At(s) }, s.Close
}

func (w *world) snapshotAt(at uint64) (in func(key int) Reader[string, int], end func(), err error) {
	if w.db == nil {
		s, err := w.of[0].SnapshotAt(at)
		return func(int) Reader[string, int] { return s }, s.Close, err
	}
	s, err := w.db.SnapshotAt(at)
	return func(key int) Reader[string, int] { return w.of[key].At(s) }, s.Close, err
}

// begin begins a transaction, which may watch from the first.
func (w *world) begin(opts *TxOptions, watched bool) (in func(key int) Tx[string, int], commit func() error) {
	revoked := 0
	if watched {
		revoked = maxRevocations
	}
	if w.db == nil {
		tx := w.of[0].Begin(opts)
		tx.st.revoked = revoked
		return func(int) Tx[string, int] { return tx }, tx.Commit
	}
	tx := w.db.Begin(opts)
	tx.tx.st.revoked = revoked
	return func(key int) Tx[string, int] { return w.of[key].In(tx) }, tx.Commit
}

func (w *world) update(opts *TxOptions, fn func(in func(key int) Tx[string, int])) error {
	if w.db == nil {
		return w.of[0].Update(bg, opts, func(tx Tx[string, int]) error {
			fn(func(int) Tx[string, int] { return tx })
			return nil
		})
	}
	return w.db.Update(bg, opts, func(tx DBTx) error {
		fn(func(key int) Tx[string, int] { return w.of[key].In(tx) })
		return nil
	})
}
