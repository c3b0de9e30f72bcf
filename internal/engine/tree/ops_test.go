package tree

import (
	"fmt"
	"sync/atomic"

	"github.com/stretchr/testify/require"
)

// A stopper calls a function once: at the n-th step that it is told of.
type stopper struct {
	left atomic.Int64
	f    func()
}

func (s *stopper) countDown() {
	if s.left.Add(-1) == 0 {
		s.f()
	}
}

func (s *stopper) stopAfter(n int, f func()) {
	s.f = f
	s.left.Store(int64(n))
}

// An stoppedOp is an operation that is stopped in the middle. It begins with a tree with the even
// ones of so many keys, and others do not touch its own key meanwhile.
type stoppedOp struct {
	name    string
	keys    int
	own     int
	prepare func(k *known, tr *Tree)
	do      func(k *known, r *running)
}

// A running is an op that runs, in a world whose type of keys is hidden.
type running struct {
	find    func(i int) (Place, *Head)
	insert  func(i int) (h *Head, at Place, inserted bool)
	remove  func(at Place, h *Head) bool
	tidy    func(i int)
	walk    func(number int, down bool)
	pass    func()
	put     func(at Place, was *Head) (now *Head, where Place)
	visit   func()
	changed atomic.Bool // others have done their work of that time
}

// insertOwn inserts the op's key.
func insertOwn(k *known, r *running) {
	i := k.spare
	h, at, inserted := r.insert(i)
	if inserted {
		require.Nil(k.t, k.heads[i])
		k.heads[i], k.places[i] = h, at
		return
	}
	require.NotNil(k.t, k.heads[i], "it is said to be there")
	now, _ := r.find(i)
	require.Equal(k.t, now, at)
}

// removeOwn removes the op's key, which is said to be at the place, and tidies up.
func removeOwn(at func(k *known) Place) func(k *known, r *running) {
	return func(k *known, r *running) {
		i := k.spare
		h := k.heads[i]
		if r.remove(at(k), h) && k.heads[i] == h {
			k.heads[i] = nil
		}
		r.tidy(i)
	}
}

func remembered(k *known) Place { return k.places[k.spare] }

func nowhere(*known) Place { return Place{} }

// removeKeys removes the keys from low on, below high, but those that the function keeps.
func removeKeys(k *known, low, high int, keep func(i int) bool) {
	tidy := k.tidy
	k.tidy = false
	k.every(func(i int) {
		if i >= low && i < high && k.heads[i] != nil && !keep(i) {
			k.remove(i)
		}
	})
	k.tidy = tidy
}

func keepNone(int) bool { return false }

// Leaves of keys that came in order have 30 of them, so keys 60 i to 60 i + 58. An inner node of
// them has 55.
var ops = []stoppedOp{
	{"insert with room", 40, 11, nil, insertOwn},
	{"insert at the end", 40, 39, nil, insertOwn},
	{"replace by one", 40, 39, func(k *known, _ *Tree) {
		for i := 1; i < 13; i += 2 {
			k.insert(i)
		}
		removeKeys(k, 6, 22, keepNone)
	}, insertOwn},
	{"replace by two", 90, 31, nil, insertOwn},
	{"replace at the end", 60, 59, nil, insertOwn},
	{"split a root", 60*55 + 60, 1001, nil, insertOwn},
	{"split a root at the end", 60*55 + 60, 60*55 + 59, nil, insertOwn},
	{"split one of several", 60 * 70, 60*65 + 1, nil, insertOwn},
	{"split an inner node", 60 * 70, 1001, func(k *known, _ *Tree) { k.insert(2001) }, insertOwn},
	{"remove", 60, 20, nil, removeOwn(remembered)},
	{"remove by key", 60, 20, nil, removeOwn(nowhere)},
	{"remove by an old place", 60, 20, func(k *known, _ *Tree) { k.insert(31) },
		removeOwn(remembered)},
	{"replace by one without", 180, 80, func(k *known, _ *Tree) {
		removeKeys(k, 60, 120, func(i int) bool { return i%4 == 0 })
	}, removeOwn(remembered)},
	{"replace by none", 180, 80, func(k *known, _ *Tree) { removeKeys(k, 60, 120, keepNone) },
		removeOwn(remembered)},
	{"merge", 180, 80, func(k *known, _ *Tree) {
		removeKeys(k, 60, 120, func(i int) bool { return i < 68 })
		removeKeys(k, 120, 180, func(i int) bool { return i > 160 })
	}, removeOwn(remembered)},
	{"merge the last", 180, 160, func(k *known, _ *Tree) {
		removeKeys(k, 60, 120, func(i int) bool { return i < 68 })
		removeKeys(k, 120, 180, func(i int) bool { return i > 160 })
	}, removeOwn(remembered)},
	{"merge all", 120, 80, func(k *known, _ *Tree) { removeKeys(k, 0, 120, keepNone) },
		removeOwn(remembered)},
	{"merge inner nodes", 60 * 70, 60*60 + 2, func(k *known, _ *Tree) {
		k.every(func(i int) {
			if i < 60*35 && k.heads[i] != nil {
				k.remove(i)
			}
		})
		k.every(func(i int) {
			if i >= 60*57 && k.heads[i] != nil && i%60 != 0 {
				k.remove(i)
			}
		})
	}, removeOwn(nowhere)},
	{"find", 130, -1, nil, func(k *known, r *running) {
		for _, i := range []int{0, 21, 58, 59, 60, 61, 120, 129} {
			was, fresh := k.heads[i], r.changed.Load()
			_, h := r.find(i)
			if fresh || was == k.heads[i] && h != nil {
				require.Same(k.t, k.heads[i], h, "key %d", i)
			}
			require.True(k.t, h != nil || k.gone[i], "key %d", i)
		}
	}},
	{"overwrite", 130, 70, nil, func(k *known, r *running) {
		for range 3 {
			was := k.heads[k.spare]
			if was == nil {
				return // others have removed it
			}
			if now, at := r.put(k.places[k.spare], was); at.Leaf != nil {
				k.heads[k.spare] = now
			} else {
				require.NotSame(k.t, was, k.heads[k.spare])
			}
		}
	}},
	{"pass", 130, -1, nil, func(_ *known, r *running) { r.pass() }},
	{"visit", 130, -1, func(k *known, _ *Tree) {
		k.every(func(i int) {
			if k.heads[i] != nil {
				k.ask(i, Place{})
			}
		})
	}, func(_ *known, r *running) { r.visit() }},
}

func init() {
	for i := range 2 * numberOfParts {
		down := i%2 != 0
		ops = append(ops, stoppedOp{fmt.Sprintf("scan %d down %v", i/2, down), 130, -1, nil,
			func(_ *known, r *running) { r.walk(i/2, down) }})
	}
}
