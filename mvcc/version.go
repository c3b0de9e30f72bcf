package mvcc

import (
	"fmt"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// A version is one value of a key: committed, or pending in a commit that is
// under way. The versions of a key form a chain, newest first.
//
//	cell -> pending? -> committed, e=9 -> committed, e=4 -> nil
//
// I5: commit epochs strictly descend along a chain, and only its head may be
// undecided or aborted: a writer installs on top of a decided head only, and
// links past an aborted one.
//
// A version is never reused. A helper that was stopped between loading a state
// word and its compare-and-swap may wake up years later; if the word had become
// another transaction's, that transaction could be committed by a stranger.
type version[K comparable, V any] struct {
	node node // first: what the engine knows of it
	// key and value are immutable once the version is installed.
	key   K
	value V
}

// A node is a version without its types. All that a chain is, and what becomes of it, is
// said by nodes: that code is compiled once, and not for each type of map.
type node struct {
	// lost is the lowest epoch that was dropped from below, if any.
	lost invariant.Ghost

	// state is the state word, see below. Once the version is installed it is written by
	// compare-and-swap by anybody while it is announced or tentative; by a store of its owner
	// alone while it is indirect (or by anybody, once the owner's slot is gone); after that the
	// marks come and go by the background work.
	state atomic.Uint64
	// next is the next older version. It is set before the version is
	// installed, and only pruners and writers that install on top of it change
	// it afterwards, and only when the version is committed.
	next atomic.Pointer[node]
}

// key returns where the key of the version is. It follows the node without padding, since the size
// of a node is a multiple of every alignment that a key may have.
func (v *node) key() unsafe.Pointer { return unsafe.Add(unsafe.Pointer(v), unsafe.Sizeof(node{})) }

// keyOf returns the key of a version of a map with keys of type K.
func keyOf[K any](v *node) K { return *(*K)(v.key()) }

// full returns the version of a map from K to V that v is.
func full[K comparable, V any](v *node) *version[K, V] { return (*version[K, V])(unsafe.Pointer(v)) }

// valueOf returns the value of a version of a map from K to V.
func valueOf[K comparable, V any](v *node) V { return full[K, V](v).value }

// bareNode returns a version of key without a value, that says nothing yet.
func bareNode[K comparable, V any](key K) *node { return &(&version[K, V]{key: key}).node }

// newNode returns a version of key that has a value, and says nothing yet.
func newNode[K comparable, V any](key K, value V) *node {
	return &(&version[K, V]{key: key, value: value}).node
}

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

// A record is a word that decides about a transaction: the state of a version, or a
// slot's record.
type record = atomic.Uint64

func load(r *record) word { return word(r.Load()) }

// The bit of a slot's record that its decision must keep.
var _ [epoch.RecordBit]byte = [tombBit]byte{}

// abortRecord makes an undecided record say aborted, and returns what it said before: it may have
// been decided already. The caller knows that nobody announces it from here on.
func abortRecord(r *record) (was word) {
	for {
		w := load(r)
		if w.committed() || w.is(kindAborted) || advance(r, w, w.aborted()) {
			return w
		}
	}
}

// advance moves the record on from w to t, if it still says w, and reports whether it
// did.
func advance(r *record, w, t word) bool {
	checkStep(w, t)
	return r.CompareAndSwap(uint64(w), uint64(t))
}

// resolve returns the word that decides about v, and where it stands.
//
// The owner of a slot puts the outcome into the state of each of its versions before
// the slot's record serves another transaction. So if v still says the same after the
// record was loaded, the record was that of its transaction.
func (c *chains) resolve(v *node) (word, *record) {
	for {
		w := load(&v.state)
		if !w.is(kindIndirect) {
			return w, &v.state
		}
		r := c.slots.Record(w.recordNumber())
		hooks.At(hooks.StateLoaded)
		if r == nil {
			// The slot went when v had been settled, or nobody will ever decide about v.
			v.state.CompareAndSwap(uint64(w), uint64(w.aborted()))
			continue
		}
		decides := load(r)
		if load(&v.state) == w {
			return decides, r
		}
	}
}

// commitEpoch returns the commit epoch of a version that is known to be
// committed.
func (c *chains) commitEpoch(v *node) epoch.Epoch {
	w := load(&v.state)
	if !w.committed() {
		w = c.outcome(v)
	}
	return w.epoch()
}

// outcome returns what decides about v.
func (c *chains) outcome(v *node) word {
	w, _ := c.resolve(v)
	return w
}

// plain reports whether v is a value that was committed at or before epoch e, and
// says so by itself: the case that a reader nearly always meets first.
func (v *node) plain(e epoch.Epoch) bool {
	if v == nil {
		return false
	}
	w := load(&v.state)
	return w&(tagMask|tombBit) == tagCommitted && w.epoch() <= e
}

// tombstone reports whether v says "deleted". The bit never changes.
func (v *node) tombstone() bool { return load(&v.state).tomb() }

// there reports whether v is a value: neither no version at all nor a tombstone.
func (v *node) there() bool { return v != nil && !v.tombstone() }

// present returns v's value, or false for no version at all and for a tombstone.
func present[K comparable, V any](v *node) (value V, ok bool) {
	if !v.there() {
		return value, false
	}
	return valueOf[K, V](v), true
}

// putOutcome puts the outcome of its transaction into an indirect version. Nobody else writes such a
// state: whoever marks versions as waiting leaves it alone, and looks again later.
func (v *node) putOutcome(outcome word) {
	atomic.Release(&v.state, uint64(outcome|load(&v.state)&keepMask))
}

// A version is private until it is installed, by a compare-and-swap that orders
// everything before it. Filling in its fields by atomic stores would cost a bus
// lock each, a tenth of a Store. These write them like ordinary variables.

// setWord sets a word that no other goroutine can reach yet.
func setWord(r *record, w word) { *(*word)(unsafe.Pointer(r)) = w }

// setLink sets a pointer that no other goroutine can reach yet.
func setLink[T any](l *atomic.Pointer[T], p *T) { *(**T)(unsafe.Pointer(l)) = p }

// The casts rely on an atomic.Uint64 and an atomic.Pointer being no more than
// what they hold.
var (
	_ [8]byte                         = [unsafe.Sizeof(atomic.Uint64{})]byte{}
	_ [unsafe.Sizeof(uintptr(0))]byte = [unsafe.Sizeof(atomic.Pointer[int]{})]byte{}
)
