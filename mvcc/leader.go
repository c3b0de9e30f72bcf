package mvcc

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
)

// none is the type of the keys and values of the map of the states that lead, see part.
type none = struct{}

// A leader is a state that leads, and a rootMap the map that it is of, for all that has to do
// with the types of tables: the compiler compiles what it can reach from a map in each package
// that uses one, with all methods, so that it must not reach these. For the same reason no method
// here is inlined, and code that has the types of a table calls nothing here but methods.
type (
	leader    stateHead
	rootMap   struct{ _ byte }
	rootState = txState[none, none]
)

// leading returns st, which leads, for its parts.
func leading(st *rootState) *leader { return (*leader)(&st.stateHead) }

// stateOf undoes leading.
func stateOf(up *leader) *rootState { return (*rootState)(unsafe.Pointer(up)) }

// rootOf returns the root. It panics for a nil or zero DB.
//
//go:noinline
func rootOf(db *DB) *Map[none, none] { return (*Map[none, none])(unsafe.Pointer(db.base())) }

// join makes p a part of the transaction, and returns what it has to know of it: the level, the
// number of the innermost savepoint that is open, and how many are.
//
//go:noinline
func (up *leader) join(p part) (level Level, since uint32, marks int) {
	st := stateOf(up)
	st.enter()
	st.more = append(st.more, p)
	st.leave()
	return st.level, st.since, len(st.marks)
}

// checked returns the count of the looks of a validation.
//
//go:noinline
func (up *leader) checked() *int { return &stateOf(up).checks }

// notePinned notes that a part has pinned keys.
//
//go:noinline
func (up *leader) notePinned() { stateOf(up).rare().pinned = true }

// extras returns the extras of the transaction, to add some.
//
//go:noinline
func (up *leader) extras() *extras { return &stateOf(up).rare().extra }

// shareExtras returns the extras of the transaction, to read them.
//
//go:noinline
func (up *leader) shareExtras() map[extraKey][]any { return stateOf(up).extra.share() }

// clearing is clearing in the tables.
//
//go:noinline
func (db *DB) clearing(all func(tx DBTx) error) error {
	return clearing(rootOf(db), func(tx Tx[none, none]) error {
		return all(DBTx{leading(tx.st), tx.gen})
	})
}

//go:noinline
func (up *leader) finish(gen epoch.Gen) bool { return stateOf(up).finish(gen) }

//go:noinline
func (up *leader) close(gen epoch.Gen) { Snapshot[none, none]{stateOf(up), gen}.Close() }
