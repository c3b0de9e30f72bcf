package chain

import "unsafe"

// A Version is one value of a key: committed, or pending in a commit that is under way.
type Version[K comparable, V any] struct {
	node Node // first: what the engine knows of it
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
