package tree

import (
	"cmp"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A keys is an order, and keys that are numbered in it. An item of key i has the value i, and its
// state is a version.
type keys[K comparable] struct {
	order func() Order
	key   func(i int) K
}

var (
	someInts = keys[int]{natural[int], func(i int) int { return 3*i - 500 }}
	someText = keys[string]{natural[string], func(i int) string {
		return fmt.Sprintf("a key of many characters %07d", i)
	}}
	// raggedText has keys of several lengths, with zeros and the highest bytes.
	raggedText = keys[string]{natural[string], func(i int) string {
		return fmt.Sprintf("%04d", i/8) +
			[...]string{"", "\x00", "\x00\x00\x00\x00\x00\x00\x00\x00\x00", "\x00\x01", "a", "ab\xff", "b",
				"\xff\xff\xff\xff\xff\xff\xff\xff\xff"}[i%8]
	}}
	someByCompare = keys[int]{func() Order {
		return orderBy(func(a, b int) int { return cmp.Compare(b, a) })
	}, func(i int) int { return -i }}
	somePairs = keys[pair]{pairs, func(i int) pair {
		return pair{uint64(i/50) << 33, uint64(i % 50)}
	}}
)

// edgeInts returns keys that are both the lowest and the highest of n, and of their type.
func edgeInts(n int) keys[uint64] {
	return keys[uint64]{natural[uint64], func(i int) uint64 {
		if i < n/2 {
			return uint64(i)
		}
		return 1<<64 - 1 - uint64(n-1-i)
	}}
}

// A world is a tree of items, and the leaves that it has handed over to be visited.
type world[K comparable] struct {
	tr     *Tree
	key    func(i int) K
	mu     sync.Mutex
	handed []*Leaf
	asked  map[int]int // how often a key had been visited when a visit was asked for
	noted  map[int]int // how often it has been by now
}

func newWorld[K comparable](k keys[K]) *world[K] {
	w := &world[K]{tr: newTree[K](k.order()), key: k.key, asked: map[int]int{}, noted: map[int]int{}}
	w.tr.Visit = w.handOver
	return w
}

func (w *world[K]) newItem(i, version int) *item[K] {
	return &item[K]{key: w.key(i), value: i, state: uint64(version)}
}

func (w *world[K]) handOver(l *Leaf) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handed = append(w.handed, l)
}

// takeHanded returns a leaf that was handed over, nil if there is none.
func (w *world[K]) takeHanded() *Leaf {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.handed) == 0 {
		return nil
	}
	l := w.handed[0]
	w.handed = w.handed[1:]
	return l
}

func (w *world[K]) find(i int) (Place, *Head) {
	key := w.key(i)
	return w.tr.Find(unsafe.Pointer(&key))
}

// remove removes h, which is found at the place or, if that is nowhere, by its key.
func (w *world[K]) remove(at Place, h *Head) bool {
	removed, tidy := w.tr.Remove(at, h)
	if tidy {
		w.tr.Tidy(unsafe.Pointer(&itemOf[K](h).key))
	}
	return removed
}

// overwrite puts a head on top of was: at the place, if was still stands there. It returns the
// place where it did, or nowhere if it failed.
func (w *world[K]) overwrite(at Place, was, now *Head) Place {
	for h := was; h == was; {
		if at.Leaf != nil && at.Cell().CompareAndSwap(was, now) {
			return at
		}
		at, h = w.find(itemOf[K](was).value)
	}
	return Place{}
}

// askVisit asks for a visit of key i, and reports whether it has the key.
func (w *world[K]) askVisit(i int) bool {
	for at, h := w.find(i); h != nil; at, h = w.find(i) {
		if w.askAt(at) {
			return true
		}
	}
	return false
}

// askAt asks for a visit of a cell, and reports whether that is there.
func (w *world[K]) askAt(at Place) bool {
	list, gone := at.Leaf.Ask(at.I)
	if list {
		w.handOver(at.Leaf)
	}
	return !gone
}

// visit makes the visits that are asked for in a leaf.
func (w *world[K]) visit(l *Leaf, visited func(i int)) {
	var heads [Cap]*Head
	for m := w.tr.Asked(l, &heads); m != 0; m &= m - 1 {
		if h := heads[lowest(m)]; h != nil {
			visited(itemOf[K](h).value)
		}
	}
}

func (w *world[K]) noteVisit(i int) { w.noted[i]++ }

// A scanner is a cursor that goes from head to head.
type scanner struct {
	Cursor
	within bool // a leaf
	steps  int
}

// next returns the next head, nil if there are no more.
func (c *scanner) next() *Head {
	for {
		if c.within {
			if c.steps++; c.steps%2 == 0 && c.Rest() > 0 {
				if h := c.At(0); h != nil && h != c.t.Moved {
					c.Met(1, h)
					return h
				}
			}
			if h, _ := c.Head(); h != nil {
				return h
			}
		}
		if c.within = c.Next(); !c.within {
			return nil
		}
	}
}

// patience is for how long a test waits for events that should take far less.
const patience = 20 * time.Second

// finish runs f, and fails with the stacks of all goroutines if it hangs.
func finish(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		stacks := make([]byte, 1<<20)
		t.Fatalf("it hangs:\n%s", stacks[:runtime.Stack(stacks, true)])
	}
	if t.Failed() {
		t.FailNow()
	}
}

// check fails if a condition does not hold. Unlike the functions of require it costs nothing if it
// does: it is called for each key of a tree.
func check(t testing.TB, holds bool, format string, args ...any) {
	if !holds {
		t.Helper()
		require.FailNow(t, "it does not hold", append([]any{format}, args...)...)
	}
}
