package mvcc

import (
	"context"
	"fmt"

	"github.com/mvccmap/mvccmap/epoch"
)

// A DBTx is a [Tx] over the tables of a [DB]; [Map.In] is its part in one of them. The zero DBTx is
// not usable.
type DBTx struct {
	st  *txn // the root's part, or a table's if converted from a [Tx]
	gen epoch.Gen
}

func (tx DBTx) check() {
	if tx.st == nil || tx.st.head.Gen() != tx.gen {
		tx.refuse()
	}
}

// In returns tx as a Tx of the table m: reads, writes and loops are of m, other methods, such as
// Commit, are those of tx. It panics if m is not a table of tx's database or was closed, and with
// [ErrTxDone] if tx has ended. It looks through the tables that tx, and some transactions before,
// have used. The first use of a table allocates two small objects.
func (m *Map[K, V]) In(tx DBTx) Tx[K, V] {
	return Tx[K, V](m.engine().in(tx))
}

// checkTable panics unless m is a table of the database that s belongs to.
func (m *core) checkTable(call string, s *shared) {
	switch {
	case m.db == nil:
		panic(fmt.Sprintf("mvcc: %s: the map is not a table: make it with mvcc.NewTable", call))
	case m.shared != s:
		panic(fmt.Sprintf("mvcc: %s: table %q belongs to another database", call, m.counters.name))
	case m.closed.Load():
		panic(fmt.Sprintf("mvcc: %s: table %q was closed", call, m.counters.name))
	}
}

// Update is [Map.Update] over the tables: the commit is one atomic step over all of them. fn uses
// each table through [Map.In]: users.In(tx).Set, not users.Set.
func (db *DB) Update(ctx context.Context, opts *TxOptions, fn func(tx DBTx) error) error {
	checkContext("Update", ctx)
	if fn == nil {
		panic("mvcc: Update: fn is nil")
	}
	return dbAt(db).root.update(ctx, opts, fn)
}

// Begin is [Map.Begin] over the tables.
func (db *DB) Begin(opts *TxOptions) DBTx {
	return dbAt(db).root.beginTx(opts)
}

// beginTx is [Map.Begin], and [DB.Begin].
func (m *core) beginTx(opts *TxOptions) DBTx {
	st, gen := m.begin(opts.level(m.level), forProgram)
	st.trace(gen)
	if m.indexed() { // must follow begin
		st.finish(gen)
		return m.inside(m.db.Begin(opts))
	}
	return DBTx{&st.own.txn, gen}
}

// Commit is [Tx.Commit] over all tables.
//
//go:noinline
func (tx DBTx) Commit() error {
	if tx.st == nil {
		panic(errZeroTx)
	}
	st := stateOf(tx.st)
	if st.gen() != tx.gen {
		err := st.over(tx.gen)
		st.finish(tx.gen) // if it was evicted
		return err
	}
	if len(st.extra.of) > 0 {
		if err := st.unique(tx); err != nil {
			tx.Rollback()
			return err
		}
	}
	if st.m.strict {
		if err := st.forced(tx.gen); err != nil {
			return err
		}
		defer st.m.shared.hub.stir()
	}
	st.enter() // until the state is used again
	after := st.after
	var c conflict
	switch e, r := st.commit(tx.gen, &c, nil); r {
	case resultOK:
		committed(after, e)
	case resultConflict:
		return st.m.lostByHand(c.err(1)) // a state keeps its m
	case resultEvicted:
		return ErrTxTooOld
	}
	return nil
}

// unique returns the error of a unique index that forbids a write of the transaction, or nil.
func (st *txState) unique(tx DBTx) (err error) {
	defer st.tooOld(tx.gen, &err)
	return st.extra.notUnique(tx)
}

// committed calls the functions given to OnCommit, after a commit at e: all, even if one panics.
func committed(after []func(uint64), e epoch.Epoch) {
	called := 0
	defer func() {
		if called < len(after) {
			quietly(func() { committed(after[called:], e) })
		}
	}()
	for called < len(after) {
		f := after[called]
		called++
		f(uint64(e))
	}
}

