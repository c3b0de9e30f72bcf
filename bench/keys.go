package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

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

// keyNames keeps the texts of new keys once they are made, so that a goroutine that reads one does
// not make it anew: that would count as the engine's. Any goroutine may use it.
type keyNames struct {
	first           int // the number of the first new key
	ordered, hashed bool
	chunks          [1 << 13]atomic.Pointer[nameChunk]
}

type nameChunk [1 << 14]atomic.Pointer[string]

// of returns the text of the key with number k.
func (n *keyNames) of(k int) string {
	i := k - n.first
	if i/len(nameChunk{}) >= len(n.chunks) {
		return newKey(k, n.ordered, n.hashed)
	}
	at := &n.chunks[i/len(nameChunk{})]
	chunk := at.Load()
	if chunk == nil {
		at.CompareAndSwap(nil, new(nameChunk))
		chunk = at.Load()
	}
	kept := &chunk[i%len(nameChunk{})]
	if text := kept.Load(); text != nil {
		return *text
	}
	text := newKey(k, n.ordered, n.hashed)
	kept.Store(&text)
	return text
}
