package tree

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/pin"
)

// A Gate is a pointer that an insert looks at under the lock: it is shut when the pointer is not
// what the caller has seen. The zero Gate is open.
type Gate struct {
	At  *unsafe.Pointer
	Saw unsafe.Pointer
}

// Shut reports whether the gate is shut.
func (g Gate) Shut() bool { return g.At != nil && atomic.LoadPointer(g.At) != g.Saw }

// Insert gives the key of h a cell with h as its head, if the key has none. Otherwise it returns
// the place that it has; or nowhere, if the gate is shut. It may wait for a goroutine that has
// locked the leaf, and is pinned. It calls compare, and panics if that is seen to be no order: with
// nothing locked, and before it has inserted anything.
func (t *Tree) Insert(h *Head, g Gate) (at Place, inserted bool) {
	key := t.key(h)
	if !t.order.exact() && t.order.kind != kindText && t.order.by(key, key) != 0 {
		panic(fmt.Sprintf("mvcc: the order's compare does not return 0 for %v and itself", t.Name(unkept(key))))
	}
	var w path
	var made spare
	what := t.at(key)
	for n := 1; ; n++ {
		t.descend(what, &w)
		l, direct := w.last().p.leaf(w.last().i), true
		now := l.load()
		for hops := 0; l != nil && now.dead(); hops++ {
			direct = false
			if hops >= maxHops || t.mu.TryLock() {
				if hops >= maxHops {
					t.mu.Lock()
				}
				t.fix(&w)
				t.mu.Unlock()
			}
			if l = t.after(l, what, false); l != nil {
				now = l.load()
			}
		}
		if l == nil {
			continue
		}
		if now&locked != 0 {
			if n%lockSpins == 0 {
				runtime.Gosched()
			}
			continue
		}
		r := t.rank(l, now, what)
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
		if now.full() {
			made.make()
		}
		hooks.At(hooks.InsertLooked)
		// That this succeeds proves that the keys are the same as when we looked: see T3, T4.
		if !l.lock(now) {
			continue
		}
		if g.Shut() {
			l.unlock(now)
			return Place{}, false
		}
		hooks.At(hooks.InsertLocked)
		if !now.full() {
			i := now.used()
			l.slices[i].Store(t.order.slice(key, l.skip()))
			l.rawStore(i, h)
			l.unlock(now.inserted(r.lo)) // linearization point
			return Place{l, uint8(i)}, true
		}
		low, high := sep{inf: true}, sep{inf: true}
		if last := w.last(); direct {
			low, high = last.p.sep(last.i-1), last.p.sep(last.i)
		}
		f := filling{tree: t, made: made}
		f.gather(l, now, r.lo, h)
		f.split(now, r.lo, low, high)
		f.move()
		unpinLocker()
		hooks.At(hooks.LeafReplaced)
		t.leaves.Add(int64(f.leaves()))
		if t.mu.TryLock() { // else whoever inserts next does it
			t.fix(&w)
			t.mu.Unlock()
		}
		f.handOver()
		return f.at, true
	}
}

// maxHops is after how many leaves that were replaced, and that their parent does not know, an
// insert waits to tell it.
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

// unlock makes the word w, which is not locked, and unpins the goroutine.
func (l *Leaf) unlock(w word) {
	l.word.Store(uint64(w))
	unpinLocker()
}

// Where goroutines are stopped in the middle, or are not known to the runtime's pins, they must not
// be pinned.
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

// PassLocks returns when nobody has a leaf locked any more that was locked when it was called.
func (t *Tree) PassLocks() {
	for c := t.Scan(Span{}, false); !c.done; {
		c.locate()
		if !c.p.leaf(c.i).pass() {
			c.p = nil
			continue
		}
		c.move(true, c.p.sep(c.i-1), c.p.sep(c.i))
	}
}

// pass returns when the leaf, and what has replaced it, have not been locked for a moment; or false
// if it was replaced so long ago that the parent knows.
func (l *Leaf) pass() bool {
	for n := 1; ; n++ {
		switch w := l.load(); {
		case w.dead():
			r := l.repl.Load()
			return r != nil && r.left.pass() && (r.right == nil || r.right.pass())
		case w&locked == 0:
			return true
		}
		if n%lockSpins == 0 {
			runtime.Gosched()
		}
	}
}
