//go:build !amd64 && !arm64

package tree

import "unsafe"

// prefetchHeads and prefetchLeaf do nothing on processors without prefetch instructions here.
func prefetchHeads(unsafe.Pointer, int, uintptr) {}

func prefetchLeaf(unsafe.Pointer) {}
