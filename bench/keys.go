package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mvccmap/mvccmap/internal/workfile"
)

// keyPrefix is followed by the index of the key.
const keyPrefix = "key-"

// makeKeys returns n keys. Ordered ones sort as their indexes do.
func makeKeys(n int, ordered bool) []string {
	keys := make([]string, n)
	for i := range keys {
		if keys[i] = keyPrefix + strconv.Itoa(i); ordered {
			keys[i] = fmt.Sprintf("%s%09d", keyPrefix, i)
		}
	}
	return keys
}

// hashedKey returns a key whose place among others is that of a hash of k; no two have the same.
func hashedKey(k int) string { return fmt.Sprintf("%s%016x", keyPrefix, workfile.Hash(uint64(k))) }

// hashedKeys returns n of them, in their order.
func hashedKeys(n int) []string {
	keys := make([]string, n)
	for k := range keys {
		keys[k] = hashedKey(k)
	}
	slices.Sort(keys)
	return keys
}

// keyIndex returns the index that key was made from.
func keyIndex(key string) (n int) {
	for i := len(keyPrefix); i < len(key); i++ {
		n = 10*n + int(key[i]-'0')
	}
	return n
}

// cloneKeys returns a copy of keys that shares no bytes with them.
func cloneKeys(keys []string) []string {
	clones := make([]string, len(keys))
	for i, key := range keys {
		clones[i] = strings.Clone(key)
	}
	return clones
}
