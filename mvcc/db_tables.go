package mvcc

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// A tableList has the tables of one moment. It is never changed: making or closing a table makes a
// new list. Each snapshot of the database has the list of its moment, so a backup of the snapshot
// has those tables, even if tables are closed or made afterwards.
//
//   - D1: the list of a snapshot is the newest both before and after the snapshot's epoch is fixed.
//   - D2: to close a table an epoch is drawn, and noted in the table before the table leaves the
//     list. Watches are told of the closing in the order of the epochs.
//
// So a table was there at the epoch of a snapshot if and only if it is in the snapshot's list and
// was not closed at or below that epoch. The exception, a table in which nothing had been committed
// by then, is empty either way.
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

// A pastTable is a table that was closed. With Options.Retain the table is kept. Without, a
// snapshot of the past that would need the table is refused.
type pastTable struct {
	made, closed epoch.Epoch
	table        *core // nil if it is not kept
}

// trimPast drops the closed tables that no later snapshot can see. db.mu is held.
func (db *database) trimPast() {
	bound := db.shared.slots.Bound()
	db.past = slices.DeleteFunc(db.past, func(t pastTable) bool { return t.closed <= bound })
}

// at opens a snapshot of the past, by open, with those tables of its epoch in which anything had
// been committed. trimPast must not be called between open and listOf: the bound, below which no
// snapshot begins, may rise once open has returned, and trimPast drops the tables that were closed
// up to the bound.
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

// closedSince returns the tables of s that were closed up to the epoch to, in the order of their
// closing.
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

// noteClosed draws the epoch at which m is closed, and notes the closing for watches of all tables.
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

// leaveAll hands on the commits up to now, then takes m out of the watches of all tables.
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
