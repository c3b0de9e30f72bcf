package mvcc

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/seam"
)

// A DB is a set of maps, its tables, that have one clock: a transaction may read and write any of
// them, and commits over all at once. Use [NewDB] and [NewTable]. Any number of goroutines may use
// it.
type DB struct {
	_ noCopy

	at *hiddenDB
}

// A hiddenDB is a [database], see txn.
type hiddenDB struct{ _ byte }

// dbAt returns the database behind a DB. It panics for a nil or zero DB.
func dbAt(db *DB) *database {
	if db == nil || db.at == nil {
		panic(errZeroDB)
	}
	return (*database)(unsafe.Pointer(db.at))
}

type database struct {
	// root begins the transactions over the tables. It has no keys.
	root   *core
	shared *shared
	opts   Options

	mu     sync.Mutex // held for some instructions, or while a watch of the database begins
	tables map[string]*core
	list   atomic.Pointer[tableList] // the tables, but for those of indexes
	past   []pastTable               // tables that were closed above the bound
	made   int                       // how many tables there have been
	named  sync.Once                 // for name, which is the life of a [Position]
	name   string
}

// NewDB returns a database without tables, with the options of all of them. It panics if an option
// has no meaning.
func NewDB(opts *Options) *DB {
	o := opts.withDefaults()
	s := newShared(&o)
	of := &database{opts: o, shared: s, tables: map[string]*core{},
		root: newCore(s, &o, "", nil, nil, nil)}
	of.list.Store(&tableList{})
	db := &DB{at: (*hiddenDB)(unsafe.Pointer(of))}
	runtime.AddCleanup(db, (*gc.Reclaimer).Stop, s.gc)
	s.isMade(db)
	return db
}

// TableOptions configures a table.
type TableOptions struct {
	// Capacity is as [Options.Capacity], which is the default.
	Capacity int

	_ struct{}
}

// NewTable makes a table of db, which takes part in its transactions, see [Map.In]. Transactions
// under way find it empty. It panics if the name is empty or taken, or if an option has no meaning.
// It waits while a [DB.Watch] begins.
func NewTable[K comparable, V any](db *DB, name string, opts *TableOptions) *Map[K, V] {
	return mapOf[K, V](addTable(db, name, opts, nil, recordTypeOf[K, V](), false))
}

// addTable makes a table, for an index if it is inner.
//
//go:noinline
func addTable(
	db *DB, name string, opts *TableOptions, by *order, types *recordType, inner bool,
) *engine {
	of := dbAt(db)
	shared, o := of.shared, of.opts
	if inner {
		o.Strict = false // its users are the library
	}
	if opts != nil && opts.Capacity != 0 {
		o.Capacity = opts.Capacity
		checkCapacity("TableOptions", o.Capacity)
	}
	if name == "" {
		panic("mvcc: NewTable: the name is empty")
	}
	x := types.index(o.roomFor(by)) // without the mutex: it may be large
	of.mu.Lock()
	defer of.mu.Unlock()
	if _, there := of.tables[name]; there {
		what := "NewTable: there is a table"
		if inner {
			what = "NewIndex: there is an index or table"
		}
		panic(fmt.Sprintf("mvcc: %s %q already%s", what, name, mayRunAgain()))
	}
	m := newCore(shared, &o, name, x, by, types)
	runtime.AddCleanup(m, shared.drop, m.member)
	of.made++
	m.db, m.ordinal, m.tagged, m.inner = db, of.made, true, inner
	m.since = m.Slots.Now()
	of.tables[name] = m
	if !inner {
		m.shared.hub.adopt(m)
		of.publish()
	}
	return hide(m)
}

// Name returns the name of the table in its database, "" for a map by itself.
func (m *Map[K, V]) Name() string {
	return m.engine().name()
}

// drop takes a table out of the database.
func (m *core) drop() {
	of := dbAt(m.db)
	of.mu.Lock()
	defer of.mu.Unlock()
	if m.closed.Swap(true) {
		return
	}
	if m.used.Load() {
		of.root.renewPool()
	}
	delete(of.tables, m.counters.name)
	if m.inner {
		return
	}
	m.noteClosed() // D2: before the list is published
	was := pastTable{made: m.madeAt(), closed: m.closedAt()}
	if of.opts.Retain > 0 {
		was.table = m
	}
	of.past = append(of.past, was)
	of.publish()
}

