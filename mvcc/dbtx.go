package mvcc

import (
	"context"
	"fmt"

	"github.com/mvccmap/mvccmap/epoch"
)

// A DBTx is a transaction over the tables of a [DB]. [Map.In] is what it does in one of
// them. It is a small value, to be passed by value, and for one goroutine at a time. The
// zero DBTx panics in every method but Rollback; get one from [DB.Update] or [DB.Begin].
type DBTx struct {
	up  *leader
	gen epoch.Gen
}

// rootTx returns tx as a transaction of the root.
func rootTx(tx DBTx) Tx[none, none] { return Tx[none, none]{stateOf(tx.up), tx.gen} }

func (tx DBTx) check() {
	if tx.up == nil {
		panic(errZeroTx)
	}
	if tx.up.slot.Gen() != tx.gen {
		refuse(tx.up.slot, tx.gen)
	}
}

// In returns the transaction tx for the table m: what it reads, writes and scans through the Tx, it
// does in m. The Tx is used like one of m alone, and it is the transaction tx: all tables are read
// as of one moment, Commit, Rollback, Savepoint and OnCommit are those of tx, and so is Err. The Tx
// returned for a table is the same each time. In panics if m is not a table of tx's database, or
// was closed, and with [ErrTxDone] if tx has ended. It looks through the tables that tx has used
// before; the first time of a table it allocates two small objects.
func (m *Map[K, V]) In(tx DBTx) Tx[K, V] {
	tx.check()
	m.checkTable("In", tx.up.of)
	st := partOf(tx.up, m)
	st.join()
	tx.check()
	return Tx[K, V]{st, tx.gen}
}

// checkTable panics unless m is a table of the database that s belongs to.
func (m *Map[K, V]) checkTable(call string, s *shared) {
	m.check()
	switch {
	case m.db == nil:
		panic(fmt.Sprintf("mvcc: %s: the map is not a table: make it with mvcc.NewTable", call))
	case m.shared != s:
		panic(fmt.Sprintf("mvcc: %s: table %q belongs to another database", call, m.Name()))
	case m.closed.Load():
		panic(fmt.Sprintf("mvcc: %s: table %q was closed", call, m.Name()))
	}
}

// Update calls fn with a new transaction over the tables and commits it, and tries again after a
// conflict. It is [Map.Update] in every respect. fn uses each table through [Map.In]: what it does
// on a table itself, as in users.Set instead of users.In(tx).Set, is not part of the transaction.
// fn may run again: it should set its results anew each time. The commit is one atomic step over
// all tables, for readers of one table as for those of several.
//
//go:noinline
func (db *DB) Update(ctx context.Context, opts *TxOptions, fn func(tx DBTx) error) error {
	if fn == nil {
		panic("mvcc: Update: fn is nil")
	}
	return rootOf(db).Update(ctx, opts, func(tx Tx[none, none]) error {
		return fn(DBTx{leading(tx.st), tx.gen})
	})
}

// Begin begins a transaction over the tables, to be ended by hand, see [Map.Begin].
//
//go:noinline
func (db *DB) Begin(opts *TxOptions) DBTx {
	m := rootOf(db)
	st, gen := m.begin(opts.level(m.level))
	st.trace(gen)
	return DBTx{leading(st), gen}
}

// Commit is [Tx.Commit] over all tables.
//
//go:noinline
func (tx DBTx) Commit() error { return rootTx(tx).Commit() }

// Rollback is [Tx.Rollback].
//
//go:noinline
func (tx DBTx) Rollback() { rootTx(tx).Rollback() }

// Epoch is [Tx.Epoch].
//
//go:noinline
func (tx DBTx) Epoch() uint64 { return rootTx(tx).Epoch() }

// Err is [Tx.Err] for what was read in all tables.
//
//go:noinline
func (tx DBTx) Err() error { return rootTx(tx).Err() }

// OnCommit is [Tx.OnCommit].
//
//go:noinline
func (tx DBTx) OnCommit(f func(epoch uint64)) { rootTx(tx).OnCommit(f) }

