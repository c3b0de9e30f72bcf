//go:build !amd64 && !arm64

package tree

import "unsafe"

// prefetchHeads and prefetchLeaf do nothing where there is no instruction for it.
func prefetchHeads(unsafe.Pointer, int, uintptr) {}

func prefetchLeaf(unsafe.Pointer) {}
