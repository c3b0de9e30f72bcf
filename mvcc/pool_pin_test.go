//go:build !nolinkname

package mvcc

// shardsPerP is how many shards a pool has for each P, see [epoch.Pool].
const shardsPerP = 1
