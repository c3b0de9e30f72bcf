package mvcc

import "unsafe"

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

// present returns v's value, or false for no version at all and for a tombstone.
func present[K comparable, V any](v *node) (value V, ok bool) {
	if !v.there() {
		return value, false
	}
	return valueOf[K, V](v), true
}
