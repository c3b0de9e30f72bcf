package commit

import (
	"math/bits"
	"slices"
)

// Bounds of a state. A scenario that exceeds them panics in New.
const (
	maxKeys    = 3
	maxProcs   = 4
	maxPruners = 2
	maxOps     = 8
	maxRecords = 10
	maxVersion = 14 // version 0 is nil
	maxEntries = 5  // entry 0 is nil
)

// word is the state of a record: what kind, and an epoch below 32.
type word uint8

const (
	active    word = 0 << 5 // versions are being installed
	aborted   word = 1 << 5 // decided: not committed
	announced word = 2 << 5 // PREP(f): may be given an epoch by anyone; f is the last revoked one
	tentative word = 3 << 5 // TENT(t): has epoch t, is being validated
	committed word = 4 << 5 // COMM(t)
	kindMask  word = 7 << 5
)

func (w word) kind() word      { return w & kindMask }
func (w word) epoch() uint8    { return uint8(w &^ kindMask) }
func (w word) at(t uint8) word { return w | word(t) }

func (w word) String() string {
	names := [...]string{"ACTIVE", "ABORTED", "PREP", "TENT", "COMM"}
	s := names[w>>5]
	if w.kind() >= announced {
		s += "(" + itoa(w.epoch()) + ")"
	}
	return s
}

// dead in an entry's head says that the entry has left, or is about to leave,
// the index.
const dead = 255

// state is everything the processes share, their registers, and what has been
// returned so far.
type state struct {
	clock   uint8
	entries uint8                // entries ever made
	index   [maxKeys]uint8       // the entry of a key, or 0
	head    [maxEntries]uint8    // the newest version of an entry, 0 or dead
	record  [maxRecords]word     // record 0 belongs to the initial versions
	next    [maxVersion]uint8    // the next older version
	copied  [maxVersion]copyWord // Scenario.Copy: the version's own word

	proc   [maxProcs]proc
	pruner [maxPruners]pruner

	watching uint8 // bit set of processes whose watch is in the list
	dirty    uint8 // bit set of those whose watch is marked

	ok     uint8                  // bit set of operations that have returned success
	before [maxOps]uint8          // for each operation: ok when it was invoked
	result [maxOps][maxKeys]uint8 // version read by an operation, per key

	unrepeatable bool // a transaction has read a key twice, with different results
}

// copyWord is the word of a version that is not its transaction's first: it
// says INDIRECT until the epoch of the record has been copied into it, and
// then the record pointer is cleared.
type copyWord struct {
	set     bool // the word holds the record's final state instead of INDIRECT
	cleared bool // the record pointer is nil
}

// proc is a process: where it is, and its registers. A register that is not in
// use is zero, so that equal states compare equal.
type proc struct {
	pc    step
	mode  mode
	op    uint8 // index of the current operation in the process's program
	try   uint8 // earlier attempts to install it
	i     uint8 // index of the current key in its reads or writes
	e     uint8 // entry
	h     uint8 // version under examination
	n     uint8 // version below h, read after h was found undecided
	again bool  // h is examined for the second time, n has been read
	over  bool  // the operation has a conflict and will not be installed again
	live  bool  // the slot holds epoch s
	s     uint8 // read epoch of a transaction; clock at entry of a load
	t     uint8 // own tentative epoch
	d     uint8 // epoch drawn, own or for somebody else
	w     word  // word expected by the next compare-and-swap

	b     uint8 // base of the own watch; 0: there is none
	marks uint8 // bit set of processes whose watches are still to be marked
}

// step is the next access of a process.
type step uint8

// mode is on whose behalf a chain is walked.
type mode uint8

const (
	reading    mode = iota // a transaction's Get
	loading                // a one-key load without a slot
	validating             // validation of a read
	installing             // install of a write
)

// pruner is a worker that takes views and prunes.
type pruner struct {
	pc   prunerStep
	pass uint8
	i    uint8               // index of the slot or of the key
	m    uint8               // the view's bound
	live [maxProcs + 1]uint8 // the view's live epochs below m, descending, plus one; ends with 0
	e    uint8
	h    uint8 // version under examination, or the tombstone to remove
	v    uint8 // last version known to be needed
	a    uint8 // index in live of the epoch whose version is sought
}

// reduce renumbers the epochs of s so that they are dense. The protocol only
// compares epochs and draws larger ones, so states that differ in nothing but
// the gaps have the same future.
func (s *state) reduce() {
	used := uint64(1) | 1<<s.clock
	for _, w := range s.record {
		used |= 1 << w.epoch()
	}
	for i := range s.proc {
		p := &s.proc[i]
		used |= 1<<p.s | 1<<p.t | 1<<p.d | 1<<p.w.epoch() | 1<<p.b
	}
	for i := range s.pruner {
		p := &s.pruner[i]
		used |= 1 << p.m
		for _, a := range p.live {
			if a != 0 {
				used |= 1 << (a - 1)
			}
		}
	}
	if used&(used+1) == 0 {
		return // already dense
	}
	rank := func(t uint8) uint8 { return uint8(bits.OnesCount64(used & (1<<t - 1))) }
	s.clock = rank(s.clock)
	for i, w := range s.record {
		s.record[i] = w.kind().at(rank(w.epoch()))
	}
	for i := range s.proc {
		p := &s.proc[i]
		p.s, p.t, p.d = rank(p.s), rank(p.t), rank(p.d)
		p.b = rank(p.b)
		p.w = p.w.kind().at(rank(p.w.epoch()))
	}
	for i := range s.pruner {
		p := &s.pruner[i]
		p.m = rank(p.m)
		for j, a := range p.live {
			if a != 0 {
				p.live[j] = rank(a-1) + 1
			}
		}
	}
}

// sortLive puts the live epochs of a view in descending order, each once.
func (p *pruner) sortLive() {
	live := p.live[:maxProcs]
	slices.SortFunc(live, func(a, b uint8) int { return int(b) - int(a) })
	kept := slices.Compact(live)
	clear(live[len(kept):])
}
