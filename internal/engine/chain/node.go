package chain

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/debug/invariant"
)

// A Node is a version without its types. Code that reads and changes chains works on nodes: so it
// is compiled once, and not for each type of map.
type Node struct {
	// Lost is the lowest epoch that was dropped from below, if any.
	Lost invariant.Ghost

	// State is the state word, see [Word]. Once the version is installed, anybody changes an
	// announced or tentative state, by compare-and-swap. Only its owner changes an indirect state,
	// by a store, or anybody once the owner's slot is gone. Later the background work sets and
	// clears marks.
	State atomic.Uint64
	// Next is the next older version. It is set before the version is
	// installed, and only pruners and writers that install on top of it change
	// it afterwards, and only when the version is committed.
	Next atomic.Pointer[Node]
}

// Key returns the address of the version's key. The key follows the node without padding, since the
// size of a node is a multiple of every alignment that a key may have.
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

// Expired reports whether the commit of v deletes a record whose time had come. All versions of
// such a commit say so.
func (v *Node) Expired() bool { return Load(&v.State)&ExpiredBit != 0 }

// There reports whether v is a value: neither no version at all nor a tombstone.
func (v *Node) There() bool { return v != nil && !v.Tombstone() }

// PutOutcome replaces the indirect state of v by the outcome. Only the owner of v calls it: a
// goroutine that marks versions as waiting leaves an indirect state alone, and looks again later.
func (v *Node) PutOutcome(outcome Word) {
	atomic.Release(&v.State, uint64(outcome|Load(&v.State)&KeepMask))
}

// Mark marks v as waiting, by WaitBit or LastBit, and reports whether v had the mark before.
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

// A version is private until it is installed, by a compare-and-swap that orders everything before
// it. To fill in its fields by atomic stores would cost a bus lock for each, a tenth of a Store.
// SetWord and SetLink write the fields like ordinary variables.

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
	node Node // must be first: the engine knows a version by its node
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

// Bare returns a version of key that has no value and is in no commit yet.
func Bare[K comparable, V any](key K) *Node { return &(&Version[K, V]{Key: key}).node }

// New returns a version of key that has a value and is in no commit yet.
func New[K comparable, V any](key K, value V) *Node {
	return &(&Version[K, V]{Key: key, Value: value}).node
}

// Clone returns a version with the key and the value of v that is in no commit yet.
func Clone[K comparable, V any](v *Node) *Node { return New(KeyOf[K](v), ValueOf[K, V](v)) }

// Present returns v's value, or false if v is nil or a tombstone.
func Present[K comparable, V any](v *Node) (value V, ok bool) {
	if !v.There() {
		return value, false
	}
	return ValueOf[K, V](v), true
}
