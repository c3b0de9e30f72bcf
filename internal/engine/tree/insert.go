package tree

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/pin"
)

// A Gate is a pointer that an insert looks at under the lock: it is shut when the pointer
// differs from the one that the caller has seen. The zero Gate is open.
type Gate struct {
	At  *unsafe.Pointer
	Saw unsafe.Pointer
}

// Shut reports whether the gate is shut.
func (g Gate) Shut() bool { return g.At != nil && atomic.LoadPointer(g.At) != g.Saw }

// Insert gives the key of h a cell with h as its head, if the key has no cell. If it has one,
// Insert returns the key's place, or nowhere if the gate is shut. It may wait for a goroutine that
// has locked the leaf, and is pinned. It calls compare with nothing locked. It panics, before it
// inserts anything, if compare turns out to be no order.
func (t *Tree) Insert(h *Head, g Gate) (at Place, inserted bool) {
	key := t.key(h)
	if !t.order.exact() && t.order.kind != kindText && t.order.callCompare(key, key) != 0 {
		panic(fmt.Sprintf("mvcc: the order's compare does not return 0 for %v and itself", t.Name(unkept(key))))
	}
	var w path
	var made spare
	what := t.separatorOf(key)
	for n := 1; ; n++ {
		l, now := t.liveLeaf(what, &w)
		if l == nil {
			continue
		}
		if now&locked != 0 {
			if n%lockSpins == 0 {
				runtime.Gosched()
			}
			continue
		}
		r := t.rankOf(l, now, what)
		if !r.ok {
			continue
		}
		if r.h != nil {
			if !t.order.exact() && !t.Equal(t.key(r.h), unkept(key)) {
				panic(fmt.Sprintf("mvcc: the order's compare returns 0 for %v and %v, which are not equal",
					t.Name(t.key(r.h)), t.Name(unkept(key))))
			}
			return r.at, false
		}
		if now.isFull() {
			if at, inserted, ok := t.insertFull(&w, &made, l, now, r.lo, h, g); ok {
				return at, inserted
			}
			continue
		}
		hooks.At(hooks.InsertLooked)
		// If this succeeds, the keys are the same as when we looked: see T3, T4.
		if !l.lock(now) {
			continue
		}
		if g.Shut() {
			l.unlock(now)
			return Place{}, false
		}
		hooks.At(hooks.InsertLocked)
		i := now.usedCount()
		l.slices[i].Store(t.order.slice(key, l.skippedBits()))
		l.rawStore(i, h)
		l.unlock(now.inserted(r.lo)) // linearization point
		return Place{l, uint8(i)}, true
	}
}

// liveLeaf returns the leaf for a key, which was not dead when its word was loaded, and notes the
// path to it. It returns nil if the caller has to look again.
func (t *Tree) liveLeaf(what separator, w *path) (l *Leaf, now word) {
	t.descend(what, w)
	l = w.lastStep().p.leafAt(w.lastStep().i)
	now = l.load()
	for hops := 0; l != nil && now.isDead(); hops++ {
		if hops >= maxHops || t.mu.TryLock() {
			if hops >= maxHops {
				t.mu.Lock()
			}
			t.fixParent(w)
			t.mu.Unlock()
		}
		if l = t.after(l, what, false); l != nil {
			now = l.load()
		}
	}
	return l, now
}

// insertFull is Insert of h, at rank r, into a leaf that is full. ok is false if the caller has to
// look again.
func (t *Tree) insertFull(
	w *path, made *spare, l *Leaf, now word, r int, h *Head, g Gate,
) (at Place, inserted, ok bool) {
	made.allocate()
	f := filling{tree: t, made: *made}
	low, high, ok := t.leafRange(w, l, t.separatorOf(t.key(h)))
	if !ok {
		return Place{}, false, false
	}
	if f.gather(l, now, r, h); f.moves() {
		return Place{}, false, false
	}
	f.planSplit(r == now.usedCount() && now.added() == 0, low, high)
	hooks.At(hooks.InsertLooked)
	if !l.lock(now) { // as in Insert
		return Place{}, false, false
	}
	if g.Shut() {
		l.unlock(now)
		return Place{}, false, true
	}
	hooks.At(hooks.InsertLocked)
	f.n, f.sources = 0, 0
	f.gather(l, now, r, h) // heads may have changed, and gone
	f.split(low, high)
	f.moveEntries()
	unpinLocker()
	hooks.At(hooks.LeafReplaced)
	t.leaves.Add(int64(f.leaves()))
	if t.mu.TryLock() { // else the next insert tells the parent
		t.fixParent(w)
		t.mu.Unlock()
	}
	f.handOver()
	return f.at, true, true
}

// leafRange returns the range of the leaf l, to which the path has led for a key. ok is false if
// the path does not lead to l any more.
func (t *Tree) leafRange(w *path, l *Leaf, at separator) (low, high separator, ok bool) {
	last := w.lastStep()
	low, high = last.p.separatorAt(last.i-1), last.p.separatorAt(last.i)
	for x := last.p.leafAt(last.i); x != l; {
		r := x.repl.Load()
		if r == nil {
			return low, high, false
		}
		low, high = r.low, r.high
		if x = t.pickLeaf(r, at, false); x == r.right {
			low = r.sep
		} else if r.right != nil {
			high = r.sep
		}
	}
	return low, high, true
}

// maxHops is how many replaced leaves that their parent does not know an insert passes. After so
// many it waits for the mutex, to tell the parent.
const maxHops = 3

// lockSpins is how often to look at a lock before yielding.
const lockSpins = 32

// lock locks the leaf, and pins the goroutine, if its word is w.
func (l *Leaf) lock(w word) bool {
	pinLocker()
	if l.word.CompareAndSwap(uint64(w), uint64(w|locked)) {
		return true
	}
	unpinLocker()
	return false
}

// unlock stores the word w, which is not locked, and unpins the goroutine.
func (l *Leaf) unlock(w word) {
	l.word.Store(uint64(w))
	unpinLocker()
}

// With hooks a goroutine must not be pinned: it is stopped in the middle, or the runtime's pins do
// not know it.
func pinLocker() {
	if !hooks.Enabled {
		pin.Pin()
	}
}

func unpinLocker() {
	if !hooks.Enabled {
		pin.Unpin()
	}
}

// PassLocks returns when all leaves that were locked when it was called have been unlocked.
func (t *Tree) PassLocks() {
	for c := t.Scan(Span{}, false); !c.done; {
		c.locate()
		if !c.p.leafAt(c.i).waitUnlocked() {
			c.p = nil
			continue
		}
		c.moveOn(true, c.p.separatorAt(c.i-1), c.p.separatorAt(c.i))
	}
}

// waitUnlocked returns true once the leaf, or all of its replacements, have been seen unlocked;
// false if the leaf was replaced so long ago that the parent knows.
func (l *Leaf) waitUnlocked() bool {
	for n := 1; ; n++ {
		switch w := l.load(); {
		case w.isDead():
			r := l.repl.Load()
			return r != nil && r.left.waitUnlocked() && (r.right == nil || r.right.waitUnlocked())
		case w&locked == 0:
			return true
		}
		if n%lockSpins == 0 {
			runtime.Gosched()
		}
	}
}
