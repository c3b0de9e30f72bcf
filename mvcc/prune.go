package mvcc

import (
	"math"
	"slices"

	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// prune drops the versions of e that view allows to drop, and the entry itself
// if nothing but a tombstone that everybody sees is left of it. It keeps all
// versions above the bound, the newest one at or below it, and the newest one
// at or below each live epoch; it links these together and lets go of the rest.
//
// Pruners of one chain may run at the same time, with different views, and none
// waits. Views stay true, so what any of them passes over is invisible to
// everybody for ever. A reader that stands on a dropped version still finds
// its way down: a pruner clears or shortens the link of a version only for
// epochs that are neither live in its view nor at or above that version.
//
// Of the old versions that have to be kept it tells visit, once each: a version is
// marked as waiting when its wait begins. And it tells of a tombstone that somebody
// still reads below, and of what is above the bound.
func (c core[K, V]) prune(e *entry[K, V], view *gc.View, visit *gc.Visit[*version[V]]) {
	c.pruneTop(e, view, math.MaxInt, visit)
}

// pruneTop is prune, but stops after run versions in a row that had to be kept,
// and tells nobody if visit is nil.
func (c core[K, V]) pruneTop(e *entry[K, V], view *gc.View, run int, visit *gc.Visit[*version[V]]) {
	h := e.head.Load()
	for h != nil {
		s, _ := h.resolve()
		if isKind(s, kindDead) {
			return
		}
		if !isKind(s, kindAborted) {
			break
		}
		e.head.CompareAndSwap(h, h.next.Load())
		h = e.head.Load()
	}
	if h == nil {
		c.bury(e, nil)
		return
	}

	// v: the newest committed version at or below the bound.
	v, later := h, false
	for {
		s, _ := v.resolve()
		if committed(s) && epochOf(s) <= view.Bound {
			break
		}
		// An undecided head is its committer's business: he looks at the
		// mark after he has published.
		later = later || committed(s)
		if v = v.next.Load(); v == nil {
			break // but for a first version, still undecided, later is true
		}
	}
	if later && visit != nil {
		visit.Left = true
	}
	if v == nil {
		return
	}
	if hooks.Enabled {
		hooks.At(hooks.PruneFound)
	}
	if kept := c.pruneBelow(e, v, view, run, visit); kept || later || v != h || !h.tombstone() {
		return
	}
	if at := commitEpoch(h); at <= view.Min() {
		c.bury(e, h)
	} else if visit != nil {
		// Somebody still reads as of before it: absent too.
		i, _ := slices.BinarySearch(view.Live, at)
		visit.Waits = append(visit.Waits, gc.Wait[*version[V]]{Epoch: view.Live[i-1]})
	}
}

// pruneBelow drops what view allows to drop below v, which is the newest version
// at or below the bound, and reports whether anything is left there.
func (c core[K, V]) pruneBelow(e *entry[K, V], v *version[V], view *gc.View, run int, visit *gc.Visit[*version[V]]) (kept bool) {
	inARow, pruned := 0, uint64(0)
	for cur, live := v, view.Live; inARow < run; {
		// The epochs that cur does not serve; the last is the newest of them,
		// and what is above it below cur is dropped.
		i, _ := slices.BinarySearch(live, commitEpoch(cur))
		live = live[:i]
		first := cur.next.Load()
		n, dropped := first, uint64(0)
		for n != nil && (i == 0 || commitEpoch(n) > live[i-1]) {
			n = n.next.Load()
			dropped++
		}
		if n == first {
			inARow++
		} else {
			if invariant.Enabled {
				c.checkCut(e, cur, first, n, view)
			}
			if hooks.Enabled {
				hooks.At(hooks.PruneWalked)
			}
			// Compared: if another pruner has cut here meanwhile, n may be what
			// it has dropped, and must not be linked in again.
			if !cur.next.CompareAndSwap(first, n) {
				continue
			}
			pruned += dropped
			inARow = 0
		}
		if n == nil {
			break
		}
		kept = true
		// Must follow the link: see release.
		if visit != nil && n.state.Load()&waitBit == 0 && n.state.Or(waitBit)&waitBit == 0 {
			visit.Waits = append(visit.Waits, gc.Wait[*version[V]]{Epoch: live[i-1], Version: n})
		}
		cur = n
	}
	if pruned > 0 {
		c.counters.pruned.Add(pruned)
	}
	return kept
}

// release takes off the mark of an old version whose wait is over; its key is pruned
// afterwards. A pruner that has linked to v and relied on the mark did both before,
// so that prune starts from a head below which v is found, and marks it again or
// drops it. One that comes later does not find the mark.
func (c core[K, V]) release(v *version[V]) { v.state.And(^uint64(waitBit)) }

// commitEpoch returns the commit epoch of a version that is known to be
// committed.
func commitEpoch[V any](v *version[V]) uint64 {
	s, _ := v.resolve()
	return epochOf(s)
}

// bury declares e dead if its head still is h, and unlinks it. h must be nil, or
// a committed tombstone that every live and future transaction sees.
//
// Dead first, then unlink: a writer that installs on e changes the same word,
// so either it finds e dead and looks the key up again, or we fail here. The
// other way round, or a delete that does not compare, would lose its version.
func (c core[K, V]) bury(e *entry[K, V], h *version[V]) {
	if invariant.Enabled {
		c.checkBury(e, h)
	}
	if e.head.CompareAndSwap(h, c.dead) {
		if h != nil {
			c.counters.pruned.Add(1)
		}
		if hooks.Enabled {
			hooks.At(hooks.Dead)
		}
		c.unlink(e)
	}
}

// unlink takes a dead entry out of the index, if it is still there. Whoever
// needs the key helps: nobody waits for the one who declared it dead. It may
// wait for a bucket of the index.
func (c core[K, V]) unlink(e *entry[K, V]) {
	if invariant.Enabled {
		c.checkDead(e)
	}
	if hooks.Enabled && hooks.Scheduled() {
		hooks.Index(hooks.Write, e.key)
	}
	gone := false
	c.index.Compute(e.key, func(old *entry[K, V], loaded bool) (*entry[K, V], indexOp) {
		if loaded && old == e {
			gone = true
			return nil, indexDelete
		}
		return old, indexCancel
	})
	if gone {
		c.counters.entries.Dec()
	}
}
