package tree

import (
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// PassLocks waits for the goroutine that has locked a leaf, also if the parent does not know the leaf.
func TestPassLocks(t *testing.T) {
	tr := newTree[int](natural[int]())
	insert := func(key int) {
		_, inserted := tr.Insert((&item[int]{key: key}).asHead(), Gate{})
		require.True(t, inserted)
	}
	for k := range Cap {
		insert(10 * k)
	}
	waits := func(l *Leaf) {
		unlock := lockForTest(l)
		var passed atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			tr.PassLocks()
			passed.Store(true)
		}()
		stage.Waits(t, done, "(*Leaf).waitUnlocked(")
		require.False(t, passed.Load())
		unlock()
		<-done
	}
	l := tr.root.Load().leafAt(0)
	waits(l)
	tr.mu.Lock() // the parent does not get to know
	defer tr.mu.Unlock()
	insert(5)
	require.True(t, l.load().isDead())
	require.Same(t, l, tr.root.Load().leafAt(0))
	waits(l.repl.Load().left)
	waits(l.repl.Load().right)
}

// Who tidies up finds out that a leaf is locked, or has got keys, when he has begun: he does it
// again.
func TestMergeLooksAgain(t *testing.T) {
	for _, late := range []string{"locked", "full"} {
		w := newWorld(someInts)
		k := w.knownOf(t, 2*Cap+1) // a leaf, and one with a single key
		require.EqualValues(t, 2, w.tr.leaves.Load())
		removeKeys(k, 6, 2*Cap, keepNone)
		p := w.tr.root.Load()
		l := p.leafAt(0)
		if late == "locked" {
			l = p.leafAt(1)
		}
		unlock := lockForTest(l)
		done := make(chan struct{})
		go func() {
			defer close(done)
			key := w.key(0)
			w.tr.Tidy(unsafe.Pointer(&key))
		}()
		stage.Waits(t, done, map[string]string{"locked": ").merge(", "full": ").lockAny("}[late])
		want := int64(1)
		if late == "full" {
			for i := range Cap - 2 {
				x := w.newItem(2*Cap+1+i, 0).asHead()
				w.tr.Insert(x, Gate{})
				k.heads = append(k.heads, x)
			}
			want = 2
		}
		unlock()
		finish(t, func() { <-done })
		w.checkAll(t, k.heads)
		require.Equal(t, want, w.tr.leaves.Load(), late)
	}
}

// lockForTest locks a leaf, as one that inserts does, and returns a function that unlocks it.
func lockForTest(l *Leaf) (unlock func()) {
	w := l.load()
	l.word.Store(uint64(w | locked))
	return func() { l.word.Store(uint64(w)) }
}
