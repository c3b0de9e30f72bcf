package tree

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A change is something that is done to a tree between two steps of a scan.
type change struct {
	name string
	do   func(k *known)
}

// A known has the known keys of a tree, whatever their type: heads[i] is that of key i.
type known struct {
	t      testing.TB
	heads  []*Head
	places []Place // where keys were, perhaps long ago
	gone   []bool  // keys that were removed, or were not there at first
	spare  int     // the key that is left alone, or -1
	tidy   bool    // Tidy may be called, and Insert
	insert func(i int)
	remove func(i int)
	put    func(i int, at Place) // overwrites
	ask    func(i int, at Place)
	check  func()
	pass   func()
	ownIs  func(h *Head) bool // whether the tree has h for the key that is left alone
	visit  func()             // one leaf that was handed over
}

// every calls f for every key but the one that is left alone.
func (k *known) every(f func(i int)) {
	for i := range k.heads {
		if i != k.spare {
			f(i)
		}
	}
}

// stays reports whether a key is one that is not removed.
func stays(i int) bool { return i%20 == 0 }

func (k *known) insertAll() {
	k.every(func(i int) {
		if k.heads[i] == nil {
			k.insert(i)
		}
	})
}

func (k *known) removeAll(but func(i int) bool) {
	k.every(func(i int) {
		if k.heads[i] != nil && !but(i) {
			k.remove(i)
		}
	})
}

func (k *known) putAll(places bool) {
	k.every(func(i int) {
		if k.heads[i] == nil {
			return
		}
		at := Place{}
		if places {
			at = k.places[i]
		}
		k.put(i, at)
	})
}

func (k *known) askAll(places bool) {
	k.every(func(i int) {
		switch {
		case k.heads[i] == nil:
		case places:
			k.ask(i, k.places[i])
		default:
			k.ask(i, Place{})
		}
	})
}

var changes = []change{
	{"insert", func(k *known) { k.insertAll() }},
	{"remove some", func(k *known) { k.removeAll(func(i int) bool { return i%4 == 0 }) }},
	{"remove most", func(k *known) { k.removeAll(stays) }},
	{"overwrite", func(k *known) { k.putAll(true); k.putAll(false) }},
	{"insert and remove", func(k *known) { k.insertAll(); k.putAll(true); k.removeAll(stays) }},
	{"remove and insert", func(k *known) { k.removeAll(stays); k.putAll(true); k.insertAll() }},
	{"all", func(k *known) {
		for range 2 {
			k.insertAll()
			k.putAll(true)
			k.removeAll(func(i int) bool { return i%4 == 0 })
			k.removeAll(stays)
			k.insertAll()
			k.removeAll(func(i int) bool { return stays(i) || i > len(k.heads)/2 })
		}
	}},
}

// knownOf returns the knowledge of a tree that gets the even ones of n keys.
func (w *world[K]) knownOf(t testing.TB, n int) *known {
	k := &known{t: t, heads: make([]*Head, n), places: make([]Place, n), gone: make([]bool, n),
		spare: -1, tidy: true}
	version := 0
	k.insert = func(i int) {
		version++
		x := w.newItem(i, version).asHead()
		at, inserted := w.tr.Insert(x, Gate{})
		check(t, inserted, "key %d", i)
		k.heads[i], k.places[i] = x, at
	}
	k.remove = func(i int) {
		removed, tidy := w.tr.Remove([...]Place{k.places[i], {}}[i/2%2], k.heads[i])
		check(t, removed, "key %d", i)
		if tidy && k.tidy {
			key := w.key(i)
			w.tr.Tidy(unsafe.Pointer(&key))
		}
		k.heads[i], k.gone[i] = nil, true
	}
	k.put = func(i int, at Place) {
		version++
		x := w.newItem(i, version).asHead()
		require.NotNil(t, w.overwrite(at, k.heads[i], x).Leaf, "key %d", i)
		k.heads[i] = x
	}
	k.ask = func(i int, at Place) {
		w.asked[i] = w.noted[i]
		if at.Leaf == nil || !w.askAt(at) {
			require.True(t, w.askVisit(i))
		}
	}
	k.check = func() {
		want := append([]*Head{}, k.heads...)
		if i := k.spare; i >= 0 {
			_, want[i] = w.find(i) // the op may be done
		}
		w.checkKeys(t, want)
		for i := range 2 * numberOfParts {
			v, c := w.startWalk(k, i/2, i%2 == 0)
			v.fresh = true
			for h := c.next(); h != nil; h = c.next() {
				v.meetHead(h, itemOf[K](h).value)
			}
			v.checkAll()
		}
	}
	k.pass = w.tr.PassLocks
	k.visit = func() {
		if l := w.takeHanded(); l != nil {
			w.visit(l, w.noteVisit)
		}
	}
	for i := range n {
		if k.gone[i] = i%2 != 0; i%2 == 0 {
			k.insert(i)
		}
	}
	return k
}

// checkVisits checks that no visit was lost that was asked for, of keys that were not removed.
func (w *world[K]) checkVisits(k *known) {
	for i, n := range w.asked {
		if !k.gone[i] {
			require.Greater(k.t, w.noted[i], n, "a visit of key %d is lost", i)
		}
	}
}
