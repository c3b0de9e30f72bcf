package mvcc

import (
	"slices"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/engine/hasher"
	"github.com/mvccmap/mvccmap/internal/engine/tree"
)

// A part is the work of a transaction or snapshot in one map. That of the map that has begun it is
// a part of its state; one of a database, which the database's root has begun, has further ones,
// one for each table that it uses. All have one slot, hence one read epoch, one record and one
// commit epoch; and one read set and one write set, which say by a number whose a record is: so the
// steps of a commit, see commit.go, are the same over one map and over many.
type part struct {
	txn // first

	st *txState
	m  *core // the map
	// number is the place in txWork.parts, once the transaction has used the part.
	number uint32
	next   *part // of those that the state has for other maps

	*partWork // nil if it has only served snapshots
}

// A partWork has the reads and writes of a transaction in one map that its txWork does not have.
type partWork struct {
	isRare bool    // see rare
	schema *schema // that the map had when something was written first
	// absent has the keys that were read and had no version. Each time that it has fullAbsent of
	// them, repeated ones are taken out, see compact.
	absent     keyList
	fullAbsent int
	grows      int // by how much the commit under way makes the number of keys grow

	rarePart
}

// A rarePart is the part of a partWork that few transactions use: it is written through rare.
type rarePart struct {
	scanned bool // all keys were read
	counted bool // or were counted: there were seen as of the read epoch
	seen    int
	ranges  []span // of which all keys were read; from fullRanges on those that touch are joined
	// merges counts how often that has been done: the ranges have other numbers then.
	fullRanges, merges int
	// notes are of the leaves that loops over ranges have gone along. again says that they are not
	// enough: not all heads were committed at or before the read epoch, or there are too many.
	notes []tree.Note
	again bool
	// inOrder has the numbers of those of the first ordered writes that are the part's, in the
	// order of their keys, from a loop over a range on.
	inOrder []int32
	ordered int
	// gaps are spans without a value, but for the writes from lookedAt on, and those of revived,
	// which had deleted a key before; see closeGaps.
	gaps     []span
	lookedAt int
	revived  []int32
}

// partOf returns the part of a handle.
func partOf(t *txn) *part { return (*part)(unsafe.Pointer(t)) }

func (p *part) init(st *txState, m *core) {
	p.txn = txn{head: &st.slot.Head, index: m.index, plain: m.plain, is64: m.index != nil && m.index.Is64()}
	p.st, p.m = st, m
}

// rare returns the rare part, to be written, and notes that it has to be forgotten.
func (p *partWork) rare() *rarePart {
	p.isRare = true
	return &p.rarePart
}

// keptParts is for how many tables an idle state keeps its parts.
const keptParts = 16

// part returns the state's part in m. It may be called by several goroutines at once: they get the
// same. One that comes too late, when a snapshot has been closed, gets a part for the next one that
// the state serves, to which it is as good.
func (st *txState) part(m *core) *part {
	if m == st.m { // a Tx of the map that was converted to one of the database
		return &st.own
	}
	for {
		first := st.others.Load()
		for p := first; p != nil; p = p.next {
			if p.m == m {
				return p
			}
		}
		if !m.used.Load() {
			m.used.Store(true) // before the state can be idle with it
		}
		p := &part{next: first}
		p.init(st, m)
		if st.others.CompareAndSwap(first, p) {
			return p
		}
	}
}

// join makes p a part that the transaction uses, unless it is already.
func (p *part) join() {
	st := p.st
	if p.number != 0 || p == &st.own {
		return
	}
	st.enter()
	if p.partWork == nil {
		p.partWork = &partWork{fullAbsent: compactReads}
	}
	p.number = uint32(len(st.parts))
	st.parts = append(st.parts, p)
	st.leave()
}

// leaveParts forgets the work of the transaction in further parts.
func (st *txState) leaveParts() {
	for _, p := range st.parts[1:] {
		p.forget()
		p.number = 0
	}
	st.parts = append(emptied(st.parts), &st.own)
}

// forget is recycle for one map.
func (p *part) forget() {
	if p.absences() > 0 {
		p.absent.empty()
		p.fullAbsent = compactReads
	}
	p.hasWritten, p.hasNoted, p.grows = false, false, 0
	if p.schema != nil {
		p.schema = nil
	}
	if p.isRare {
		p.rarePart = rarePart{ranges: emptied(p.ranges), notes: emptied(p.notes), inOrder: emptied(p.inOrder)}
		p.isRare = false
	}
}

// dropParts lets go of the parts that an idle state has in other maps, if they are many, or if a
// table was closed since the state was given back last: so it keeps no table alive that is closed.
func (st *txState) dropParts() {
	n := 0
	for p := st.others.Load(); p != nil; p = p.next {
		if n++; n > keptParts || p.m.closed.Load() {
			st.others.Store(nil)
			return
		}
	}
}

// A keyList has keys of which there was no version at the read epoch, and their hashes. It is nil
// if there never were any.
type keyList interface {
	add(key unsafe.Pointer, hash uint64)
	at(i int) (key unsafe.Pointer, hash uint64) // the key is there until it is emptied
	len() int
	compact() // drops keys that are there before
	empty()
}

type absence[K comparable] struct {
	key  K
	hash uint64
}

type absences[K comparable] struct{ list []absence[K] }

func (a *absences[K]) add(key unsafe.Pointer, hash uint64) {
	a.list = append(a.list, absence[K]{*(*K)(key), hash})
}

func (a *absences[K]) at(i int) (key unsafe.Pointer, hash uint64) {
	one := &a.list[i]
	return unsafe.Pointer(&one.key), one.hash
}

func (a *absences[K]) len() int { return len(a.list) }
func (a *absences[K]) empty()   { a.list = emptied(a.list) }

func (a *absences[K]) compact() {
	seen := make(map[K]struct{})
	a.list = slices.DeleteFunc(a.list, func(one absence[K]) bool { return repeated(seen, one.key) })
}

// absences returns how many keys were read of which there was no version.
func (p *partWork) absences() int {
	if p.absent == nil {
		return 0
	}
	return p.absent.len()
}

// absences is that of all parts.
func (w *txWork) absences() (n int) {
	for _, p := range w.parts {
		n += p.absences()
	}
	return n
}

// noteAbsent records that there was no version of the key, which has hash h.
func (p *part) noteAbsent(key unsafe.Pointer, h uint64) {
	p.st.beyond = true
	if p.absent == nil {
		p.absent = p.m.types.absences()
	}
	p.absent.add(hasher.Unkept(key), h)
	if p.absent.len() >= p.fullAbsent {
		p.absent.compact()
		p.fullAbsent = max(compactReads, compactFactor*p.absent.len())
	}
}
