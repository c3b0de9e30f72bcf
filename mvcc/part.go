package mvcc

import (
	"cmp"
	"slices"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/favour"
)

// A transaction of a database may use any of its maps. It has one slot, hence one read
// epoch, one record and one commit epoch, and a state for each map. The state that has
// begun leads: it commits, and has the others do what concerns their maps. So the steps of
// a commit, see commit.go, are those of a transaction over one map, which has no parts: all
// versions, of whatever type, are installed before the one record is announced, and say
// with it that they are committed. That is the one linearization point.
//
// The state that leads is one of a map that has no keys, the database's root.

// A part is the state of a transaction, or snapshot, of a database for one of its maps,
// for the state that leads.
type part interface {
	number() int
	enter()
	leave()
	forget()
	giveWork()

	writeCount() int
	eachOwnHash(f func(hash uint64))
	noteAll()
	hasReads() bool
	setReads(has bool)
	toValidateHere() bool

	prepare()
	installAll(gen epoch.Gen) result
	pinNew()
	unpin()
	dropPinned()
	retreat()
	isInstalled() bool
	settleWith(outcome word)
	tidyAfter(outcome word)
	renew()
	setWatch(w *watch)
	validate(w word, e epoch.Epoch) (now word, ok bool)
	checkCommit(gen epoch.Gen, e epoch.Epoch)
	settleAll(e epoch.Epoch)
	countKeys()
	tidy()
	doomed() bool
	takeCause() cause

	concerned() int
	claimed(hashes []uint64) []uint64
	yielded(kind ConflictKind, hash uint64)
	toClaim(written bool) (n int, all bool)
	claimKeys(keys *favour.Keys, written bool)

	beginSavepoint(number uint32)
	endSavepoint(outer uint32, keep bool)
}

// A joined part stands in a list that its leader has, until the transaction or snapshot
// ends: so an idle state keeps no table alive.
type partNode struct {
	of   *member // of the map
	p    any     // a *txState[K, V]
	next *partNode
}

// partOf returns the state of m's part in what up leads. It may be called by several
// goroutines at once: they get the same. One that comes too late, when a snapshot has
// been closed, may put a part into the list of the next one, to which it is as good.
func partOf[K comparable, V any](up *leader, m *Map[K, V]) *txState[K, V] {
	for {
		list := up.parts.Load()
		for n := list; n != nil; n = n.next {
			if n.of == m.member {
				return n.p.(*txState[K, V])
			}
		}
		st := &txState[K, V]{stateHead: stateHead{slot: up.slot, up: up}, index: m.index, m: m}
		if up.parts.CompareAndSwap(list, &partNode{m.member, st, list}) {
			return st
		}
	}
}

// join makes st a part of the transaction, unless it is already.
func (st *txState[K, V]) join() {
	if st.txWork != nil {
		return
	}
	work, _ := st.m.works.Get().(*txWork[K, V])
	if work == nil {
		work = newWork[K, V]()
	}
	level, since, marks := st.up.join(st)
	st.txWork = work
	st.checkTaken()
	st.level = level
	if marks > 0 {
		rare := st.rare()
		rare.since, rare.marks = since, make([]mark, marks)
	}
}

// leaveParts is forget for the parts.
func (st *txState[K, V]) leaveParts() {
	for _, p := range st.more {
		p.forget()
		p.giveWork()
	}
	st.more = emptied(st.more)
}

// giveWork lets other transactions use the room that the part has for its records. The
// part itself stays what it is: handles may refer to it.
func (st *txState[K, V]) giveWork() {
	work := st.txWork
	st.txWork = nil
	st.m.works.Put(work)
}

func (st *txState[K, V]) number() int       { return st.m.ordinal }
func (st *txState[K, V]) writeCount() int   { return len(st.writes) }
func (st *txState[K, V]) hasReads() bool    { return st.hasRead }
func (st *txState[K, V]) setReads(has bool) { st.hasRead = has }

// total returns the number of writes to all maps.
func (st *txState[K, V]) total() int {
	n := len(st.writes)
	for _, p := range st.more {
		n += p.writeCount()
	}
	return n
}

// eachHash calls f with the claimHash of each key that is written, in all maps.
func (st *txState[K, V]) eachHash(f func(hash uint64)) {
	st.eachOwnHash(f)
	for _, p := range st.more {
		p.eachOwnHash(f)
	}
}

func (st *txState[K, V]) eachOwnHash(f func(hash uint64)) {
	for i := range st.writes {
		f(st.m.claimHash(st.writes[i].hash))
	}
}

// enterParts is enter for all parts: they are left when they are forgotten. It makes known
// to each whether the transaction has read anything.
func (st *txState[K, V]) enterParts() {
	inOrder := func(a, b part) int { return cmp.Compare(a.number(), b.number()) }
	if !slices.IsSortedFunc(st.more, inOrder) { // so that two do not meet head-on, see order
		slices.SortFunc(st.more, inOrder)
	}
	for _, p := range st.more {
		p.enter()
		st.hasRead = st.hasRead || p.hasReads()
	}
	for _, p := range st.more {
		p.setReads(st.hasRead)
	}
}

// toValidate reports whether the commit has to validate what was read, in any map.
func (st *txState[K, V]) toValidate() bool {
	check := st.validates() && !st.written()
	for _, p := range st.more {
		check = p.toValidateHere() || check
	}
	return check
}

func (st *txState[K, V]) toValidateHere() bool { return st.validates() && !st.written() }

// anyDoomed is doomed for all maps.
func (st *txState[K, V]) anyDoomed() bool {
	return st.doomed() || slices.ContainsFunc(st.more, part.doomed)
}
