package mvcc

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// visit prunes keys for the background work, see [gc.Config]. It prunes the keys for which a visit
// was asked, in the buckets of the items. All items are of this map.
func (c *chains) visit(items []gc.Item, view *gc.View, f *found) {
	// In each loop the loads do not depend on each other, for the cache: see [index.Index.Scan].
	for _, i := range items {
		c.index.Touch((*index.Bucket)(i.Thing))
	}
	for _, i := range items {
		c.index.Prefetch((*index.Bucket)(i.Thing))
	}
	for _, i := range items {
		c.visitBucket((*index.Bucket)(i.Thing), view, f)
	}
}

func (c *chains) visitBucket(b *index.Bucket, view *gc.View, f *found) {
	// The call of Asked must precede the prunes: a committer that finds that a visit has been asked
	// for asks for none, and relies on the prune of that visit to see the committer's version.
	var heads [index.MaxVisits]*chain.Node
	visits := c.index.Asked(b, &heads)
	hooks.At(hooks.Dequeued)
	done, gone, at := 0, 0, 0
	defer func() { // lists the rest, if compare panics or exits
		for ; at < len(heads); at++ {
			if was := heads[at]; visits&(1<<at) != 0 && c.index.IsHead(was) {
				c.listAgain(index.Place{Bucket: b, I: uint8(at)}, was.Key(), &f.Again)
			}
		}
	}()
	for ; at < len(heads); at++ {
		i, was := at, heads[at]
		if visits&(1<<i) == 0 {
			continue
		}
		p := index.Place{Bucket: b, I: uint8(i)}
		head := p.Load()
		if head == c.index.Moved && c.index.IsHead(was) {
			_, p, head = c.index.Seek(was.Key())
		}
		if !c.index.IsHead(head) {
			continue
		}
		done++
		key := head.Key()
		var list *[]gc.Item
		switch c.prune(p, head, view, math.MaxInt, math.MaxInt, f) {
		case leftNoKey:
			gone++
			continue
		case leftAbove:
			list = &f.Again
		case leftYoung:
			list = &f.Later
		default:
			continue
		}
		c.listAgain(p, key, list)
	}
	if done > 0 && gone == done {
		f.Gone++
	}
}

// listAgain asks for a visit of the key at key, which was found at p, and adds the bucket to list.
func (c *chains) listAgain(p index.Place, key unsafe.Pointer, list *[]gc.Item) {
	if b := c.index.List(p, c.index.Hash.Sum(key), key); b != nil {
		*list = append(*list, c.item(b))
	}
}

// due ends the wait of v, and adds a visit of v's key to items. A pruner that relied on v's mark
// had linked to v before the mark came off: so the visit finds v below its head, and marks v again
// or drops v. A later pruner finds no mark on v.
func (w *waiter) due(v *chain.Node, items []gc.Item) []gc.Item {
	v.State.And(^w.mark())
	if w.last {
		w.counters.tombstones.Add(-1)
	}
	h, p, _ := w.index.Seek(v.Key())
	if b := w.index.List(p, h, v.Key()); b != nil {
		items = append(items, w.item(b))
	}
	return items
}

// stale reports whether a tombstone that waits for transactions that may write has been written
// over. If so it ends the wait: the versions on top now decide whether the tombstone is kept. If
// the wait did not end, a key that is deleted and stored again and again while such a transaction
// is open would leave a wait each time.
func (w *waiter) stale(v *chain.Node) bool {
	v.State.And(^w.mark()) // must precede: a writer that brings v to light again asks for a visit
	if _, _, head := w.index.Seek(v.Key()); head == v && !v.Mark(w.mark()) {
		return false
	}
	w.counters.tombstones.Add(-1)
	return true
}

// surplus counts the versions of the keys of b that are to be visited. It does not count the newest
// version of each key, nor the versions that wait.
func (c *chains) surplus(b *index.Bucket) (n int) {
	for m := c.index.Waiting(b); m != 0; m &= m - 1 {
		head := (index.Place{Bucket: b, I: uint8(bits.TrailingZeros32(m))}).Load()
		if !c.index.IsHead(head) {
			continue
		}
		for v := head.Next.Load(); v != nil; v = v.Next.Load() {
			if w := chain.Load(&v.State); w&chain.WaitBit == 0 || !w.Committed() {
				n++
			}
		}
	}
	return n
}

// left says whether a prune leaves versions that a later prune must look at even if no old read
// epoch ends.
type left uint8

const (
	leftNothing left = iota
	leftYoung        // versions kept for read epochs that are not old
	leftAbove        // versions above the bound of the view
	leftNoKey        // the key itself is gone
)