// Savepoint is [Tx.Savepoint]: what is undone is what was written to all tables.
//
//go:noinline
func (tx DBTx) Savepoint(fn func() error) error { return rootTx(tx).Savepoint(fn) }

// Try is [Tx.Try].
//
//go:noinline
func (tx DBTx) Try(fn func() error) error { return rootTx(tx).Try(fn) }

// A DBSnapshot reads the tables of a [DB] as of one moment. [Map.At] is what it sees of one of
// them. It is a small value, to be passed by value, and may be used by several goroutines at
// once. The zero DBSnapshot panics in every method but Close.
type DBSnapshot struct {
	up   *leader
	gen  epoch.Gen
	list *tableList // T1
}

// rootSnapshot returns s as a snapshot of the root.
func rootSnapshot(s DBSnapshot) Snapshot[none, none] {
	return Snapshot[none, none]{stateOf(s.up), s.gen}
}

func (s DBSnapshot) check() {
	if s.up == nil {
		panic(errZeroSnapshot)
	}
	if s.up.slot.Gen() != s.gen {
		refuse(s.up.slot, s.gen)
	}
}

// At returns the snapshot s for the table m. The Snapshot is used like one of m alone, and it is
// the snapshot s: Close closes s. It may be called by several goroutines at once. A table that was
// made after s is empty in it. At panics as [Map.In] does, and has its cost.
func (m *Map[K, V]) At(s DBSnapshot) Snapshot[K, V] {
	s.check()
	m.checkTable("At", s.up.of)
	return Snapshot[K, V]{partOf(s.up, m), s.gen}
}

// View calls fn with a snapshot of the tables. It is [Map.View] in every respect.
//
//go:noinline
func (db *DB) View(fn func(s DBSnapshot) error) error {
	if fn == nil {
		panic("mvcc: View: fn is nil")
	}
	db.base()
	for {
		list, again := db.list.Load(), false
		err := rootOf(db).View(func(s Snapshot[none, none]) error {
			if again = db.list.Load() != list; again { // T1
				return nil
			}
			return fn(DBSnapshot{leading(s.st), s.gen, list})
		})
		if !again {
			return err
		}
	}
}

// ViewContext is [Map.ViewContext] for the tables.
//
//go:noinline
func (db *DB) ViewContext(ctx context.Context, fn func(s DBSnapshot) error) error {
	if fn == nil {
		panic("mvcc: ViewContext: fn is nil")
	}
	db.base()
	for {
		list, again := db.list.Load(), false
		err := rootOf(db).ViewContext(ctx, func(s Snapshot[none, none]) error {
			if again = db.list.Load() != list; again { // T1
				return nil
			}
			return fn(DBSnapshot{leading(s.st), s.gen, list})
		})
		if !again {
			return err
		}
	}
}

// Snapshot opens a snapshot of the tables, which the caller closes, see [Map.Snapshot].
//
//go:noinline
func (db *DB) Snapshot() DBSnapshot {
	db.base()
	list := db.list.Load()
	for {
		st, gen := rootOf(db).open(0)
		s := DBSnapshot{leading(st), gen, list}
		if now := db.list.Load(); now != list { // T1
			s.Close()
			list = now
			continue
		}
		st.trace(gen)
		return s
	}
}

// SnapshotAt opens a snapshot of the tables as they were at an epoch, see [Map.SnapshotAt].
//
//go:noinline
func (db *DB) SnapshotAt(at uint64) (DBSnapshot, error) {
	s, err := rootOf(db).SnapshotAt(at)
	if err != nil {
		return DBSnapshot{}, err
	}
	return DBSnapshot{leading(s.st), s.gen, db.at(epoch.Epoch(at))}, nil
}

// Close is [Snapshot.Close].
//
//go:noinline
func (s DBSnapshot) Close() { rootSnapshot(s).Close() }

// Epoch is [Snapshot.Epoch].
//
//go:noinline
func (s DBSnapshot) Epoch() uint64 { return rootSnapshot(s).Epoch() }

// Try is [Snapshot.Try].
//
//go:noinline
func (s DBSnapshot) Try(fn func() error) error { return rootSnapshot(s).Try(fn) }
