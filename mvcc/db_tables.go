package mvcc

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// A tableList is the tables that there are at a moment. It is never changed: when a table is made
// or closed there is a new one. Each snapshot of the database has the list of its moment, so that
// a backup of it has the tables of that moment, whatever is closed, or made, afterwards.
//
//   - D1: a snapshot has a list that was there before its epoch was fixed, and is there after it.
//   - D2: a table is closed at an epoch that is drawn for that, and has it before it leaves the
//     list. Watches are told of it in the order of the epochs.
//
// So a snapshot has a table in its list, and its epoch is below that at which the table was closed,
// if and only if the table was there at the epoch of the snapshot: but for a table in which nothing
// had been committed by then, for which it makes no difference.
type tableList struct{ tables []*core }

// A hiddenList is a [tableList], see txn.
type hiddenList struct{ _ byte }

func hideList(l *tableList) *hiddenList { return (*hiddenList)(unsafe.Pointer(l)) }
func listAt(l *hiddenList) *tableList   { return (*tableList)(unsafe.Pointer(l)) }

// publish makes a new list. db.mu is held.
func (db *database) publish() {
	list := &tableList{}
	for _, table := range db.tables {
		if !table.inner {
			list.tables = append(list.tables, table)
		}
	}
	db.list.Store(list)
	db.trimPast()
}

// A pastTable is a table that was closed. It is kept where history is, see Options.Retain;
// otherwise a snapshot of the past would lack it, and cannot be had.
type pastTable struct {
	made, closed epoch.Epoch
	table        *core // nil if it is not kept
}

// trimPast lets go of the closed tables that no snapshot which begins later sees. db.mu is held.
func (db *database) trimPast() {
	bound := db.shared.slots.Bound()
	db.past = slices.DeleteFunc(db.past, func(t pastTable) bool { return t.closed <= bound })
}

// at opens a snapshot of the past, by open, with the tables that there were, as far as anything was
// committed in them by then. A table that trimPast lets go of was closed below a bound, and no
// snapshot begins below that: so it must not be called between the begin, which lets the bound go
// on, and the list.
func (db *database) at(open func() (moment, error)) (DBSnapshot, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.trimPast()
	s, err := open()
	if err != nil {
		return DBSnapshot{}, err
	}
	hooks.At(hooks.PastBegun)
	list, err := db.listOf(stateOf(s.st).epoch())
	if err != nil {
		s.Close()
		return DBSnapshot{}, err
	}
	return DBSnapshot{s.st, s.gen, hideList(list)}, nil
}

// listOf returns the tables that there were at an epoch. db.mu is held.
func (db *database) listOf(e epoch.Epoch) (*tableList, error) {
	list := &tableList{}
	for _, t := range db.list.Load().tables {
		if t.madeAt() < e {
			list.tables = append(list.tables, t)
		}
	}
	for _, t := range db.past {
		switch {
		case e <= t.made || e >= t.closed:
		case t.table == nil:
			return nil, fmt.Errorf("%w: a table that was there at epoch %d was closed at epoch %d, and "+
				"Options.Retain is not set", ErrEpochGone, e, t.closed)
		default:
			list.tables = append(list.tables, t.table)
		}
	}
	return list, nil
}

// seenIn returns the tables that there are in the snapshot.
func seenIn(s DBSnapshot) (list []*core) {
	at := epoch.Epoch(s.Epoch())
	for _, table := range listAt(s.list).tables {
		if closed := table.closedAt(); closed == 0 || at < closed {
			list = append(list, table)
		}
	}
	return list
}

// closedSince returns the tables that were there in s, and were closed at an epoch up to to, in
// the order of these.
func closedSince(s DBSnapshot, to uint64) (list []*core) {
	for _, table := range seenIn(s) {
		if closed := table.closedAt(); closed != 0 && closed <= epoch.Epoch(to) {
			list = append(list, table)
		}
	}
	sortBy(list, func(t **core) uint64 { return uint64((*t).closedAt()) })
	return list
}

func (m *core) madeAt() epoch.Epoch   { return m.since }
func (m *core) closedAt() epoch.Epoch { return epoch.Epoch(m.until.Load()) }

// noteClosed draws the epoch at which m is closed, and notes that for the watches of all tables.
func (m *core) noteClosed() {
	h := &m.shared.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.slots.Next()
	m.counters.Wasted.Add(1)
	m.until.Store(uint64(e))
	if f := m.feed(); f != nil && f.inAll {
		h.closing = append(h.closing, dated[*core]{e, m})
	}
}

// leaveAll takes m out of the watches of all tables, when all up to its end was handed on.
func (m *core) leaveAll() {
	h := &m.shared.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if m.feed() == nil {
		return
	}
	h.round()
	f := m.feed()
	if f == nil {
		return
	}
	f.inAll = false
	h.sweep()
}
