package mvcc

import (
	"github.com/mvccmap/mvccmap/internal/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// A version is one value of a key: committed, or pending in a commit that is
// under way. The versions of a key form a chain, newest first.
//
//	entry.head -> pending? -> committed, e=9 -> committed, e=4 -> nil
//
// I5: commit epochs strictly descend along a chain, and only its head may be
// undecided or aborted: a writer installs on top of a decided head only, and
// links past an aborted one.
//
// A version is never reused. A helper that was stopped between loading a state
// word and its compare-and-swap may wake up years later; if the word had become
// another transaction's, that transaction could be committed by a stranger.
type version[V any] struct {
	// lost is the lowest epoch that was dropped from below, if any.
	lost invariant.Ghost

	// state is the state word, see below. It is written by compare-and-swap
	// by anybody while the version is announced or tentative, and by its
	// owner otherwise.
	state atomic.Uint64
	// rec is the transaction's record, while state says indirect: the state
	// word of the first version the transaction installs, which decides for
	// all of them. The owner clears it once state carries the commit epoch,
	// else an old version would keep others alive.
	rec atomic.Pointer[atomic.Uint64]
	// next is the next older version. It is set before the version is
	// installed, and only pruners change it afterwards, and only when the
	// version is committed.
	next atomic.Pointer[version[V]]
	// value is immutable once the version is installed.
	value V
}

// A state word says how far a version, or a transaction through its record, has
// come. From the lowest bit:
//
//	2 bits  tag
//	1 bit   tombstone: the version says "deleted"
//	1 bit   check: announced: the transaction validates its reads;
//	        tentative: flips while validation goes on, as a sign of life;
//	        committed, wait: the version is old, and the background work knows
//	        for which read epoch it is kept
//	6 bits  count: versions added to the chain since it was pruned last; passed
//	        on from version to version, and set back by who prunes
//	54 bits epoch: the commit epoch (committed, tentative), the epoch that was
//	        revoked last (announced), or for the special tag a kind and, if
//	        active, how many keys are installed
//
// Tombstone and count of a version are those of its own word, never those of
// its record. At ten million commits a second 54 bits last for 57 years.
//
//	active -> announced -> committed          nothing read, or snapshot level
//	active -> announced -> tentative -> committed         validates its reads
//	          announced <- tentative          revoked by a reader
//	active, announced, tentative -> aborted
const (
	tagCommitted = iota
	tagAnnounced
	tagTentative
	tagSpecial
	tagMask = 3

	tombBit    = 1 << 2
	checkBit   = 1 << 3
	waitBit    = checkBit
	countShift = 4
	countMax   = 63
	countMask  = countMax << countShift
	epochShift = 10

	// keepMask are the bits of a version's own word that its decision keeps.
	keepMask = tombBit | countMask
)

// The kinds of the special tag, in the lowest bits of the epoch.
const (
	kindActive = iota
	kindAborted
	kindIndirect
	kindDead
	kindBits = 2
	kindMask = 1<<kindBits - 1
)

func specialWord(kind uint64) uint64 { return kind<<epochShift | tagSpecial }

// installStep is what an owner adds to its active record to show that it goes on.
const installStep = 1 << (epochShift + kindBits)

func tag(s uint64) uint64     { return s & tagMask }
func epochOf(s uint64) uint64 { return s >> epochShift }
func committed(s uint64) bool { return s&tagMask == tagCommitted }
func isKind(s, kind uint64) bool {
	return s&tagMask == tagSpecial && s>>epochShift&kindMask == kind
}

// announcedWord is the announced form of s: floor is the epoch that was revoked
// last. It makes the word differ from every earlier announced one, so that an
// epoch drawn before the revocation can no longer be put in.
func announcedWord(s, floor, check uint64) uint64 {
	return floor<<epochShift | s&keepMask | check | tagAnnounced
}

// decidedWord is what an announced word s becomes when epoch e is drawn for it.
func decidedWord(s, e uint64) uint64 {
	t := uint64(tagCommitted)
	if s&checkBit != 0 {
		t = tagTentative
	}
	return e<<epochShift | s&keepMask | t
}

// committedWord is s committed at epoch e. The tag of committed is zero.
func committedWord(s, e uint64) uint64 { return e<<epochShift | s&keepMask }
func abortedWord(s uint64) uint64      { return s&keepMask | specialWord(kindAborted) }

// advance moves the state word at word on from s to t, if it still says s, and
// reports whether it did.
func advance(word *atomic.Uint64, s, t uint64) bool {
	if invariant.Enabled {
		checkStep(s, t)
	}
	return word.CompareAndSwap(s, t)
}

// resolve returns the word that decides about v and where it stands. The two
// loads of an indirect version are safe in this order: the owner stores the
// final state before it clears rec, so rec == nil means that state is final.
func (v *version[V]) resolve() (uint64, *atomic.Uint64) {
	for {
		s := v.state.Load()
		if !isKind(s, kindIndirect) {
			return s, &v.state
		}
		if rec := v.rec.Load(); rec != nil {
			return rec.Load(), rec
		}
		if invariant.Enabled {
			v.checkFinal()
		}
	}
}

// plain reports whether v is a value that was committed at or before epoch e, and
// says so by itself: the case that a reader nearly always meets first.
func (v *version[V]) plain(e uint64) bool {
	if v == nil {
		return false
	}
	s := v.state.Load()
	return s&(tagMask|tombBit) == tagCommitted && epochOf(s) <= e
}

// tombstone reports whether v says "deleted". The bit never changes.
func (v *version[V]) tombstone() bool { return v.state.Load()&tombBit != 0 }

// present returns v's value, or false for no version at all and for a tombstone.
func (v *version[V]) present() (value V, ok bool) {
	if v == nil || v.tombstone() {
		return value, false
	}
	return v.value, true
}
