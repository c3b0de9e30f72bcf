package mvcc

import (
	"context"
	"fmt"

	"github.com/mvccmap/mvccmap/epoch"
)

// A DBTx is a transaction over the tables of a [DB]. [Map.In] is what it does in one of
// them. It is a small value, to be passed by value, and for one goroutine at a time. The
// zero DBTx panics in every method but Rollback; get one from [DB.Update] or [DB.Begin].
type DBTx struct{ tx Tx[none, none] }

// In returns the transaction tx for the table m: what it reads, writes and scans through the Tx, it
// does in m. The Tx is used like one of m alone, and it is the transaction tx: all tables are read
// as of one moment, Commit, Rollback, Savepoint and OnCommit are those of tx, and so is Err. The Tx
// returned for a table is the same each time. In panics if m is not a table of tx's database, or
// was closed, and with [ErrTxDone] if tx has ended. It looks through the tables that tx has used
// before; the first time of a table it allocates two small objects.
func (m *Map[K, V]) In(tx DBTx) Tx[K, V] {
	tx.tx.check()
	m.checkTable("In", tx.tx.st.m.shared)
	st := partOf(tx.tx.st, m)
	st.join()
	tx.tx.check()
	return Tx[K, V]{st, tx.tx.gen}
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
func (db *DB) Update(ctx context.Context, opts *TxOptions, fn func(tx DBTx) error) error {
	if fn == nil {
		panic("mvcc: Update: fn is nil")
	}
	return db.base().Update(ctx, opts, func(tx Tx[none, none]) error { return fn(DBTx{tx}) })
}

// Begin begins a transaction over the tables, to be ended by hand, see [Map.Begin].
func (db *DB) Begin(opts *TxOptions) DBTx {
	st, gen := db.base().begin(opts.level(db.root.level))
	st.trace(gen)
	return DBTx{Tx[none, none]{st, gen}}
}

// Commit is [Tx.Commit] over all tables.
func (tx DBTx) Commit() error { return tx.tx.Commit() }

// Rollback is [Tx.Rollback].
func (tx DBTx) Rollback() { tx.tx.Rollback() }

// Epoch is [Tx.Epoch].
func (tx DBTx) Epoch() uint64 { return tx.tx.Epoch() }

// Err is [Tx.Err] for what was read in all tables.
func (tx DBTx) Err() error { return tx.tx.Err() }

// OnCommit is [Tx.OnCommit].
func (tx DBTx) OnCommit(f func(epoch uint64)) { tx.tx.OnCommit(f) }

// Savepoint is [Tx.Savepoint]: what is undone is what was written to all tables.
func (tx DBTx) Savepoint(fn func() error) error { return tx.tx.Savepoint(fn) }

// Try is [Tx.Try].
func (tx DBTx) Try(fn func() error) error { return tx.tx.Try(fn) }

// A DBSnapshot reads the tables of a [DB] as of one moment. [Map.At] is what it sees of one of
// them. It is a small value, to be passed by value, and may be used by several goroutines at
// once. The zero DBSnapshot panics in every method but Close.
type DBSnapshot struct {
	s    Snapshot[none, none]
	list *tableList // T1
}

// At returns the snapshot s for the table m. The Snapshot is used like one of m alone, and it is
// the snapshot s: Close closes s. It may be called by several goroutines at once. A table that was
// made after s is empty in it. At panics as [Map.In] does, and has its cost.
func (m *Map[K, V]) At(s DBSnapshot) Snapshot[K, V] {
	s.s.check()
	m.checkTable("At", s.s.st.m.shared)
	return Snapshot[K, V]{partOf(s.s.st, m), s.s.gen}
}

// View calls fn with a snapshot of the tables. It is [Map.View] in every respect.
func (db *DB) View(fn func(s DBSnapshot) error) error {
	if fn == nil {
		panic("mvcc: View: fn is nil")
	}
	db.base()
	for {
		list, again := db.list.Load(), false
		err := db.base().View(func(s Snapshot[none, none]) error {
			if again = db.list.Load() != list; again { // T1
				return nil
			}
			return fn(DBSnapshot{s, list})
		})
		if !again {
			return err
		}
	}
}

// ViewContext is [Map.ViewContext] for the tables.
func (db *DB) ViewContext(ctx context.Context, fn func(s DBSnapshot) error) error {
	if fn == nil {
		panic("mvcc: ViewContext: fn is nil")
	}
	db.base()
	for {
		list, again := db.list.Load(), false
		err := db.base().ViewContext(ctx, func(s Snapshot[none, none]) error {
			if again = db.list.Load() != list; again { // T1
				return nil
			}
			return fn(DBSnapshot{s, list})
		})
		if !again {
			return err
		}
	}
}

// Snapshot opens a snapshot of the tables, which the caller closes, see [Map.Snapshot].
func (db *DB) Snapshot() DBSnapshot {
	db.base()
	list := db.list.Load()
	for {
		st, gen := db.root.open(0)
		s := DBSnapshot{Snapshot[none, none]{st, gen}, list}
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
func (db *DB) SnapshotAt(at uint64) (DBSnapshot, error) {
	s, err := db.base().SnapshotAt(at)
	if err != nil {
		return DBSnapshot{}, err
	}
	return DBSnapshot{s, db.at(epoch.Epoch(at))}, nil
}

// Close is [Snapshot.Close].
func (s DBSnapshot) Close() { s.s.Close() }

// Epoch is [Snapshot.Epoch].
func (s DBSnapshot) Epoch() uint64 { return s.s.Epoch() }

// Try is [Snapshot.Try].
func (s DBSnapshot) Try(fn func() error) error { return s.s.Try(fn) }
