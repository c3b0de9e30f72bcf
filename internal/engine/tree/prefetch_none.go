//go:build !amd64 && !arm64

package tree

import "unsafe"

// prefetchHeads and prefetchLeaf do nothing on processors other than amd64 and arm64.
func prefetchHeads(unsafe.Pointer, int, uintptr) {}

func prefetchLeaf(unsafe.Pointer) {}
