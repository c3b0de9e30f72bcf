package mvcc

import (
	"maps"
	"slices"
)

// An oracle is a slow map that is right by inspection: it keeps a whole map for
// each commit. The programs of program_test.go compare the engine with it.
type oracle[K, V comparable] struct {
	states  []map[K]V       // by number of commits
	history map[K][]link[V] // every version of a key, oldest first
	changed map[K]int       // after which commit it was written last
}

func newOracle[K, V comparable]() *oracle[K, V] {
	return &oracle[K, V]{states: []map[K]V{{}}, history: map[K][]link[V]{}, changed: map[K]int{}}
}

func (o *oracle[K, V]) now() int { return len(o.states) - 1 }

func (o *oracle[K, V]) newest() map[K]V { return o.states[o.now()] }

// commit makes a new state, at the given commit epoch; a nil value deletes.
func (o *oracle[K, V]) commit(epoch uint64, writes map[K]*V) {
	next := maps.Clone(o.newest())
	for key, value := range writes {
		l := link[V]{Epoch: epoch, Tomb: value == nil}
		if value == nil {
			delete(next, key)
		} else {
			l.Value = *value
			next[key] = *value
		}
		o.history[key] = append(o.history[key], l)
		o.changed[key] = len(o.states)
	}
	o.states = append(o.states, next)
}

// since reports whether key was written after the state at.
func (o *oracle[K, V]) since(key K, at int) bool { return o.changed[key] > at }

// last returns the commit epoch of the newest version of key.
func (o *oracle[K, V]) last(key K) uint64 {
	h := o.history[key]
	return h[len(h)-1].Epoch
}

// wanted returns, newest first, the versions of key that are seen: the newest of
// all, and for each of the read epochs the newest one at or below it.
func (o *oracle[K, V]) wanted(key K, epochs []uint64) (links []link[V]) {
	h := o.history[key]
	for i := len(h) - 1; i >= 0; i-- {
		seen := func(e uint64) bool { return h[i].Epoch <= e && e < h[i+1].Epoch }
		if i == len(h)-1 || slices.ContainsFunc(epochs, seen) {
			links = append(links, h[i])
		}
	}
	return links
}

// An openTx is an open transaction or snapshot, beside what the oracle knows of
// it.
type openTx[K, V comparable] struct {
	name  string
	tx    Tx[K, V]
	s     Snapshot[K, V]
	isTx  bool
	level Level
	at    int // the state it reads
	epoch uint64

	read    map[K]bool
	early   map[K]bool // read before the first scan
	locked  map[K]bool // read for update
	scanned bool
	writes  map[K]*V // nil: delete
	merges  map[K][]func(V, bool) V
}

// set notes a Set, or a Delete, which says nil.
func (x *openTx[K, V]) set(key K, value *V) {
	delete(x.merges, key)
	x.writes[key] = value
}

// merge notes a Merge.
func (x *openTx[K, V]) merge(key K, fn func(V, bool) V) {
	if own, ok := x.writes[key]; ok {
		value := fn(of(own))
		x.writes[key] = &value
		return
	}
	x.merges[key] = append(slices.Clip(x.merges[key]), fn)
}

// of returns what a write says, or false for a deletion.
func of[V any](own *V) (value V, ok bool) {
	if own == nil {
		return value, false
	}
	return *own, true
}

// apply returns what the merges of key make of a value.
func (x *openTx[K, V]) apply(key K, value V, ok bool) (V, bool) {
	for _, fn := range x.merges[key] {
		value, ok = fn(value, ok), true
	}
	return value, ok
}

// final returns what the transaction writes if it commits now.
func (x *openTx[K, V]) final(o *oracle[K, V]) map[K]*V {
	writes := maps.Clone(x.writes)
	for key := range x.merges {
		old, ok := o.newest()[key]
		value, _ := x.apply(key, old, ok)
		writes[key] = &value
	}
	return writes
}

func (x *openTx[K, V]) writesAny() bool { return len(x.writes)+len(x.merges) > 0 }

func (x *openTx[K, V]) reader() Reader[K, V] {
	if x.isTx {
		return x.tx
	}
	return x.s
}

// get returns what the transaction must read, and notes that it does.
func (x *openTx[K, V]) get(o *oracle[K, V], key K) (value V, ok bool) {
	if own, ok := x.writes[key]; ok {
		return of(own)
	}
	if x.isTx {
		x.read[key] = true
		if !x.scanned {
			x.early[key] = true
		}
	}
	value, ok = o.states[x.at][key]
	return x.apply(key, value, ok)
}

// all returns what a scan must meet.
func (x *openTx[K, V]) all(o *oracle[K, V]) map[K]V {
	all := maps.Clone(o.states[x.at])
	for key, value := range x.writes {
		if delete(all, key); value != nil {
			all[key] = *value
		}
	}
	for key := range x.merges {
		value, ok := o.states[x.at][key]
		all[key], _ = x.apply(key, value, ok)
	}
	return all
}

func (x *openTx[K, V]) hasRead() bool { return x.scanned || len(x.read) > 0 }

// verdict says whether a commit must succeed, must conflict (both false), or may
// do either: a key that was absent, was written since, and is absent again.
func (x *openTx[K, V]) verdict(o *oracle[K, V]) (must, may bool) {
	if !x.writesAny() || !x.hasRead() {
		return true, true
	}
	read := x.read
	if x.level == LevelSnapshot {
		for key := range x.writes {
			if o.since(key, x.at) {
				return false, false
			}
		}
		read = x.locked
	} else if x.scanned && o.now() > x.at {
		return false, false
	}
	must, may = true, true
	for key := range read {
		if !o.since(key, x.at) {
			continue
		}
		_, before := o.states[x.at][key]
		_, after := o.newest()[key]
		must = false
		may = may && !before && !after
	}
	return must, may
}

// doomed reports whether Err must say that the transaction cannot commit: a value
// was overwritten that it has read by Get.
func (x *openTx[K, V]) doomed(o *oracle[K, V]) bool {
	if !x.writesAny() {
		return false
	}
	read := x.early
	if x.level == LevelSnapshot {
		read = x.locked
	}
	for key := range read {
		if _, before := o.states[x.at][key]; before && o.since(key, x.at) {
			return true
		}
	}
	return false
}

// explains reports whether c names a reason why x cannot commit: a key that has
// been written since, and that x has read or writes itself.
func (x *openTx[K, V]) explains(o *oracle[K, V], c *ConflictError) bool {
	key, ok := c.Key.(K)
	if !ok || !o.since(key, x.at) || c.ReadEpoch != x.epoch || c.CommitEpoch != o.last(key) {
		return false
	}
	switch c.Kind {
	case ConflictRead:
		return x.level == LevelSerializable && x.read[key] || x.locked[key]
	case ConflictScan:
		return x.level == LevelSerializable && x.scanned
	case ConflictWrite:
		_, writes := x.writes[key]
		return x.level == LevelSnapshot && writes
	}
	return false
}
