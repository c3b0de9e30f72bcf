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
// everybody for ever; the worst that two can do to each other is to link a
// dropped version in again. A reader that stands on a dropped version still finds
// its way down: a pruner clears or shortens the link of a version only for
// epochs that are neither live in its view nor at or above that version.
func (c core[K, V]) prune(e *entry[K, V], view *gc.View) gc.Outcome {
	return c.pruneTop(e, view, math.MaxInt)
}

// pruneTop is prune, but stops after run versions in a row that had to be kept.
func (c core[K, V]) pruneTop(e *entry[K, V], view *gc.View, run int) gc.Outcome {
	h := e.head.Load()
	for h != nil {
		s, _ := h.resolve()
		if isKind(s, kindDead) {
			return gc.Done
		}
		if !isKind(s, kindAborted) {
			break
		}
		e.head.CompareAndSwap(h, h.next.Load())
		h = e.head.Load()
	}
	if h == nil {
		c.bury(e, nil)
		return gc.Done
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
			if later {
				return gc.Later
			}
			return gc.Done // a first version, still undecided
		}
	}
	if hooks.Enabled {
		hooks.At(hooks.PruneFound)
	}

	blocked, inARow, pruned := false, 0, uint64(0)
	for cur, live := v, view.Live; ; {
		// The epochs that cur does not serve; a is the newest of them.
		i, _ := slices.BinarySearch(live, commitEpoch(cur))
		if live = live[:i]; i == 0 {
			if n := cur.next.Load(); n != nil {
				if invariant.Enabled {
					c.checkCut(e, cur, n, nil, view)
				}
				cur.next.Store(nil)
				for ; n != nil; n = n.next.Load() {
					pruned++
				}
			}
			break
		}
		a := live[i-1]
		first := cur.next.Load()
		n := first
		for n != nil && commitEpoch(n) > a {
			n = n.next.Load()
			pruned++
		}
		if n == first {
			inARow++
		} else {
			if invariant.Enabled {
				c.checkCut(e, cur, first, n, view)
			}
			cur.next.Store(n)
			inARow = 0
		}
		if n == nil {
			break
		}
		if blocked = true; inARow == run {
			break
		}
		cur = n
	}
	if pruned > 0 {
		c.counters.pruned.Add(pruned)
	}

	switch {
	case later:
		return gc.Later
	case blocked:
		return gc.Blocked
	case v == h && h.tombstone():
		if commitEpoch(h) > view.Min() {
			return gc.Blocked // somebody still reads as of before it: absent too
		}
		c.bury(e, h)
	}
	return gc.Done
}

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
	c.index.Compute(e.key, func(old *entry[K, V], loaded bool) (*entry[K, V], indexOp) {
		if loaded && old == e {
			return nil, indexDelete
		}
		return old, indexCancel
	})
}
