package chain

import (
	"fmt"

	"github.com/mvccmap/mvccmap/epoch"
)

// A Word is a version's state, or the record that decides about a transaction. The word of a
// version that is in no commit yet is 0, or only the bit of the tombstone: it reads as committed at
// epoch 0, which is nobody's.
//
// The record of a transaction that commits a single key is its version's state. A transaction of
// several keys has its record in its epoch slot, and its versions say indirect, with the number of
// the slot. From the lowest bit:
//
//	2 bits  tag
//	1 bit   tombstone: the version says "deleted"
//	1 bit   check: announced: the transaction validates its reads;
//	        tentative: flips while validation goes on, as a sign of life;
//	        committed, wait: the version is old, and the background work knows
//	        for which read epoch it is kept
//	1 bit   last: the version is a tombstone that was all that is left of its key,
//	        and the background work knows for which transactions that may write;
//	        announced, fixed: the floor is the epoch at which it commits
//	6 bits  count: versions added to the chain since it was pruned last; passed
//	        on from version to version, and set back by pruners
//	1 bit   expired: the version is one of a commit that deletes a record whose
//	        time had come
//	52 bits epoch: the commit epoch (committed, tentative), the floor (announced),
//	        or for the special tag a kind and, if active, how many signs of life
//	        there were, or if indirect the number of a slot
//
// Tombstone, count and expired of a version are those of its own state, never those
// of its record, in which the bit of the tombstone belongs to package epoch. At ten million commits
// a second 52 bits last for 14 years.
//
//	active -> announced -> committed          nothing to validate
//	active -> announced -> tentative -> committed         validates its reads
//	          announced <- tentative          revoked by a reader
//	active, announced, tentative -> aborted
//	indirect -> committed, aborted            as the record says; by the owner,
//	                                          or by anybody once its slot is gone
type Word uint64

// The parts of a word, see [Word].
const (
	TagCommitted = iota
	TagAnnounced
	TagTentative
	TagSpecial
	TagMask = 3

	TombBit    = 1 << 2
	CheckBit   = 1 << 3
	WaitBit    = CheckBit
	LastBit    = 1 << 4
	FixedBit   = LastBit
	CountShift = 5
	CountMax   = 63
	CountMask  = CountMax << CountShift
	ExpiredBit = 1 << 11
	epochShift = 12

	// OwnMask are the bits of a version's own state; KeepMask are those of a version's own state
	// that its decision keeps.
	OwnMask  = TombBit | ExpiredBit
	KeepMask = OwnMask | CountMask
)

// A Kind is the meaning of a word with the special tag, in the lowest bits of its epoch.
type Kind uint64

// The kinds.
const (
	KindActive Kind = iota
	KindAborted
	KindIndirect
	KindMark // of the marks of the index: no version of any key
	kindBits = 2
	kindMask = 1<<kindBits - 1
)

// Special is a word with the special tag.
func Special(k Kind) Word { return Word(k)<<epochShift | TagSpecial }

// Indirect is the state of a version whose transaction has its record in slot number.
func Indirect(number uint64) Word {
	return Word(number)<<(epochShift+kindBits) | Special(KindIndirect)
}

// InstallStep is added by an owner to its active record, to show that it goes on.
const InstallStep = 1 << (epochShift + kindBits)

// Tag returns the tag.
func (w Word) Tag() uint64 { return uint64(w) & TagMask }

// Epoch returns the epoch, or the floor.
func (w Word) Epoch() epoch.Epoch { return epoch.Epoch(w >> epochShift) }

// Fixed reports whether the word is announced and fixed: its record is to be committed at the epoch
// that the word has as its floor, and no epoch is drawn for it.
func (w Word) Fixed() bool { return w&(TagMask|FixedBit) == TagAnnounced|FixedBit }

// Committed reports whether the word has that tag.
func (w Word) Committed() bool { return w&TagMask == TagCommitted }

// Tomb reports whether the version says "deleted".
func (w Word) Tomb() bool { return w&TombBit != 0 }

// Count returns the count.
func (w Word) Count() Word { return w & CountMask >> CountShift }

// Is reports whether the word has the special tag and is of kind k.
func (w Word) Is(k Kind) bool {
	return w&TagMask == TagSpecial && Kind(w>>epochShift)&kindMask == k
}

// recordNumber returns the number of the epoch slot that an indirect state names.
func (w Word) recordNumber() uint64 { return uint64(w) >> (epochShift + kindBits) }

// Announced returns w as announced. check is CheckBit if there is something to validate. The floor
// is an epoch. All announced words of one record have different floors: so an epoch that was drawn
// before a word was announced cannot be put into that word; see [Decider.Revoke], and txState.try
// of package mvcc.
func (w Word) Announced(floor epoch.Epoch, check Word) Word {
	return Word(floor)<<epochShift | w&KeepMask | check | TagAnnounced
}

// Drawn is an announced word after the draw of epoch e for it.
func (w Word) Drawn(e epoch.Epoch) Word {
	t := Word(TagCommitted)
	if w&CheckBit != 0 {
		t = TagTentative
	}
	return Word(e)<<epochShift | w&KeepMask | t
}

// At is w committed at epoch e. The tag of committed is zero.
func (w Word) At(e epoch.Epoch) Word { return Word(e)<<epochShift | w&KeepMask }

// Aborted is w aborted.
func (w Word) Aborted() Word { return w&KeepMask | Special(KindAborted) }

// String returns the word in readable form.
func (w Word) String() string {
	var text string
	switch w.Tag() {
	case TagCommitted:
		text = fmt.Sprintf("committed(%d)", w.Epoch())
	case TagAnnounced:
		text = fmt.Sprintf("announced(%d)", w.Epoch())
	case TagTentative:
		text = fmt.Sprintf("tentative(%d)", w.Epoch())
	default:
		text = [...]string{"active", "aborted", "indirect", "mark"}[w.Epoch()&kindMask]
		if n := w.recordNumber(); n > 0 || w.Is(KindIndirect) {
			text += fmt.Sprintf("(%d)", n)
		}
	}
	if w&CheckBit != 0 {
		text += "+check"
	}
	if w.Fixed() {
		text += "+fixed"
	}
	if w.Tomb() {
		text += "+tombstone"
	}
	if w&ExpiredBit != 0 {
		text += "+expired"
	}
	if n := w.Count(); n > 0 {
		text += fmt.Sprintf("+count=%d", n)
	}
	return text
}

// The bit of a slot's record that its decision must keep.
var _ [epoch.RecordBit]byte = [TombBit]byte{}
