package mvcc

import (
	"cmp"
	"slices"
)

// A transaction of a database may use any of its maps. It has one slot, hence one read
// epoch, one record and one commit epoch, and a state for each map. The state that has
// begun leads: it commits, and has the others do what concerns their maps. So the steps of
// a commit, see commit.go, are those of a transaction over one map, which has no parts: all
// versions, of whatever type, are installed before the one record is announced, and say
// with it that they are committed. That is the one linearization point.
//
// The state that leads is one of a map that has no keys, the database's root.

// A joined part stands in a list that its leader has, until the transaction or snapshot
// ends: so an idle state keeps no table alive.
type partNode struct {
	of   *member // of the map
	p    *txState
	next *partNode
}

// partOf returns the state of m's part in what up leads. It may be called by several
// goroutines at once: they get the same. One that comes too late, when a snapshot has
// been closed, may put a part into the list of the next one, to which it is as good.
func partOf(up *txState, m *core) *txState {
	for {
		list := up.parts.Load()
		for n := list; n != nil; n = n.next {
			if n.of == m.member {
				return n.p
			}
		}
		st := newTxState(m, up.slot)
		st.up = up
		if up.parts.CompareAndSwap(list, &partNode{m.member, st, list}) {
			return st
		}
	}
}

// join makes st a part of the transaction, unless it is already.
func (st *txState) join() {
	if st.txWork != nil {
		return
	}
	work, _ := st.m.works.Get().(*txWork)
	if work == nil {
		work = newWork()
	}
	up := st.up
	up.enter()
	up.more = append(up.more, st)
	up.leave()
	st.txWork = work
	st.checkTaken()
	st.level = up.level
	if n := len(up.marks); n > 0 {
		rare := st.rare()
		rare.since, rare.marks = up.since, make([]mark, n)
	}
}

// leaveParts is forget for the parts.
func (st *txState) leaveParts() {
	for _, p := range st.more {
		p.forget()
		p.giveWork()
	}
	st.more = emptied(st.more)
}

// giveWork lets other transactions use the room that the part has for its records. The
// part itself stays what it is: handles may refer to it.
func (st *txState) giveWork() {
	work := st.txWork
	st.txWork = nil
	st.m.works.Put(work)
}

// total returns the number of writes to all maps.
func (st *txState) total() int {
	n := len(st.writes)
	for _, p := range st.more {
		n += len(p.writes)
	}
	return n
}

// eachHash calls f with the claimHash of each key that is written, in all maps.
func (st *txState) eachHash(f func(hash uint64)) {
	st.eachOwnHash(f)
	for _, p := range st.more {
		p.eachOwnHash(f)
	}
}

func (st *txState) eachOwnHash(f func(hash uint64)) {
	for i := range st.writes {
		f(st.m.claimHash(st.writes[i].hash))
	}
}

// enterParts is enter for all parts: they are left when they are forgotten. It makes known
// to each whether the transaction has read anything.
func (st *txState) enterParts() {
	inOrder := func(a, b *txState) int { return cmp.Compare(a.m.ordinal, b.m.ordinal) }
	if !slices.IsSortedFunc(st.more, inOrder) { // so that two do not meet head-on, see order
		slices.SortFunc(st.more, inOrder)
	}
	for _, p := range st.more {
		p.enter()
		st.hasRead = st.hasRead || p.hasRead
	}
	for _, p := range st.more {
		p.hasRead = st.hasRead
	}
}

// toValidate reports whether the commit has to validate what was read, in any map.
func (st *txState) toValidate() bool {
	check := st.toValidateHere()
	for _, p := range st.more {
		check = p.toValidateHere() || check
	}
	return check
}

func (st *txState) toValidateHere() bool { return st.validates() && !st.written() }

// anyDoomed is doomed for all maps.
func (st *txState) anyDoomed() bool {
	return st.doomed() || slices.ContainsFunc(st.more, (*txState).doomed)
}
