package mvcc

import (
	"fmt"

	"github.com/mvccmap/mvccmap/epoch"
)

// A word is a version's state, or the record that decides about a transaction. 0, or only the bit
// of the tombstone, is that of a version which is not in a commit yet: it reads as committed at
// epoch 0, which is nobody's.
//
// A transaction that commits a single key has its version's state as its record. One of
// several keys has its record in its epoch slot, and its versions say
// indirect, with the number of that. From the lowest bit:
//
//	2 bits  tag
//	1 bit   tombstone: the version says "deleted"
//	1 bit   check: announced: the transaction validates its reads;
//	        tentative: flips while validation goes on, as a sign of life;
//	        committed, wait: the version is old, and the background work knows
//	        for which read epoch it is kept
//	1 bit   last: the version is a tombstone that was all that is left of its key,
//	        and the background work knows for which transactions that may write
//	6 bits  count: versions added to the chain since it was pruned last; passed
//	        on from version to version, and set back by pruners
//	53 bits epoch: the commit epoch (committed, tentative), the floor (announced),
//	        or for the special tag a kind and, if active, how many signs of life
//	        there were, or if indirect the number of a slot
//
// Tombstone and count of a version are those of its own state, never those
// of its record, in which the bit of the tombstone belongs to package epoch. At ten million commits a
// second 53 bits last for 28 years.
//
//	active -> announced -> committed          nothing to validate
//	active -> announced -> tentative -> committed         validates its reads
//	          announced <- tentative          revoked by a reader
//	active, announced, tentative -> aborted
//	indirect -> committed, aborted            as the record says; by the owner,
//	                                          or by anybody once its slot is gone
type word uint64

const (
	tagCommitted = iota
	tagAnnounced
	tagTentative
	tagSpecial
	tagMask = 3

	tombBit    = 1 << 2
	checkBit   = 1 << 3
	waitBit    = checkBit
	lastBit    = 1 << 4
	countShift = 5
	countMax   = 63
	countMask  = countMax << countShift
	epochShift = 11

	// keepMask are the bits of a version's own state that its decision keeps.
	keepMask = tombBit | countMask
)

// A kind is what a word with the special tag says, in the lowest bits of its epoch.
type kind uint64

const (
	kindActive kind = iota
	kindAborted
	kindIndirect
	kindMark // of the marks of the index: no version of any key
	kindBits = 2
	kindMask = 1<<kindBits - 1
)

func special(k kind) word { return word(k)<<epochShift | tagSpecial }

// indirect is the state of a version whose transaction has its record in slot number.
func indirect(number uint64) word {
	return word(number)<<(epochShift+kindBits) | special(kindIndirect)
}

// installStep is what an owner adds to its active record to show that it goes on.
const installStep = 1 << (epochShift + kindBits)

func (w word) tag() uint64        { return uint64(w) & tagMask }
func (w word) epoch() epoch.Epoch { return epoch.Epoch(w >> epochShift) }
func (w word) committed() bool    { return w&tagMask == tagCommitted }
func (w word) tomb() bool         { return w&tombBit != 0 }
func (w word) count() word        { return w & countMask >> countShift }
func (w word) is(k kind) bool {
	return w&tagMask == tagSpecial && kind(w>>epochShift)&kindMask == k
}

// recordNumber returns the number of the epoch slot that an indirect state names.
func (w word) recordNumber() uint64 { return uint64(w) >> (epochShift + kindBits) }

// announced is the announced form of w, and check is checkBit if there is something to
// validate. The floor is an epoch: the announced words that stand in one place all have
// different ones, so that an epoch drawn before one of them was announced cannot be put
// into it; see [txState.try] and [Map.revoke].
func (w word) announced(floor epoch.Epoch, check word) word {
	return word(floor)<<epochShift | w&keepMask | check | tagAnnounced
}

// decided is what an announced word becomes when epoch e is drawn for it.
func (w word) drawn(e epoch.Epoch) word {
	t := word(tagCommitted)
	if w&checkBit != 0 {
		t = tagTentative
	}
	return word(e)<<epochShift | w&keepMask | t
}

// at is w committed at epoch e. The tag of committed is zero.
func (w word) at(e epoch.Epoch) word { return word(e)<<epochShift | w&keepMask }

func (w word) aborted() word { return w&keepMask | special(kindAborted) }

// String returns the word in readable form.
func (w word) String() string {
	var text string
	switch w.tag() {
	case tagCommitted:
		text = fmt.Sprintf("committed(%d)", w.epoch())
	case tagAnnounced:
		text = fmt.Sprintf("announced(%d)", w.epoch())
	case tagTentative:
		text = fmt.Sprintf("tentative(%d)", w.epoch())
	default:
		text = [...]string{"active", "aborted", "indirect", "mark"}[w.epoch()&kindMask]
		if n := w.recordNumber(); n > 0 || w.is(kindIndirect) {
			text += fmt.Sprintf("(%d)", n)
		}
	}
	if w&checkBit != 0 {
		text += "+check"
	}
	if w.tomb() {
		text += "+tombstone"
	}
	if n := w.count(); n > 0 {
		text += fmt.Sprintf("+count=%d", n)
	}
	return text
}

// The bit of a slot's record that its decision must keep.
var _ [epoch.RecordBit]byte = [tombBit]byte{}
