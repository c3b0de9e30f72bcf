package gc

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/internal/invariant"
)

// aside has the items of which something is kept for a live read epoch, on one
// shelf for each such epoch. When an epoch has ended its shelf is due, and what
// is on it is visited: nothing else is. An old version stands on one shelf at a
// time, that of the newest read epoch that needs it, and moves to that of the
// next older one when that has ended. So the length of all shelves is the number
// of old versions that are kept (and of tombstones that somebody reads below),
// and the work done for a version that of the read epochs which it outlives.
//
// Read epochs are what the hash table's keys are, and not slots, since a version
// is needed as long as anybody reads at that epoch.
type aside[E Item, V comparable] struct {
	// count is how many waits there are, on shelves and due; kept how many of
	// them are for old versions.
	count atomic.Int64
	kept  atomic.Int64

	mu      sync.Mutex // guards what follows; held for a few instructions
	shelves map[uint64][]waiting[E, V]
	epochs  []uint64 // those that have a shelf, sorted unless stirred says so
	stirred bool
	// seen are the live epochs of the view that the shelves were last compared
	// with. changed says that this is not enough to leave it at that.
	seen    []uint64
	changed bool
	due     [][]waiting[E, V]
	left    []E // what waits for a newer view; due at once
}

// waiting is an item that waits, and the version that it waits with; see Wait.
type waiting[E Item, V comparable] struct {
	item    E
	version V
}

// asideBatch is up to how many waits are visited together.
const asideBatch = 256

// put sets an item aside, once for each of waits and once more if it waits for a
// newer view. It reports whether there was anything to set aside.
func (a *aside[E, V]) put(item E, visit *Visit[V]) bool {
	n, kept := int64(0), int64(0)
	a.mu.Lock()
	defer a.mu.Unlock()
	var tombstone V
	for _, w := range visit.Waits {
		if w.Version != tombstone {
			kept++
		} else if !item.Mark().set(markTombstone) {
			continue
		}
		shelf, there := a.shelves[w.Epoch]
		if !there {
			if a.shelves == nil {
				a.shelves = make(map[uint64][]waiting[E, V])
			}
			if k := len(a.epochs); k > 0 && a.epochs[k-1] > w.Epoch {
				a.stirred = true
			}
			a.epochs = append(a.epochs, w.Epoch)
			// The epoch may have ended before, unnoticed: the view it is
			// from need not be that of a pass.
			a.changed = true
		}
		a.shelves[w.Epoch] = append(shelf, waiting[E, V]{item, w.Version})
		n++
	}
	if visit.Left && item.Mark().set(markLeft) {
		a.left = append(a.left, item)
		n++
	}
	a.count.Add(n)
	a.kept.Add(kept)
	return n > 0
}

// release makes the shelves due whose epochs have ended, as view knows.
func (a *aside[E, V]) release(view *View) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.changed && slices.Equal(a.seen, view.Live) {
		return
	}
	a.seen, a.changed = view.Live, false
	if a.stirred {
		slices.Sort(a.epochs)
		a.stirred = false
	}
	kept := a.epochs[:0]
	for live := view.Live; len(a.epochs) > 0; a.epochs = a.epochs[1:] {
		e := a.epochs[0]
		for len(live) > 0 && live[0] < e {
			live = live[1:]
		}
		switch {
		case len(live) > 0 && live[0] == e:
			kept = append(kept, e)
		case e >= view.Bound: // too young for this view
			kept = append(kept, e)
			a.changed = true
		default:
			a.due = append(a.due, a.shelves[e])
			delete(a.shelves, e)
		}
	}
	if a.epochs = kept; len(kept) == 0 {
		a.epochs, a.shelves = nil, nil // neither ever shrinks by itself
	}
}

// take moves some of what is due to batch, which is empty: the items to visit, and
// the versions whose waits are over.
func (a *aside[E, V]) take(batch *batch[E, V]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var tombstone V
	for n := len(a.due); n > 0 && len(batch.items) < asideBatch; n = len(a.due) {
		shelf := a.due[n-1]
		rest := max(len(shelf)-(asideBatch-len(batch.items)), 0)
		for _, w := range shelf[rest:] {
			if w.version != tombstone {
				batch.versions = append(batch.versions, w.version)
			} else {
				w.item.Mark().unset(markTombstone)
			}
			batch.items = append(batch.items, w.item)
		}
		clear(shelf[rest:]) // it may live on for a while, and the items need not
		if a.due[n-1] = shelf[:rest]; rest == 0 {
			a.due[n-1] = nil
			a.due = a.due[:n-1]
		}
	}
	for n := len(a.left); n > 0 && len(batch.items) < asideBatch; n = len(a.left) {
		item := a.left[n-1]
		clear(a.left[n-1:])
		a.left = a.left[:n-1]
		item.Mark().unset(markLeft)
		batch.items = append(batch.items, item)
	}
	a.kept.Add(-int64(len(batch.versions)))
	if c := a.count.Add(-int64(len(batch.items))); invariant.Enabled && c < 0 {
		invariant.Violated("%d more waits were taken than were set aside", -c)
	}
}

// A batch is some of what is due.
type batch[E Item, V comparable] struct {
	items    []E
	versions []V
}
