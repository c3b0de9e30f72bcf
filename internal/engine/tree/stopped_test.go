package tree

import (
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// running returns the possible steps of an op.
func (w *world[K]) running(k *known) *running {
	r := &running{find: w.find, pass: w.tr.PassLocks, remove: func(at Place, h *Head) bool {
		removed, _ := w.tr.Remove(at, h)
		return removed
	}}
	r.insert = func(i int) (*Head, Place, bool) {
		x := w.newItem(i, 1<<20).asHead()
		at, inserted := w.tr.Insert(x, Gate{})
		return x, at, inserted
	}
	r.tidy = func(i int) {
		key := w.key(i)
		w.tr.Tidy(unsafe.Pointer(&key))
	}
	version := 1 << 20
	r.put = func(at Place, was *Head) (*Head, Place) {
		version++
		x := w.newItem(itemOf[K](was).value, version).asHead()
		return x, w.overwrite(at, was, x)
	}
	r.walk = func(number int, down bool) {
		v, c := w.startWalk(k, number, down)
		for {
			v.fresh = r.changed.Load()
			h := c.next()
			if h == nil {
				break
			}
			v.meetHead(h, itemOf[K](h).value)
		}
		v.checkThroughout()
	}
	r.visit = func() {
		for l := w.takeHanded(); l != nil; l = w.takeHanded() {
			w.visit(l, w.noteVisit)
		}
	}
	return r
}

// isUnlocked reports whether nothing is locked. Nobody works on the tree.
func (t *Tree) isUnlocked() bool {
	if !t.mu.TryLock() {
		return false
	}
	defer t.mu.Unlock()
	return unlocked(t.root.Load())
}

func unlocked(p *inner) bool {
	for i := range int(p.n) {
		if p.level > 0 && !unlocked((*inner)(p.kidAt(i))) ||
			p.level == 0 && !p.leafAt(i).unlocked() {
			return false
		}
	}
	return true
}

func (l *Leaf) unlocked() bool {
	r := l.repl.Load()
	switch {
	case !l.load().isDead():
		return l.load()&locked == 0
	case r == nil:
		return true
	}
	return r.left.unlocked() && (r.right == nil || r.right.unlocked())
}

// A meanwhile has the work that is done while an op stands still.
type meanwhile struct {
	name string
	free bool // only if nothing is locked
	do   func(k *known, free bool)
}

var meanwhiles = append([]meanwhile{
	{"read", false, func(k *known, free bool) {
		if free {
			k.pass()
		}
	}},
	{"overwrite", false, func(k *known, _ bool) { k.putAll(true); k.check(); k.putAll(false) }},
	{"remove", false, func(k *known, free bool) { k.tidy = free; k.removeAll(stays); k.tidy = true }},
	{"empty", false, func(k *known, free bool) {
		k.tidy = free
		k.removeAll(keepNone)
		k.tidy = true
	}},
	{"ask", false, func(k *known, _ bool) { k.askAll(false); k.visit(); k.askAll(false) }},
	{"ask at places", false, func(k *known, _ bool) { k.askAll(true); k.visit(); k.askAll(true) }},
	{"far", true, func(k *known, _ bool) {
		far := func(i int) bool { return len(k.heads) > 1000 && (i-k.spare > 600 || k.spare-i > 600) }
		k.every(func(i int) {
			if far(i) && k.heads[i] == nil {
				k.insert(i)
			}
		})
		k.check()
		k.removeAll(func(i int) bool { return !far(i) || i%60 == 0 })
	}},
	{"own comes", true, func(k *known, _ bool) {
		if i := k.spare; i >= 0 && k.heads[i] == nil && k.ownIs(nil) {
			k.insert(i)
		} else if i >= 0 && k.heads[i] != nil && k.ownIs(k.heads[i]) {
			k.put(i, k.places[i])
		}
	}},
	{"own comes and goes", true, func(k *known, _ bool) {
		i := k.spare
		if i < 0 || !k.ownIs(k.heads[i]) {
			return
		}
		for range 3 {
			if k.heads[i] == nil {
				k.insert(i)
			}
			k.remove(i)
		}
	}},
}, func() (all []meanwhile) {
	for _, c := range changes {
		all = append(all, meanwhile{c.name, true, func(k *known, _ bool) { c.do(k) }})
	}
	return all
}()...)

// preempt runs an op, stops it at the n-th step that hook tells the stopper of, does something else
// meanwhile, and goes on. It reports whether there were so many steps.
func preempt[K comparable](t *testing.T, keys keys[K], o stoppedOp, m meanwhile, n int,
	hook func(s *stopper) (remove func())) bool {
	w := newWorld(keys)
	k := w.knownOf(t, o.keys)
	k.spare = o.own
	k.ownIs = func(h *Head) bool {
		_, now := w.find(k.spare)
		return now == h
	}
	if o.prepare != nil {
		o.prepare(k, w.tr)
	}
	r := w.running(k)
	reached, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var s stopper
	s.stopAfter(n, func() {
		close(reached)
		<-goOn
	})
	remove := hook(&s)
	go func() {
		defer close(done)
		o.do(k, r)
	}()
	stopped := false
	finish(t, func() {
		select {
		case <-reached:
			stopped = true
		case <-done:
			return
		}
		free := w.tr.isUnlocked()
		if free || !m.free {
			k.check()
			m.do(k, free)
			k.check()
		}
		r.changed.Store(true)
		var behind chan struct{}
		if !free && n%2 == 0 {
			behind = make(chan struct{})
			go func() {
				defer close(behind)
				k.insertAll()
				k.removeAll(stays)
			}()
			for range 10 {
				runtime.Gosched()
			}
		}
		close(goOn)
		<-done
		if behind != nil {
			<-behind
		}
	})
	remove()
	finish(t, func() {
		w.checkAll(t, k.heads)
		w.checkVisits(k)
	})
	return stopped
}

// preemptAll stops an op at each of its steps, or some of them, and does everything meanwhile.
func preemptAll[K comparable](t *testing.T, keys keys[K], some int,
	hook func(s *stopper) (remove func())) {
	for _, o := range ops {
		t.Run(o.name, func(t *testing.T) {
			for x, m := range meanwhiles {
				stride := some // each of the others begins at another step
				switch {
				case o.keys > 1000:
					stride *= 11
				case o.own < 0:
					stride *= 3
				}
				if testing.Short() {
					stride *= 4
				}
				for n := 1 + x%stride; preempt(t, keys, o, m, n, hook); n += stride {
				}
			}
		})
	}
}

// telling returns keys whose compare passes each call to the function that hook returns.
func telling[K comparable](k keys[K]) (_ keys[K], hook func(s *stopper) (remove func())) {
	var now atomic.Pointer[stopper]
	order := k.order
	k.order = func() Order {
		o := order()
		if compare := o.compare; compare != nil {
			o.compare = func(a, b unsafe.Pointer) int {
				if s := now.Load(); s != nil {
					s.countDown()
				}
				return compare(a, b)
			}
		}
		return o
	}
	return k, func(s *stopper) (remove func()) {
		now.Store(s)
		return func() { now.Store(nil) }
	}
}

// A function of the program that compares keys may last for ever: nothing waits for it, and nothing
// is lost.
func TestCompareWaits(t *testing.T) {
	t.Run("compare", func(t *testing.T) { compareWaits(t, someByCompare) })
	t.Run("ragged", func(t *testing.T) { compareWaits(t, raggedText) })
	t.Run("pairs", func(t *testing.T) { compareWaits(t, somePairs) })
}

func compareWaits[K comparable](t *testing.T, k keys[K]) {
	k, hook := telling(k)
	preemptAll(t, k, 2, hook)
}

// It may panic, or end its goroutine: the tree is whole.
func TestCompareEnds(t *testing.T) {
	t.Run("compare", func(t *testing.T) { compareEnds(t, someByCompare) })
	t.Run("pairs", func(t *testing.T) { compareEnds(t, somePairs) })
}

func compareEnds[K comparable](t *testing.T, keys keys[K]) {
	keys, hook := telling(keys)
	for _, o := range ops {
		if o.keys > 1000 && testing.Short() {
			continue
		}
		for end, f := range map[string]func(){
			"panic": func() { panic("the end") }, "Goexit": runtime.Goexit,
		} {
			t.Run(o.name+"/"+end, func(t *testing.T) {
				for n, ended := 1, true; ended; n++ {
					ended = false
					w := newWorld(keys)
					k := w.knownOf(t, o.keys)
					k.spare = o.own
					if o.prepare != nil {
						o.prepare(k, w.tr)
					}
					r := w.running(k)
					var s stopper
					s.stopAfter(n, func() {
						ended = true
						f()
					})
					remove := hook(&s)
					finish(t, func() {
						defer func() { recover() }()
						o.do(k, r)
					})
					remove()
					require.True(t, w.tr.isUnlocked())
					finish(t, func() {
						w.checkAll(t, k.heads)
						changes[n%len(changes)].do(k)
						w.checkAll(t, k.heads)
						w.checkVisits(k)
					})
				}
			})
		}
	}
}
