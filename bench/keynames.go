package bench

import "sync/atomic"

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