// Rollback is [Tx.Rollback].
//
//go:noinline
func (tx DBTx) Rollback() {
	if tx.st == nil {
		return // the zero Tx
	}
	st := stateOf(tx.st)
	switch {
	case st.gen() != tx.gen:
		if !st.slot.Evicted(tx.gen) {
			return // it has ended
		}
	case st.busy:
		panic(errConcurrentUse)
	}
	st.finish(tx.gen)
}

// Epoch is [Tx.Epoch].
//
//go:noinline
func (tx DBTx) Epoch() uint64 {
	tx.check()
	return moment(tx).Epoch()
}

// Err is [Tx.Err] over all tables.
//
//go:noinline
func (tx DBTx) Err() error {
	if tx.st == nil {
		panic(errZeroTx)
	}
	st := stateOf(tx.st)
	if st.gen() != tx.gen {
		return st.over(tx.gen)
	}
	st.enter()
	defer st.leave()
	if len(st.writes) > 0 && st.doomed() {
		c := st.takeConflict()
		return c.err(1)
	}
	return nil
}

// OnCommit is [Tx.OnCommit].
//
//go:noinline
func (tx DBTx) OnCommit(f func(epoch uint64)) {
	tx.check()
	if f == nil {
		panic("mvcc: OnCommit: f is nil")
	}
	st := stateOf(tx.st)
	st.enter()
	rare := st.rare()
	rare.after = append(rare.after, f)
	st.leave()
}

// A DBSnapshot is a [Snapshot] of the tables of a [DB]; [Map.At] is its part in one of them. The
// zero DBSnapshot panics in every method but Close.
type DBSnapshot struct {
	st   *txn
	gen  epoch.Gen
	list *hiddenList // a tableList, D1
}

func (s DBSnapshot) moment() moment { return moment{s.st, s.gen} }
func (s DBSnapshot) check()         { s.moment().check() }

// At returns s as a snapshot of the table m: its Close closes s. Several goroutines may call At. A
// table made after s is empty in s. At panics as [Map.In] does, and costs as much.
func (m *Map[K, V]) At(s DBSnapshot) Snapshot[K, V] {
	return Snapshot[K, V](m.engine().at(s))
}

// View is [Map.View] of the tables.
func (db *DB) View(fn func(s DBSnapshot) error) error {
	if fn == nil {
		panic("mvcc: View: fn is nil")
	}
	base := dbAt(db).root
	for {
		list, again := dbAt(db).list.Load(), false
		err := base.view(func(s moment) error {
			if again = dbAt(db).list.Load() != list; again { // D1
				return nil
			}
			return fn(DBSnapshot{s.st, s.gen, hideList(list)})
		})
		if !again {
			return err
		}
	}
}

// Snapshot is [Map.Snapshot] of the tables.
func (db *DB) Snapshot() DBSnapshot { return dbAt(db).snapshot(forProgram) }

// snapshot opens a snapshot of a kind.
func (db *database) snapshot(kind uint64) DBSnapshot {
	base, list := db.root, db.list.Load()
	for {
		st, gen := base.open(kind)
		s := DBSnapshot{&st.own.txn, gen, hideList(list)}
		if now := db.list.Load(); now != list { // D1
			s.Close()
			list = now
			continue
		}
		st.trace(gen)
		return s
	}
}

// SnapshotAt is [Map.SnapshotAt] of the tables. Without Options.Retain an epoch is also gone if a
// table closed since had records then.
func (db *DB) SnapshotAt(at uint64) (DBSnapshot, error) {
	d := dbAt(db)
	return d.at(func() (moment, error) { return d.root.snapshotAt(at) })
}

// Close is [Snapshot.Close].
func (s DBSnapshot) Close() { s.moment().Close() }

// Epoch is [Snapshot.Epoch].
func (s DBSnapshot) Epoch() uint64 { return s.moment().Epoch() }

// Try is [Snapshot.Try].
func (s DBSnapshot) Try(fn func() error) error { return s.moment().Try(fn) }
