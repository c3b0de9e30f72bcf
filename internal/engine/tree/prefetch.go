//go:build amd64 || arm64

package tree

import "unsafe"

// prefetchHeads begins to load the targets of n pointers at at: of each, the cache lines of its
// first byte and of the byte at last. prefetchLeaf does so with the parts of a leaf that a scan
// needs. They wait for nothing but the pointers, so many loads are under way at once: an ordinary
// load would stop the processor. In a scan of 10^6 keys that saves about half of the time.
//
//go:noescape
func prefetchHeads(at unsafe.Pointer, n int, last uintptr)

//go:noescape
func prefetchLeaf(l unsafe.Pointer)
