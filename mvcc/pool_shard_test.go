//go:build nolinkname

package mvcc

const shardsPerP = 4
