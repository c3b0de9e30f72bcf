package mvcc

import (
	"math"

	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// found is what the background work finds out about entries.
type found[K comparable, V any] = gc.Found[*entry[K, V], waiting[K, V]]

// waiting is an old version that is kept for an old read epoch, and its entry; or nil
// and an entry of which nothing is left but a tombstone that somebody reads below.
type waiting[K comparable, V any] struct {
	e *entry[K, V]
	v *version[V]
}

// visit prunes entries for the background work, see [gc.Config].
func (c core[K, V]) visit(entries []*entry[K, V], view *gc.View, f *found[K, V]) {
	// In loops of loads that do not depend on each other, for the cache: see scan.
	for _, e := range entries {
		// Must precede the prune: a committer that finds the mark set relies on
		// a prune that sees its version.
		e.pending.Store(false)
	}
	for _, e := range entries {
		if h := e.head.Load(); h != nil {
			h.state.Load()
		}
	}
	if hooks.Enabled {
		hooks.At(hooks.Dequeued)
	}
	for _, e := range entries {
		switch c.prune(e, view, math.MaxInt, f) {
		case leftAbove:
			if !e.pending.Swap(true) {
				f.Again = append(f.Again, e)
			}
		case leftYoung:
			if !e.pending.Swap(true) {
				f.Later = append(f.Later, e)
			}
		}
	}
}

// due ends waits. A pruner that has linked to a version and relied on its mark did both
// before the mark came off, so the visit that follows starts from a head below which
// the version is found, and marks it again or drops it. One that comes later does not
// find the mark.
func (c core[K, V]) due(waits []waiting[K, V], entries []*entry[K, V]) []*entry[K, V] {
	for _, w := range waits {
		if w.v != nil {
			w.v.state.And(^uint64(waitBit))
		} else {
			w.e.waits.Store(false)
			c.counters.tombstones.Add(-1)
		}
		if !w.e.pending.Swap(true) {
			entries = append(entries, w.e)
		}
	}
	return entries
}

// surplus returns how many versions e has beyond the newest one and those that wait.
func (c core[K, V]) surplus(e *entry[K, V]) (n int) {
	h := e.head.Load()
	if h == nil {
		return 0
	}
	for v := h.next.Load(); v != nil; v = v.next.Load() {
		if v.state.Load()&waitBit == 0 || !committed(v.state.Load()) {
			n++
		}
	}
	return n
}

// left says what a prune has left that will have to be looked at again, though no old
// read epoch ends.
type left uint8

const (
	leftNothing left = iota
	leftYoung        // versions kept for read epochs that are not old
	leftAbove        // versions above the bound of the view
)

// prune drops the versions of e that view allows to drop, and the entry itself
// if nothing but a tombstone is left of it that no transaction which may write reads
// below. It keeps all versions above the bound, the newest one at or below it, and the
// newest one at or below each live epoch; it links these together and lets go of the
// rest.
//
// Pruners of one chain may run at the same time, with different views, and none
// waits. Views stay true, so what any of them passes over is invisible to
// everybody for ever. A reader that stands on a dropped version still finds
// its way down: a pruner clears or shortens the link of a version only for
// epochs that are neither live in its view nor at or above that version.
//
// It stops after run versions in a row that had to be kept. If f is not nil it tells of
// the old versions that have to be kept for old epochs, once each: a version is marked
// as waiting when its wait begins. If f is nil it does not look far for the bound.
func (c core[K, V]) prune(e *entry[K, V], view *gc.View, run int, f *found[K, V]) (l left) {
	h := e.head.Load()
	for h != nil {
		s, _ := h.resolve()
		if isKind(s, kindDead) {
			return leftNothing
		}
		if !isKind(s, kindAborted) {
			break
		}
		e.head.CompareAndSwap(h, h.next.Load())
		h = e.head.Load()
	}
	if h == nil {
		c.bury(e, nil, f)
		return leftNothing
	}

	// v: the newest committed version at or below the bound.
	v, above := h, 0
	for {
		s, _ := v.resolve()
		if committed(s) && epochOf(s) <= view.Bound {
			break
		}
		// An undecided head is its committer's business: he looks at the
		// mark after he has published.
		if committed(s) {
			above++
		}
		if f == nil && above > run*nearRuns {
			return leftAbove // the view is too old, and the next one does this
		}
		if v = v.next.Load(); v == nil {
			break
		}
	}
	if v == nil {
		if above > 1 || above == 1 && h.tombstone() {
			l = leftAbove
		}
		return l
	}
	if above > 0 {
		l = leftAbove
	}
	if hooks.Enabled {
		hooks.At(hooks.PruneFound)
	}
	kept, young := c.pruneBelow(e, v, view, run, f)
	if young {
		l = max(l, leftYoung)
	}
	if kept || v != h || !h.tombstone() {
		return l
	}
	at := commitEpoch(h)
	if at <= view.Writers {
		c.bury(e, h, f)
		return l
	}
	// A transaction that may write reads as of before it, or began to when the view
	// was made. What it would validate must not vanish.
	if f == nil {
		return l
	}
	if !view.OldWriter || f.Alone {
		return max(l, leftYoung)
	}
	// If it waits already, then for the same one, or the wait is about to end.
	if !e.waits.Swap(true) {
		c.counters.tombstones.Add(1)
		f.Waits = append(f.Waits, gc.Wait[waiting[K, V]]{Epoch: view.Writers, Writers: true, What: waiting[K, V]{e, nil}})
	}
	return l
}

// nearRuns is within how many times run a committer looks for the bound. Whoever writes
// next after the view was renewed finds it at once.
const nearRuns = 4

// pruneBelow drops what view allows to drop below v, which is the newest version
// at or below the bound, and reports whether anything is left there, and whether for
// an epoch that is not old.
func (c core[K, V]) pruneBelow(e *entry[K, V], v *version[V], view *gc.View, run int, f *found[K, V]) (kept, young bool) {
	inARow := 0
	for cur := v; inARow < run; {
		// What is above at below cur is dropped.
		at, old := view.Below(commitEpoch(cur))
		first := cur.next.Load()
		n := first
		for n != nil && (at == 0 || commitEpoch(n) > at) {
			n = n.next.Load()
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
			inARow = 0
		}
		if n == nil {
			break
		}
		kept = true
		cur = n
		// Must follow the link: see due.
		if f == nil || n.state.Load()&waitBit != 0 {
			continue
		}
		if !old || f.Alone {
			young = true
		} else if n.state.Or(waitBit)&waitBit == 0 {
			f.Waits = append(f.Waits, gc.Wait[waiting[K, V]]{Epoch: at, What: waiting[K, V]{e, n}})
		}
	}
	return kept, young
}

// trim drops all that is below base, a committed version of e that the caller is about
// to cover, if nobody sees it any more. e is base's commit epoch. It is what keeps
// chains short where writers never rest: it costs a writer a store into a line that
// it has just read.
func (c core[K, V]) trim(en *entry[K, V], base *version[V], view *gc.View) {
	first := base.next.Load()
	if first == nil {
		return
	}
	if invariant.Enabled {
		c.checkCut(en, base, first, nil, view)
	}
	base.next.Store(nil)
}

// commitEpoch returns the commit epoch of a version that is known to be
// committed.
func commitEpoch[V any](v *version[V]) uint64 {
	s, _ := v.resolve()
	return epochOf(s)
}

// bury declares e dead if its head still is h, and unlinks it. h must be nil, or
// a committed tombstone below which nobody sees anything, and no transaction reads
// that may write.
//
// Dead first, then unlink: a writer that installs on e changes the same word,
// so either it finds e dead and looks the key up again, or we fail here. The
// other way round, or a delete that does not compare, would lose its version.
func (c core[K, V]) bury(e *entry[K, V], h *version[V], f *found[K, V]) {
	if invariant.Enabled {
		c.checkBury(e, h)
	}
	if e.head.CompareAndSwap(h, c.dead) {
		if hooks.Enabled {
			hooks.At(hooks.Dead)
		}
		c.unlink(e)
		if f != nil {
			f.Gone++
		}
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
