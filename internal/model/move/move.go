// Package move models how the slots of a bucket of the index move to the next table, beside
// lookups and scans, and calls that put keys in, overwrite them and take them out.
//
// The table grows: the bucket becomes two. Or it shrinks: two buckets become one. What is
// modelled, and where the code is (package mvcc); every line is one atomic access. All
// keys have the same tag, so a bucket's word says which slots are taken.
//
//	(*index).move, moveSlot    lock the bucket; shrinking: and the one that it becomes
//	                           load a slot that is taken
//	fill                       store its head into a free slot of the next table
//	                           set the tag there
//	                           slot: head -> mark; failed: load it, store the copy, again
//	                           the bucket has moved; unlock (here one step)
//	(*index).findSlow, findIn  load the bucket's word: moved: the same in the next table
//	                           load the slots that are taken; the key is met: found
//	                           a mark was met: the same once more, then in the next table
//	(*index).again             load the slot that was found; another key: find
//	place.swap                 slot: head -> new head; failed: again
//	(*index).insert            lock the bucket; moved: the same in the next table
//	                           look for the key; set the tag of a free slot
//	                           store the head into it; unlock
//	(*index).remove            look in the bucket; lock it; moved: in the next table
//	                           slot: head -> nothing; clear the tag; unlock
//	(*index).gather            load the bucket's word, then the slots that are taken
//	                           moved, or a mark met: the same in the buckets that it
//	                           becomes, for keys of this bucket that were not met in it
//
// Others wait for a goroutine that stands still while it holds a lock: it is pinned to a
// processor. Chains of buckets, and visits, are not modelled.
package move

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/mvccmap/mvccmap/internal/model/explore"
)

// A Fault is a mistake in the code.
type Fault string

// Faults are what the exploration must find.
var Faults = []Fault{
	marksFirst, noRepeat, movedFirst, noSecondLock, removesUnlocked, removeNotCompared,
	insertsUnseen, tagsLast, looksOnce, looksHere, placeOfAnother, scansNextFirst, scansHere,
	scanDoubles, scanUnfiltered,
}

const (
	marksFirst        Fault = "a slot is marked before it is filled in the next table"
	noRepeat          Fault = "a head that was put in meanwhile is not copied again"
	movedFirst        Fault = "the bucket says that it has moved before its slots have"
	noSecondLock      Fault = "the bucket that two become is not locked"
	removesUnlocked   Fault = "a key leaves without the lock; its mover frees the copy"
	removeNotCompared Fault = "what is taken out is not compared"
	insertsUnseen     Fault = "an insert does not look again under the lock"
	tagsLast          Fault = "an insert fills the slot before it sets its tag"
	looksOnce         Fault = "a lookup that meets a mark goes on at once"
	looksHere         Fault = "a lookup does not go on where it meets a mark"
	placeOfAnother    Fault = "one that comes back to a slot does not compare the key"
	scansNextFirst    Fault = "a scan looks into the next table first"
	scansHere         Fault = "a scan does not go on where it meets a mark"
	scanDoubles       Fault = "a scan counts a key that it meets in both tables twice"
	scanUnfiltered    Fault = "a scan takes all that is in the bucket that two become"
)

const (
	keys     = 3 // a, b and c; of two buckets a and c are in the first
	slots    = 3
	maxProcs = 6
)

// A Scenario is the calls beside a table that moves. Each is L, P, R or S (look up, put,
// remove, scan) with a key: "Pa". The key of a scan is not used.
type Scenario struct {
	Shrinks bool
	Keys    string // those that are there in the beginning
	Calls   []string
	Fault   Fault
}

// A head is 0 for none, a mark, the first head of a key, or that of a call of put.
type head uint8

const (
	mark  head = 1
	first head = 2
	ofPut      = first + keys
)

func (h head) is() bool { return h > mark }

type bucket struct {
	slot          [slots]head
	taken         uint8 // bit i: slot i has a tag
	locked, moved bool
}

type place struct{ table, bucket, slot uint8 }

type state struct {
	at   [2][2]bucket // by table
	proc [maxProcs]proc

	// Not in the code: the head that each key has, the one that is about to be put in for
	// it, and what went wrong.
	now, half [keys]head
	wrong     string
}

// A proc is a call, or the process that moves a bucket.
type proc struct {
	pc     uint8
	table  uint8 // where it is looking
	tags   uint8 // slots that it has still to load
	marked bool  // it has met a mark
	second bool  // it looks for the second time
	p      place // what it has found, or is moving
	head   head
	copy   uint8 // moving: the slot in the next table
	victim head  // remove: what to take out

	bucket, next uint8 // scan: where it is
	here         uint8 // keys that it has met in the bucket
	met          [keys]uint8

	// Not in the code: which heads each key has had since the call began.
	had [keys]uint16
}

// The next access, and its name.
const (
	begin uint8 = iota
	findWord
	findSlot
	swap
	again
	insLock
	insLook
	insTag
	insFill
	remLock
	remSwap
	remTag
	unlock
	scanWord
	scanSlot
	nextWord
	nextSlot
	moveLock
	moveLoad
	moveFill
	moveTag
	moveMark
	moveReload
	moveCopy
	moveMoved
	done
)

var names = strings.Split("begin,load the word,load a slot,swap,load the slot again,lock,look,"+
	"set the tag,fill the slot,lock,take out,clear the tag,unlock,load the word,load a slot,"+
	"load a word of the next table,load a slot of the next table,lock,load a slot,"+
	"fill the next table,tag the next table,mark,load the slot again,copy it again,moved", ",")

