package chain

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/debug/invariant"
)

// A Node is a version without its types. Nodes have all of a chain, and of its changes:
// that code is compiled once, and not for each type of map.
type Node struct {
	// Lost is the lowest epoch that was dropped from below, if any.
	Lost invariant.Ghost

	// State is the state word, see [Word]. Once the version is installed it is written by
	// compare-and-swap by anybody while it is announced or tentative; by a store of its owner
	// alone while it is indirect (or by anybody, once the owner's slot is gone); after that the
	// marks come and go by the background work.
	State atomic.Uint64
	// Next is the next older version. It is set before the version is
	// installed, and only pruners and writers that install on top of it change
	// it afterwards, and only when the version is committed.
	Next atomic.Pointer[Node]
}

// Key returns where the key of the version is. It follows the node without padding, since the size
// of a node is a multiple of every alignment that a key may have.
func (v *Node) Key() unsafe.Pointer { return unsafe.Add(unsafe.Pointer(v), unsafe.Sizeof(Node{})) }

// Plain reports whether v is a value that was committed at or before epoch e, and
// says so by itself: the case that a reader nearly always meets first.
func (v *Node) Plain(e epoch.Epoch) bool {
	if v == nil {
		return false
	}
	w := Load(&v.State)
	return w&(TagMask|TombBit) == TagCommitted && w.Epoch() <= e
}

// Tombstone reports whether v says "deleted". The bit never changes.
func (v *Node) Tombstone() bool { return Load(&v.State).Tomb() }

// Expired reports whether v is of a commit that deletes a record whose time had come: all versions of
// the commit say so.
func (v *Node) Expired() bool { return Load(&v.State)&ExpiredBit != 0 }

// There reports whether v is a value: neither no version at all nor a tombstone.
func (v *Node) There() bool { return v != nil && !v.Tombstone() }

// PutOutcome puts the outcome of its transaction into an indirect version. Nobody else writes such
// a state: a goroutine that marks versions as waiting leaves it alone, and looks again later.
func (v *Node) PutOutcome(outcome Word) {
	atomic.Release(&v.State, uint64(outcome|Load(&v.State)&KeepMask))
}

// Mark marks v as waiting, by WaitBit or LastBit, and reports whether it was.
func (v *Node) Mark(bit uint64) (was bool) {
	return v.State.Load()&bit != 0 || v.State.Or(bit)&bit != 0
}

// Growth returns by how much the number of keys grows when v is committed on top of
// base: 1, 0 or -1.
func Growth(base, v *Node) int {
	was, is := base != nil && !base.Tombstone(), !v.Tombstone()
	switch {
	case was == is:
		return 0
	case is:
		return 1
	}
	return -1
}

// A version is private until it is installed, by a compare-and-swap that orders
// everything before it. Filling in its fields by atomic stores would cost a bus
// lock each, a tenth of a Store. These write them like ordinary variables.

// SetWord sets a word that no other goroutine can reach yet.
func SetWord(r *Record, w Word) { *(*Word)(unsafe.Pointer(r)) = w }

// SetLink sets a pointer that no other goroutine can reach yet.
func SetLink(l *atomic.Pointer[Node], v *Node) { *(**Node)(unsafe.Pointer(l)) = v }

// The casts rely on an atomic.Uint64 and an atomic.Pointer being no more than their
// contents.
var (
	_ [8]byte                         = [unsafe.Sizeof(atomic.Uint64{})]byte{}
	_ [unsafe.Sizeof(uintptr(0))]byte = [unsafe.Sizeof(atomic.Pointer[Node]{})]byte{}
)

// A Version is one value of a key: committed, or pending in a commit that is under way.
type Version[K comparable, V any] struct {
	node Node // first: the engine's knowledge of it
	// Key and value are immutable once the version is installed.
	Key   K
	Value V
}

// KeyOf returns the key of a version of a map with keys of type K.
func KeyOf[K any](v *Node) K { return *(*K)(v.Key()) }

// VersionOf returns the version of a map from K to V that v is.
func VersionOf[K comparable, V any](v *Node) *Version[K, V] {
	return (*Version[K, V])(unsafe.Pointer(v))
}

// ValueOf returns the value of a version of a map from K to V.
func ValueOf[K comparable, V any](v *Node) V { return VersionOf[K, V](v).Value }

// Bare returns a version of key without a value, that says nothing yet.
func Bare[K comparable, V any](key K) *Node { return &(&Version[K, V]{Key: key}).node }

// New returns a version of key that has a value, and says nothing yet.
func New[K comparable, V any](key K, value V) *Node {
	return &(&Version[K, V]{Key: key, Value: value}).node
}

// Clone returns a version with the key and the value of v, that says nothing yet.
func Clone[K comparable, V any](v *Node) *Node { return New(KeyOf[K](v), ValueOf[K, V](v)) }

// Present returns v's value, or false for no version at all and for a tombstone.
func Present[K comparable, V any](v *Node) (value V, ok bool) {
	if !v.There() {
		return value, false
	}
	return ValueOf[K, V](v), true
}