// prune removes the versions of the key at p that the view no longer needs; head is or was its
// head. It removes the key once only a tombstone is left of it, and no transaction that may write
// reads below that. It keeps all versions above the bound, the newest one at or below it, and the
// newest one at or below each live epoch. It links these together and lets go of the rest.
//
// Pruners of one chain may run at the same time, with different views, and none waits. Views stay
// true, so a version that any of them passes over is invisible to everybody for ever. A reader that
// stands on a dropped version still finds its way down: a pruner clears or shortens the link of a
// version only for epochs that are neither live in its view nor at or above that version.
//
// It passes over up to most versions above the bound, and stops after run versions in a row that
// had to be kept. Unless f is nil it adds to f each version that has to be kept for an old epoch,
// once: a version is marked as waiting when its wait begins.
func (c *chains) prune(
	p index.Place, head *chain.Node, view *gc.View, most uint64, run int, f *found,
) (l left) {
	for {
		switch head {
		case nil:
			return leftNothing
		case c.index.Moved:
			return leftAbove // to be visited where it is now
		}
		if w, _ := c.Resolve(head); !w.Is(chain.KindAborted) {
			break
		}
		base := head.Next.Load()
		if base == nil {
			if c.index.Remove(p, head) {
				return leftNoKey
			}
			return leftNothing // the goroutine that put something in its place asks for a visit
		}
		p.Swap(head, base)
		head = p.Load()
	}

	// v: the newest committed version at or below the bound.
	v, above := head, uint64(0)
	for {
		w, _ := c.Resolve(v)
		if w.Committed() && w.Epoch() <= view.Bound {
			break
		}
		// An undecided head is left to its committer, which asks for a visit
		// after it has published.
		if w.Committed() {
			above++
		}
		if above > most {
			return leftAbove // the view is too old: a prune with the next one does this
		}
		if v = v.Next.Load(); v == nil {
			break
		}
	}
	if v == nil {
		if above > 1 || above == 1 && head.Tombstone() {
			l = leftAbove
		}
		return l
	}
	if above > 0 {
		l = leftAbove
	}
	hooks.At(hooks.PruneFound)
	kept, young := c.pruneBelow(v, view, run, f)
	if young {
		l = max(l, leftYoung)
	}
	if kept || v != head || !head.Tombstone() {
		return l
	}
	if c.CommitEpoch(head) <= view.Writers {
		c.CheckRemove(head)
		if c.index.Remove(p, head) {
			return leftNoKey
		}
		return l
	}
	// A transaction that may write has a read epoch below that of the tombstone, or began while the
	// view was made. When it validates it must find the tombstone.
	if f == nil {
		return l
	}
	if !view.OldWriter || f.Alone || chain.Load(&head.State).Is(chain.KindIndirect) { // see PutOutcome
		return max(l, leftYoung)
	}
	// If the tombstone waits already, then for the same epoch, or its wait is about to end.
	if !head.Mark(chain.LastBit) {
		c.counters.tombstones.Add(1)
		f.Waits = append(f.Waits, gc.Wait{Epoch: view.Writers, Writers: true,
			What: c.waiting(head, true)})
	}
	return l
}

// pruneBelow drops the versions below v, the newest one at or below the bound, that view does not
// need. kept: some are left below v; young: one of these is for an epoch that is not old.
func (c *chains) pruneBelow(
	v *chain.Node, view *gc.View, run int, f *found,
) (kept, young bool) {
	inARow := 0
	for cur := v; inARow < run; {
		// Versions below cur with epochs above at are dropped.
		at, old := view.Below(c.CommitEpoch(cur))
		first := cur.Next.Load()
		n := first
		for n != nil && (at == 0 || c.CommitEpoch(n) > at) {
			n = n.Next.Load()
		}
		if n == first {
			inARow++
		} else {
			c.CheckCut(cur, first, n, view)
			hooks.At(hooks.PruneWalked)
			// A CAS is needed: another pruner that has cut here meanwhile may have dropped n, which
			// must not be linked in again.
			if !cur.Next.CompareAndSwap(first, n) {
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
		if f == nil || n.State.Load()&chain.WaitBit != 0 {
			continue
		}
		if !old || f.Alone || chain.Load(&n.State).Is(chain.KindIndirect) { // see PutOutcome
			young = true
		} else if !n.Mark(chain.WaitBit) {
			f.Waits = append(f.Waits, gc.Wait{Epoch: at, What: c.waiting(n, false)})
		}
	}
	return kept, young
}
