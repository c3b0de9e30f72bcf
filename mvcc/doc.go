// Package mvcc is a concurrent map with transactions over several keys.
package mvcc