const (
	lost     = "a write goes to a place that is not the key's, or is not any more"
	notThere = "a call has found what was not there during the call"
	notMet   = "a scan has missed a key that was there throughout"
	metTwice = "a scan has met a key twice"
	left     = "things are left in a bucket"
)

// Model is a scenario to explore.
type Model struct{ Scenario }

func (m Model) buckets(table uint8) uint8 {
	if (table == 0) == m.Shrinks {
		return 2
	}
	return 1
}

// of returns the number of key's bucket.
func (m Model) of(table, key uint8) uint8 { return key % m.buckets(table) }

func (m Model) movers() int { return int(m.buckets(0)) }

// key returns the key of a head.
func (m Model) key(h head) uint8 {
	if h < ofPut {
		return uint8(h - first)
	}
	return m.Calls[h-ofPut][1] - 'a'
}

func (m Model) has(h head, key uint8) bool { return h.is() && m.key(h) == key }

// Initial has all in the old table.
func (m Model) Initial() (s state) {
	for _, c := range []byte(m.Keys) {
		key := c - 'a'
		b := &s.at[0][m.of(0, key)]
		i := s.room(b)
		b.taken |= 1 << i
		b.slot[i] = first + head(key)
		s.now[key] = b.slot[i]
	}
	for i := range m.movers() {
		s.proc[i] = proc{pc: moveLock, p: place{bucket: uint8(i)}}
	}
	return s
}

// room returns a free slot. There is one for each key.
func (n *state) room(b *bucket) uint8 {
	i := uint8(bits.TrailingZeros8(^b.taken))
	if i >= slots {
		n.wrong, i = left, 0
	}
	return i
}

// Processes counts the buckets to move and the calls.
func (m Model) Processes() int { return m.movers() + len(m.Calls) }

// Name names a process.
func (m Model) Name(p int) string {
	if p < m.movers() {
		return fmt.Sprint("mover ", p+1)
	}
	return m.Calls[p-m.movers()]
}

// Finished reports whether process p is done.
func (m Model) Finished(s *state, p int) bool { return s.proc[p].pc == done }

// Moves makes the next step of process p.
func (m Model) Moves(s *state, p int, yield func(string, *state)) {
	n := *s
	q := &n.proc[p]
	pc := &names[q.pc]
	if p < m.movers() {
		m.move(&n, q)
		yield(*pc, &n)
		return
	}
	i := p - m.movers()
	kind, key := m.Calls[i][0], m.Calls[i][1]-'a'
	if q.pc == begin {
		q.pc = findWord
		if kind == 'S' {
			q.pc = scanWord
		}
		pc = &names[q.pc]
		for k, h := range n.now {
			if kind == 'S' || k == int(key) {
				q.had[k] = 1 << h
			}
		}
	}
	if kind == 'S' {
		m.scan(&n, q)
	} else {
		m.call(&n, q, kind, key, ofPut+head(i))
	}
	yield(*pc, &n)
}

// becomes notes that the head of key changes from was to h.
func (n *state) becomes(key uint8, was, h head) {
	if n.now[key] != was {
		n.wrong = lost
	}
	n.now[key] = h
	for i := range n.proc {
		if q := &n.proc[i]; q.had[key] != 0 {
			q.had[key] |= 1 << h
		}
	}
}

// isThere notes that the head that was put in for key is there.
func (n *state) isThere(key uint8) {
	if h := n.half[key]; h != 0 {
		n.half[key] = 0
		n.becomes(key, 0, h)
	}
}

// answer checks the head of key that a call has met, or 0 if it has met none.
func (n *state) answer(key uint8, h head, q *proc) {
	if h != 0 && h == n.half[key] {
		n.isThere(key)
	}
	if q.had[key]>>h&1 == 0 {
		n.wrong = notThere
	}
}

// find goes to look for the key, from the given table on.
func (q *proc) find(table uint8) {
	q.table, q.tags, q.marked, q.second, q.pc = table, 0, false, false, findWord
}

// take returns the next slot to load.
func (q *proc) take() uint8 {
	i := uint8(bits.TrailingZeros8(q.tags))
	q.tags &= q.tags - 1
	return i
}

func (q *proc) end() { *q = proc{pc: done} }

// Invariant says what went wrong.
func (m Model) Invariant(s *state) error {
	if s.wrong != "" {
		return errors.New(s.wrong)
	}
	return nil
}

// Final finds each key in its bucket of the next table, once, and nothing else.
func (m Model) Final(s *state) error {
	want, met := s.now, 0
	for i := range s.at[1] {
		for _, h := range s.at[1][i].slot {
			if h.is() && m.of(1, m.key(h)) == uint8(i) && want[m.key(h)] == h {
				want[m.key(h)] = 0
				met++
			} else if h != 0 {
				return errors.New(left)
			}
		}
		met -= bits.OnesCount8(s.at[1][i].taken)
	}
	if want != [keys]head{} || met != 0 {
		return errors.New(lost)
	}
	return nil
}

// Explain shows the buckets of both tables: heads, tags, locked, moved.
func (m Model) Explain(_, s *state) string {
	return fmt.Sprint(s.at[0][:m.buckets(0)], " ", s.at[1][:m.buckets(1)])
}

// Run explores a scenario.
func Run(sc Scenario, o explore.Options) explore.Result {
	return explore.Run[state](Model{sc}, o)
}
