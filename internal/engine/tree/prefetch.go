//go:build amd64 || arm64

package tree

import "unsafe"

// prefetchHeads begins to load the targets of the n pointers that begin at the address at: of each
// target the cache lines of its first byte and of the byte at offset last. prefetchLeaf does so with
// the parts of a leaf that a scan needs. Both wait for the pointers alone: an ordinary load would
// stop the processor. That saves about half of the time of a scan of 10^6 keys.
//
//go:noescape
func prefetchHeads(at unsafe.Pointer, n int, last uintptr)

//go:noescape
func prefetchLeaf(l unsafe.Pointer)