// renewPool releases the idle states of the root, since some have a part in a table that is closed.
// It cannot reach a few states of each P: the garbage collector frees these.
func (m *core) renewPool() {
	idle := m.pool.Swap(&statePool{})
	for st := idle.Get(); st != nil; st = idle.Get() {
		m.Slots.Release(st.slot)
	}
}

// Tables returns the names of the tables, sorted.
func (db *DB) Tables() []string {
	of := dbAt(db)
	of.mu.Lock()
	defer of.mu.Unlock()
	return slices.Sorted(func(yield func(string) bool) {
		for name, table := range of.tables {
			if !table.inner && !yield(name) {
				return
			}
		}
	})
}

// Table returns the table of that name, if there is one with these types.
func Table[K comparable, V any](db *DB, name string) (m *Map[K, V], ok bool) {
	m, ok = db.table(name).(*Map[K, V])
	return m, ok
}

// table returns the *Map of a table, nil if there is none.
//
//go:noinline
func (db *DB) table(name string) any {
	if t := tableOf(db, name); t != nil {
		return t.typed
	}
	return nil
}

// tableOf returns the table with a name, nil if there is none or it is of an index. It is no
// method: programs compile all functions that the methods of a DB name.
func tableOf(db *DB, name string) *core {
	of := dbAt(db)
	of.mu.Lock()
	defer of.mu.Unlock()
	if t := of.tables[name]; t != nil && !t.inner {
		return t
	}
	return nil
}

// Close is [Map.Close] of a map by itself, for all tables.
func (db *DB) Close() {
	s := dbAt(db).shared
	s.gc.Outside("Close")
	s.kept.closed.Store(true)
	s.endUnkept() // must follow
	s.strict.close()
	s.eachExpiring((*core).endExpiry)
	s.gc.Close()
	s.eachExpiring((*core).endExpiry) // once more: Expire may have come between
	s.checkStored()
}

// Reclaim is [Map.Reclaim] for all tables.
func (db *DB) Reclaim(ctx context.Context) error { return dbAt(db).root.reclaim(ctx) }

// Epoch is [Map.Epoch].
func (db *DB) Epoch() uint64 { return uint64(dbAt(db).root.Slots.Now()) }

// String names the tables and the newest epoch.
func (db *DB) String() string {
	if db == nil || db.at == nil {
		return "mvcc.DB without mvcc.NewDB"
	}
	return fmt.Sprintf("mvcc.DB: epoch %d, tables: %q", db.Epoch(), db.Tables())
}

// A door has methods of a database for packages of this project, which programs need not see. Each
// method stands in the file of its subject. Package internal/seam/door describes the methods.
type door struct{ *DB }

func init() { seam.Door = func(db any) any { return door{db.(*DB)} } }

func (db door) SparedSnapshot() DBSnapshot { return dbAt(db.DB).snapshot(forCall) }

// Options.MaxTxAge is for transactions and snapshots that a program keeps open. Those that the
// library opens and ends within one call are spared, however long they take. No function of an
// Update or View, and no loop of the program, runs in them. These calls mark theirs as spared:
//
//   - forLibrary: Load, NewIndex, one-key writes of a table with indexes, sequences, records that
//     expire without OnExpire;
//   - clearing: Clear, DeleteRange;
//   - replicas: Apply and Renew, but not Attempt, which calls the function of an Update;
//   - snapshots with forCall: Save and journals, watches and channels that begin, History, counts
//     and ends of ranges and of indexes.
const (
	forProgram = 0
	forCall    = epoch.Spared
)

// forLibrary returns the options of an Update of the library.
func forLibrary(attempts int) *TxOptions {
	return &TxOptions{Isolation: LevelSerializable, MaxAttempts: attempts, own: true, kind: forCall}
}

// always is for an Update that goes on until it commits.
const always = math.MaxInt
