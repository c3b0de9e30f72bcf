// Package paging reads one snapshot page by page, over several requests, while others write: no
// key is met twice, and none is missed that was there all the time.
//
// What waits for the next request is a snapshot. Options.MaxTxAge ends it if that never comes,
// and the error of the next page says so. Where pages should need nothing that waits, a token can
// have the Epoch instead, and each request opens it with Map.SnapshotAt: see Options.Retain. Pages
// that need not be of one moment can go on behind the last entry of an index, see ByIndex.
package paging

import (
	"iter"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A Pair is a key and its value.
type Pair[K comparable, V any] struct {
	Key   K
	Value V
}

// A Cursor is a place in a snapshot. It is for one request at a time.
type Cursor[K comparable, V any] struct {
	next  func() (Pair[K, V], bool)
	close func()
	err   error
}

// Open opens a snapshot of the map, at its first page.
func Open[K comparable, V any](m *mvcc.Map[K, V]) *Cursor[K, V] {
	s := m.Snapshot()
	c := &Cursor[K, V]{}
	next, stop := iter.Pull(func(yield func(Pair[K, V]) bool) {
		// A read of a snapshot that is too old panics. Try makes an error of it, here of
		// the whole loop, which goes on with each request.
		c.err = s.Try(func() error {
			for key, value := range s.All() {
				if !yield(Pair[K, V]{key, value}) {
					return nil
				}
			}
			return nil
		})
	})
	c.next, c.close = next, func() { stop(); s.Close() }
	return c
}

// Page returns the next n pairs, in no particular order, or fewer at the end. It returns an error
// that wraps mvcc.ErrTxTooOld if the snapshot is, and the client has to begin again.
func (c *Cursor[K, V]) Page(n int) (pairs []Pair[K, V], err error) {
	for len(pairs) < n {
		pair, ok := c.next()
		if !ok {
			c.close()
			return pairs, c.err
		}
		pairs = append(pairs, pair)
	}
	return pairs, nil
}

// Close gives up what is left. It may be called again, and after the last page.
func (c *Cursor[K, V]) Close() { c.close() }
