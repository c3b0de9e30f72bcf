package mvcc

import (
	stdatomic "sync/atomic"

	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// An entry is a key's record in the index. The index maps a key to an entry
// that is never replaced; it may be taken out once it is dead.
type entry[K comparable, V any] struct {
	// head is the newest version: nil in an entry that was made for a commit
	// that has not installed yet, or that was aborted. The dead version, put
	// in by compare-and-swap like any other, means that the entry is leaving
	// the index: whoever finds it there looks the key up again.
	head atomic.Pointer[version[V]]
	// pending marks an entry that the background work is going to visit. A
	// committer that leaves something superfluous sets it, and hands the entry
	// over if it was not set; a visit clears it before it looks at the versions.
	pending stdatomic.Bool
	// waits says that the background work keeps the entry, of which only a
	// tombstone is left, for an old read epoch.
	waits stdatomic.Bool
	key   K
}

// lookup returns the entry of key, or nil. It never waits. It hashes key, so it
// panics if key cannot be hashed: every path into the map passes here, or
// through makeEntry, before anything is installed.
func (m *Map[K, V]) lookup(key K) *entry[K, V] {
	if hooks.Enabled && hooks.Scheduled() {
		hooks.Index(hooks.Read, key)
	}
	e, _ := m.index.Load(key)
	if invariant.Enabled {
		e.check(key)
	}
	return e
}

// makeEntry returns the entry of key, inserting an empty one if there is none.
// It may wait for a bucket of the index, and for a resize of it.
func (m *Map[K, V]) makeEntry(key K) *entry[K, V] {
	if e := m.lookup(key); e != nil {
		return e
	}
	if hooks.Enabled && hooks.Scheduled() {
		hooks.Index(hooks.Write, key)
	}
	e, loaded := m.index.LoadOrStore(key, &entry[K, V]{key: key})
	if !loaded {
		m.counters.entries.Inc()
	}
	if invariant.Enabled {
		e.check(key)
	}
	return e
}
